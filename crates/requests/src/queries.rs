//! Reads requests.

use std::collections::BTreeMap;

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::tasks;
use cynode_execution::tasks::TaskError;
use cynode_resources::paging::PageRequest;
use cynode_resources::{Caller, projects};
use cynode_store::{ListedProfiles, RequestFilter, RequestOverview, Task, Tx, WorkRequest};
use cynode_wire::page::Page;
use cynode_wire::requests::{MAX_SEARCH_CHARS, RequestQuery, RequestView};

use crate::snapshot::RequestSnapshot;
use crate::view::{ViewFacts, brief_view, full_view};
use crate::{RequestError, RequestService};

impl RequestService {
    /// Returns a request with its units, attempts and cost.
    pub async fn get(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
    ) -> Result<RequestView, RequestError> {
        let (caller, request, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task = find_shared(tx, &caller, &request).await?;
                    let snapshot = RequestSnapshot::load(tx, task.spec.id, now).await?;
                    let snapshot =
                        snapshot.ok_or_else(|| RequestError::NotFound(request.excerpt()))?;
                    let facts = ViewFacts::load(tx, &snapshot.task, &snapshot.task_ids()).await?;
                    Ok(full_view(snapshot, facts))
                })
            })
            .await
    }

    /// Lists requests of the caller and of projects that are shared with the caller, newest first; administrators see
    /// those of all users.
    pub async fn list(
        &self,
        caller: &Caller,
        query: RequestQuery,
    ) -> Result<Page<RequestView>, RequestError> {
        self.list_in(caller, query, ListedProfiles::All).await
    }

    /// Same as [`Self::list`], of these profiles.
    pub async fn list_in(
        &self,
        caller: &Caller,
        query: RequestQuery,
        profiles: ListedProfiles,
    ) -> Result<Page<RequestView>, RequestError> {
        let page = PageRequest::<TaskId>::parse(&query.page())?;
        let text = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let text = text.map(str::to_owned);
        if text.as_ref().is_some_and(|text| text.chars().count() > MAX_SEARCH_CHARS) {
            let fault = format!("text is longer than {MAX_SEARCH_CHARS} characters");
            return Err(RequestError::Invalid(vec![fault]));
        }
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &query.project {
                        Some(project) => {
                            let found = projects::find_shared(tx, &caller, &project.into()).await;
                            Some(found.map_err(TaskError::from)?.id)
                        }
                        None => None,
                    };
                    let filter = RequestFilter {
                        created_by: query.mine.then_some(caller.user),
                        // Everyone who sees a project sees all of its requests.
                        reader: if project.is_some() { None } else { caller.own() },
                        project,
                        profiles,
                        is_open: query.open,
                        awaits_answer: query.waiting,
                        status: query.status,
                        phase: query.phase,
                        text,
                        before: page.before,
                        limit: page.fetch,
                    };
                    let requests = tx.request_list(&filter).await?;
                    let ids: Vec<TaskId> = requests.iter().map(|request| request.task).collect();
                    let mut overviews: BTreeMap<TaskId, RequestOverview> = tx
                        .request_overviews(&ids)
                        .await?
                        .into_iter()
                        .map(|overview| (overview.task.spec.id, overview))
                        .collect();
                    let view = |request: WorkRequest| {
                        let overview = overviews.remove(&request.task)?;
                        Some(brief_view(request, overview))
                    };
                    let views: Vec<RequestView> = requests.into_iter().filter_map(view).collect();
                    Ok(page.page(views, |view: &RequestView| view.id.to_string(), |view| view))
                })
            })
            .await
    }
}

/// Finds the task of a request, also if its project is shared with the caller: to read it and to answer its question.
pub(crate) async fn find_shared(
    tx: &mut Tx,
    caller: &Caller,
    request: &NameOrId<TaskId>,
) -> Result<Task, RequestError> {
    match tasks::find_shared(tx, caller, request).await {
        Err(TaskError::NotFound(name)) => Err(RequestError::NotFound(name)),
        found => Ok(found?),
    }
}

/// Finds the task of a request of the caller.
pub(crate) async fn find(
    tx: &mut Tx,
    caller: &Caller,
    request: &NameOrId<TaskId>,
) -> Result<Task, RequestError> {
    match tasks::find(tx, caller, request).await {
        Err(TaskError::NotFound(name)) => Err(RequestError::NotFound(name)),
        found => Ok(found?),
    }
}
