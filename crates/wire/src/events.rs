//! Events, in commit order.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, ProjectId, RunId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `GET /v1/events`, a stream of server-sent events. `Last-Event-ID` resumes after an event.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only events of this task, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Begin after this event id; `0` for everything kept. Without it and without
    /// `Last-Event-ID` the stream begins now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Event {
    /// Position in commit order; opaque. Also the SSE event id.
    pub id: String,
    /// Kind, such as `task.created`, `workflow.transition`, `job.ended`, `task.closed`.
    pub kind: String,
    /// The project it belongs to.
    pub project_id: Option<ProjectId>,
    /// The task it belongs to.
    pub task_id: Option<TaskId>,
    /// The run it belongs to.
    pub run_id: Option<RunId>,
    /// The job it belongs to.
    pub job_id: Option<JobId>,
    /// Details, by kind.
    pub data: Value,
    /// When it happened.
    pub occurred_at: DateTime<Utc>,
}
