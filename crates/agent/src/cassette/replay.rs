//! Recorded decisions held against the questions and schemas of today.

use std::path::{Path, PathBuf};

use cynode_wire::openai::ChatMessage;
use serde::Serialize;
use serde_json::Value;

use super::{BadRecording, Recording};
use crate::brain::{Brain, BrainOptions, decisions, strip};

/// What a record is worth today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "today", rename_all = "snake_case")]
pub enum Verdict {
    /// The question is the same, and the answer is accepted.
    Same {
        /// The answer, in a few words.
        answer: String,
    },
    /// The question or its schema has changed since; the answer would still be accepted.
    Drifted {
        /// The answer, in a few words.
        answer: String,
    },
    /// The answer would not be accepted today.
    Refused {
        /// Why.
        reason: String,
    },
    /// It is no decision, such as a turn of a conversation.
    NoDecision,
}

impl Verdict {
    /// Whether a replay gives today what was recorded. What is no decision is not checked.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Same { .. })
    }

    /// Whether there was anything to check.
    pub fn is_checked(&self) -> bool {
        !matches!(self, Self::NoDecision)
    }
}

/// A record and what it is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replayed {
    /// The file.
    pub path: PathBuf,
    /// What it was for.
    pub purpose: String,
    /// The model that answered.
    pub model: String,
    /// What it is worth today.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Replays a record, or every record below a folder, in the order of their names. Nobody is asked.
pub async fn replay(path: &Path) -> Result<Vec<Replayed>, BadRecording> {
    let mut replayed = Vec::new();
    for path in files(path).await? {
        let recording = Recording::load(&path).await?;
        let verdict = judge(&recording);
        let (purpose, model) = (recording.purpose, recording.answer.model);
        replayed.push(Replayed { path, purpose, model, verdict });
    }
    Ok(replayed)
}

async fn files(path: &Path) -> Result<Vec<PathBuf>, BadRecording> {
    let disk = |path: &Path, cause| BadRecording::Disk { path: path.to_owned(), cause };
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

fn judge(recording: &Recording) -> Verdict {
    let system = recording.messages.first().map(ChatMessage::plain_text).unwrap_or_default();
    let brain = Brain::new(None, BrainOptions::default(), system);
    let answer = recorded_answer(recording);
    let checked = decisions::recheck(&brain, &recording.purpose, &recording.input, &answer);
    let Some(checked) = checked else { return Verdict::NoDecision };
    // A second try holds the first one too, which today's question cannot know.
    let is_repair = recording.messages.len() > 2;
    match checked.answer {
        Err(reason) => Verdict::Refused { reason },
        Ok(answer) if is_repair || checked.key == recording.key => Verdict::Same { answer },
        Ok(answer) => Verdict::Drifted { answer },
    }
}

/// What the model answered, as a value: arguments of its call, or the object in its words.
fn recorded_answer(recording: &Recording) -> Value {
    let message = recording.answer.message();
    let call = message.and_then(|m| m.tool_calls.first()).and_then(|call| call.function.as_ref());
    if let Some(call) = call {
        return serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
    }
    let words = strip(recording.answer.text());
    let object = words.find('{').zip(words.rfind('}')).and_then(|(from, to)| words.get(from..=to));
    object.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}
