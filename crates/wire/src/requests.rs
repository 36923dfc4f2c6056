//! Submitted work: submit, read, answer, override.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::agent::InstructionKind;
use cynode_domain::estimate::WorkEstimate;
use cynode_domain::git::{TaskRepository, UseProjectRepository};
use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::question::{Question, Reply};
use cynode_domain::request::{
    AnsweredQuestion, Decided, Delivery, QuestionSubject, RequestOrigin, RequestSettings,
    RequestSource,
};
use cynode_domain::status::{RequestPhase, ShownTaskStatus, WorkUnitStatus};
use cynode_domain::verification::VerificationStatus;
use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::{ProjectKind, WorkKind, WorkScope};
use serde::{Deserialize, Serialize};

use crate::page::PageQuery;

/// The longest text that a list is searched for.
pub const MAX_SEARCH_CHARS: usize = 200;

/// `POST /v1/requests`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitRequest {
    /// What is wanted, in any words; at most 100 KiB.
    pub text: String,
    /// How it was submitted; `text` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RequestOrigin>,
    /// The file or the address that the text comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Labels of an issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Whether the text is a project brief.
    #[serde(default)]
    pub is_brief: bool,
    /// The repository to work on; that of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<TaskRepository>,
    /// Which repository of a project to work on, and from which branch, in place of `repository`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_repository: Option<UseProjectRepository>,
    /// The project, by id or slug; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The profile of the project that its agents work in, by name or id; the default one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its name; derived from the text when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it is worked on.
    #[serde(default)]
    pub settings: RequestSettings,
    /// The kind, if a person decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkKind>,
    /// The scope, if a person decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<WorkScope>,
    /// Whether it is accepted although a request with the same text is open, or it looks like a question or like several
    /// requests.
    #[serde(default)]
    pub force: bool,
    /// Idempotency key: requests of one user with the same key create one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `GET /v1/requests`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RequestQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only requests of this project, by id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only requests that are open, or that have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// Only requests that wait for a person.
    #[serde(default)]
    pub waiting: bool,
    /// Only requests with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ShownTaskStatus>,
    /// Only requests in this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<RequestPhase>,
    /// Only requests whose name or text contains this, in any case; at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Only requests of the caller; for administrators, who see those of all users.
    #[serde(default)]
    pub mine: bool,
}

impl RequestQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// A request.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RequestView {
    /// The id of the request, which is that of its task.
    pub id: TaskId,
    pub name: String,
    /// The handle of the user who submitted it.
    pub owner: String,
    /// `queued`, `running`, `waiting`, `completed`, `failed` or `canceled`.
    pub status: ShownTaskStatus,
    pub phase: RequestPhase,
    pub project_id: ProjectId,
    /// The submitted text. Shortened in lists.
    pub text: String,
    pub source: RequestSource,
    /// The repository that it works on.
    pub repository: Option<TaskRepository>,
    pub settings: RequestSettings,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Decided<WorkKind>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Decided<WorkScope>>,
    /// What the project is, once its files were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_kind: Option<ProjectKind>,
    /// The structure of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// The commands that must pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_commands: Vec<String>,
    /// The kinds of units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Decided<Vec<UnitKind>>>,
    /// What it waits for from a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<PendingQuestion>,
    /// When it was paused; absent if it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<DateTime<Utc>>,
    /// The units that people work on, with their handles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken_over: BTreeMap<String, String>,
    /// Answered questions, oldest first. Omitted in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnsweredQuestion>,
    /// What a reviewer judges, by number from 1. Omitted in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// Its units, in the order of the plan. Omitted in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<RequestUnitView>,
    /// Other steps that ran as tasks: gathering the context, merging, pushing. Omitted in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AttemptView>,
    /// Completed units of all units, in percent.
    pub progress_percent: u32,
    /// Issues that were left open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// What its plan was expected to need before its work started. Omitted in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<WorkEstimate>,
    /// The known cost of its model calls, in millionths of a dollar. Omitted in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<i64>,
    /// Its model calls. Omitted in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_calls: Option<i64>,
    /// Summary, once it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What was verified of it, once it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationStatus>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// A question of a request.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PendingQuestion {
    pub subject: QuestionSubject,
    #[serde(flatten)]
    pub question: Question,
    pub asked_at: Option<DateTime<Utc>>,
}

/// A unit of a request.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RequestUnitView {
    /// Such as `impl:auth`.
    pub id: String,
    pub component: String,
    pub kind: UnitKind,
    pub status: WorkUnitStatus,
    pub role: String,
    /// The units that must be approved before it starts; of other components, all their units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// How often it was sent back.
    pub revision_count: u32,
    pub summary: Option<String>,
    /// Notes about its result.
    pub notes: Option<String>,
    pub attempts: Vec<AttemptView>,
}

/// An attempt at a unit: a child task.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct AttemptView {
    /// The unit, or the step.
    pub unit: String,
    /// From 1.
    pub number: u32,
    pub task_id: TaskId,
    pub status: ShownTaskStatus,
    /// The agent profile that works on it; absent for the built-in agent, and for steps without an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What came of it.
    pub result: Option<String>,
    /// What its agent last reported about its progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The newest checkpoint of its agent: done of all items, and a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// `POST /v1/requests/{request}/answer`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    pub reply: Reply,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// `POST /v1/requests/{request}/override`: decisions of a person, before the work is planned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OverrideRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<WorkKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<WorkScope>,
    /// The kinds of units of every component: `implementation`, and of the others each at most once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Vec<UnitKind>>,
    /// Why, for the record; at most 1000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /v1/requests/{request}/take-over`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeOverUnit {
    /// The unit, such as `impl:auth`.
    pub unit: String,
}

/// `POST /v1/requests/{request}/hand-back`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandBackUnit {
    /// The unit, such as `impl:auth`.
    pub unit: String,
    /// The completed task on the same repository whose changes are the result, by id or name; an agent goes on when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What the agent should know; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// `POST /v1/requests/{request}/instruct`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InstructUnit {
    /// The unit, such as `impl:auth`.
    pub unit: String,
    pub instruction: InstructionKind,
    /// What the agent is told.
    pub text: String,
}
