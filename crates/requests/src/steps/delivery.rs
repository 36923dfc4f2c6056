//! Delivery: the results are merged in the order of their dependencies, tested once more and pushed.

use std::sync::Arc;

use cynode_domain::criteria::Criterion;
use cynode_domain::git::BranchName;
use cynode_domain::ids::TaskId;
use cynode_domain::plan::InputMode;
use cynode_domain::request::Delivery;
use cynode_execution::artifacts::{ArtifactError, DiffScope};
use cynode_ops::work::WorkBoard;
use cynode_store::AttemptStatus;
use cynode_wire::git::{PushTask, TaskDiffView};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::Step;
use super::child::lost_claim;
use super::unit::is_source_kind;
use crate::RequestError;
use crate::snapshot::{INTEGRATE, MERGE, PUSH, is_done};

/// Removes what the tests left in the checkout.
const DISCARD_OUTPUT: &str =
    "if command -v git > /dev/null; then git reset -q --hard && git clean -fdq; fi";
/// The command of a project without tests.
const NOTHING_TO_TEST: &str = "true";

impl Step<'_> {
    /// Merges all results into one checkout, and runs the tests of the project in it.
    pub(super) async fn start_integration(self) -> Result<(), RequestError> {
        let context = self.context()?;
        let owner = self.owner().await?;
        let resolved = self.snapshot.newest_attempt(MERGE).filter(|merge| is_done(merge));
        let children = match resolved {
            Some(merge) => vec![merge.attempt.child],
            None => self.results(),
        };
        let builds_on = self.with_changes(&owner, children).await?;
        let is_tested = self.snapshot.request.settings.require_tests_pass;
        let mut commands = context.test_commands.clone();
        if commands.is_empty() || !is_tested {
            commands = vec![NOTHING_TO_TEST.to_owned()];
        }
        // What the tests leave in the checkout is not delivered.
        commands.push(DISCARD_OUTPUT.to_owned());
        let request = CreateTask {
            input_mode: InputMode::Commands,
            commands,
            builds_on,
            retry_interrupted: true,
            ..self.child_request(INTEGRATE)
        };
        self.create_child(INTEGRATE, request).await
    }

    /// Has an agent resolve the conflicts between results.
    pub(super) async fn start_merge(self) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let builds_on = self.with_changes(&owner, self.results()).await?;
        let prompt = "# Resolve merge conflicts\n\nThe changes of several work units were merged into the working directory. Files with conflicts contain markers (`<<<<<<<`, `=======`, `>>>>>>>`). Resolve every conflict so that both changes are kept, and leave no marker. Change nothing else.\n";
        let no_markers = "git grep --untracked -nE '^(<<<<<<<|>>>>>>>) '; test $? -eq 1";
        let request = CreateTask {
            input_mode: InputMode::Agent,
            prompt: prompt.to_owned(),
            acceptance_criteria: vec![Criterion::CommandSucceeds {
                command: no_markers.to_owned(),
            }],
            builds_on,
            mark_conflicts: true,
            agent: self.snapshot.request.settings.agent.clone(),
            ..self.child_request(MERGE)
        };
        self.create_child(MERGE, request).await
    }

    /// The accepted attempts, in the order of the plan.
    fn results(&self) -> Vec<TaskId> {
        let units = self.snapshot.board.as_ref().map(WorkBoard::units).unwrap_or_default();
        units
            .iter()
            .filter(|unit| is_source_kind(unit.kind))
            .filter_map(|unit| self.snapshot.accepted_attempt(&unit.id))
            .map(|attempt| attempt.attempt.child)
            .collect()
    }

    /// Remembers what is delivered.
    pub(super) async fn conclude_integration(
        mut self,
        attempt: &AttemptStatus,
    ) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let child = attempt.attempt.child;
        let own = self.read_changes(&owner, child, DiffScope::Own).await?;
        if let Some(file) = own.as_ref().and_then(|own| own.changes.files.first()) {
            let summary = format!("the tests changed {}, which no agent reviewed", file.path);
            let failed = AttemptStatus { summary: Some(summary), ..attempt.clone() };
            return self.fail_step(&failed).await;
        }
        let diff = self.read_changes(&owner, child, DiffScope::All).await?;
        let has_changed = |diff: &TaskDiffView| diff.changes.head != diff.changes.base;
        let is_missing = !diff.as_ref().is_some_and(has_changed);
        if is_missing && !self.with_changes(&owner, self.results()).await?.is_empty() {
            let summary = "the merged changes were not collected".to_owned();
            let failed = AttemptStatus { summary: Some(summary), ..attempt.clone() };
            return self.fail_step(&failed).await;
        }
        let head = diff
            .filter(|diff| diff.changes.head != diff.changes.base)
            .map(|diff| diff.changes.head);
        let branch = self.delivery_branch()?;
        self.snapshot.request.state.delivery =
            Some(Delivery { branch, head, is_pushed: false, pull_request: None });
        self.snapshot.request.state.unit_failures.remove(INTEGRATE);
        self.finish_attempt(attempt, json!({ "result": "done" })).await
    }

    /// The branch that the request names, or one after its name.
    fn delivery_branch(&self) -> Result<BranchName, RequestError> {
        let task = &self.snapshot.task.spec;
        let named =
            task.options.repository.as_ref().and_then(|repository| repository.branch.clone());
        match named {
            Some(branch) => Ok(branch),
            None => format!("cynode/{}", task.name).parse().map_err(|_| {
                RequestError::Invalid(vec![format!("cynode/{} is no branch name", task.name)])
            }),
        }
    }

    pub(super) async fn start_push(self) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let integrated =
            self.snapshot.newest_attempt(INTEGRATE).map(|attempt| attempt.attempt.child);
        let integrated = integrated
            .ok_or_else(|| RequestError::Invalid(vec!["nothing was merged".to_owned()]))?;
        let number = self.snapshot.next_number(PUSH);
        let request = PushTask {
            branch: Some(self.delivery_branch()?),
            replaces: None,
            approve_plan: false,
            task_name: Some(format!("{}-push-{number}", self.snapshot.task.spec.name)),
            idempotency_key: None,
        };
        let service = self.service;
        let hook = Arc::new(self.into_hook(PUSH));
        let pushed = service
            .tasks
            .push_with_hook(&service.artifacts, &owner, &integrated.into(), request, Some(hook))
            .await;
        match pushed {
            Ok(_) => Ok(()),
            Err(ArtifactError::Task(error)) => Err(lost_claim(error)),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn conclude_push(
        mut self,
        attempt: &AttemptStatus,
    ) -> Result<(), RequestError> {
        if let Some(delivery) = &mut self.snapshot.request.state.delivery {
            delivery.is_pushed = true;
        }
        self.snapshot.request.state.unit_failures.remove(PUSH);
        self.finish_attempt(attempt, json!({ "result": "done" })).await
    }
}
