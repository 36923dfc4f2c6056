//! A pull request for the branch of a task that belongs to no request.

use cynode_domain::git::BranchName;
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_forge::{NewPullRequest, Readiness};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_wire::forges::{OpenPullRequest, OpenedPullRequest};

use super::ForgeConnection;
use crate::steps::fenced;
use crate::{RequestError, RequestService};

/// The longest title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The longest description.
const MAX_BODY_BYTES: usize = 16 * 1024;

impl RequestService {
    /// Opens a draft for the branch of a task, or finds the open pull request of that branch. A rule must allow it, and the
    /// branch must have been pushed.
    pub async fn open_pull_request(
        &self,
        caller: &Caller,
        task: TaskId,
        request: OpenPullRequest,
    ) -> Result<OpenedPullRequest, RequestError> {
        let title = request.title.redact_secrets();
        let body = request.body.redact_secrets();
        validate(&title, &body)?;
        let task: NameOrId<TaskId> = task.into();
        self.tasks.find_own(caller, &task).await?;
        let task = self.tasks.get(caller, &task).await?;
        let repository = task.repository.ok_or_else(|| {
            let name = &task.task_name;
            RequestError::Invalid(vec![format!(
                "task \"{name}\" has no repository: name a task that works on one"
            )])
        })?;
        let head = repository.branch.ok_or_else(|| {
            RequestError::Invalid(vec!["the task has no branch for its changes".to_owned()])
        })?;
        let (user, project) = (caller.user, task.project_id);
        self.forges.check_pull_requests((user, project), &repository.url).await?;
        let connection = self.forges.connect(project, &repository.url).await?;
        let ForgeConnection { forge, repository: path, row } = &connection;
        let named = repository.base_branch.or_else(|| row.settings.base_branch.clone());
        let base: BranchName = match named {
            Some(base) => base,
            None => forge.read_default_branch(path).await?,
        };
        let body =
            format!("Task `{}`, worked on by CyNode.\n\n{}\n", task.task_name, fenced(&body));
        let new = NewPullRequest { title, body, head, base, readiness: Readiness::Draft };
        let ensured = forge.ensure_pull_request(path, &new).await?;
        Ok(OpenedPullRequest {
            number: ensured.pull_request.number,
            url: ensured.pull_request.url,
            is_new: ensured.is_new,
            is_draft: ensured.pull_request.readiness == Readiness::Draft,
        })
    }
}

fn validate(title: &str, body: &str) -> Result<(), RequestError> {
    let mut faults = vec![];
    let is_line = !title.trim().is_empty() && !title.chars().any(char::is_control);
    if !is_line || title.chars().count() > MAX_TITLE_CHARS {
        faults.push(format!("title must be one line of 1 to {MAX_TITLE_CHARS} characters"));
    }
    if body.len() > MAX_BODY_BYTES {
        faults.push(format!("body is longer than {MAX_BODY_BYTES} bytes"));
    }
    if faults.is_empty() { Ok(()) } else { Err(RequestError::Invalid(faults)) }
}
