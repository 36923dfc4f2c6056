//! Takes secrets out of what a model says, also those that come in several pieces.
//!
//! A secret is one run of visible characters, so the last such run of a stream is held back until
//! something follows it: then it is looked at whole, with what stands before it. Short words of letters are
//! given out at once, because answers would stutter otherwise; so at most [`EARLY_LETTERS`] letters of
//! a secret get out.

use std::collections::BTreeMap;

use cynode_runtime::redact::redact_marked;
use cynode_wire::openai::{ChatChunk, ChatCompletion, ChunkChoice, FunctionDelta, ToolCallDelta};
use serde_json::{Map, Value};

use crate::secrets::SECRET_MARKER;

/// How much of what was given out is looked at again with what follows it, in bytes.
const CONTEXT: usize = 512;
/// How much is held back at most, in bytes.
const HELD: usize = 8 * 1024;
/// How long a word of letters may be that is given out before it has ended.
const EARLY_LETTERS: usize = 6;

/// The text without its secrets.
fn clean(text: &str) -> String {
    redact_marked(text, SECRET_MARKER).text.into_owned()
}

/// What the tokens of a choice were, one by one: no pattern finds a secret in that.
const TOKENS: &str = "logprobs";

/// Takes the secrets out of a whole answer.
pub(super) fn clean_completion(answer: &mut ChatCompletion) {
    for choice in &mut answer.choices {
        let before = choice.other.contains_key(TOKENS).then(|| choice.message.clone());
        let message = &mut choice.message;
        let texts = [&mut message.content, &mut message.refusal].into_iter().flatten();
        let calls = message.tool_calls.iter_mut().filter_map(|call| call.function.as_mut());
        for text in texts.chain(calls.map(|function| &mut function.arguments)) {
            *text = clean(text);
        }
        message.other.values_mut().for_each(clean_value);
        if before.is_some_and(|before| before != *message) {
            choice.other.remove(TOKENS);
        }
        choice.other.values_mut().for_each(clean_value);
    }
}

fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(items) => items.iter_mut().for_each(clean_value),
        Value::Object(fields) => fields.values_mut().for_each(clean_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Which text of an answer a piece belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Content,
    Refusal,
    Arguments(u32),
    Field(String),
}

/// Takes the secrets out of an answer that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    texts: BTreeMap<(u32, Place), Text>,
    /// What the tokens of each choice were, until it is known that there was no secret in them.
    tokens: BTreeMap<u32, Vec<(String, Value)>>,
}

impl Scanner {
    /// Looks at a piece; what it may say now stays in it.
    pub(super) fn push(&mut self, chunk: &mut ChatChunk) {
        for choice in &mut chunk.choices {
            self.push_choice(choice);
            if choice.finish_reason.is_some() {
                self.flush(choice);
            }
        }
    }

    /// What was held back when the answer ended without saying so.
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
        if let Some(Value::Object(lists)) = choice.other.remove(TOKENS) {
            self.tokens.entry(index).or_default().extend(lists);
        }
        choice.other.values_mut().for_each(clean_value);
        let mut pass = |place: Place, text: &mut String| {
            *text = self.texts.entry((index, place)).or_default().push(text);
        };
        if let Some(text) = &mut delta.content {
            pass(Place::Content, text);
        }
        if let Some(text) = &mut delta.refusal {
            pass(Place::Refusal, text);
        }
        for call in &mut delta.tool_calls {
            let arguments = call.function.as_mut().and_then(|it| it.arguments.as_mut());
            if let Some(text) = arguments {
                pass(Place::Arguments(call.index), text);
            }
        }
        for (name, field) in &mut delta.other {
            if let Value::String(text) = field {
                pass(Place::Field(name.clone()), text);
            } else {
                clean_value(field);
            }
        }
    }

    /// Gives out what was held back of a choice.
    fn flush(&mut self, choice: &mut ChunkChoice) {
        self.flush_texts(choice);
        let mut own = self.texts.iter().filter(|((index, _), _)| *index == choice.index);
        let tokens = self.tokens.remove(&choice.index).unwrap_or_default();
        if own.all(|(_, text)| !text.is_redacted) && !tokens.is_empty() {
            choice.other.insert(TOKENS.to_owned(), joined(tokens));
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
                Place::Content => delta.content.get_or_insert_default().push_str(&rest),
                Place::Refusal => delta.refusal.get_or_insert_default().push_str(&rest),
                Place::Arguments(call) => append(&mut delta.tool_calls, *call, &rest),
                Place::Field(name) => {
                    let before = delta.other.get(name).and_then(Value::as_str).unwrap_or_default();
                    let whole = format!("{before}{rest}");
                    delta.other.insert(name.clone(), whole.into());
                }
            }
        }
    }
}

/// The lists of all pieces as one of each name.
fn joined(pieces: Vec<(String, Value)>) -> Value {
    let mut whole = Map::new();
    for (name, piece) in pieces {
        match (whole.get_mut(&name), piece) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Array(_)), _) => {}
            (_, piece) => {
                whole.insert(name, piece);
            }
        }
    }
    Value::Object(whole)
}

fn append(calls: &mut Vec<ToolCallDelta>, index: u32, rest: &str) {
    let at = calls.iter().position(|call| call.index == index).unwrap_or_else(|| {
        calls.push(ToolCallDelta { index, ..ToolCallDelta::default() });
        calls.len() - 1
    });
    if let Some(call) = calls.get_mut(at) {
        let function = call.function.get_or_insert_with(FunctionDelta::default);
        function.arguments.get_or_insert_default().push_str(rest);
    }
}

/// Whether a piece says anything.
pub(super) fn says_something(chunk: &ChatChunk) -> bool {
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

/// One text of an answer.
#[derive(Debug, Default)]
struct Text {
    /// What came last, as it came.
    raw: String,
    /// How much of that was looked at.
    seen: usize,
    /// What was given out of that.
    out: String,
    /// Whether something was taken out.
    is_redacted: bool,
}

impl Text {
    fn push(&mut self, piece: &str) -> String {
        self.raw.push_str(piece);
        let given = self.give(self.settled());
        self.forget();
        given
    }

    fn finish(&mut self) -> String {
        self.give(self.raw.len())
    }

    /// Gives out what is new of the first `settled` bytes, without secrets.
    fn give(&mut self, settled: usize) -> String {
        let Some(text) = self.raw.get(..settled) else { return String::new() };
        self.seen = settled;
        let clean = clean(text);
        self.is_redacted |= clean != text;
        let same = common(&clean, &self.out);
        let given = clean.get(same..).unwrap_or_default().to_owned();
        self.out = clean;
        given
    }

    /// How many bytes cannot be the beginning of something longer.
    fn settled(&self) -> usize {
        let before = self.raw.trim_end_matches(|c: char| c.is_ascii_graphic());
        let held = self.raw.get(before.len()..).unwrap_or_default();
        let is_value = before.trim_end().ends_with([':', '=', '"', '\'']);
        let is_word = held.len() <= EARLY_LETTERS && held.bytes().all(|b| b.is_ascii_alphabetic());
        let is_settled = held.len() > HELD || (is_word && !is_value);
        // What was given out early stays given out, whatever it turns out to be a part of.
        if is_settled { self.raw.len() } else { before.len().max(self.seen) }
    }

    /// Forgets what is too far back to matter. Not in the middle of a secret: what follows is a part
    /// of it as long as its beginning is known.
    fn forget(&mut self) {
        let settled = self.seen;
        let too_much = settled.saturating_sub(CONTEXT);
        let is_amid = self.out.ends_with(SECRET_MARKER) && settled < 64 * CONTEXT;
        if too_much < CONTEXT || is_amid {
            return;
        }
        let cut = (too_much..settled).find(|at| self.raw.is_char_boundary(*at)).unwrap_or(0);
        self.raw.drain(..cut);
        self.seen = settled - cut;
        self.out = clean(self.raw.get(..settled - cut).unwrap_or_default());
    }
}

/// How many bytes two texts have in common at their beginning.
fn common(a: &str, b: &str) -> usize {
    let pairs = a.char_indices().zip(b.chars());
    let end = a.len().min(b.len());
    pairs.into_iter().find(|((_, x), y)| x != y).map_or(end, |((at, _), _)| at)
}

#[cfg(test)]
mod tests;
