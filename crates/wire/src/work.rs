//! Work units: the arguments and results of the tools that plan, hand in and route work.

use chrono::{DateTime, Utc};
use cynode_domain::agent::Role;
use cynode_domain::ids::TaskId;
use cynode_domain::status::WorkUnitStatus;
use cynode_domain::work::{UnitKind, WorkComponent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::apmas::InstructionView;

/// `apmas_create_plan`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreatePlan {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The issue it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_number: Option<i64>,
    /// What it is cut into.
    pub components: Vec<WorkComponent>,
}

/// `apmas_submit_work`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubmitWork {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// The unit that is handed in.
    pub work_unit_id: String,
    /// The file that shows it.
    pub artifact_path: String,
    /// What was done.
    pub summary: String,
    /// Details, such as a reviewer's verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// `apmas_route_work`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteWork {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The unit that is decided on.
    pub work_unit_id: String,
    /// What is decided.
    pub decision: Decision,
    /// Why it is sent back: text, or a reviewer's feedback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Value>,
    /// What whoever goes on should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// What can be decided about a work unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is accepted; what comes after it begins.
    Approve,
    /// It is sent back.
    Revision,
    /// It was blocked and can go on.
    Resume,
    /// It is given up.
    Fail,
}

/// `apmas_get_work_status`, `db.work_unit.list`
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkQuery {
    /// Which units.
    #[serde(default)]
    pub filter: WorkFilter,
    /// Of this component only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// How many items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which units a list shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkFilter {
    /// All of them.
    #[default]
    All,
    /// Those that nobody has begun.
    Pending,
    /// Those that somebody works on.
    InProgress,
    /// Those that wait for a verdict.
    Submitted,
    /// Those that are done.
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
    /// What kind it is.
    #[serde(rename = "type")]
    pub kind: UnitKind,
    /// Where it stands.
    pub status: WorkUnitStatus,
    /// The role that does it.
    pub assigned_role: String,
    /// The unit whose result it builds on.
    pub parent_work_unit_id: Option<String>,
    /// The file that was handed in.
    pub artifact_path: Option<String>,
    /// What was said when it was handed in.
    pub summary: Option<String>,
    /// Details of what was handed in.
    pub metadata: Option<Value>,
    /// What whoever goes on should know.
    pub notes: Option<String>,
    /// How often it was sent back.
    pub revision_count: u32,
    /// Why it was last sent back.
    pub revision_feedback: Option<Value>,
    /// When it was given to its role.
    pub assigned_at: Option<DateTime<Utc>>,
    /// When it was completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// How far a plan is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct WorkStatusView {
    /// The task.
    pub task_id: TaskId,
    /// How many units it has.
    pub total_work_units: u32,
    /// How many are done.
    pub completed_work_units: u32,
    /// The same in percent; 0 without units.
    pub progress_percent: u32,
    /// When the last unit was done.
    pub completed_at: Option<DateTime<Utc>>,
    /// The units, in the order of the plan.
    pub items: Vec<WorkUnitView>,
    /// Ask with this cursor for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The answer to an agent that handed in its work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SubmittedView {
    /// The unit as it stands now.
    pub work_unit: WorkUnitView,
    /// Whether it was handed in like this before.
    pub repeated: bool,
    /// What the project manager wants of the agent, told for the first time.
    pub instructions: Vec<InstructionView>,
}

/// The answer to a decision about a unit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct RoutedView {
    /// The unit as it stands now.
    pub work_unit: WorkUnitView,
    /// Whether the same was decided before.
    pub repeated: bool,
    /// Units that this gave to a role.
    pub assigned: Vec<String>,
    /// Units that this completed.
    pub completed: Vec<String>,
    /// Whether the whole plan is done.
    pub plan_completed: bool,
}
