//! Work was handed in, or somebody has looked at it: it goes on, or back, or a person decides.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::agent::InstructionKind;
use cynode_domain::report::{ReviewFeedback, ReviewIssue, Verdict, WorkDone};
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::work::{MAX_REVISIONS, UnitKind};
use cynode_wire::work::WorkUnitView;
use serde_json::{Value, json};

use super::Matter;
use crate::AgentError;
use crate::brain::decisions::{
    CapAction, Issue, IssueWeight, Review, ReviewArtifact, ReviewCapExceeded, ReviewVerdict, Scope,
    TestsNeeded, ToolCheck,
};
use crate::context::untrusted;
use crate::tools;

const RUN_TESTS: &str =
    "Run the tests of what you changed, and report tests_passed or tests_failed.";

impl Matter {
    /// An agent says that its work is done: it is reviewed.
    pub(super) async fn completed(&mut self, done: &WorkDone) -> Result<String, AgentError> {
        let unit = match &done.work_unit_id {
            Some(id) => self.unit(id).await?,
            None => None,
        };
        if let Some(unit) = unit.as_ref().filter(|unit| unit.status != Status::Submitted) {
            return self.not_submitted(unit).await;
        }
        let name = unit.as_ref().map_or("its work", |unit| &unit.work_unit_id).to_owned();
        let question = ReviewArtifact {
            unit: name.clone(),
            criteria: self.criteria(),
            artifact: self.artifact(done).await?,
            checks: self.checks(),
        };
        let review = self.work.think(&question).await?;
        let words = untrusted::inline(&review.notes);
        match review.verdict {
            ReviewVerdict::Approve => {
                let next = self.accept(unit.as_ref(), &review, done).await?;
                Ok(format!("{name} is accepted: {words}{next}"))
            }
            ReviewVerdict::Revise => {
                let from = self.from.clone();
                self.send_back((unit.as_ref(), &from), &feedback(review)).await
            }
            ReviewVerdict::Later => {
                if unit.is_some() {
                    self.needs_person = Some(format!("{name} waits for a review"));
                }
                Ok(format!("{name} stays handed in: {words}"))
            }
        }
    }

    /// A unit that is said to be done and does not wait for a verdict.
    async fn not_submitted(&mut self, unit: &WorkUnitView) -> Result<String, AgentError> {
        let id = &unit.work_unit_id;
        let is_begun = matches!(unit.status, Status::Assigned | Status::InProgress);
        if !is_begun {
            return Ok(format!("{id} is {} already", unit.status.as_str()));
        }
        let words = format!("Hand {id} in with apmas_submit_work, so that it can be reviewed.");
        let to = (self.from.as_str(), InstructionKind::Continue);
        self.instruct(to, &words, json!({ "work_unit_id": id })).await?;
        Ok(format!("{} is told to hand {id} in", self.from))
    }

    /// What must be true of the work: what the task says, or what was asked for.
    pub(super) fn criteria(&self) -> Vec<String> {
        let all = &self.task.acceptance_criteria;
        if all.is_empty() {
            return vec![format!("It does what was asked for: {}", self.task.prompt)];
        }
        all.iter().map(|criterion| json!(criterion).to_string()).collect()
    }

    /// What was handed in: what the agent says of it, and the file that shows it.
    async fn artifact(&self, done: &WorkDone) -> Result<String, AgentError> {
        let mut text = done.summary.clone();
        if !done.files_modified.is_empty() {
            text = format!("{text}\n\nFiles changed:\n{}", done.files_modified.join("\n"));
        }
        let Some(path) = &done.artifact_path else { return Ok(text) };
        let arguments = json!({ "task_id": self.task.id, "path": path });
        let file: Result<Value, AgentError> =
            tools::call(self.work.tools.as_ref(), "artifact.get", arguments).await;
        let bytes = match file {
            Ok(file) => {
                STANDARD.decode(file["content_bytes_base64"].as_str().unwrap_or_default()).ok()
            }
            // A file that the task does not have, or that is too long, is reviewed by its summary.
            Err(AgentError::Tool { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(match bytes {
            Some(bytes) => format!("{text}\n\n{path}:\n{}", String::from_utf8_lossy(&bytes)),
            None => format!("{text}\n\n{path} is not among the files of the task."),
        })
    }

    fn checks(&self) -> Vec<ToolCheck> {
        let tests = |passed| ToolCheck { name: "tests".to_owned(), passed };
        // Tests that failed before the work was done again say nothing about it.
        self.tests_pass().filter(|passed| *passed).map(tests).into_iter().collect()
    }

    async fn accept(
        &mut self,
        unit: Option<&WorkUnitView>,
        review: &Review,
        done: &WorkDone,
    ) -> Result<String, AgentError> {
        if let Some(unit) = unit {
            self.approve(&unit.work_unit_id, noted(&review.issues)).await?;
            if unit.kind != UnitKind::Implementation || self.unit_of("test").await?.is_some() {
                return Ok(String::new());
            }
        }
        let from = self.from.clone();
        self.ask_for_tests(&from, &done.files_modified).await
    }

    /// Has the tests run that must pass before work goes on.
    async fn ask_for_tests(&mut self, to: &str, changed: &[String]) -> Result<String, AgentError> {
        if self.tests_pass() == Some(true) {
            return Ok("; its tests pass".to_owned());
        }
        let question = TestsNeeded {
            scope: if changed.len() > 1 { Scope::Medium } else { Scope::Small },
            changed: changed.to_vec(),
            require_tests_pass: self.require_tests,
            // Nobody has said that there are none.
            has_tests: true,
        };
        let tests = self.work.think(&question).await?;
        if !tests.needed {
            return Ok(format!("; no tests: {}", untrusted::inline(&tests.reason)));
        }
        self.instruct((to, InstructionKind::Continue), RUN_TESTS, json!({})).await?;
        Ok(format!("; {to} is told to run the tests"))
    }

    /// A reviewer wants changes: whoever did the work is told, as often as that may be.
    pub(super) async fn changes_requested(
        &mut self,
        review: &ReviewFeedback,
    ) -> Result<String, AgentError> {
        let can_go_back = |unit: &WorkUnitView| {
            matches!(unit.status, Status::Submitted | Status::Approved | Status::Routed)
        };
        let unit = self.unit_of("impl").await?;
        if let Some(unit) = unit.filter(can_go_back) {
            let role = unit.assigned_role.clone();
            return self.send_back((Some(&unit), &role), review).await;
        }
        if let Some(owner) = self.owner(&review.summary).await? {
            return self.send_back((None, &owner), review).await;
        }
        self.needs_person = Some("changes are wanted, and nobody is there".to_owned());
        Ok(format!("{} wants changes, and nobody is there to make them", self.from))
    }

    /// A reviewer agrees: its own unit is closed, and the tests are next.
    pub(super) async fn approved(&mut self, review: &ReviewFeedback) -> Result<String, AgentError> {
        let closed = self.close("review", noted(&issues(review))).await?;
        let words = format!("{} approved: {}", self.from, untrusted::inline(&review.summary));
        if self.unit_of("test").await?.is_some() {
            return Ok(format!("{words}{closed}"));
        }
        let changed = self.reports(&["work_completed"]).next();
        let changed = changed.map(|said| said["payload"]["filesModified"].clone());
        let changed: Vec<String> =
            changed.and_then(|files| serde_json::from_value(files).ok()).unwrap_or_default();
        let tests = match self.owner(&review.summary).await? {
            Some(owner) => self.ask_for_tests(&owner, &changed).await?,
            None => String::new(),
        };
        Ok(format!("{words}{closed}{tests}"))
    }

    /// Sends work back to whoever did it, unless it was sent back as often as it may be.
    async fn send_back(
        &mut self,
        (unit, to): (Option<&WorkUnitView>, &str),
        review: &ReviewFeedback,
    ) -> Result<String, AgentError> {
        let rounds = unit.map_or_else(|| self.rounds(to), |unit| unit.revision_count);
        if rounds >= MAX_REVISIONS {
            return self.at_the_cap((unit, to), rounds, review).await;
        }
        if let Some(unit) = unit {
            // Whoever did the unit is told with the decision.
            self.send_back_unit(&unit.work_unit_id, review).await?;
        } else {
            let words = "Mend what the review found, and nothing else.";
            let context = json!({ "feedback": review.clone().without_minor() });
            self.instruct((to, InstructionKind::Revise), words, context).await?;
        }
        Ok(format!("{to} is told to revise: {}", untrusted::inline(&review.summary)))
    }

    /// No further round: it goes on with notes, or a person decides.
    async fn at_the_cap(
        &mut self,
        (unit, to): (Option<&WorkUnitView>, &str),
        rounds: u32,
        review: &ReviewFeedback,
    ) -> Result<String, AgentError> {
        let name = unit.map_or("its work", |unit| &unit.work_unit_id);
        let open_issues = issues(review);
        let tests_pass = self.tests_pass().unwrap_or(!self.require_tests);
        let notes = noted(&open_issues);
        let unit_name = name.to_owned();
        let question = ReviewCapExceeded { unit: unit_name, rounds, open_issues, tests_pass };
        let decided = self.work.think(&question).await?;
        let reason = untrusted::inline(&decided.reason);
        if decided.action == CapAction::Escalate {
            let words = "Wait: a person decides what becomes of what the review found.";
            let context = json!({ "feedback": review });
            self.instruct((to, InstructionKind::Pause), words, context).await?;
            self.needs_person = Some(format!("{name} was sent back {rounds} times: {reason}"));
            return Ok(format!("{to} waits for a person: {reason}"));
        }
        if let Some(unit) = unit {
            self.approve(&unit.work_unit_id, notes).await?;
        } else {
            let words = "Go on; what the review found is noted.";
            let context = json!({ "notes": notes });
            self.instruct((to, InstructionKind::Continue), words, context).await?;
        }
        Ok(format!("{name} goes on with notes: {reason}"))
    }
}

/// A review as whoever did the work gets it.
fn feedback(review: Review) -> ReviewFeedback {
    let of = |weight: IssueWeight| -> Vec<ReviewIssue> {
        let issues = review.issues.iter().filter(|issue| issue.weight == weight);
        let told = |issue: &Issue| ReviewIssue {
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

/// What a reviewer found, with its weight.
fn issues(review: &ReviewFeedback) -> Vec<Issue> {
    let of = |weight, issues: &[ReviewIssue]| -> Vec<Issue> {
        let issue = |issue: &ReviewIssue| Issue {
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

/// Issues as a note for whoever goes on.
fn noted(issues: &[Issue]) -> Option<String> {
    let lines: Vec<String> =
        issues.iter().map(|issue| format!("{}: {}", issue.location, issue.problem)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
