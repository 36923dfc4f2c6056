//! Pushes of collected changes: a task of its own, whose only step a worker node executes with its broker.

use std::sync::Arc;

use cynode_domain::criteria::Criterion;
use cynode_domain::git::{PushOrder, Transport};
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::plan::InputMode;
use cynode_resources::Caller;
use cynode_wire::git::{GitSeverity, PushTask, TaskDiffView};
use cynode_wire::tasks::{CreateTask, TaskView};

use super::{CreationHook, TaskError, TaskService};
use crate::artifacts::{ArtifactError, ArtifactService, DiffScope};

/// How many findings an error lists.
const SHOWN_FINDINGS: usize = 10;

impl TaskService {
    /// Creates the task that pushes the newest changes of a task, in the profile of that task. Findings that block are an
    /// error; findings that need a review make the new task wait for a person's approval.
    pub async fn push(
        &self,
        artifacts: &ArtifactService,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        request: PushTask,
    ) -> Result<TaskView, ArtifactError> {
        self.push_with_hook(artifacts, caller, task, request, None).await
    }

    /// As [`Self::push`], together with what a hook writes.
    pub async fn push_with_hook(
        &self,
        artifacts: &ArtifactService,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        request: PushTask,
        hook: Option<Arc<dyn CreationHook>>,
    ) -> Result<TaskView, ArtifactError> {
        self.find_own(caller, task).await?;
        let diff = artifacts.diff(caller, task, DiffScope::Own, 0).await?;
        let source = self.get(caller, task).await?;
        if let Some(blocking) = describe_findings(&diff, GitSeverity::Block) {
            return Err(ArtifactError::PushBlocked(blocking));
        }
        if diff.changes.head == diff.changes.base {
            return Err(ArtifactError::NoChanges(format!(
                "task \"{}\" changed nothing in its repository: there is nothing to push",
                source.task_name
            )));
        }
        let review = describe_findings(&diff, GitSeverity::Review);
        let order = PushOrder {
            source_task: source.id,
            source_job: diff.job_id,
            base: diff.changes.base.clone(),
            head: diff.changes.head.clone(),
            source_branch: diff.changes.branch.clone(),
            branch: request.branch.clone().unwrap_or_else(|| diff.changes.branch.clone()),
            replaces: request.replaces.clone(),
            is_reviewed: request.approve_plan || review.is_some(),
        };
        let mut created = push_request(&source, &diff, &order, request, review.as_deref());
        created.node = self.push_node(&source, &diff).await?;
        Ok(self.create_push(caller, created, order, hook).await?)
    }

    /// The node that has a repository which is a path; otherwise the node of the source task.
    async fn push_node(
        &self,
        source: &TaskView,
        diff: &TaskDiffView,
    ) -> Result<Option<String>, TaskError> {
        if diff.changes.url.transport() != Transport::Local {
            return Ok(source.node.clone());
        }
        Ok(self.node_of_task(source.id).await?.map(|node| node.to_string()))
    }
}

/// Findings of this severity or a higher one, for people; `None` if there are none.
pub(super) fn describe_findings(diff: &TaskDiffView, severity: GitSeverity) -> Option<String> {
    let found = diff.changes.findings.iter().filter(|finding| finding.severity >= severity);
    let found: Vec<String> = found
        .take(SHOWN_FINDINGS)
        .map(|finding| match &finding.path {
            Some(path) => format!("{path}: {}", finding.message),
            None => finding.message.clone(),
        })
        .collect();
    (!found.is_empty()).then(|| found.join("; "))
}

fn push_request(
    source: &TaskView,
    diff: &TaskDiffView,
    order: &PushOrder,
    request: PushTask,
    review: Option<&str>,
) -> CreateTask {
    let mut repository = source.repository.clone();
    if let Some(repository) = &mut repository {
        repository.branch = Some(order.branch.clone());
    }
    CreateTask {
        input_mode: InputMode::Commands,
        commands: vec![describe_push(source, diff, order, review)],
        task_name: Some(request.task_name.unwrap_or_else(|| format!("push-{}", source.task_name))),
        project: Some(source.project_id.to_string()),
        // The log of a push names what the source task changed: agents of other profiles must not reach it.
        profile: source.profile_id.map(|profile| profile.to_string()),
        acceptance_criteria: vec![Criterion::exact_output(&order.success_line())],
        repository,
        // A push that was interrupted is repeated: it compares the branch first.
        retry_interrupted: true,
        approve_plan: order.is_reviewed,
        idempotency_key: request.idempotency_key,
        ..CreateTask::default()
    }
}

/// The push as a command line, for people who approve it or read its history. No process runs it: see [`PushOrder`].
fn describe_push(
    source: &TaskView,
    diff: &TaskDiffView,
    order: &PushOrder,
    review: Option<&str>,
) -> String {
    let (url, head, branch) = (&diff.changes.url, &order.head, &order.branch);
    let force = order.replaces.as_ref().map_or_else(String::new, |replaced| {
        format!("--force-with-lease=refs/heads/{branch}:{replaced} ")
    });
    let mut line = format!("git push {force}{url} {head}:refs/heads/{branch}");
    let mut remark = format!(" # changes of task {}", source.task_name);
    if let Some(review) = review {
        remark = format!("{remark}; needs a review: {review}");
    }
    // One line, whatever a path contains.
    line.extend(remark.chars().map(|letter| if letter.is_control() { ' ' } else { letter }));
    line
}
