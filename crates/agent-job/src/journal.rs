//! The journal of a job: what was done, and a live transcript as JSON lines.
//!
//! Invariant: neither records nor lines grow without a limit, whatever the program behind them does.

use std::fmt;
use std::io::Write;

use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::agent_jobs::{ActionFormat, AgentStepRecord, AgentUsage};
use cynode_wire::transcript::{AGENT, TranscriptLine};

use crate::bounded_text::{clip_end, one_line};

/// The most bytes of a subject and of a text in a line.
const TEXT_BYTES: usize = 300;
/// The most bytes of a detail.
const DETAIL_BYTES: usize = 8_000;
/// The most bytes of all lines together, except the last ones of the job.
const TRANSCRIPT_BYTES: usize = 4 << 20;
/// The most records of one job; later ones are counted only.
const MAX_RECORDS: usize = 1_000;
/// The most actions that are recorded in the trace, so that the end of the job always fits into it.
const TRACED_STEPS: u32 = 150;

/// The result of an action, as it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOutcome {
    pub is_success: bool,
    pub exit_code: Option<i32>,
    pub text: String,
    /// More lines, such as a diff.
    pub detail: Option<String>,
}

impl StepOutcome {
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Records actions and writes one line of progress for each.
pub struct Journal {
    progress: Box<dyn Write + Send>,
    /// Bytes of lines that may still be written.
    left_bytes: usize,
    steps: Vec<AgentStepRecord>,
    /// Actions without a record.
    unrecorded: usize,
    /// Name and subject of the action that is being executed.
    in_flight: Option<(String, String)>,
    /// Where actions are recorded as steps; `None` if the agent records its steps itself.
    trace: Option<TraceRecorder>,
    /// How many actions ended.
    ended: u32,
    pub usage: AgentUsage,
    pub action_format: Option<ActionFormat>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Journal {
    pub fn new(progress: Box<dyn Write + Send>) -> Self {
        Self {
            progress,
            left_bytes: TRANSCRIPT_BYTES,
            steps: Vec::new(),
            unrecorded: 0,
            in_flight: None,
            trace: None,
            ended: 0,
            usage: AgentUsage::default(),
            action_format: None,
        }
    }

    /// Records actions as steps of this trace too.
    #[must_use]
    pub fn with_trace(self, trace: TraceRecorder) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// How many actions ended.
    pub fn ended_actions(&self) -> u32 {
        self.ended
    }

    /// Marks the start of an action.
    pub fn begin(&mut self, action: &str, subject: &str) {
        self.in_flight = Some((action.to_owned(), subject.to_owned()));
    }

    /// Records the result of the action that began last.
    pub fn end(&mut self, outcome: &StepOutcome) {
        let Some((action, subject)) = self.in_flight.take() else { return };
        self.record(action, subject, outcome);
    }

    /// Records an action and its result. Several actions may be in progress at once.
    pub fn record(&mut self, action: String, subject: String, outcome: &StepOutcome) {
        self.record_step(&action, outcome);
        self.write_line(TranscriptLine {
            kind: action.clone(),
            subject: subject.clone(),
            exit_code: outcome.exit_code,
            is_success: outcome.is_success,
            text: outcome.text.clone(),
            detail: outcome.detail.clone(),
        });
        if self.steps.len() >= MAX_RECORDS {
            self.unrecorded += 1;
            return;
        }
        let (exit_code, is_success) = (outcome.exit_code, outcome.is_success);
        self.steps.push(AgentStepRecord { action, subject, exit_code, is_success });
    }

    fn record_step(&mut self, action: &str, outcome: &StepOutcome) {
        let index = self.ended;
        self.ended = self.ended.saturating_add(1);
        let Some(trace) = self.trace.as_ref().filter(|_| index < TRACED_STEPS) else { return };
        let result = if outcome.is_success { "ok" } else { "error" };
        let mut entry = TraceEntry::new(TraceEventKind::StepFinished)
            .at_step(index)
            .with(TraceField::Tool, action)
            .with(TraceField::Outcome, result);
        if let Some(code) = outcome.exit_code {
            entry = entry.with(TraceField::ExitCode, code);
        }
        trace.record(entry);
    }

    /// Writes a line that is not an action.
    pub fn note(&mut self, kind: &str, subject: &str, is_success: bool, text: &str) {
        self.write_line(TranscriptLine {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            is_success,
            text: text.to_owned(),
            ..TranscriptLine::default()
        });
    }

    /// Writes a line, shortened, unless the transcript has reached its limit.
    pub fn write_line(&mut self, line: TranscriptLine) {
        if self.left_bytes == 0 {
            return;
        }
        let text = encode_line(line);
        self.left_bytes = self.left_bytes.saturating_sub(text.len());
        self.write_text(&text);
        if self.left_bytes == 0 {
            let text = format!("the transcript has {TRANSCRIPT_BYTES} bytes; the rest is left out");
            let line = TranscriptLine { kind: AGENT.to_owned(), text, ..TranscriptLine::default() };
            let line = encode_line(line);
            self.write_text(&line);
        }
    }

    /// Records the action in progress, if there is one, as failed.
    pub fn end_interrupted(&mut self) {
        self.end(&StepOutcome::failed("interrupted"));
    }

    /// Writes the last line of the job, which no limit leaves out, and returns the records. An action that was cut
    /// off is recorded as failed.
    pub fn finish(mut self, stop: TranscriptLine) -> Vec<AgentStepRecord> {
        self.end_interrupted();
        let last = encode_line(stop);
        self.write_text(&last);
        if self.unrecorded > 0 {
            let subject = format!("{} more actions", self.unrecorded);
            let action = "not_recorded".to_owned();
            self.steps.push(AgentStepRecord { action, subject, exit_code: None, is_success: true });
        }
        self.steps
    }

    /// A reader that is gone must not end the job.
    fn write_text(&mut self, text: &str) {
        let written = self.progress.write_all(text.as_bytes()).and_then(|()| self.progress.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "progress line lost");
        }
    }
}

/// Encodes a line, with its texts shortened.
fn encode_line(mut line: TranscriptLine) -> String {
    line.subject = clip_end(&line.subject, TEXT_BYTES);
    line.text = one_line(&line.text, TEXT_BYTES);
    line.detail = line.detail.map(|detail| clip_end(&detail, DETAIL_BYTES));
    serde_json::to_string(&line).unwrap_or_default() + "\n"
}
