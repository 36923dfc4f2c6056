//! Records the updates of a session: messages, thoughts, plans and tool calls.
//!
//! Invariant: whatever an agent sends, the recorder keeps a bounded part of one message and of each open tool call.

use std::collections::BTreeMap;

use cynode_agent_job::bounded_text::{clip_end, one_line};
use cynode_agent_job::journal::{Journal, StepOutcome};
use cynode_domain::text::truncate_bytes;
use cynode_wire::transcript::{MESSAGE, PLAN, THOUGHT, TranscriptLine};
use serde_json::value::RawValue;

use crate::acp_error::AcpError;
use crate::diff_text::render_diff;
use crate::protocol::{ContentBlock, PlanEntry, SessionUpdate, ToolCallContent, ToolCallFields};

/// The most bytes of a message that are kept.
const MESSAGE_BYTES: usize = 8_000;
/// The most bytes of the summary in the result.
const SUMMARY_BYTES: usize = 4_000;
/// The most bytes of a title, a result or a line of a plan.
const TITLE_BYTES: usize = 300;
/// The most bytes of an id of a tool call.
const MAX_ID_BYTES: usize = 1_000;
/// The most bytes of the details of a tool call.
const DETAIL_BYTES: usize = 8_000;
/// The most tool calls in progress.
const MAX_OPEN_CALLS: usize = 256;
/// The most entries of a plan that are shown.
const MAX_PLAN_ENTRIES: usize = 50;

/// The kind of a tool call that states none.
const OTHER: &str = "other";

/// Records what an agent does.
#[derive(Debug)]
pub(crate) struct UpdateRecorder {
    /// Tool calls that have not ended.
    open_calls: BTreeMap<String, OpenToolCall>,
    calls: u32,
    max_calls: u32,
    /// The message or thought that is being received.
    text: Option<ReceivedText>,
    last_message: String,
}

#[derive(Debug)]
struct ReceivedText {
    kind: &'static str,
    text: String,
    omitted: usize,
}

#[derive(Debug, Default)]
struct OpenToolCall {
    kind: String,
    title: String,
    text: String,
    detail: String,
}

impl UpdateRecorder {
    pub(crate) fn new(max_calls: u32) -> Self {
        Self {
            open_calls: BTreeMap::new(),
            calls: 0,
            max_calls,
            text: None,
            last_message: String::new(),
        }
    }

    /// Records one update; the error is that of a limit. An update that cannot be read is left out.
    pub(crate) fn record(
        &mut self,
        update: &RawValue,
        journal: &mut Journal,
    ) -> Result<(), AcpError> {
        let Ok(fields) = serde_json::from_str::<SessionUpdate<'_>>(update.get()) else {
            return Ok(());
        };
        match fields.kind.as_str() {
            "agent_message_chunk" => self.push_text(MESSAGE, fields.content, journal),
            "agent_thought_chunk" => self.push_text(THOUGHT, fields.content, journal),
            "plan" => {
                self.flush(journal);
                record_plan(&fields.entries, journal);
            }
            "tool_call" | "tool_call_update" => {
                self.flush(journal);
                if let Ok(call) = serde_json::from_str::<ToolCallFields>(update.get()) {
                    return self.record_call(call, fields.content, journal);
                }
            }
            // Modes, commands, usage and updates of later versions.
            _ => {}
        }
        Ok(())
    }

    /// The kind and title of a tool call for which a permission is requested.
    pub(crate) fn describe_call(&self, fields: &ToolCallFields) -> (String, String) {
        let id = fields.tool_call_id.as_deref().unwrap_or_default();
        let open = self.open_calls.get(id);
        let kind = fields.kind.clone().or_else(|| Some(open?.kind.clone()));
        let title = fields.title.clone().or_else(|| Some(open?.title.clone()));
        let kind = kind.unwrap_or_else(|| OTHER.to_owned());
        (one_line(&kind, TITLE_BYTES), one_line(&title.unwrap_or_default(), TITLE_BYTES))
    }

    /// Writes the message that is being received.
    pub(crate) fn flush(&mut self, journal: &mut Journal) {
        let Some(received) = self.text.take() else { return };
        let mut text = received.text.trim().to_owned();
        if text.is_empty() {
            return;
        }
        if received.omitted > 0 {
            text = format!("{text} [... {} bytes omitted]", received.omitted);
        }
        let line = TranscriptLine {
            kind: received.kind.to_owned(),
            is_success: true,
            text: one_line(&text, TITLE_BYTES),
            detail: (text.lines().nth(1).is_some() || text.len() > TITLE_BYTES)
                .then(|| text.clone()),
            ..TranscriptLine::default()
        };
        journal.write_line(line);
        if received.kind == MESSAGE {
            self.last_message = text;
        }
    }

    /// Ends the record: tool calls in progress are recorded as failed. Returns the last message of the agent.
    pub(crate) fn finish(&mut self, journal: &mut Journal) -> String {
        self.flush(journal);
        for (_, call) in std::mem::take(&mut self.open_calls) {
            let outcome = StepOutcome::failed("not finished");
            journal.record(call.named_kind(), call.title, &outcome);
        }
        clip_end(&self.last_message, SUMMARY_BYTES)
    }

    fn push_text(&mut self, kind: &'static str, content: Option<&RawValue>, journal: &mut Journal) {
        let block = content.and_then(|content| serde_json::from_str(content.get()).ok());
        let text = block.map(ContentBlock::into_text).unwrap_or_default();
        if self.text.as_ref().is_some_and(|received| received.kind != kind) {
            self.flush(journal);
        }
        let received =
            self.text.get_or_insert_with(|| ReceivedText { kind, text: String::new(), omitted: 0 });
        let room = MESSAGE_BYTES.saturating_sub(received.text.len());
        let kept = if received.omitted > 0 { "" } else { truncate_bytes(&text, room) };
        received.text.push_str(kept);
        received.omitted = received.omitted.saturating_add(text.len() - kept.len());
    }

    fn record_call(
        &mut self,
        fields: ToolCallFields,
        content: Option<&RawValue>,
        journal: &mut Journal,
    ) -> Result<(), AcpError> {
        let Some(id) = fields.tool_call_id.filter(|id| id.len() <= MAX_ID_BYTES) else {
            return Ok(());
        };
        if !self.open_calls.contains_key(&id) {
            if self.calls >= self.max_calls {
                return Err(AcpError::StepsUsed(self.max_calls));
            }
            if self.open_calls.len() >= MAX_OPEN_CALLS {
                return Err(AcpError::TooManyToolCalls(MAX_OPEN_CALLS));
            }
            self.calls += 1;
        }
        let call = self.open_calls.entry(id.clone()).or_default();
        if let Some(kind) = fields.kind {
            call.kind = one_line(&kind, TITLE_BYTES);
        }
        if let Some(title) = fields.title {
            call.title = one_line(&title, TITLE_BYTES);
        }
        if let Some(content) = content {
            call.replace_content(content);
        }
        if let Some("completed" | "failed") = fields.status.as_deref() {
            let is_success = fields.status.as_deref() == Some("completed");
            if let Some(call) = self.open_calls.remove(&id) {
                call.write(is_success, journal);
            }
        }
        Ok(())
    }
}

impl OpenToolCall {
    /// An update replaces the contents of a tool call.
    fn replace_content(&mut self, content: &RawValue) {
        let contents: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
        (self.text, self.detail) = (String::new(), String::new());
        for content in contents {
            let content = serde_json::from_str::<ToolCallContent>(content.get());
            match content {
                Ok(ToolCallContent { path: Some(path), old_text, new_text: Some(new), .. })
                    if self.detail.len() < DETAIL_BYTES =>
                {
                    let path = one_line(&path, TITLE_BYTES);
                    self.detail.push_str(&render_diff(&path, old_text.as_deref(), &new));
                    self.detail = clip_end(&self.detail, DETAIL_BYTES);
                }
                Ok(ToolCallContent { content: Some(block), .. }) if self.text.is_empty() => {
                    self.text = one_line(&block.into_text(), TITLE_BYTES);
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn named_kind(&self) -> String {
        if self.kind.is_empty() { OTHER.to_owned() } else { self.kind.clone() }
    }

    fn write(self, is_success: bool, journal: &mut Journal) {
        let kind = self.named_kind();
        let detail = (!self.detail.is_empty()).then_some(self.detail);
        let outcome = StepOutcome { is_success, exit_code: None, text: self.text, detail };
        journal.record(kind, self.title, &outcome);
    }
}

fn record_plan(entries: &[PlanEntry], journal: &mut Journal) {
    let done = entries.iter().filter(|entry| entry.status == "completed").count();
    let render = |entry: &PlanEntry| {
        let mark = match entry.status.as_str() {
            "completed" => "[x]",
            "in_progress" => "[>]",
            _ => "[ ]",
        };
        format!("{mark} {}", one_line(&entry.content, TITLE_BYTES))
    };
    let lines: Vec<String> = entries.iter().take(MAX_PLAN_ENTRIES).map(render).collect();
    journal.write_line(TranscriptLine {
        kind: PLAN.to_owned(),
        is_success: true,
        text: format!("{done} of {} done", entries.len()),
        detail: Some(lines.join("\n")),
        ..TranscriptLine::default()
    });
}
