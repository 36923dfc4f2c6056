//! Delivery: the results are merged in the order of their dependencies, tested once more and pushed.

use std::sync::Arc;

use cynode_domain::criteria::Criterion;
use cynode_domain::git::BranchName;
use cynode_domain::plan::InputMode;
use cynode_domain::request::Delivery;
use cynode_execution::artifacts::{ArtifactError, DiffScope};
use cynode_planning::prompt::render_correction;
use cynode_store::AttemptStatus;
use cynode_wire::git::{PushTask, TaskDiffView};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::Step;
use super::child::lost_claim;
use super::sources::AttemptSource;
use crate::RequestError;
use crate::snapshot::{INTEGRATE, MERGE, PUSH, REVISE, is_done};

/// Removes what the tests left in the checkout.
const DISCARD_OUTPUT: &str =
    "if command -v git > /dev/null; then git reset -q --hard && git clean -fdq; fi";
/// The command of a project without tests.
const NOTHING_TO_TEST: &str = "true";
/// Fails if a file has a conflict marker.
pub(super) const NO_MARKERS: &str = "git grep --untracked -nE '^(<<<<<<<|>>>>>>>) '; test $? -eq 1";
const RESOLVE_CONFLICTS: &str = "# Resolve merge conflicts\n\nThe changes of several work units were merged into the working directory. Files with conflicts contain markers (`<<<<<<<`, `=======`, `>>>>>>>`). Resolve every conflict so that both changes are kept, and leave no marker. Change nothing else.\n";

impl Step<'_> {
    /// Merges all results into one checkout, and builds and tests the project in it.
    pub(super) async fn start_integration(self) -> Result<(), RequestError> {
        let context = self.context()?;
        let owner = self.owner().await?;
        let builds_on = self.with_changes(&owner, self.merged_sources()).await?;
        let is_tested = self.snapshot.request.settings.require_tests_pass;
        let mut commands = context.verification_commands();
        if commands.is_empty() || !is_tested {
            commands = vec![NOTHING_TO_TEST.to_owned()];
        }
        // What the build and the tests leave in the checkout is not delivered.
        commands.push(DISCARD_OUTPUT.to_owned());
        let request = CreateTask {
            input_mode: InputMode::Commands,
            commands,
            builds_on,
            ..self.child_request(INTEGRATE)
        };
        self.create_child(INTEGRATE, request).await
    }

    /// Has an agent resolve the conflicts between results.
    pub(super) async fn start_merge(self) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        if let Some(problem) = self.budget_problem(MERGE).await? {
            return self.ask_about_budget(MERGE, problem).await;
        }
        let feedback = self.snapshot.request.state.fix.feedback.clone();
        let sources = match feedback {
            Some(_) => self.merged_sources(),
            None => self.snapshot.results(),
        };
        let builds_on = self.with_changes(&owner, sources).await?;
        let is_corrected = feedback.is_some();
        let prompt = match feedback {
            Some(feedback) => render_correction(&feedback),
            None => RESOLVE_CONFLICTS.to_owned(),
        };
        let mut acceptance_criteria =
            vec![Criterion::CommandSucceeds { command: NO_MARKERS.to_owned() }];
        if is_corrected {
            let check = |command: &String| Criterion::CommandSucceeds { command: command.clone() };
            acceptance_criteria.extend(self.context()?.test_commands.iter().map(check));
        }
        let request = CreateTask {
            input_mode: InputMode::Agent,
            prompt,
            acceptance_criteria,
            builds_on,
            mark_conflicts: true,
            agent: self.snapshot.request.settings.agent.clone(),
            ..self.child_request(MERGE)
        };
        self.create_child(MERGE, request).await
    }

    /// What is delivered so far: what an agent made of the merged results, or the results.
    fn merged_sources(&self) -> Vec<AttemptSource> {
        let merged = self.snapshot.newest_attempt(MERGE).filter(|merge| is_done(merge));
        let revised = self.snapshot.accepted_attempt(REVISE);
        // Each builds on everything before it.
        let newest = merged.into_iter().chain(revised).max_by_key(|known| known.attempt.sequence);
        newest.map_or_else(
            || self.snapshot.results(),
            |newest| vec![AttemptSource::from_accepted(newest)],
        )
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
        if is_missing && !self.with_changes(&owner, self.snapshot.results()).await?.is_empty() {
            let summary = "the merged changes were not collected".to_owned();
            let failed = AttemptStatus { summary: Some(summary), ..attempt.clone() };
            return self.fail_step(&failed).await;
        }
        let head = diff
            .filter(|diff| diff.changes.head != diff.changes.base)
            .map(|diff| diff.changes.head);
        let branch = self.delivery_branch()?;
        let earlier = self.snapshot.request.state.delivery.take();
        self.snapshot.request.state.delivery = Some(Delivery {
            branch,
            head,
            is_pushed: false,
            pull_request: earlier.as_ref().and_then(|delivery| delivery.pull_request.clone()),
            pull_request_number: earlier.as_ref().and_then(|it| it.pull_request_number),
            is_ready: earlier.is_some_and(|delivery| delivery.is_ready),
        });
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
        let Some(step) = self.unless_pull_request_ended().await? else { return Ok(()) };
        step.start_push_of_result().await
    }

    async fn start_push_of_result(self) -> Result<(), RequestError> {
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
