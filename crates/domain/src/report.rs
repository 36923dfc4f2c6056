//! What agents report to the project manager: eight types, each with a payload of its own.
//!
//! A [`Report`] that was read has the right shape; [`Report::faults`] says what is still wrong with
//! it: lengths, and payloads that contradict their type. The names inside payloads are those that
//! agents know (`filesModified`, `criticalIssues`).

use serde::{Deserialize, Serialize};

const MAX_TEXT_BYTES: usize = 16 * 1024;
const MAX_LINE_BYTES: usize = 1024;
const MAX_ITEMS: usize = 200;

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
        /// The agent is stuck.
        WorkBlocked = "work_blocked",
        /// What is wanted is not clear.
        NeedsClarification = "needs_clarification",
        /// A person must decide.
        RequestHumanInput = "request_human_input",
    }

    /// What a reviewer decided.
    Verdict("verdict") {
        /// It may go on.
        Approved = "approved",
        /// It must be changed first.
        ChangesRequested = "changes_requested",
    }
}

/// A report with its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "messageType", content = "payload", rename_all = "snake_case")]
pub enum Report {
    /// The work is done.
    WorkCompleted(WorkDone),
    /// The reviewer agrees.
    ReviewApproved(ReviewFeedback),
    /// The reviewer wants changes.
    ReviewChangesRequested(ReviewFeedback),
    /// Every test passed.
    TestsPassed(TestResults),
    /// Some test failed.
    TestsFailed(TestResults),
    /// The agent is stuck.
    WorkBlocked(Blocker),
    /// What is wanted is not clear.
    NeedsClarification(Question),
    /// A person must decide.
    RequestHumanInput(Question),
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkDone {
    /// The files that changed.
    #[serde(default)]
    pub files_modified: Vec<String>,
    /// What was done, in words.
    pub summary: String,
    /// The file that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_path: Option<String>,
    /// The work unit it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit_id: Option<String>,
}

/// What a reviewer found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewFeedback {
    /// The decision.
    pub verdict: Verdict,
    /// What must be fixed.
    #[serde(default)]
    pub critical_issues: Vec<ReviewIssue>,
    /// What should be fixed.
    #[serde(default)]
    pub major_issues: Vec<ReviewIssue>,
    /// What could be better; not handed to whoever fixes the rest.
    #[serde(default)]
    pub minor_issues: Vec<ReviewIssue>,
    /// All of it in a few words.
    pub summary: String,
}

/// One finding of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReviewIssue {
    /// What is wrong.
    pub description: String,
    /// Where, as `path:line`.
    #[serde(default)]
    pub file_location: String,
    /// What would mend it.
    #[serde(default)]
    pub how_to_fix: String,
}

/// How the tests went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestResults {
    /// How many there are.
    pub total: u32,
    /// How many passed.
    pub passed: u32,
    /// How many failed; the rest was left out.
    pub failed: u32,
    /// What failed, and how.
    #[serde(default)]
    pub failures: Vec<TestFailure>,
}

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TestFailure {
    /// Its name.
    pub name: String,
    /// What it said.
    #[serde(default)]
    pub message: String,
    /// Where, as `path:line`.
    #[serde(default)]
    pub location: String,
}

/// Why an agent is stuck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Blocker {
    /// Why.
    pub reason: String,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<String>,
    /// What it tried.
    #[serde(default)]
    pub attempted: Vec<String>,
}

/// A question to whoever can answer it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub question: String,
    /// Answers that would do.
    #[serde(default)]
    pub options: Vec<String>,
    /// What one must know to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

impl Report {
    /// Its type.
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

    /// The sentence that stands for the whole report.
    pub fn headline(&self) -> &str {
        match self {
            Self::WorkCompleted(done) => &done.summary,
            Self::ReviewApproved(review) | Self::ReviewChangesRequested(review) => &review.summary,
            Self::TestsPassed(_) => "all tests passed",
            Self::TestsFailed(_) => "some tests failed",
            Self::WorkBlocked(blocker) => &blocker.reason,
            Self::NeedsClarification(asked) | Self::RequestHumanInput(asked) => &asked.question,
        }
    }

    /// What is wrong with it, every fault in words.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Faults(vec![]);
        match self {
            Self::WorkCompleted(done) => {
                faults.text("summary", &done.summary);
                faults.lines("filesModified", &done.files_modified);
                faults.line("artifactPath", done.artifact_path.as_deref().unwrap_or_default());
                faults.line("workUnitId", done.work_unit_id.as_deref().unwrap_or_default());
            }
            Self::ReviewApproved(review) => {
                faults.review(review, Verdict::Approved);
                faults.must(
                    review.critical_issues.is_empty(),
                    "an approving review has no criticalIssues",
                );
            }
            Self::ReviewChangesRequested(review) => {
                faults.review(review, Verdict::ChangesRequested);
                let is_named = review.issues().next().is_some();
                faults.must(is_named, "a review that wants changes names at least one issue");
            }
            Self::TestsPassed(tests) => {
                faults.tests(tests);
                faults.must(tests.failed == 0, "tests_passed has failed 0");
            }
            Self::TestsFailed(tests) => {
                faults.tests(tests);
                faults.must(tests.failed > 0, "tests_failed has failed of at least 1");
            }
            Self::WorkBlocked(blocker) => {
                faults.text("reason", &blocker.reason);
                faults.line("blockedOn", blocker.blocked_on.as_deref().unwrap_or_default());
                faults.lines("attempted", &blocker.attempted);
            }
            Self::NeedsClarification(asked) | Self::RequestHumanInput(asked) => {
                faults.text("question", &asked.question);
                faults.lines("options", &asked.options);
                let context = asked.context.as_deref().unwrap_or_default();
                faults.must(context.len() <= MAX_TEXT_BYTES, "context is too long");
            }
        }
        faults.0
    }
}

impl ReviewFeedback {
    /// Every issue, the worst first.
    pub fn issues(&self) -> impl Iterator<Item = &ReviewIssue> {
        self.critical_issues.iter().chain(&self.major_issues).chain(&self.minor_issues)
    }

    /// What whoever fixes it gets to see: everything but minor issues.
    #[must_use]
    pub fn without_minor(mut self) -> Self {
        self.minor_issues.clear();
        self
    }

    /// What is wrong with it as a reason to revise.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Faults(vec![]);
        faults.review(self, Verdict::ChangesRequested);
        faults.0
    }
}

/// Faults on their way to a refusal.
struct Faults(Vec<String>);

impl Faults {
    fn must(&mut self, holds: bool, fault: &str) {
        if !holds {
            self.0.push(fault.to_owned());
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.must(!text.trim().is_empty(), &format!("{name} is empty"));
        let fits = text.len() <= MAX_TEXT_BYTES;
        self.must(fits, &format!("{name} is longer than {MAX_TEXT_BYTES} bytes"));
    }

    fn line(&mut self, name: &str, text: &str) {
        let fits = text.len() <= MAX_LINE_BYTES;
        self.must(fits, &format!("{name} is longer than {MAX_LINE_BYTES} bytes"));
    }

    fn count(&mut self, name: &str, count: usize) {
        self.must(count <= MAX_ITEMS, &format!("{name} has more than {MAX_ITEMS} items"));
    }

    fn lines(&mut self, name: &str, lines: &[String]) {
        self.count(name, lines.len());
        let fits = lines.iter().all(|line| line.len() <= MAX_LINE_BYTES);
        self.must(fits, &format!("an item of {name} is longer than {MAX_LINE_BYTES} bytes"));
    }

    fn review(&mut self, review: &ReviewFeedback, verdict: Verdict) {
        self.must(review.verdict == verdict, &format!("the verdict of this is {verdict}"));
        self.text("summary", &review.summary);
        self.count("the list of issues", review.issues().count());
        for issue in review.issues() {
            self.text("description", &issue.description);
            self.line("fileLocation", &issue.file_location);
            let fits = issue.how_to_fix.len() <= MAX_TEXT_BYTES;
            self.must(fits, "howToFix is too long");
        }
    }

    fn tests(&mut self, tests: &TestResults) {
        let counted = tests.passed.saturating_add(tests.failed);
        self.must(counted <= tests.total, "passed and failed are more than total");
        let named = u32::try_from(tests.failures.len()).unwrap_or(u32::MAX);
        self.must(named <= tests.failed, "failures names more tests than failed says");
        self.count("failures", tests.failures.len());
        for failure in &tests.failures {
            self.line("the name of a failure", &failure.name);
            self.line("the location of a failure", &failure.location);
            let fits = failure.message.len() <= MAX_TEXT_BYTES;
            self.must(fits, "the message of a failure is too long");
        }
    }
}

#[cfg(test)]
mod tests;
