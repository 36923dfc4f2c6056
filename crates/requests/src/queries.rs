//! Reads requests.

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::tasks;
use cynode_execution::tasks::TaskError;
use cynode_resources::paging::PageRequest;
use cynode_resources::{Caller, projects};
use cynode_store::{RequestFilter, Task, Tx, WorkRequest};
use cynode_wire::page::Page;
use cynode_wire::requests::{RequestQuery, RequestView};

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
                    let task = find(tx, &caller, &request).await?;
                    let snapshot = RequestSnapshot::load(tx, task.spec.id, now).await?;
                    let snapshot =
                        snapshot.ok_or_else(|| RequestError::NotFound(request.excerpt()))?;
                    let facts = ViewFacts::load(tx, &snapshot.task, &snapshot.attempts).await?;
                    Ok(full_view(snapshot, facts))
                })
            })
            .await
    }

    /// Lists requests, newest first; administrators see those of all users.
    pub async fn list(
        &self,
        caller: &Caller,
        query: RequestQuery,
    ) -> Result<Page<RequestView>, RequestError> {
        let page = PageRequest::<TaskId>::parse(&query.page())?;
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &query.project {
                        Some(project) => {
                            let found = projects::find(tx, &caller, &project.into()).await;
                            Some(found.map_err(TaskError::from)?.id)
                        }
                        None => None,
                    };
                    let filter = RequestFilter {
                        created_by: caller.own(),
                        project,
                        is_open: query.open,
                        awaits_answer: query.waiting,
                        before: page.before,
                        limit: page.fetch,
                    };
                    let mut views = vec![];
                    for request in tx.request_list(&filter).await? {
                        if let Some(view) = list_view(tx, request).await? {
                            views.push(view);
                        }
                    }
                    Ok(page.page(views, |view: &RequestView| view.id.to_string(), |view| view))
                })
            })
            .await
    }
}

async fn list_view(tx: &mut Tx, request: WorkRequest) -> Result<Option<RequestView>, RequestError> {
    let Some(task) = tx.task_get(request.task).await? else { return Ok(None) };
    let owner = tx.user_get(task.spec.created_by).await?.map(|user| user.handle);
    let units = tx.work_unit_list(request.task).await?;
    Ok(Some(brief_view(request, task, owner.unwrap_or_default(), &units)))
}

/// Finds the task of a request that the caller may see.
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
