//! A further round on the branch of a pull request: an agent works on the comments of people and the failed checks.

use cynode_domain::work::UnitKind;
use cynode_execution::artifacts::DiffScope;
use cynode_resources::Caller;
use cynode_store::{AttemptStatus, WorkUnit};
use serde_json::json;

use super::Step;
use super::conclude::message;
use super::sources::{AttemptSource, blocking_finding};
use crate::RequestError;
use crate::snapshot::{INTEGRATE, REVISE, is_done};

/// The most characters of each comment that the reply of a round repeats.
const MAX_REPLY_CHARS: usize = 200;

impl Step<'_> {
    /// Starts an attempt at the comments of the present round, on top of what was delivered.
    pub(super) async fn start_revision(self) -> Result<(), RequestError> {
        let context = self.context()?;
        if let Some(problem) = self.budget_problem(REVISE).await? {
            return self.ask_about_budget(REVISE, problem).await;
        }
        let unit = self.revision_unit()?;
        let assignment = self.assign(&unit, &context).await?;
        if let Some(why) = self.find_missing_agent(&unit, &assignment).await? {
            return self.ask_without_agent(&unit, why).await;
        }
        let owner = self.owner().await?;
        let builds_on = self.revision_sources(&owner).await?;
        let background = self.find_background(&unit).await?;
        let request = self.unit_request(&unit, &context, &assignment, builds_on, background);
        self.create_child(REVISE, request).await
    }

    /// The round as a unit: it is no part of the plan, whose units are completed.
    fn revision_unit(&self) -> Result<WorkUnit, RequestError> {
        let is_code = |unit: &&WorkUnit| unit.kind == UnitKind::Implementation;
        let found = self.board()?.units().iter().find(is_code).cloned();
        let found = found.ok_or_else(|| {
            RequestError::Invalid(vec!["the plan has no implementation to revise".to_owned()])
        })?;
        Ok(WorkUnit { id: REVISE.to_owned(), revision_count: 0, revision_feedback: None, ..found })
    }

    /// The delivered result, or what the failed attempts at this round made of it.
    async fn revision_sources(&self, owner: &Caller) -> Result<Vec<String>, RequestError> {
        let delivered = self.snapshot.accepted_attempt(INTEGRATE);
        let failed = self.snapshot.attempts_at(REVISE).filter(|attempt| {
            let sequence = attempt.attempt.sequence;
            !is_done(attempt) && delivered.is_none_or(|known| sequence > known.attempt.sequence)
        });
        let mut failed: Vec<AttemptSource> = failed.map(AttemptSource::from_attempt).collect();
        failed.reverse();
        if let Some(found) = self.newest_changes(owner, failed).await? {
            return Ok(vec![found]);
        }
        self.with_changes(owner, delivered.map(AttemptSource::from_accepted).into_iter().collect())
            .await
    }

    /// The comments on the pull request, for the prompt of the agent of a unit.
    pub(super) fn list_comments(&self, unit: &str) -> Vec<String> {
        if unit != REVISE {
            return vec![];
        }
        let findings = self.snapshot.request.state.people_review.findings.iter();
        let line =
            |place: &str| if place.is_empty() { String::new() } else { format!("{place}, ") };
        findings
            .map(|found| format!("{}{}: {}", line(&found.location), found.author, found.text))
            .collect()
    }

    /// Checks the changes of the round like those of any unit; then they are merged, tested and pushed.
    pub(super) async fn conclude_revision(
        mut self,
        attempt: &AttemptStatus,
    ) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let diff = self.read_changes(&owner, attempt.attempt.child, DiffScope::All).await?;
        if let Some(finding) = diff.as_ref().and_then(blocking_finding) {
            let summary = format!("its changes must not be used: {finding}");
            let failed = AttemptStatus { summary: Some(summary), ..attempt.clone() };
            return self.fail_step(&failed).await;
        }
        let signs = self.find_open_signs(attempt.attempt.child, diff.as_ref());
        if !signs.is_empty() {
            return Box::pin(self.ask_about_step(attempt, diff.is_some(), signs)).await;
        }
        let short = |line: String| line.chars().take(MAX_REPLY_CHARS).collect::<String>();
        let mut reply: Vec<String> = self.list_comments(REVISE).into_iter().map(short).collect();
        reply.push(message(attempt));
        let state = &mut self.snapshot.request.state;
        state.unit_failures.remove(REVISE);
        state.people_review.findings.clear();
        state.people_review.reply = Some(reply.join("\n"));
        let outcome = json!({ "result": "done", "message": message(attempt) });
        self.finish_attempt(attempt, outcome).await
    }
}
