//! `db.task.*`

use cynode_domain::criteria::Criterion;
use cynode_domain::git::{BranchName, TaskRepository, UseProjectRepository};
use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::plan::InputMode;
use cynode_domain::status::ShownTaskStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool_calls;
use crate::nodes::MAX_NODE_NAME_CHARS;
use crate::page::PageQuery;
use crate::tasks::{
    CreateTask, LogQuery, MAX_ATTEMPTS, MAX_BUILDS_ON, MAX_COMMANDS, MAX_IDEMPOTENCY_KEY_BYTES,
    MAX_LIST, MAX_NAME_CHARS, MAX_PROMPT_BYTES, MAX_REASON_CHARS, UpdateTask,
};

/// The longest name of a branch.
const MAX_BRANCH_CHARS: usize = 200;

tool_calls! {
    DbTaskCreate => "db.task.create",
    DbTaskGet => "db.task.get",
    DbTaskList => "db.task.list",
    DbTaskLogs => "db.task.logs",
    DbTaskResult => "db.task.result",
    DbTaskUpdate => "db.task.update",
    DbTaskUpdateStatus => "db.task.update_status",
    DbTaskCancel => "db.task.cancel",
}

/// What a new task does.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// A name for the task; derived from the request when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// `prompt` when absent.
    #[schemars(with = "String", extend("enum" = ["prompt", "script", "commands", "agent"]))]
    #[serde(default)]
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    #[schemars(length(min = 1, max = MAX_PROMPT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The command lines, in `commands` mode.
    #[schemars(length(max = MAX_COMMANDS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The git repository to work on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<TaskRepository>,
    /// Works on the repository of the project, in place of `repository`; `{}` from its default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_repository: Option<OwnProjectRepository>,
    /// In `agent` mode, the name of an agent profile; the built-in agent when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The image that its jobs run in, as `sandbox.allowed_images.list` names it; `host` when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// Asks for the repository of the project that the task is created in.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnProjectRepository {
    /// The branch to start from; the default branch of the project when absent.
    #[schemars(with = "String", length(min = 1, max = MAX_BRANCH_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<BranchName>,
    /// The branch for the changes; `cynode/` and the name of the task when absent.
    #[schemars(with = "String", length(min = 1, max = MAX_BRANCH_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
}

impl From<OwnProjectRepository> for UseProjectRepository {
    fn from(wanted: OwnProjectRepository) -> Self {
        let OwnProjectRepository { base_branch, branch } = wanted;
        Self { project: None, base_branch, branch }
    }
}

impl NewTask {
    /// A task that is planned from prose.
    pub fn from_prompt(prompt: String) -> Self {
        Self { prompt: Some(prompt), ..Self::default() }
    }

    /// A task that runs commands.
    pub fn from_commands(commands: Vec<String>) -> Self {
        Self { input_mode: InputMode::Commands, commands, ..Self::default() }
    }
}

impl From<NewTask> for CreateTask {
    fn from(task: NewTask) -> Self {
        let NewTask { task_name, input_mode, prompt, commands, agent, image, .. } = task;
        Self {
            task_name,
            input_mode,
            prompt: prompt.unwrap_or_default(),
            commands,
            repository: task.repository,
            project_repository: task.project_repository.map(Into::into),
            agent,
            image,
            ..Self::default()
        }
    }
}

/// The fields of [`CreateTask`] that agents may set; the others are for people.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct DbTaskCreate {
    /// The id of the project; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The profile of the project, by name; an agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(flatten)]
    pub task: NewTask,
    /// Acceptance criteria.
    #[schemars(with = "Vec<Value>", length(max = MAX_LIST))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acceptance_criteria: Vec<Criterion>,
    /// Artifact paths that the last step must produce.
    #[schemars(length(max = MAX_LIST))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_outputs: Vec<String>,
    /// Tasks that must complete first, by id or name.
    #[schemars(length(max = MAX_LIST))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Tasks on the same repository whose newest changes are merged before the task starts, by id or name.
    #[schemars(length(max = MAX_BUILDS_ON))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<String>,
    /// Whether the task starts with conflict markers where these changes conflict, to resolve them; otherwise it fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_conflicts: bool,
    /// Attempts per step in total; by default from the preference `workflow.max_step_retries`.
    #[schemars(range(min = 1, max = MAX_ATTEMPTS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The worker node for all steps, by name; chosen when absent.
    #[schemars(length(min = 1, max = MAX_NODE_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Two calls with the same key create one task.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl From<NewTask> for DbTaskCreate {
    fn from(task: NewTask) -> Self {
        Self { task, ..Self::default() }
    }
}

impl From<DbTaskCreate> for CreateTask {
    fn from(call: DbTaskCreate) -> Self {
        Self {
            project: call.project_id.map(|project| project.to_string()),
            profile: call.profile,
            acceptance_criteria: call.acceptance_criteria,
            expected_outputs: call.expected_outputs,
            depends_on: call.depends_on,
            builds_on: call.builds_on,
            mark_conflicts: call.mark_conflicts,
            max_attempts: call.max_attempts,
            node: call.node,
            idempotency_key: call.idempotency_key,
            ..Self::from(call.task)
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbTaskGet {
    /// The id of the task.
    pub task_id: TaskId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct DbTaskList {
    /// Only tasks of this project, by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Only tasks with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ShownTaskStatus>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbTaskLogs {
    /// The id of the task.
    pub task_id: TaskId,
    #[serde(flatten)]
    pub query: LogQuery,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbTaskResult {
    /// The id of the task.
    pub task_id: TaskId,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbTaskUpdate {
    /// The id of the task.
    pub task_id: TaskId,
    #[serde(flatten)]
    pub update: UpdateTask,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbTaskUpdateStatus {
    /// The id of the task.
    pub task_id: TaskId,
    /// The new status.
    pub status: ShownTaskStatus,
    /// The reason, for the summary.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbTaskCancel {
    /// The id of the task.
    pub task_id: TaskId,
}
