//! Pushes of collected changes: a task of its own, whose only step a worker node executes with its broker.

use cynode_domain::criteria::Criterion;
use cynode_domain::git::PushOrder;
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::plan::InputMode;
use cynode_resources::Caller;
use cynode_wire::git::{GitSeverity, PushTask, TaskDiffView};
use cynode_wire::tasks::{CreateTask, TaskView};

use super::TaskService;
use crate::artifacts::{ArtifactError, ArtifactService};

/// How many findings an error lists.
const SHOWN_FINDINGS: usize = 10;

impl TaskService {
    /// Creates the task that pushes the newest changes of a task. Findings that block are an error; findings that
    /// need a review make the new task wait for a person's approval.
    pub async fn push(
        &self,
        artifacts: &ArtifactService,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        request: PushTask,
    ) -> Result<TaskView, ArtifactError> {
        let diff = artifacts.diff(caller, task, 0).await?;
        let source = self.get(caller, task).await?;
        check_findings(&diff, GitSeverity::Block)?;
        if diff.changes.head == diff.changes.base {
            return Err(ArtifactError::NoChanges(format!(
                "task \"{}\" changed nothing in its repository: there is nothing to push",
                source.task_name
            )));
        }
        let needs_review = check_findings(&diff, GitSeverity::Review).is_err();
        let order = push_order(&source, &diff, &request);
        let created = push_request(&source, &diff, &order, request, needs_review);
        Ok(self.create_push(caller, created, order).await?)
    }
}

/// Fails if there are findings of this severity or a higher one.
fn check_findings(diff: &TaskDiffView, severity: GitSeverity) -> Result<(), ArtifactError> {
    let found = diff.changes.findings.iter().filter(|finding| finding.severity >= severity);
    let found: Vec<String> = found
        .take(SHOWN_FINDINGS)
        .map(|finding| match &finding.path {
            Some(path) => format!("{path}: {}", finding.message),
            None => finding.message.clone(),
        })
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(ArtifactError::PushBlocked(found.join("; ")))
}

fn push_order(source: &TaskView, diff: &TaskDiffView, request: &PushTask) -> PushOrder {
    PushOrder {
        source_task: source.id,
        source_job: diff.job_id,
        base: diff.changes.base.clone(),
        head: diff.changes.head.clone(),
        source_branch: diff.changes.branch.clone(),
        branch: request.branch.clone().unwrap_or_else(|| diff.changes.branch.clone()),
        replaces: request.replaces.clone(),
    }
}

fn push_request(
    source: &TaskView,
    diff: &TaskDiffView,
    order: &PushOrder,
    request: PushTask,
    needs_review: bool,
) -> CreateTask {
    let mut repository = source.repository.clone();
    if let Some(repository) = &mut repository {
        repository.branch = Some(order.branch.clone());
    }
    let force = if order.replaces.is_some() { "--force-with-lease " } else { "" };
    let (url, head, branch) = (&diff.changes.url, &order.head, &order.branch);
    let pattern = format!("^{}$", regex_escape(&order.success_line()));
    CreateTask {
        input_mode: InputMode::Commands,
        // What people see. The node does not run it: see `PushOrder`.
        commands: vec![format!("git push {force}{url} {head}:refs/heads/{branch}")],
        task_name: Some(request.task_name.unwrap_or_else(|| format!("push-{}", source.task_name))),
        project: Some(source.project_id.to_string()),
        acceptance_criteria: vec![Criterion::OutputMatches { pattern }],
        repository,
        // A push that was interrupted is repeated: it compares the branch first.
        retry_interrupted: true,
        approve_plan: request.approve_plan || needs_review,
        idempotency_key: request.idempotency_key,
        ..CreateTask::default()
    }
}

/// Escapes the characters of a branch name that mean something in a regular expression.
fn regex_escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use cynode_domain::criteria::output_matches;

    use super::*;

    #[test]
    fn every_branch_name_is_matched_literally() {
        for name in ["cynode/fix-1", "a+b(c)|$x", "fix#12", "a'b\"c<d>"] {
            let pattern = format!("^{}$", regex_escape(name));
            assert!(output_matches(&pattern, &format!("{name}\n")), "{pattern}");
            assert!(!output_matches(&pattern, "cynode/fixx1\n"));
        }
    }
}
