//! Submitted work: where it came from, what was decided about it, and how it is delivered.
//!
//! A request is a task whose work is done by child tasks, one for each attempt at a work unit. Its phases are
//! [`crate::status::RequestPhase`].

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::InstructionKind;
use crate::estimate::WorkEstimate;
use crate::git::{BranchName, CommitId};
use crate::ids::MessageId;
use crate::project_context::{ProjectContext, TreeId};
use crate::question::{Answer, Question};
use crate::work::UnitKind;
use crate::work_kind::{WorkKind, WorkScope};

/// The default limit of review rounds.
pub const DEFAULT_REVIEW_ROUNDS: u32 = 2;
/// The most review rounds.
pub const MAX_REVIEW_ROUNDS: u32 = 10;
/// The default limit of units that run at once.
pub const DEFAULT_PARALLEL_UNITS: u32 = 4;
/// The most units that run at once.
pub const MAX_PARALLEL_UNITS: u32 = 32;
/// The default limit of rounds that comments on a pull request start.
pub const DEFAULT_PULL_REQUEST_ROUNDS: u32 = 5;
/// The most rounds that comments on a pull request start.
pub const MAX_PULL_REQUEST_ROUNDS: u32 = 20;
/// How often a unit whose agent fails is started before a person is asked.
pub const MAX_UNIT_FAILURES: u32 = 3;

words! {
    /// How a request was submitted.
    RequestOrigin("origin") {
        Text = "text",
        File = "file",
        Stdin = "stdin",
        /// An issue of a forge.
        Issue = "issue",
        Chat = "chat",
        Schedule = "schedule",
        Webhook = "webhook",
        /// A tool call of an agent.
        Tool = "tool",
    }

    /// What the result of a request is.
    DeliveryMode("delivery") {
        /// Changes that people read and apply.
        Patch = "patch",
        /// A branch of the repository.
        Branch = "branch",
        /// A branch and a pull request.
        PullRequest = "pull_request",
    }

    /// Who decided something about a request.
    DecisionAuthor("decision author") {
        Rule = "rule",
        Model = "model",
        /// The rule that applies where a model gave no valid answer.
        Fallback = "fallback",
        Person = "person",
    }
}

/// A decision about a request, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decided<T> {
    pub value: T,
    pub by: DecisionAuthor,
    /// Why, in one sentence for people.
    pub reason: String,
}

/// Where a request came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestSource {
    pub origin: RequestOrigin,
    /// The file, the address of the issue, or the name of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Labels of the issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whether the text is a project brief.
    #[serde(default)]
    pub is_brief: bool,
}

/// How a request is worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestSettings {
    pub deliver: DeliveryMode,
    /// How often a unit is sent back for critical and major issues, 0 to 10.
    #[schemars(range(max = MAX_REVIEW_ROUNDS))]
    pub max_review_rounds: u32,
    /// How often comments of people and failed checks of a pull request start a further round, 0 to 20. Rounds before the
    /// pull request are not counted.
    #[schemars(range(max = MAX_PULL_REQUEST_ROUNDS))]
    pub max_pull_request_rounds: u32,
    /// Whether the project's own tests must pass.
    pub require_tests_pass: bool,
    /// Whether minor issues are kept from the agent that revises the work.
    pub skip_minor_issues: bool,
    /// How many units run at once, 1 to 32.
    #[schemars(range(min = 1, max = MAX_PARALLEL_UNITS))]
    pub max_parallel_units: u32,
    /// What its model calls may cost, in millionths of a dollar: a call that may cost more than is left is not made, and a
    /// person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<i64>,
    /// The part of the budget that only reviews may use, in millionths of a dollar; a fifth of it when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review_reserve_micros: Option<i64>,
    /// Whether it ends with its plan, before anything changes.
    pub dry_run: bool,
    /// The agent profile of every unit; the configured agents if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            deliver: DeliveryMode::Branch,
            max_review_rounds: DEFAULT_REVIEW_ROUNDS,
            max_pull_request_rounds: DEFAULT_PULL_REQUEST_ROUNDS,
            require_tests_pass: true,
            skip_minor_issues: true,
            max_parallel_units: DEFAULT_PARALLEL_UNITS,
            budget_micros: None,
            review_reserve_micros: None,
            dry_run: false,
            agent: None,
        }
    }
}

impl RequestSettings {
    /// Every value that is out of range.
    pub fn validation_errors(&self) -> Vec<String> {
        let mut faults = vec![];
        if self.max_review_rounds > MAX_REVIEW_ROUNDS {
            faults.push(format!("max_review_rounds must be between 0 and {MAX_REVIEW_ROUNDS}"));
        }
        if !(1..=MAX_PARALLEL_UNITS).contains(&self.max_parallel_units) {
            faults.push(format!("max_parallel_units must be between 1 and {MAX_PARALLEL_UNITS}"));
        }
        if self.max_pull_request_rounds > MAX_PULL_REQUEST_ROUNDS {
            faults.push(format!(
                "max_pull_request_rounds must be between 0 and {MAX_PULL_REQUEST_ROUNDS}"
            ));
        }
        if self.budget_micros.is_some_and(|budget| budget <= 0) {
            faults.push("the budget must be more than 0".to_owned());
        }
        let is_reserve_invalid =
            |reserve: i64| self.budget_micros.is_none_or(|budget| !(0..budget).contains(&reserve));
        if self.review_reserve_micros.is_some_and(is_reserve_invalid) {
            faults.push("review_reserve_micros must be less than the budget".to_owned());
        }
        faults
    }
}

/// What was decided about a request so far. Stored with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct RequestState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Decided<WorkKind>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Decided<WorkScope>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ProjectContext>,
    /// The tree that the context was derived from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub context_tree: Option<TreeId>,
    /// The kinds of units, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Decided<Vec<UnitKind>>>,
    /// What the plan was expected to need before its work started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<WorkEstimate>,
    /// How often the agent of a unit failed since it last succeeded or a person acted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unit_failures: BTreeMap<String, u32>,
    /// Issues that were left open, for the summary.
    pub notes: Vec<String>,
    /// What people said to questions about it, oldest first.
    pub answers: Vec<AnsweredQuestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<BudgetGrant>,
    /// What an agent is to correct in the merged result, and how often one was asked to.
    #[serde(skip_serializing_if = "MergedResultFix::is_empty")]
    pub fix: MergedResultFix,
    /// The units that people work on, with their handles.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub taken_over: BTreeMap<String, String>,
    /// What people said about its pull request.
    #[serde(skip_serializing_if = "PeopleReview::is_empty")]
    pub people_review: PeopleReview,
    /// Changes to what units do, since they were planned; oldest first.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scope_changes: BTreeMap<String, Vec<ScopeChange>>,
}

/// An instruction that changed what a unit does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeChange {
    /// `expand_scope` or `reduce_scope`.
    pub instruction: InstructionKind,
    pub text: String,
}

/// The review of a pull request by people and checks. Its texts are untrusted: they tell an agent what to change, and decide
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct PeopleReview {
    /// Rounds that were started so far.
    pub rounds: u32,
    /// What the present round is about; empty once the agent is done.
    pub findings: Vec<PeopleFinding>,
    /// What was worked on or announced already, such as `comment:12`, so that nothing is done twice.
    pub handled: BTreeSet<String>,
    /// What the last round was about, and what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

impl PeopleReview {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A comment on a pull request by a person with write access, or a failed check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PeopleFinding {
    /// Identifies it on its forge, such as `comment:12`.
    pub key: String,
    /// The login name of its author, or the name of the check.
    pub author: String,
    /// The file and the line, such as `src/main.rs:7`; empty if it is about everything.
    #[serde(default)]
    pub location: String,
    pub text: String,
}

/// The last time that a person raised the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetGrant {
    /// The budget that was submitted, which each grant adds, in millionths of a dollar.
    pub step_micros: i64,
    pub granted_at: DateTime<Utc>,
}

/// A correction of the merged result, whose tests fail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MergedResultFix {
    /// What the tests and a person said; absent if nothing is to be corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    pub rounds: u32,
}

impl MergedResultFix {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a request waits for, and what the answer decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestQuestion {
    pub subject: QuestionSubject,
    pub question: Question,
}

/// What a question of a request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "about", rename_all = "snake_case", deny_unknown_fields)]
pub enum QuestionSubject {
    /// The submission itself: it is a question, or several requests.
    Intake {},
    /// Its budget is spent, or cannot be kept.
    Budget {
        /// Whether the price of a model is not known.
        #[serde(default)]
        is_unpriced: bool,
    },
    /// A phase of the request that failed.
    Phase {},
    /// A unit whose attempts failed.
    UnitFailed { unit: String },
    /// A message of the agent of a unit, which gets the answer as an instruction.
    AgentMessage { unit: String, message_id: MessageId },
    /// A unit that a person reviews, because no agent can.
    Review { unit: String },
    /// A unit with open issues after its last round, without progress, or with suspicious changes.
    ReviewCap { unit: String },
}

/// A question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnsweredQuestion {
    #[serde(flatten)]
    pub asked: RequestQuestion,
    pub answer: Answer,
    /// Who answered.
    #[serde(default, skip_serializing_if = "AnswerAuthor::is_person")]
    pub author: AnswerAuthor,
}

/// Who answered a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAuthor {
    #[default]
    Person,
    /// An agent, on behalf of a person: its text is not what the person said.
    Agent,
}

impl AnswerAuthor {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

/// What was delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    #[schema(value_type = String)]
    pub branch: BranchName,
    /// The newest commit; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub head: Option<CommitId>,
    /// Whether the branch is in the repository.
    #[serde(default)]
    pub is_pushed: bool,
    /// The address of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request_number: Option<u64>,
    /// Whether reviewers were asked: a pull request is a draft until its result is verified.
    #[serde(default)]
    pub is_ready: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_all_named() {
        let settings = RequestSettings {
            max_review_rounds: 11,
            max_parallel_units: 0,
            max_pull_request_rounds: 21,
            budget_micros: Some(0),
            ..RequestSettings::default()
        };

        assert_eq!(settings.validation_errors().len(), 4);
        assert_eq!(RequestSettings::default().validation_errors(), Vec::<String>::new());
    }

    #[test]
    fn a_state_of_an_earlier_version_is_read() {
        assert_eq!(serde_json::from_str::<RequestState>("{}").unwrap(), RequestState::default());
    }
}
