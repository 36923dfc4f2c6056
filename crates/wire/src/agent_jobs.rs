//! The specification and the result of an agent's job: `/job/job.json` and `/job/result.json` in its sandbox.
//!
//! The node writes the specification before the agent starts, and reads the result after it has ended. Nothing in a
//! result is trusted: the verdict about a step comes from rules and from analysts.

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, ProfileId, TaskId, TraceId};
use cynode_domain::trace::TraceEvents;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

pub use cynode_domain::agent_program::{
    AgentProgramSpec, PermissionAnswer, PermissionRules, ToolCallKind,
};

/// The version of both documents. A reader accepts every minor version of its major version.
pub const PROTOCOL_VERSION: &str = "1.0";

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentJobSpec {
    /// Version of this document.
    pub protocol_version: String,
    /// The job.
    pub job_id: JobId,
    /// The task of the job.
    pub task_id: TaskId,
    /// The trace of the request that the job belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// The profile that the job is done in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    /// Whether a model decides, or the given steps are executed as they are.
    pub execution_mode: ExecutionMode,
    /// Limits of the job.
    pub constraints: AgentConstraints,
    /// The models that the job may use; absent without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inference: Option<AgentInference>,
    /// The role that the agent takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Persona>,
    /// What the agent needs to know.
    #[serde(default)]
    pub context: AgentContext,
    /// Steps to execute, or suggestions to a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AgentStep>,
}

/// The document `/job/job.json`: the specification, with the program that carries it out as one more field, `program`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentJobDocument {
    #[serde(flatten)]
    pub spec: AgentJobSpec,
    /// Absent for the agent's own loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<AgentProgramSpec>,
    /// Whether the program is only tried out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_canary: bool,
}

/// Rejects unknown fields, which a flattened specification would not.
impl<'de> Deserialize<'de> for AgentJobDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let program = fields.remove("program").unwrap_or_default();
        let program = serde_json::from_value(program).map_err(D::Error::custom)?;
        let is_canary = fields.remove("is_canary").unwrap_or(Value::Bool(false));
        let is_canary = serde_json::from_value(is_canary).map_err(D::Error::custom)?;
        let spec = serde_json::from_value(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(Self { spec, program, is_canary })
    }
}

/// Who decides what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// A model.
    AgentInference,
    /// Nobody: the steps are executed in order.
    DirectSteps,
}

/// Limits that the agent observes itself. The sandbox enforces its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConstraints {
    /// Seconds until the agent must have stopped, at least 1.
    pub max_runtime_seconds: u32,
    /// Bytes of output of one command that the agent keeps, at least 1.
    pub max_output_bytes: u32,
    /// Actions of the model, at least 1.
    pub max_steps: u32,
    /// Whether hosts are reachable through the proxy.
    #[serde(default)]
    pub ext_net_allowed: bool,
    /// Tokens of all model calls together, input and output; no limit of the agent's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
}

/// The models of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentInference {
    /// Names of models, the preferred one first; at least one.
    pub allowed_models: Vec<String>,
    /// The form of actions to start with; native tool calls when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_format: Option<ActionFormat>,
}

/// The form in which a model states its actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionFormat {
    /// Tool calls of the chat-completions API.
    NativeCalls,
    /// JSON that `response_format` constrains to a schema.
    JsonSchema,
    /// A code block of JSON in plain text.
    FencedText,
}

/// A role in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Persona {
    /// Name of the role.
    pub title: String,
    /// What the role does.
    pub description: String,
}

/// What an agent needs to know, in the order of its prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentContext {
    /// Instructions for every job.
    pub baseline_context: String,
    /// Facts about the project.
    pub project_context: String,
    /// The request.
    pub task_context: String,
    /// What the result must do.
    pub requirements: Vec<String>,
    /// Criteria that the result is verified against.
    pub acceptance_criteria: Vec<Criterion>,
    /// Anything else.
    pub additional_context: String,
    /// Texts of skills.
    pub skills: Vec<String>,
}

/// One step of `direct_steps`, or a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentStep {
    /// Runs a command line with `/bin/sh -c`.
    RunCommand {
        /// The line.
        command: String,
    },
    /// Writes a file.
    WriteFile {
        /// Path relative to the workspace.
        path: String,
        /// The whole content.
        content: String,
    },
}

/// What an agent did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AgentJobResult {
    /// Version of this document.
    pub protocol_version: String,
    /// The job.
    pub job_id: JobId,
    /// Whether the agent believes that it succeeded.
    pub status: AgentJobStatus,
    /// Why it stopped.
    pub stop: StopCondition,
    /// A code for the reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<AgentFailureCode>,
    /// The reason of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// What was done, in the agent's words.
    pub summary: String,
    /// Paths of files that were changed, relative to the workspace.
    #[serde(default)]
    pub changed_files: Vec<String>,
    /// The actions, in order.
    #[serde(default)]
    pub steps: Vec<AgentStepRecord>,
    /// For each acceptance criterion, why the agent believes that it is met.
    #[serde(default)]
    pub evidence: Vec<CriterionEvidence>,
    /// Tokens and calls of models.
    #[serde(default)]
    pub usage: AgentUsage,
    /// The form of the last action; absent without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_format: Option<ActionFormat>,
    /// What was seen of a program that is only tried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryObservations>,
    /// What was recorded of the work. Whose trace it is, is decided by the orchestrator, whatever is written here.
    #[serde(default, skip_serializing_if = "TraceEvents::is_empty")]
    pub trace: TraceEvents,
}

/// What a canary run shows inside of its sandbox. The node adds what it saw itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CanaryObservations {
    /// Name and version as the program states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub starts: CanaryObservation,
    pub no_network: CanaryObservation,
    pub stops: CanaryObservation,
}

/// One observation, with what was seen in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CanaryObservation {
    pub is_met: bool,
    pub detail: String,
}

/// `GET /canary` at the listener of a canary run's sandbox: what the node has seen so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CanaryState {
    /// A request to the model that contains this word is not answered. Each process of the node has its own word.
    pub stop_word: String,
    /// Requests to the model that were answered.
    pub model_requests: u32,
    /// Requests to the model that were not answered because of the word.
    pub held_requests: u32,
}

/// Whether an agent believes that it succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentJobStatus {
    Success,
    Failure,
    Timeout,
}

/// Why an agent stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopCondition {
    /// It reported the goal as met.
    GoalMet,
    /// It reported that it cannot go on.
    GaveUp,
    /// No steps are left.
    Steps,
    /// No time is left.
    Time,
    /// The budget rejected a model call.
    Budget,
    /// A tool or the model failed for good.
    ToolFailure,
    /// Three malformed actions in a row.
    MalformedActions,
    /// The same actions had the same results.
    NoProgress,
    /// A step of `direct_steps` failed.
    StepFailed,
    /// The specification was rejected.
    InvalidSpec,
}

/// The reason of a failure, as a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentFailureCode {
    SchemaValidation,
    ExtNetRequired,
    StepFailed,
    Timeout,
    ConstraintViolation,
}

/// One action and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AgentStepRecord {
    /// The action, such as `run_command`.
    pub action: String,
    /// Its subject: the command line, the path, the name of the tool.
    pub subject: String,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether it succeeded.
    pub is_success: bool,
}

/// Why an agent believes that a criterion is met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CriterionEvidence {
    /// Index of the criterion in the specification.
    pub criterion: usize,
    /// What shows it.
    pub evidence: String,
}

/// Tokens and calls of models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct AgentUsage {
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
}
