//! Runs a job: specification in, result out.

use std::io::Write;
use std::path::PathBuf;

use cynode_runtime::shutdown::Shutdown;
use cynode_wire::agent_jobs::{
    ActionFormat, AgentJobResult, AgentJobSpec, AgentUsage, ExecutionMode, PROTOCOL_VERSION,
    StopCondition,
};

use crate::action::{ListFiles, ToolAction};
use crate::agent_loop::AgentLoop;
use crate::direct::execute_steps;
use crate::granted_tools::GrantedTools;
use crate::limits::JobLimits;
use crate::model::{ModelClient, RetryPolicy};
use crate::progress::Journal;
use crate::prompt::Prompt;
use crate::recovery::Recovery;
use crate::snapshot::WorkspaceSnapshot;
use crate::spec::{InvalidSpec, ValidSpec};
use crate::stop::{JobEnd, STOPPED_ON_REQUEST};
use crate::tools::Toolbox;
use crate::transcript::Transcript;
use crate::workspace::Workspace;

/// The surroundings of a job.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The directory that the agent works in.
    pub workspace: PathBuf,
    /// Address of the model's chat-completions API; necessary for `agent_inference`.
    pub model_url: Option<String>,
    /// Address of the MCP server, if tools are granted.
    pub mcp_url: Option<String>,
    /// The form of actions to start with, if the specification names none.
    pub action_format: Option<ActionFormat>,
    pub retry: RetryPolicy,
}

/// Executes the specification `document` and returns its result. Never fails: each fault is a stop condition.
///
/// Writes one JSON line for each action to `progress`. When `shutdown` is triggered, the action in flight is killed
/// and the job ends as [`StopCondition::GaveUp`].
pub async fn run_job(
    document: &[u8],
    options: &AgentOptions,
    progress: Box<dyn Write + Send>,
    shutdown: &Shutdown,
) -> AgentJobResult {
    let mut journal = Journal::new(progress);
    let spec = match ValidSpec::parse(document) {
        Ok(spec) => spec,
        Err(invalid) => return reject_spec(&invalid, journal),
    };
    let spec = spec.get();
    let workspace = match Workspace::open(&options.workspace) {
        Ok(workspace) => workspace,
        Err(error) => {
            let path = options.workspace.display();
            let message = format!("the workspace {path} cannot be opened: {error}");
            let end = JobEnd::unmet(StopCondition::ToolFailure, message);
            return render_result(spec, &end, Vec::new(), journal);
        }
    };
    let before = take_snapshot(&workspace).await;
    let limits = JobLimits::start(&spec.constraints);
    let deadline = limits.deadline();
    let end = tokio::select! {
        biased;
        () = shutdown.triggered() => JobEnd::unmet(StopCondition::GaveUp, STOPPED_ON_REQUEST),
        () = tokio::time::sleep_until(deadline) => {
            let seconds = spec.constraints.max_runtime_seconds;
            JobEnd::unmet(StopCondition::Time, format!("all {seconds} seconds are used"))
        }
        end = execute(spec, options, workspace.clone(), limits, &mut journal) => end,
    };
    let changed = take_snapshot(&workspace).await.changed_since(&before);
    render_result(spec, &end, changed, journal)
}

async fn execute(
    spec: &AgentJobSpec,
    options: &AgentOptions,
    workspace: Workspace,
    limits: JobLimits,
    journal: &mut Journal,
) -> JobEnd {
    let max_output_bytes = spec.constraints.max_output_bytes;
    if spec.execution_mode == ExecutionMode::DirectSteps {
        let toolbox = Toolbox::new(workspace, max_output_bytes, None);
        return execute_steps(spec, &toolbox, journal).await;
    }
    let lost = |message: String| JobEnd::unmet(StopCondition::ToolFailure, message);
    let (Some(url), Some(inference)) = (&options.model_url, &spec.inference) else {
        return lost("there is no model: OPENAI_BASE_URL is not set".to_owned());
    };
    let model = match ModelClient::new(url, &inference.allowed_models, options.retry) {
        Ok(model) => model,
        Err(error) => return lost(error.to_string()),
    };
    let granted = connect_tools(spec, options, journal).await;
    let format = inference.action_format.or(options.action_format);
    let list_root = ToolAction::ListFiles(ListFiles { path: None });
    let toolbox = Toolbox::new(workspace, max_output_bytes, granted);
    let listing = toolbox.execute(&list_root).await.ok().and_then(|listed| listed.data);
    let prompt = Prompt::new(spec, toolbox.granted_tools(), listing.as_deref().unwrap_or_default());
    let agent_loop = AgentLoop {
        spec,
        model,
        toolbox: &toolbox,
        transcript: Transcript::new(prompt),
        recovery: Recovery::default(),
        limits,
        journal,
        format: format.unwrap_or(ActionFormat::NativeCalls),
        was_reminded_of_evidence: false,
    };
    Box::pin(agent_loop.run()).await
}

/// Connects to the tool server. Without it the job goes on without its tools.
async fn connect_tools(
    spec: &AgentJobSpec,
    options: &AgentOptions,
    journal: &mut Journal,
) -> Option<GrantedTools> {
    let url = options.mcp_url.as_deref()?;
    match GrantedTools::connect(url, spec.task_id, spec.job_id).await {
        Ok(granted) => Some(granted),
        Err(error) => {
            journal.note("tools", url, false, &describe_chain(&error));
            None
        }
    }
}

async fn take_snapshot(workspace: &Workspace) -> WorkspaceSnapshot {
    let workspace = workspace.clone();
    let taken = tokio::task::spawn_blocking(move || WorkspaceSnapshot::take(&workspace));
    taken.await.unwrap_or_default()
}

fn reject_spec(invalid: &InvalidSpec, mut journal: Journal) -> AgentJobResult {
    let end = JobEnd::unmet(StopCondition::InvalidSpec, invalid.to_string());
    journal.note("stop", "invalid_spec", false, &invalid.to_string());
    AgentJobResult {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        job_id: invalid.job_id,
        status: end.status(),
        stop: end.stop(),
        failure_code: end.failure_code(),
        failure_message: Some(invalid.to_string()),
        summary: "The job was not started.".to_owned(),
        changed_files: Vec::new(),
        steps: Vec::new(),
        evidence: Vec::new(),
        usage: AgentUsage::default(),
        action_format: None,
    }
}

fn render_result(
    spec: &AgentJobSpec,
    end: &JobEnd,
    changed_files: Vec<String>,
    mut journal: Journal,
) -> AgentJobResult {
    let (summary, message, evidence) = match end {
        JobEnd::Met { summary, evidence } => (summary.clone(), None, evidence.clone()),
        JobEnd::Unmet { message, .. } => {
            let summary = format!("Not finished: {message}");
            (summary, Some(message.clone()), Vec::new())
        }
    };
    let stop = serde_json::to_value(end.stop()).unwrap_or_default();
    journal.note("stop", stop.as_str().unwrap_or_default(), message.is_none(), &summary);
    let (usage, action_format) = (journal.usage, journal.action_format);
    AgentJobResult {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        job_id: spec.job_id,
        status: end.status(),
        stop: end.stop(),
        failure_code: end.failure_code(),
        failure_message: message,
        summary,
        changed_files,
        steps: journal.finish(),
        evidence,
        usage,
        action_format,
    }
}

fn describe_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
