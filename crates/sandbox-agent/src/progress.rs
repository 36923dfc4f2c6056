//! The journal of a job: what was done, and a live transcript as JSON lines.

use std::fmt;
use std::io::Write;

use cynode_wire::agent_jobs::{ActionFormat, AgentStepRecord, AgentUsage};
use serde::Serialize;

use crate::bounded_text::one_line;
use crate::observation::Observation;

/// The most bytes of a text in a progress line.
const TEXT_BYTES: usize = 300;

/// One line of progress.
#[derive(Debug, Serialize)]
struct ProgressLine<'a> {
    /// An action, or `malformed`, `format`, `compaction`, `tools` or `stop`.
    kind: &'a str,
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    is_success: bool,
    text: String,
}

/// Records actions and writes one line of progress for each.
pub(crate) struct Journal {
    progress: Box<dyn Write + Send>,
    steps: Vec<AgentStepRecord>,
    /// Name and subject of the action that is being executed.
    in_flight: Option<(String, String)>,
    pub(crate) usage: AgentUsage,
    pub(crate) action_format: Option<ActionFormat>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl Journal {
    pub(crate) fn new(progress: Box<dyn Write + Send>) -> Self {
        let usage = AgentUsage::default();
        Self { progress, steps: Vec::new(), in_flight: None, usage, action_format: None }
    }

    /// Marks the start of an action.
    pub(crate) fn begin(&mut self, action: &str, subject: &str) {
        self.in_flight = Some((action.to_owned(), subject.to_owned()));
    }

    /// Records the result of the action that began last.
    pub(crate) fn end(&mut self, observation: &Observation) {
        let Some((action, subject)) = self.in_flight.take() else { return };
        let data = observation.data.as_deref().unwrap_or_default();
        let text = match one_line(data, TEXT_BYTES) {
            line if line.is_empty() => observation.headline.clone(),
            line => format!("{}: {line}", observation.headline),
        };
        self.write_line(&ProgressLine {
            kind: &action,
            subject: &subject,
            exit_code: observation.exit_code,
            is_success: observation.is_success(),
            text: one_line(&text, TEXT_BYTES),
        });
        self.steps.push(AgentStepRecord {
            action,
            subject,
            exit_code: observation.exit_code,
            is_success: observation.is_success(),
        });
    }

    /// Writes a line that is not an action.
    pub(crate) fn note(&mut self, kind: &str, subject: &str, is_success: bool, text: &str) {
        let text = one_line(text, TEXT_BYTES);
        self.write_line(&ProgressLine { kind, subject, exit_code: None, is_success, text });
    }

    /// Returns the records; an action that was cut off is recorded as failed.
    pub(crate) fn finish(mut self) -> Vec<AgentStepRecord> {
        self.end(&Observation::failed("interrupted"));
        self.steps
    }

    /// A reader that is gone must not end the job.
    fn write_line(&mut self, line: &ProgressLine<'_>) {
        let written = serde_json::to_string(line)
            .map_err(std::io::Error::from)
            .and_then(|line| writeln!(self.progress, "{line}"))
            .and_then(|()| self.progress.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "progress line lost");
        }
    }
}
