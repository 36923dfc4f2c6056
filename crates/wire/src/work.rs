//! Work units: arguments and results of the tools that plan, submit and route work.

use chrono::{DateTime, Utc};
use cynode_domain::agent::Role;
use cynode_domain::ids::TaskId;
use cynode_domain::report::MAX_TEXT_BYTES;
use cynode_domain::status::WorkUnitStatus;
use cynode_domain::work::{MAX_COMPONENTS, MAX_NAME_BYTES, UnitKind, WorkComponent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::apmas::InstructionView;
use crate::artifacts::MAX_PATH_BYTES;
use crate::page::{MAX_CURSOR_CHARS, MAX_LIMIT};
use crate::tool_calls::tool_calls;

/// The longest id of a work unit.
pub const MAX_WORK_UNIT_ID_CHARS: usize = 100;

tool_calls! {
    CreatePlan => "apmas_create_plan",
    SubmitWork => "apmas_submit_work",
    RouteWork => "apmas_route_work",
}

/// `apmas_create_plan`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreatePlan {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The issue it comes from.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_number: Option<i64>,
    /// Components.
    #[schemars(length(min = 1, max = MAX_COMPONENTS))]
    pub components: Vec<WorkComponent>,
}

/// `apmas_submit_work`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubmitWork {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Role of the calling agent.
    pub agent_role: Role,
    /// The id of the work unit, such as `impl:auth`.
    #[schemars(length(min = 1, max = MAX_WORK_UNIT_ID_CHARS))]
    pub work_unit_id: String,
    /// The file with the result, as a relative path.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    pub artifact_path: String,
    /// Summary of the work.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub summary: String,
    /// Structured details, such as a reviewer's verdict.
    #[schemars(with = "Map<String, Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// `apmas_route_work`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteWork {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The id of the work unit, such as `impl:auth`.
    #[schemars(length(min = 1, max = MAX_WORK_UNIT_ID_CHARS))]
    pub work_unit_id: String,
    /// Decision.
    pub decision: Decision,
    /// The changes to make, as text or as a review; required for `revision`.
    #[schemars(extend("type" = ["string", "object"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Value>,
    /// Notes for the next agent.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// Decision on a work unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Accept it; dependent units start.
    Approve,
    /// Return it for revision.
    Revision,
    /// Unblock it.
    Resume,
    /// Fail it.
    Fail,
}

/// `apmas_get_work_status`, `db.work_unit.list`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkQuery {
    /// Filter on work units.
    #[serde(default)]
    pub filter: WorkFilter,
    /// Only units of this component.
    #[schemars(length(min = 1, max = MAX_NAME_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Page size.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[schemars(length(min = 1, max = MAX_CURSOR_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Filter on work units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkFilter {
    /// All.
    #[default]
    All,
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Submitted, without a decision.
    Submitted,
    /// Completed.
    Completed,
}

/// A work unit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct WorkUnitView {
    /// The task.
    pub task_id: TaskId,
    /// Its id within the task, such as `impl:auth`.
    pub work_unit_id: String,
    /// The component it belongs to.
    pub component: String,
    /// Kind.
    #[serde(rename = "type")]
    pub kind: UnitKind,
    /// Status.
    pub status: WorkUnitStatus,
    /// Assigned role.
    pub assigned_role: String,
    /// Parent unit, whose result it uses.
    pub parent_work_unit_id: Option<String>,
    /// Submitted file.
    pub artifact_path: Option<String>,
    /// Summary of the submission.
    pub summary: Option<String>,
    /// Structured details of the submission.
    pub metadata: Option<Value>,
    /// Notes for the next agent.
    pub notes: Option<String>,
    /// Number of revisions.
    pub revision_count: u32,
    /// Feedback of the last revision.
    pub revision_feedback: Option<Value>,
    /// When it was assigned.
    pub assigned_at: Option<DateTime<Utc>>,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// Progress of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct WorkStatusView {
    /// The task.
    pub task_id: TaskId,
    /// Number of units.
    pub total_work_units: u32,
    /// Number of completed units.
    pub completed_work_units: u32,
    /// Progress in percent; 0 without units.
    pub progress_percent: u32,
    /// When the last unit was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// Units in plan order.
    pub items: Vec<WorkUnitView>,
    /// Cursor of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Response to a submission.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SubmittedView {
    /// Current state of the unit.
    pub work_unit: WorkUnitView,
    /// Whether the same was submitted before.
    pub repeated: bool,
    /// Newly delivered instructions of the project manager.
    pub instructions: Vec<InstructionView>,
    /// What becomes of the message, for the agent of a unit of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Response to a routing decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct RoutedView {
    /// Current state of the unit.
    pub work_unit: WorkUnitView,
    /// Whether the same was decided before.
    pub repeated: bool,
    /// Units that became assigned.
    pub assigned: Vec<String>,
    /// Units that became completed.
    pub completed: Vec<String>,
    /// Whether the plan is completed.
    pub plan_completed: bool,
}
