//! Reports of agents to the project manager: eight types, each with its own payload.
//!
//! Deserialisation checks the shape of a [`AgentReport`]; [`AgentReport::validation_errors`] validates the rest: lengths, and
//! payloads that contradict their type. Payload fields are camelCase (`filesModified`,
//! `criticalIssues`).

use serde::{Deserialize, Serialize};

/// The longest text of an agent's message.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;
/// The longest line: a path, or an item of a list.
pub const MAX_LINE_BYTES: usize = 1024;
/// The most items of a list.
pub const MAX_ITEMS: usize = 200;

words! {
    /// The types of report.
    ReportKind("report type") {
        /// The work is done.
        WorkCompleted = "work_completed",
        /// The reviewer agrees.
        ReviewApproved = "review_approved",
        /// The reviewer wants changes.
        ReviewChangesRequested = "review_changes_requested",
        /// Every test passed.
        TestsPassed = "tests_passed",
        /// Some test failed.
        TestsFailed = "tests_failed",
        /// The agent is blocked.
        WorkBlocked = "work_blocked",
        /// The requirements are unclear.
        NeedsClarification = "needs_clarification",
        /// A person must decide.
        RequestHumanInput = "request_human_input",
    }

    /// A reviewer's decision.
    Verdict("verdict") {
        Approved = "approved",
        ChangesRequested = "changes_requested",
    }
}

/// A report with its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "messageType", content = "payload", rename_all = "snake_case")]
pub enum AgentReport {
    WorkCompleted(CompletedWork),
    ReviewApproved(ReviewFeedback),
    ReviewChangesRequested(ReviewFeedback),
    TestsPassed(TestResults),
    TestsFailed(TestResults),
    WorkBlocked(WorkBlocker),
    NeedsClarification(AgentQuestion),
    RequestHumanInput(AgentQuestion),
}

/// Completed work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompletedWork {
    #[serde(default)]
    pub files_modified: Vec<String>,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit_id: Option<String>,
}

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewFeedback {
    pub verdict: Verdict,
    /// Must be fixed.
    #[serde(default)]
    pub critical_issues: Vec<ReviewIssue>,
    /// Should be fixed.
    #[serde(default)]
    pub major_issues: Vec<ReviewIssue>,
    /// Optional; not forwarded to the agent that fixes the rest.
    #[serde(default)]
    pub minor_issues: Vec<ReviewIssue>,
    pub summary: String,
}

/// One issue of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewIssue {
    pub description: String,
    /// As `path:check_line`.
    #[serde(default)]
    pub file_location: String,
    #[serde(default)]
    pub how_to_fix: String,
}

/// Test results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestResults {
    pub total: u32,
    pub passed: u32,
    /// The rest was skipped.
    pub failed: u32,
    #[serde(default)]
    pub failures: Vec<TestFailure>,
}

/// A failed test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestFailure {
    pub name: String,
    #[serde(default)]
    pub message: String,
    /// As `path:check_line`.
    #[serde(default)]
    pub location: String,
}

/// Why an agent is blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkBlocker {
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<String>,
    #[serde(default)]
    pub attempted: Vec<String>,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentQuestion {
    pub question: String,
    /// Suggested answers.
    #[serde(default)]
    pub options: Vec<String>,
    /// Background for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl AgentReport {
    pub const fn kind(&self) -> ReportKind {
        match self {
            Self::WorkCompleted(_) => ReportKind::WorkCompleted,
            Self::ReviewApproved(_) => ReportKind::ReviewApproved,
            Self::ReviewChangesRequested(_) => ReportKind::ReviewChangesRequested,
            Self::TestsPassed(_) => ReportKind::TestsPassed,
            Self::TestsFailed(_) => ReportKind::TestsFailed,
            Self::WorkBlocked(_) => ReportKind::WorkBlocked,
            Self::NeedsClarification(_) => ReportKind::NeedsClarification,
            Self::RequestHumanInput(_) => ReportKind::RequestHumanInput,
        }
    }

    /// One-line summary.
    pub fn headline(&self) -> &str {
        match self {
            Self::WorkCompleted(done) => &done.summary,
            Self::ReviewApproved(review) | Self::ReviewChangesRequested(review) => &review.summary,
            Self::TestsPassed(_) => "all tests passed",
            Self::TestsFailed(_) => "some tests failed",
            Self::WorkBlocked(blocker) => &blocker.reason,
            Self::NeedsClarification(inquiry) | Self::RequestHumanInput(inquiry) => {
                &inquiry.question
            }
        }
    }

    /// Validation errors.
    pub fn validation_errors(&self) -> Vec<String> {
        let mut faults = ReportFaults(vec![]);
        match self {
            Self::WorkCompleted(done) => {
                faults.check_text("summary", &done.summary);
                faults.check_lines("filesModified", &done.files_modified);
                faults
                    .check_line("artifactPath", done.artifact_path.as_deref().unwrap_or_default());
                faults.check_line("workUnitId", done.work_unit_id.as_deref().unwrap_or_default());
            }
            Self::ReviewApproved(review) => {
                faults.check_review(review, Verdict::Approved);
                faults.require(
                    review.critical_issues.is_empty(),
                    "an approving review must not have criticalIssues",
                );
            }
            Self::ReviewChangesRequested(review) => {
                faults.check_review(review, Verdict::ChangesRequested);
                let is_named = review.issues().next().is_some();
                faults.require(
                    is_named,
                    "a review that requests changes must have at least one issue",
                );
            }
            Self::TestsPassed(tests) => {
                faults.check_tests(tests);
                faults.require(tests.failed == 0, "tests_passed requires failed to be 0");
            }
            Self::TestsFailed(tests) => {
                faults.check_tests(tests);
                faults.require(tests.failed > 0, "tests_failed requires failed to be at least 1");
            }
            Self::WorkBlocked(blocker) => {
                faults.check_text("reason", &blocker.reason);
                faults.check_line("blockedOn", blocker.blocked_on.as_deref().unwrap_or_default());
                faults.check_lines("attempted", &blocker.attempted);
            }
            Self::NeedsClarification(inquiry) | Self::RequestHumanInput(inquiry) => {
                faults.check_text("question", &inquiry.question);
                faults.check_lines("options", &inquiry.options);
                let context = inquiry.context.as_deref().unwrap_or_default();
                faults.require(context.len() <= MAX_TEXT_BYTES, "context is too long");
            }
        }
        faults.0
    }
}

impl ReviewFeedback {
    /// Every issue, most severe first.
    pub fn issues(&self) -> impl Iterator<Item = &ReviewIssue> {
        self.critical_issues.iter().chain(&self.major_issues).chain(&self.minor_issues)
    }

    /// Removes the minor issues, for the agent that fixes the others.
    #[must_use]
    pub fn without_minor(mut self) -> Self {
        self.minor_issues.clear();
        self
    }

    /// Validation errors as a reason to revise.
    pub fn validation_errors(&self) -> Vec<String> {
        let mut faults = ReportFaults(vec![]);
        faults.check_review(self, Verdict::ChangesRequested);
        faults.0
    }
}

/// Collects validation errors.
struct ReportFaults(Vec<String>);

impl ReportFaults {
    fn require(&mut self, holds: bool, fault: &str) {
        if !holds && !cynode_fault::fault!("PMO-07") {
            self.0.push(fault.to_owned());
        }
    }

    fn check_text(&mut self, name: &str, text: &str) {
        self.require(!text.trim().is_empty(), &format!("{name} is empty"));
        let fits = text.len() <= MAX_TEXT_BYTES;
        self.require(fits, &format!("{name} is longer than {MAX_TEXT_BYTES} bytes"));
    }

    fn check_line(&mut self, name: &str, text: &str) {
        let fits = text.len() <= MAX_LINE_BYTES;
        self.require(fits, &format!("{name} is longer than {MAX_LINE_BYTES} bytes"));
    }

    fn check_count(&mut self, name: &str, count: usize) {
        self.require(count <= MAX_ITEMS, &format!("{name} has more than {MAX_ITEMS} items"));
    }

    fn check_lines(&mut self, name: &str, lines: &[String]) {
        self.check_count(name, lines.len());
        let fits = lines.iter().all(|line| line.len() <= MAX_LINE_BYTES);
        self.require(fits, &format!("an item of {name} is longer than {MAX_LINE_BYTES} bytes"));
    }

    fn check_review(&mut self, review: &ReviewFeedback, verdict: Verdict) {
        self.require(review.verdict == verdict, &format!("verdict must be {verdict}"));
        self.check_text("summary", &review.summary);
        self.check_count("the list of issues", review.issues().count());
        for issue in review.issues() {
            self.check_text("description", &issue.description);
            self.check_line("fileLocation", &issue.file_location);
            let fits = issue.how_to_fix.len() <= MAX_TEXT_BYTES;
            self.require(fits, "howToFix is too long");
        }
    }

    fn check_tests(&mut self, tests: &TestResults) {
        let counted = tests.passed.saturating_add(tests.failed);
        self.require(counted <= tests.total, "passed plus failed exceeds total");
        let named = u32::try_from(tests.failures.len()).unwrap_or(u32::MAX);
        self.require(named <= tests.failed, "failures lists more tests than failed");
        self.check_count("failures", tests.failures.len());
        for failure in &tests.failures {
            self.check_line("the name of a failure", &failure.name);
            self.check_line("the location of a failure", &failure.location);
            let fits = failure.message.len() <= MAX_TEXT_BYTES;
            self.require(fits, "the message of a failure is too long");
        }
    }
}

#[cfg(test)]
mod tests;
