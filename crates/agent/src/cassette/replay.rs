//! Checks recorded decisions against the current prompts and schemas.

use std::path::{Path, PathBuf};

use cynode_llm_wire::openai::ChatMessage;
use serde::Serialize;
use serde_json::Value;

use super::{Recording, RecordingError};
use crate::brain::{Brain, BrainOptions, decisions, strip_think_blocks};

/// Whether a recording still matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "today", rename_all = "snake_case")]
pub enum ReplayVerdict {
    /// The question is unchanged and the answer is accepted.
    Same {
        /// A summary of the answer.
        answer: String,
    },
    /// The question or its schema changed; the answer is still accepted.
    Drifted {
        /// A summary of the answer.
        answer: String,
    },
    /// The answer is no longer accepted.
    Refused { reason: String },
    /// Not a decision, such as a chat turn.
    NoDecision,
}

impl ReplayVerdict {
    /// Whether a replay gives the recorded answer. False for exchanges that are not decisions.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Same { .. })
    }

    /// Whether the recording is a decision.
    pub fn is_checked(&self) -> bool {
        !matches!(self, Self::NoDecision)
    }
}

/// A recording and its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayResult {
    pub path: PathBuf,
    pub purpose: String,
    pub model: String,
    #[serde(flatten)]
    pub verdict: ReplayVerdict,
}

/// Checks a recording, or every recording below a folder in the order of their names. Sends no model request.
pub async fn replay(path: &Path) -> Result<Vec<ReplayResult>, RecordingError> {
    let mut replayed = Vec::new();
    for path in find_recordings(path).await? {
        let recording = Recording::load(&path).await?;
        let verdict = check_recording(&recording);
        let (purpose, model) = (recording.purpose, recording.answer.model);
        replayed.push(ReplayResult { path, purpose, model, verdict });
    }
    Ok(replayed)
}

async fn find_recordings(path: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    let disk = |path: &Path, cause| RecordingError::Io { path: path.to_owned(), cause };
    let about = tokio::fs::metadata(path).await.map_err(|cause| disk(path, cause))?;
    if !about.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut open) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = open.pop() {
        let mut entries = tokio::fs::read_dir(&folder).await.map_err(|c| disk(&folder, c))?;
        while let Some(entry) = entries.next_entry().await.map_err(|c| disk(&folder, c))? {
            let path = entry.path();
            if entry.file_type().await.is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn check_recording(recording: &Recording) -> ReplayVerdict {
    let system = recording.messages.first().map(ChatMessage::plain_text).unwrap_or_default();
    let brain = Brain::new(None, BrainOptions::default(), system);
    let answer = recorded_answer(recording);
    let checked = decisions::recheck(&brain, &recording.purpose, &recording.input, &answer);
    let Some(checked) = checked else { return ReplayVerdict::NoDecision };
    // A repair request also holds the first answer, so its key always differs.
    let is_repair = recording.messages.len() > 2;
    match checked.answer {
        Err(reason) => ReplayVerdict::Refused { reason },
        Ok(answer) if is_repair || checked.key == recording.key => ReplayVerdict::Same { answer },
        Ok(answer) => ReplayVerdict::Drifted { answer },
    }
}

/// The recorded answer as a value: the arguments of its tool call, or the object in its text.
fn recorded_answer(recording: &Recording) -> Value {
    let message = recording.answer.message();
    let call = message.and_then(|m| m.tool_calls.first()).and_then(|call| call.function.as_ref());
    if let Some(call) = call {
        return serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
    }
    let words = strip_think_blocks(recording.answer.text());
    let object = words.find('{').zip(words.rfind('}')).and_then(|(from, to)| words.get(from..=to));
    object.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}
