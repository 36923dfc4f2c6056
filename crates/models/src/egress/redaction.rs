//! Redacts secrets in model output, also secrets split over several chunks.
//!
//! A secret is one run of visible characters, so the last run of a stream is withheld until
//! something follows it, and then scanned together with its context. Short words of letters are
//! released at once to keep the stream smooth; so at most [`EARLY_LETTERS`] letters of a secret can
//! leak.

use std::collections::BTreeMap;

use cynode_llm_wire::openai::{
    ChatChunk, ChatCompletion, ChunkChoice, FunctionDelta, ToolCallDelta,
};
use cynode_runtime::redact::redact_with_marker;
use serde_json::{Map, Value};

use cynode_resources::secrets::SECRET_MARKER;

/// Bytes of released text that are rescanned with what follows.
const CONTEXT_BYTES: usize = 512;
/// Maximum withheld text, in bytes.
const MAX_WITHHELD_BYTES: usize = 8 * 1024;
/// Maximum length of an unfinished word of letters that is released at once.
const EARLY_LETTERS: usize = 6;

fn redact_text(text: &str) -> String {
    redact_with_marker(text, SECRET_MARKER).text.into_owned()
}

/// The token list of a choice: no pattern finds a secret split into tokens.
const LOGPROBS: &str = "logprobs";

/// Redacts the secrets in a complete answer.
pub(super) fn redact_completion(answer: &mut ChatCompletion) {
    for choice in &mut answer.choices {
        let before = choice.other.contains_key(LOGPROBS).then(|| choice.message.clone());
        let message = &mut choice.message;
        let texts = [&mut message.content, &mut message.refusal].into_iter().flatten();
        let calls = message.tool_calls.iter_mut().filter_map(|call| call.function.as_mut());
        for text in texts.chain(calls.map(|function| &mut function.arguments)) {
            *text = redact_text(text);
        }
        message.other.values_mut().for_each(redact_value);
        if before.is_some_and(|before| before != *message) {
            choice.other.remove(LOGPROBS);
        }
        choice.other.values_mut().for_each(redact_value);
    }
}

fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = redact_text(text),
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(fields) => fields.values_mut().for_each(redact_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text of an answer that a chunk belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum AnswerText {
    Content,
    Refusal,
    Arguments(u32),
    Field(String),
}

/// Redacts the secrets in a streamed answer.
#[derive(Debug, Default)]
pub(super) struct StreamRedactor {
    texts: BTreeMap<(u32, AnswerText), TextRedactor>,
    /// Token lists by choice, withheld until the text is known to hold no secret.
    tokens: BTreeMap<u32, Vec<(String, Value)>>,
}

impl StreamRedactor {
    /// Scans a chunk; leaves in it only what may be released now.
    pub(super) fn push(&mut self, chunk: &mut ChatChunk) {
        for choice in &mut chunk.choices {
            self.push_choice(choice);
            if choice.finish_reason.is_some() {
                self.flush(choice);
            }
        }
    }

    /// Releases the withheld text of an answer that ended without a finish reason.
    pub(super) fn finish(&mut self, last: &ChatChunk) -> Option<ChatChunk> {
        let mut indexes: Vec<u32> = self.texts.keys().map(|(index, _)| *index).collect();
        indexes.dedup();
        let mut rest = ChatChunk { choices: vec![], usage: None, ..last.clone() };
        for index in indexes {
            let mut choice = ChunkChoice { index, ..ChunkChoice::default() };
            self.flush(&mut choice);
            if choice != (ChunkChoice { index, ..ChunkChoice::default() }) {
                rest.choices.push(choice);
            }
        }
        (!rest.choices.is_empty()).then_some(rest)
    }

    fn push_choice(&mut self, choice: &mut ChunkChoice) {
        let (index, delta) = (choice.index, &mut choice.delta);
        if let Some(Value::Object(lists)) = choice.other.remove(LOGPROBS) {
            self.tokens.entry(index).or_default().extend(lists);
        }
        choice.other.values_mut().for_each(redact_value);
        let mut pass = |place: AnswerText, text: &mut String| {
            *text = self.texts.entry((index, place)).or_default().push(text);
        };
        if let Some(text) = &mut delta.content {
            pass(AnswerText::Content, text);
        }
        if let Some(text) = &mut delta.refusal {
            pass(AnswerText::Refusal, text);
        }
        for call in &mut delta.tool_calls {
            let arguments = call.function.as_mut().and_then(|it| it.arguments.as_mut());
            if let Some(text) = arguments {
                pass(AnswerText::Arguments(call.index), text);
            }
        }
        for (name, field) in &mut delta.other {
            if let Value::String(text) = field {
                pass(AnswerText::Field(name.clone()), text);
            } else {
                redact_value(field);
            }
        }
    }

    /// Releases the withheld text of a choice.
    fn flush(&mut self, choice: &mut ChunkChoice) {
        self.flush_texts(choice);
        let mut own = self.texts.iter().filter(|((index, _), _)| *index == choice.index);
        let tokens = self.tokens.remove(&choice.index).unwrap_or_default();
        if own.all(|(_, text)| !text.is_redacted) && !tokens.is_empty() {
            choice.other.insert(LOGPROBS.to_owned(), join_token_lists(tokens));
        }
    }

    fn flush_texts(&mut self, choice: &mut ChunkChoice) {
        let delta = &mut choice.delta;
        for ((_, place), text) in self.texts.iter_mut().filter(|((at, _), _)| *at == choice.index) {
            let rest = text.finish();
            if rest.is_empty() {
                continue;
            }
            match place {
                AnswerText::Content => delta.content.get_or_insert_default().push_str(&rest),
                AnswerText::Refusal => delta.refusal.get_or_insert_default().push_str(&rest),
                AnswerText::Arguments(call) => {
                    append_arguments(&mut delta.tool_calls, *call, &rest);
                }
                AnswerText::Field(name) => {
                    let before = delta.other.get(name).and_then(Value::as_str).unwrap_or_default();
                    let whole = format!("{before}{rest}");
                    delta.other.insert(name.clone(), whole.into());
                }
            }
        }
    }
}

/// Concatenates the lists of all chunks by name.
fn join_token_lists(chunks: Vec<(String, Value)>) -> Value {
    let mut whole = Map::new();
    for (name, chunk) in chunks {
        match (whole.get_mut(&name), chunk) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Array(_)), _) => {}
            (_, chunk) => {
                whole.insert(name, chunk);
            }
        }
    }
    Value::Object(whole)
}

fn append_arguments(calls: &mut Vec<ToolCallDelta>, index: u32, rest: &str) {
    let at = calls.iter().position(|call| call.index == index).unwrap_or_else(|| {
        calls.push(ToolCallDelta { index, ..ToolCallDelta::default() });
        calls.len() - 1
    });
    if let Some(call) = calls.get_mut(at) {
        let function = call.function.get_or_insert_with(FunctionDelta::default);
        function.arguments.get_or_insert_default().push_str(rest);
    }
}

/// Returns whether a chunk has content.
pub(super) fn has_content(chunk: &ChatChunk) -> bool {
    let is_empty = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
    chunk.usage.is_some()
        || chunk.choices.is_empty()
        || chunk.choices.iter().any(|choice| {
            let delta = &choice.delta;
            choice.finish_reason.is_some()
                || delta.role.is_some()
                || !is_empty(&delta.content)
                || !is_empty(&delta.refusal)
                || !delta.tool_calls.is_empty()
                || !delta.other.is_empty()
        })
}

/// Scan state of one text.
#[derive(Debug, Default)]
struct TextRedactor {
    /// The unredacted tail of the text.
    raw: String,
    /// Bytes of `raw` that were scanned.
    seen: usize,
    /// The redacted form of those bytes, as released.
    out: String,
    /// Whether a secret was redacted.
    is_redacted: bool,
}

impl TextRedactor {
    fn push(&mut self, chunk: &str) -> String {
        self.raw.push_str(chunk);
        let given = self.release(self.settled_bytes());
        self.drop_old_context();
        given
    }

    fn finish(&mut self) -> String {
        self.release(self.raw.len())
    }

    /// Returns the new part of the first `settled` bytes, redacted.
    fn release(&mut self, settled: usize) -> String {
        let Some(text) = self.raw.get(..settled) else { return String::new() };
        self.seen = settled;
        let clean = redact_text(text);
        self.is_redacted |= clean != text;
        let same = common_prefix_bytes(&clean, &self.out);
        let given = clean.get(same..).unwrap_or_default().to_owned();
        self.out = clean;
        given
    }

    /// Returns how many bytes cannot be the beginning of a longer word.
    fn settled_bytes(&self) -> usize {
        let before = self.raw.trim_end_matches(|c: char| c.is_ascii_graphic());
        let held = self.raw.get(before.len()..).unwrap_or_default();
        let is_value = before.trim_end().ends_with([':', '=', '"', '\'']);
        let is_word = held.len() <= EARLY_LETTERS && held.bytes().all(|b| b.is_ascii_alphabetic());
        let is_settled = held.len() > MAX_WITHHELD_BYTES || (is_word && !is_value);
        // Released text stays released, even if it turns out to be part of a secret.
        if is_settled { self.raw.len() } else { before.len().max(self.seen) }
    }

    /// Drops context that is too old to matter. Not in the middle of a secret: what follows belongs
    /// to the secret as long as its beginning is kept.
    fn drop_old_context(&mut self) {
        let settled = self.seen;
        let too_much = settled.saturating_sub(CONTEXT_BYTES);
        let is_amid = self.out.ends_with(SECRET_MARKER) && settled < 64 * CONTEXT_BYTES;
        if too_much < CONTEXT_BYTES || is_amid {
            return;
        }
        let cut = (too_much..settled).find(|at| self.raw.is_char_boundary(*at)).unwrap_or(0);
        self.raw.drain(..cut);
        self.seen = settled - cut;
        self.out = redact_text(self.raw.get(..settled - cut).unwrap_or_default());
    }
}

/// Returns the length of the common prefix in bytes.
fn common_prefix_bytes(a: &str, b: &str) -> usize {
    let pairs = a.char_indices().zip(b.chars());
    let end = a.len().min(b.len());
    pairs.into_iter().find(|((_, x), y)| x != y).map_or(end, |((at, _), _)| at)
}

#[cfg(test)]
mod tests;
