//! Runs a job: specification in, result out.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use cynode_agent_job::OpenJob;
use cynode_agent_job::journal::Journal;
use cynode_agent_job::stop::{JobEnd, STOPPED_ON_REQUEST};
use cynode_agent_job::workspace::Workspace;
use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceField};
use cynode_roles::run_worker;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::agent_jobs::{
    ActionFormat, AgentJobResult, AgentJobSpec, ExecutionMode, StopCondition,
};

use crate::action::{ListFiles, ToolAction};
use crate::agent_loop::{AgentLoop, AgentLoopEnd};
use crate::direct::execute_steps;
use crate::granted_tools::GrantedTools;
use crate::limits::JobLimits;
use crate::model::{ModelClient, RetryPolicy};
use crate::prompt::Prompt;
use crate::recovery::Recovery;
use crate::tools::Toolbox;
use crate::transcript::Transcript;

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
    /// How often the agent asks for instructions of the project manager.
    pub instruction_interval: Duration,
}

/// Executes the document of a job and returns its result. Never fails: each fault is a stop condition.
///
/// Writes one JSON line for each action to `progress`. When `shutdown` is triggered, the action in flight is killed
/// and the job ends as [`StopCondition::GaveUp`].
pub async fn run_job(
    document: &[u8],
    options: &AgentOptions,
    progress: Box<dyn Write + Send>,
    shutdown: &Shutdown,
) -> AgentJobResult {
    match OpenJob::open(document, &options.workspace, progress).await {
        Ok(job) => run_open_job(job, options, shutdown).await,
        Err(result) => *result,
    }
}

/// Executes a job with the agent's own loop, whatever program it names, and returns its result.
pub async fn run_open_job(
    mut job: OpenJob,
    options: &AgentOptions,
    shutdown: &Shutdown,
) -> AgentJobResult {
    let trace = job.trace();
    let (spec, workspace, journal) = job.parts();
    let spec = spec.get();
    let limits = JobLimits::start(&spec.constraints);
    let deadline = limits.deadline();
    let cut_off = |end: JobEnd| record_end(end, &trace);
    let end = tokio::select! {
        biased;
        () = shutdown.triggered() => {
            cut_off(JobEnd::unmet(StopCondition::GaveUp, STOPPED_ON_REQUEST))
        }
        () = tokio::time::sleep_until(deadline) => {
            let seconds = spec.constraints.max_runtime_seconds;
            cut_off(JobEnd::unmet(StopCondition::Time, format!("all {seconds} seconds are used")))
        }
        end = execute(spec, options, workspace.clone(), limits, journal, &trace) => end,
    };
    job.close(&end).await
}

/// Records the end of a job that did not end in its loop.
fn record_end(end: JobEnd, trace: &TraceRecorder) -> JobEnd {
    trace.record(TraceEntry::execution_stopped(end.trace_stop()));
    end
}

async fn execute(
    spec: &AgentJobSpec,
    options: &AgentOptions,
    workspace: Workspace,
    limits: JobLimits,
    journal: &mut Journal,
    trace: &TraceRecorder,
) -> JobEnd {
    let max_output_bytes = spec.constraints.max_output_bytes;
    if spec.execution_mode == ExecutionMode::DirectSteps {
        let toolbox = Toolbox::new(workspace, max_output_bytes, None);
        return execute_steps(spec, toolbox, journal, trace).await;
    }
    let lost =
        |message: String| record_end(JobEnd::unmet(StopCondition::ToolFailure, message), trace);
    let (Some(url), Some(inference)) = (&options.model_url, &spec.inference) else {
        return lost("there is no model: OPENAI_BASE_URL is not set".to_owned());
    };
    let model = match ModelClient::new(url, &inference.allowed_models, options.retry) {
        Ok(model) => model,
        Err(error) => return lost(error.to_string()),
    };
    let granted = connect_tools(spec, options, journal, trace).await;
    let format = inference.action_format.or(options.action_format);
    let list_root = ToolAction::ListFiles(ListFiles { path: None });
    let toolbox = Toolbox::new(workspace, max_output_bytes, granted);
    let listing = toolbox.execute(&list_root).await.ok().and_then(|listed| listed.data);
    let prompt = Prompt::new(spec, toolbox.granted_tools(), listing.as_deref().unwrap_or_default());
    let mut agent_loop = AgentLoop {
        spec,
        model,
        toolbox: &toolbox,
        feed: toolbox
            .granted_tools()
            .and_then(|tools| tools.instruction_feed(options.instruction_interval)),
        transcript: Transcript::new(prompt),
        recovery: Recovery::default(),
        limits,
        journal,
        format: format.unwrap_or(ActionFormat::NativeCalls),
        was_reminded_of_evidence: false,
    };
    let AgentLoopEnd(end) = Box::pin(run_worker(&mut agent_loop, trace)).await;
    end
}

/// Connects to the tool server. Without it the job goes on without its tools.
async fn connect_tools(
    spec: &AgentJobSpec,
    options: &AgentOptions,
    journal: &mut Journal,
    trace: &TraceRecorder,
) -> Option<GrantedTools> {
    let url = options.mcp_url.as_deref()?;
    match GrantedTools::connect(url, spec.task_id, spec.job_id).await {
        Ok(granted) => {
            let connected = TraceEntry::new(TraceEventKind::BackendConnected);
            let connected = connected.with(TraceField::Backend, "mcp");
            trace.record(connected.with(TraceField::BackendPurpose, "tools"));
            Some(granted)
        }
        Err(error) => {
            let failed = TraceEntry::new(TraceEventKind::Error);
            trace.record(failed.with(TraceField::ErrorKind, "tools_unreachable"));
            journal.note("tools", url, false, &describe_chain(&error));
            None
        }
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
