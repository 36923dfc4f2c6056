//! Handles submitted and reviewed work: approves it, sends it back, or escalates it to a person.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::agent::InstructionKind;
use cynode_domain::report::{CompletedWork, ReviewFeedback, ReviewIssue, Verdict};
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::work::{MAX_REVISIONS, UnitKind};
use cynode_domain::work_kind::WorkScope;
use cynode_wire::tool_calls::{ArtifactGet, ToolCall as _};
use cynode_wire::work::{SubmitWork, WorkUnitView};
use serde_json::{Value, json};

use super::ReportContext;
use crate::HandoffAgentError;
use crate::brain::decisions::{
    ArtifactIssue, ArtifactReview, CapAction, IssueWeight, ReviewArtifact, ReviewCapExceeded,
    ReviewVerdict, TestsNeeded, ToolCheck,
};
use crate::context::untrusted;
use crate::tools;

const RUN_TESTS: &str =
    "Run the tests of what you changed, and report tests_passed or tests_failed.";

impl ReportContext {
    /// Reviews work that an agent reports as done.
    pub(super) async fn review_completed_work(
        &mut self,
        done: &CompletedWork,
    ) -> Result<String, HandoffAgentError> {
        let unit = match &done.work_unit_id {
            Some(id) => self.load_unit(id).await?,
            None => None,
        };
        if let Some(unit) = unit.as_ref().filter(|unit| unit.status != Status::Submitted) {
            return self.request_submission(unit).await;
        }
        let name = unit.as_ref().map_or("its work", |unit| &unit.work_unit_id).to_owned();
        let question = ReviewArtifact {
            unit: name.clone(),
            criteria: self.criteria(),
            artifact: self.submitted_text(done).await?,
            checks: self.passed_checks(),
        };
        let review = self.work.decide(&question).await?;
        let words = untrusted::inline(&review.notes);
        match review.verdict {
            ReviewVerdict::Approve => {
                let next = self.accept_work(unit.as_ref(), &review, done).await?;
                Ok(format!("{name} is accepted: {words}{next}"))
            }
            ReviewVerdict::Revise => {
                let from = self.from.clone();
                self.send_back(unit.as_ref(), &from, &to_feedback(review)).await
            }
            ReviewVerdict::Later => {
                if unit.is_some() {
                    self.needs_person = Some(format!("{name} needs a review"));
                }
                Ok(format!("{name} stays submitted: {words}"))
            }
        }
    }

    /// Handles a unit that is reported as done and was not submitted.
    async fn request_submission(
        &mut self,
        unit: &WorkUnitView,
    ) -> Result<String, HandoffAgentError> {
        let id = &unit.work_unit_id;
        let is_begun = matches!(unit.status, Status::Assigned | Status::InProgress);
        if !is_begun {
            return Ok(format!("{id} is {} already", unit.status.as_str()));
        }
        let words = format!("Submit {id} with {}, so that it can be reviewed.", SubmitWork::NAME);
        self.instruct(&self.from, InstructionKind::Continue, &words, json!({ "work_unit_id": id }))
            .await?;
        Ok(format!("instructed {} to submit {id}", self.from))
    }

    /// The acceptance criteria of the task; the request if there are none.
    pub(super) fn criteria(&self) -> Vec<String> {
        let all = &self.task.acceptance_criteria;
        if all.is_empty() {
            return vec![format!("It does what was asked for: {}", self.task.prompt)];
        }
        all.iter().map(|criterion| json!(criterion).to_string()).collect()
    }

    /// The submitted work: the agent's summary and its artifact.
    async fn submitted_text(&self, done: &CompletedWork) -> Result<String, HandoffAgentError> {
        let mut text = done.summary.clone();
        if !done.files_modified.is_empty() {
            text = format!("{text}\n\nFiles changed:\n{}", done.files_modified.join("\n"));
        }
        let Some(path) = &done.artifact_path else { return Ok(text) };
        let call = ArtifactGet::whole_file(self.task.id, path.clone());
        let file: Result<Value, HandoffAgentError> =
            tools::call_tool(self.work.tools.as_ref(), &call).await;
        let bytes = match file {
            Ok(file) => {
                STANDARD.decode(file["content_bytes_base64"].as_str().unwrap_or_default()).ok()
            }
            // A missing or too large file is reviewed by its summary.
            Err(HandoffAgentError::Tool { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(match bytes {
            Some(bytes) => format!("{text}\n\n{path}:\n{}", String::from_utf8_lossy(&bytes)),
            None => format!("{text}\n\n{path} is not among the files of the task."),
        })
    }

    fn passed_checks(&self) -> Vec<ToolCheck> {
        let tests = |passed| ToolCheck { name: "tests".to_owned(), passed };
        // Failed tests may predate this revision, so only passed tests count.
        self.newest_test_result().filter(|passed| *passed).map(tests).into_iter().collect()
    }

    async fn accept_work(
        &mut self,
        unit: Option<&WorkUnitView>,
        review: &ArtifactReview,
        done: &CompletedWork,
    ) -> Result<String, HandoffAgentError> {
        if let Some(unit) = unit {
            self.approve(&unit.work_unit_id, issue_notes(&review.issues)).await?;
            if unit.kind != UnitKind::Implementation
                || self.load_component_unit("test").await?.is_some()
            {
                return Ok(String::new());
            }
        }
        let from = self.from.clone();
        self.request_tests(&from, &done.files_modified).await
    }

    /// Instructs a role to run the tests, if they must pass first.
    async fn request_tests(
        &mut self,
        to: &str,
        changed: &[String],
    ) -> Result<String, HandoffAgentError> {
        if self.newest_test_result() == Some(true) {
            return Ok("; its tests pass".to_owned());
        }
        let question = TestsNeeded {
            scope: if changed.len() > 1 { WorkScope::Medium } else { WorkScope::Small },
            changed: changed.to_vec(),
            require_tests_pass: self.require_tests,
            // Nothing indicates that there are none.
            has_tests: true,
        };
        let tests = self.work.decide(&question).await?;
        if !tests.needed {
            return Ok(format!("; no tests: {}", untrusted::inline(&tests.reason)));
        }
        self.instruct(to, InstructionKind::Continue, RUN_TESTS, json!({})).await?;
        Ok(format!("; instructed {to} to run the tests"))
    }

    /// Sends work back for the changes that a reviewer requests, up to the revision limit.
    pub(super) async fn handle_changes_requested(
        &mut self,
        review: &ReviewFeedback,
    ) -> Result<String, HandoffAgentError> {
        let can_go_back = |unit: &WorkUnitView| {
            matches!(unit.status, Status::Submitted | Status::Approved | Status::Routed)
        };
        let unit = self.load_component_unit("impl").await?;
        if let Some(unit) = unit.filter(can_go_back) {
            let role = unit.assigned_role.clone();
            return self.send_back(Some(&unit), &role, review).await;
        }
        if let Some(owner) = self.choose_owner(&review.summary).await? {
            return self.send_back(None, &owner, review).await;
        }
        self.needs_person = Some("changes are requested, and no agent can make them".to_owned());
        Ok(format!("{} requests changes, and no agent can make them", self.from))
    }

    /// Handles an approval: closes the reviewer's unit and requests the tests.
    pub(super) async fn handle_approval(
        &mut self,
        review: &ReviewFeedback,
    ) -> Result<String, HandoffAgentError> {
        let closed =
            self.approve_submitted("review", issue_notes(&weighted_issues(review))).await?;
        let words = format!("{} approved: {}", self.from, untrusted::inline(&review.summary));
        if self.load_component_unit("test").await?.is_some() {
            return Ok(format!("{words}{closed}"));
        }
        let changed = self.component_reports(&["work_completed"]).next();
        let changed = changed.map(|message| message["payload"]["filesModified"].clone());
        let changed: Vec<String> =
            changed.and_then(|files| serde_json::from_value(files).ok()).unwrap_or_default();
        let tests = match self.choose_owner(&review.summary).await? {
            Some(owner) => self.request_tests(&owner, &changed).await?,
            None => String::new(),
        };
        Ok(format!("{words}{closed}{tests}"))
    }

    /// Sends work back to the role that did it, unless the revision limit is reached.
    async fn send_back(
        &mut self,
        unit: Option<&WorkUnitView>,
        to: &str,
        review: &ReviewFeedback,
    ) -> Result<String, HandoffAgentError> {
        let rounds = unit.map_or_else(|| self.revision_count(to), |unit| unit.revision_count);
        if rounds >= MAX_REVISIONS {
            return self.handle_revision_limit(unit, to, rounds, review).await;
        }
        if let Some(unit) = unit {
            // The orchestrator instructs the assigned role with the decision.
            self.send_back_unit(&unit.work_unit_id, review).await?;
        } else {
            let words = "Fix what the review found, and nothing else.";
            let context = json!({ "feedback": review.clone().without_minor() });
            self.instruct(to, InstructionKind::Revise, words, context).await?;
        }
        Ok(format!("instructed {to} to revise: {}", untrusted::inline(&review.summary)))
    }

    /// Handles the revision limit: the work continues with notes, or a person decides.
    async fn handle_revision_limit(
        &mut self,
        unit: Option<&WorkUnitView>,
        to: &str,
        rounds: u32,
        review: &ReviewFeedback,
    ) -> Result<String, HandoffAgentError> {
        let name = unit.map_or("its work", |unit| &unit.work_unit_id);
        let open_issues = weighted_issues(review);
        let tests_pass = self.newest_test_result().unwrap_or(!self.require_tests);
        let notes = issue_notes(&open_issues);
        let unit_name = name.to_owned();
        let question = ReviewCapExceeded { unit: unit_name, rounds, open_issues, tests_pass };
        let decided = self.work.decide(&question).await?;
        let reason = untrusted::inline(&decided.reason);
        if decided.action == CapAction::Escalate {
            let words = "Wait: a person decides about the findings of the review.";
            let context = json!({ "feedback": review.clone().without_minor() });
            self.instruct(to, InstructionKind::Pause, words, context).await?;
            self.needs_person = Some(format!("{name} was sent back {rounds} times: {reason}"));
            return Ok(format!("{to} waits for a person: {reason}"));
        }
        if let Some(unit) = unit {
            self.approve(&unit.work_unit_id, notes).await?;
        } else {
            let words = "Continue; the findings of the review are noted.";
            let context = json!({ "notes": notes });
            self.instruct(to, InstructionKind::Continue, words, context).await?;
        }
        Ok(format!("{name} continues with notes: {reason}"))
    }
}

/// Converts a review to the feedback for the agent.
fn to_feedback(review: ArtifactReview) -> ReviewFeedback {
    let of = |weight: IssueWeight| -> Vec<ReviewIssue> {
        let issues = review.issues.iter().filter(|issue| issue.weight == weight);
        let told = |issue: &ArtifactIssue| ReviewIssue {
            description: issue.problem.clone(),
            file_location: issue.location.clone(),
            how_to_fix: issue.fix.clone(),
        };
        issues.map(told).collect()
    };
    ReviewFeedback {
        verdict: Verdict::ChangesRequested,
        critical_issues: of(IssueWeight::Critical),
        major_issues: of(IssueWeight::Major),
        minor_issues: of(IssueWeight::Minor),
        summary: review.notes,
    }
}

/// The issues of a review, with their weight.
fn weighted_issues(review: &ReviewFeedback) -> Vec<ArtifactIssue> {
    let of = |weight, issues: &[ReviewIssue]| -> Vec<ArtifactIssue> {
        let issue = |issue: &ReviewIssue| ArtifactIssue {
            weight,
            location: issue.file_location.clone(),
            problem: issue.description.clone(),
            fix: issue.how_to_fix.clone(),
        };
        issues.iter().map(issue).collect()
    };
    [
        of(IssueWeight::Critical, &review.critical_issues),
        of(IssueWeight::Major, &review.major_issues),
        of(IssueWeight::Minor, &review.minor_issues),
    ]
    .concat()
}

/// Renders issues as notes for the agents that continue.
fn issue_notes(issues: &[ArtifactIssue]) -> Option<String> {
    let lines: Vec<String> =
        issues.iter().map(|issue| format!("{}: {}", issue.location, issue.problem)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
