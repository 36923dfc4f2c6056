//! A job from its document to its result.

use std::io::Write;
use std::path::Path;

use cynode_domain::ids::TraceId;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceEvents, TraceField};
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::agent_jobs::{
    AgentJobResult, AgentJobSpec, AgentProgramSpec, AgentUsage, PROTOCOL_VERSION, StopCondition,
};
use cynode_wire::transcript::{STOP, TranscriptLine};

use crate::journal::Journal;
use crate::snapshot::WorkspaceSnapshot;
use crate::spec::{InvalidSpec, ValidSpec};
use crate::stop::JobEnd;
use crate::workspace::Workspace;

/// A job that can be executed. [`OpenJob::close`] turns it into its result.
#[derive(Debug)]
pub struct OpenJob {
    spec: ValidSpec,
    workspace: Workspace,
    before: WorkspaceSnapshot,
    pub journal: Journal,
    trace: TraceRecorder,
}

impl OpenJob {
    /// Opens the job of a document; the error is the result of a job that cannot be started.
    ///
    /// Writes one JSON line for each entry of the transcript to `progress`.
    pub async fn open(
        document: &[u8],
        workspace: &Path,
        progress: Box<dyn Write + Send>,
    ) -> Result<Self, Box<AgentJobResult>> {
        let mut journal = Journal::new(progress);
        let spec = match ValidSpec::parse(document) {
            Ok(spec) => spec,
            Err(invalid) => return Err(Box::new(reject_spec(&invalid, journal))),
        };
        let workspace = match Workspace::open(workspace) {
            Ok(workspace) => workspace,
            Err(error) => {
                let path = workspace.display();
                let message = format!("the workspace {path} cannot be opened: {error}");
                let end = JobEnd::unmet(StopCondition::ToolFailure, message);
                return Err(Box::new(render_result(spec.get(), &end, Vec::new(), journal)));
            }
        };
        let before = take_snapshot(&workspace).await;
        let trace = record_trace(&spec);
        if spec.program().is_some() {
            trace.record(TraceEntry::new(TraceEventKind::ExecutionStarted));
            journal = journal.with_trace(trace.clone());
        }
        Ok(Self { spec, workspace, before, journal, trace })
    }

    pub fn spec(&self) -> &AgentJobSpec {
        self.spec.get()
    }

    /// The program that carries out the job; `None` for the agent's own loop.
    pub fn program(&self) -> Option<&AgentProgramSpec> {
        self.spec.program()
    }

    /// Whether the program is only tried out.
    pub fn is_canary(&self) -> bool {
        self.spec.is_canary()
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Where the agent's own loop records its work. For a program, the actions of the journal are recorded, and start and
    /// end of the job.
    pub fn trace(&self) -> TraceRecorder {
        self.trace.clone()
    }

    /// The specification, and the journal to write to while it is executed.
    pub fn parts(&mut self) -> (&ValidSpec, &Workspace, &mut Journal) {
        (&self.spec, &self.workspace, &mut self.journal)
    }

    /// Lists the changed files, writes the last line of the transcript, and returns the result.
    pub async fn close(mut self, end: &JobEnd) -> AgentJobResult {
        let changed = take_snapshot(&self.workspace).await.changed_since(&self.before);
        self.journal.end_interrupted();
        if self.program().is_some() {
            let steps = self.journal.ended_actions();
            let stopped = TraceEntry::execution_stopped(end.trace_stop());
            self.trace.record(stopped.with(TraceField::Steps, steps));
        }
        let result = render_result(self.spec.get(), end, changed, self.journal);
        AgentJobResult { trace: self.trace.take(), ..result }
    }
}

/// The recorder of a job's trace. Without an id, the work has a trace of its own.
fn record_trace(spec: &ValidSpec) -> TraceRecorder {
    let is_program = spec.program().is_some();
    let actor = if is_program { TraceActor::AgentProgram } else { TraceActor::SandboxAgent };
    let spec = spec.get();
    let trace = spec.trace_id.unwrap_or_else(TraceId::generate);
    TraceRecorder::new(trace, actor).in_profile(spec.profile_id)
}

async fn take_snapshot(workspace: &Workspace) -> WorkspaceSnapshot {
    let workspace = workspace.clone();
    let taken = tokio::task::spawn_blocking(move || WorkspaceSnapshot::take(&workspace));
    taken.await.unwrap_or_default()
}

fn reject_spec(invalid: &InvalidSpec, journal: Journal) -> AgentJobResult {
    let end = JobEnd::unmet(StopCondition::InvalidSpec, invalid.to_string());
    AgentJobResult {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        job_id: invalid.job_id,
        status: end.status(),
        stop: end.stop(),
        failure_code: end.failure_code(),
        failure_message: Some(invalid.to_string()),
        summary: "The job was not started.".to_owned(),
        changed_files: Vec::new(),
        steps: journal.finish(stop_line(&end, &invalid.to_string())),
        evidence: Vec::new(),
        usage: AgentUsage::default(),
        action_format: None,
        canary: None,
        trace: TraceEvents::default(),
    }
}

fn render_result(
    spec: &AgentJobSpec,
    end: &JobEnd,
    changed_files: Vec<String>,
    journal: Journal,
) -> AgentJobResult {
    let (summary, message, evidence) = match end {
        JobEnd::Met { summary, evidence } => (summary.clone(), None, evidence.clone()),
        JobEnd::Unmet { message, .. } => {
            let summary = format!("Not finished: {message}");
            (summary, Some(message.clone()), Vec::new())
        }
    };
    let (usage, action_format) = (journal.usage, journal.action_format);
    AgentJobResult {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        job_id: spec.job_id,
        status: end.status(),
        stop: end.stop(),
        failure_code: end.failure_code(),
        failure_message: message,
        steps: journal.finish(stop_line(end, &summary)),
        summary,
        changed_files,
        evidence,
        usage,
        action_format,
        canary: None,
        trace: TraceEvents::default(),
    }
}

fn stop_line(end: &JobEnd, text: &str) -> TranscriptLine {
    let stop = serde_json::to_value(end.stop()).unwrap_or_default();
    TranscriptLine {
        kind: STOP.to_owned(),
        subject: stop.as_str().unwrap_or_default().to_owned(),
        is_success: matches!(end, JobEnd::Met { .. }),
        text: text.to_owned(),
        ..TranscriptLine::default()
    }
}
