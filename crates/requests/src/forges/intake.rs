//! Issues of forges as submitted work.

use cynode_domain::git::TaskRepository;
use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::request::RequestOrigin;
use cynode_forge::address::parse_item;
use cynode_forge::{ForgeInstance, Issue, IssueState, ItemAddress, ItemKind, strip_html_comments};
use cynode_resources::Caller;
use cynode_store::ProjectForge;
use cynode_wire::forges::SubmitIssue;
use cynode_wire::requests::{RequestView, SubmitRequest};

use super::{ForgeConnection, instance, resolve_project};
use crate::{RequestError, RequestService};

/// Labels that are kept, and their length.
const MAX_LABELS: usize = 50;
const MAX_LABEL_BYTES: usize = 100;

impl RequestService {
    /// Submits an issue: its title and its visible text, with its labels. The project has the forge of the issue.
    pub async fn submit_issue(
        &self,
        caller: &Caller,
        body: SubmitIssue,
    ) -> Result<RequestView, RequestError> {
        let (row, number) = self.find_issue_forge(caller, &body).await?;
        let connection = self.forges.connect_to(row).await?;
        let issue = connection.forge.read_issue_text(&connection.repository, number).await?;
        self.submit_read_issue(caller, &connection, issue, body).await
    }

    /// Submits an issue that was read.
    pub(super) async fn submit_read_issue(
        &self,
        caller: &Caller,
        connection: &ForgeConnection,
        issue: Issue,
        body: SubmitIssue,
    ) -> Result<RequestView, RequestError> {
        if issue.kind == ItemKind::PullRequest {
            let fault = format!("{} is a pull request: name an issue", issue.url);
            return Err(RequestError::Invalid(vec![fault]));
        }
        if issue.state == IssueState::Closed && !body.force {
            let fault = format!("{} is closed: open it again, or use --force", issue.url);
            return Err(RequestError::Invalid(vec![fault]));
        }
        let row = &connection.row;
        let is_short = |label: &String| label.len() <= MAX_LABEL_BYTES;
        let submission = SubmitRequest {
            text: issue_text(&issue),
            origin: Some(RequestOrigin::Issue),
            reference: Some(issue.url.clone()),
            labels: issue
                .labels
                .iter()
                .filter(|it| is_short(it))
                .take(MAX_LABELS)
                .cloned()
                .collect(),
            is_brief: false,
            repository: Some(self.issue_repository(row).await?),
            project_repository: None,
            project: Some(row.project.to_string()),
            profile: None,
            name: body.name,
            settings: body.settings,
            kind: None,
            scope: None,
            force: body.force,
            idempotency_key: body.idempotency_key,
        };
        let view = self.submit(caller, submission).await?;
        if row.settings.comments_on_issues {
            self.comment_on_issue(connection, issue.number, &view).await;
        }
        Ok(view)
    }

    /// The repository of the forge, with the branch and the credential of the project if it is that of the project.
    async fn issue_repository(&self, row: &ProjectForge) -> Result<TaskRepository, RequestError> {
        let (project, url) = (row.project, row.repository.clone());
        let of_project = self.store.read(move |tx| {
            Box::pin(async move {
                let project = tx.project_get(project).await?;
                let repository = project.and_then(|project| project.repository);
                Ok::<_, RequestError>(repository.filter(|repository| repository.url == url))
            })
        });
        let of_project = of_project.await?;
        let default_branch = of_project.as_ref().and_then(|it| it.default_branch.clone());
        Ok(TaskRepository {
            url: row.repository.clone(),
            base_branch: row.settings.base_branch.clone().or(default_branch),
            branch: None,
            commit_subject: None,
            credential: of_project.and_then(|repository| repository.credential),
        })
    }

    /// Says once on the issue that it was accepted. The request does not depend on it.
    async fn comment_on_issue(
        &self,
        connection: &ForgeConnection,
        number: u64,
        view: &RequestView,
    ) {
        let ForgeConnection { forge, repository, .. } = connection;
        let Some(marker) =
            cynode_forge::CommentMarker::new(&format!("request/{}/accepted", view.id))
        else {
            return;
        };
        let text = format!("Accepted as request `{}`.", view.name);
        let written =
            forge.ensure_comment(repository, ItemKind::Issue, number, &marker, &text).await;
        if let Err(error) = written {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, task.id = %view.id, "issue not commented");
        }
    }

    /// The forge of the project that has the issue, and the number of the issue.
    async fn find_issue_forge(
        &self,
        caller: &Caller,
        body: &SubmitIssue,
    ) -> Result<(ProjectForge, u64), RequestError> {
        let rows = self.forges_of(caller, body.project.as_deref()).await?;
        let known: Vec<ForgeInstance> =
            rows.iter().map(|row| instance(&row.settings)).collect::<Result<_, _>>()?;
        let ItemAddress { repository, kind, number } = parse_item(&body.issue, &known)?;
        if kind == ItemKind::PullRequest {
            let fault = format!("{} is a pull request: name an issue", body.issue.trim());
            return Err(RequestError::Invalid(vec![fault]));
        }
        let path = repository.path.to_string();
        let is_it = |row: &ProjectForge| {
            instance(&row.settings).is_ok_and(|known| known == repository.instance)
                && row.settings.path.eq_ignore_ascii_case(&path)
        };
        let found = rows.into_iter().find(is_it);
        let url = repository.instance.repository_url(&repository.path);
        Ok((found.ok_or(RequestError::NoForge { repository: url })?, number))
    }

    async fn forges_of(
        &self,
        caller: &Caller,
        project: Option<&str>,
    ) -> Result<Vec<ProjectForge>, RequestError> {
        let project = self.find_project_id(caller, project).await?;
        let rows = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.forge_list(project).await?) })
        });
        rows.await
    }

    /// The project that a submission names, or the default one.
    pub(crate) async fn find_project_id(
        &self,
        caller: &Caller,
        project: Option<&str>,
    ) -> Result<ProjectId, RequestError> {
        let name = project.map(NameOrId::from);
        resolve_project(&self.store, caller, name.as_ref(), self.clock.now()).await
    }
}

/// Title and text of an issue, without what its page does not show.
fn issue_text(issue: &Issue) -> String {
    let body = strip_html_comments(&issue.body);
    format!("{}\n\n{}", issue.title, body.trim()).trim().to_owned()
}
