//! What requests write to the memory of their project, by rule, and read from it.
//!
//! Invariant: decisions of people and failures are written once each, in the transaction of the change that they are
//! about; what is read enters prompts as quoted data only.

use chrono::{DateTime, Utc};
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind, MemorySource};
use cynode_domain::question::{Answer, Reply};
use cynode_domain::request::RequestQuestion;
use cynode_resources::project_memory::{RuleMemory, find_best_entries, record_by_rule};
use cynode_retrieval::{Knowledge, QuotedPassage};
use cynode_store::{Error, MemoryEntry, Task, Tx};
use serde_json::Value;
use tracing::warn;

/// How many entries the prompt of a unit quotes.
const PROMPT_ENTRIES: u32 = 5;
/// How many passages of documents the prompt of a unit quotes.
const PROMPT_PASSAGES: u32 = 4;
/// How much of an entry a prompt quotes, in characters.
const PROMPT_CHARS: usize = 600;

/// Remembers what a person answered.
pub(crate) async fn remember_answer(
    tx: &mut Tx,
    task: &Task,
    asked: &RequestQuestion,
    answer: &Answer,
    number: usize,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let reply = match &answer.reply {
        Some(Reply::Text { text }) => text.clone(),
        Some(reply) => reply.form().to_string(),
        None => return Ok(()),
    };
    let mut text = format!("Question: {}\nAnswer: {reply}", asked.question.text);
    if let Some(comment) = &answer.comment {
        text = format!("{text}\nComment: {comment}");
    }
    let by = answer.by.as_deref().unwrap_or("a person");
    let title = format!("{by} answered {reply} in {}", task.spec.name);
    let key = format!("answer/{}/{number}", task.spec.id);
    record(tx, task, (MemoryKind::Decision, title, text), None, key, now).await
}

/// Remembers the kind, the scope and the workflow that a person decided, and why.
pub(crate) async fn remember_override(
    tx: &mut Tx,
    task: &Task,
    decided: &Value,
    by: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let words = ["kind", "scope"].into_iter().filter_map(|name| {
        let value = decided[name].as_str()?;
        Some(format!("{name}: {value}"))
    });
    let stages = decided["workflow"].as_array().map(|units| {
        let names: Vec<_> = units.iter().filter_map(Value::as_str).collect();
        format!("workflow: {}", names.join(" "))
    });
    let facts: Vec<String> = words.chain(stages).collect();
    let facts = facts.join(", ");
    let reason = decided["reason"].as_str();
    let reason = reason.map(|reason| format!("\nReason: {reason}")).unwrap_or_default();
    let request = task.spec.prompt.lines().next().unwrap_or_default();
    let title = format!("{by} decided {facts} for {}", task.spec.name);
    let text = format!("Request: {request}\nDecision: {facts}{reason}");
    // A decision that is repeated is one decision.
    let key = format!("override/{}/{facts}", task.spec.id);
    record(tx, task, (MemoryKind::Decision, title, text), None, key, now).await
}

/// Remembers why an attempt at a unit or a step failed.
pub(crate) async fn remember_failure(
    tx: &mut Tx,
    task: &Task,
    unit: &str,
    number: u32,
    reason: &str,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let title = format!("{unit} failed in {}", task.spec.name);
    let key = format!("failure/{}/{unit}/{number}", task.spec.id);
    let what = (MemoryKind::Failure, title, reason.to_owned());
    record(tx, task, what, Some(unit.to_owned()), key, now).await
}

async fn record(
    tx: &mut Tx,
    task: &Task,
    (kind, title, text): (MemoryKind, String, String),
    step: Option<String>,
    key: String,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let spec = &task.spec;
    let source = MemorySource { task_id: Some(spec.id), step, ..MemorySource::default() };
    let memory = RuleMemory {
        project: spec.project,
        profile: spec.profile_id,
        user: spec.created_by,
        kind,
        title,
        text,
        source,
        key,
        now,
    };
    record_by_rule(tx, memory).await
}

/// What the prompt of a unit quotes of its project.
#[derive(Debug, Default)]
pub(crate) struct Recalled {
    pub(crate) memory: Vec<String>,
    pub(crate) knowledge: Vec<String>,
}

/// The passages of the project's documents that fit a unit best, with citations. They help, and nothing waits for them: a
/// backend that does not answer is logged.
pub(crate) async fn quote_documents(
    knowledge: Option<&Knowledge>,
    task: &Task,
    about: &str,
) -> Vec<String> {
    let Some(knowledge) = knowledge else { return vec![] };
    let spec = &task.spec;
    match knowledge.quote(spec.project, spec.profile_id, about, PROMPT_PASSAGES).await {
        Ok(found) => found.iter().map(QuotedPassage::to_line).collect(),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            warn!(error, task.id = %spec.id, "the documents of the project cannot be searched");
            vec![]
        }
    }
}

/// The entries that fit a unit of a request best, one line each, for its prompt. Entries about the request itself are left
/// out: its prompt has them.
pub(crate) async fn recall(tx: &mut Tx, task: &Task, about: &str) -> Result<Vec<String>, Error> {
    let spec = &task.spec;
    let found =
        find_best_entries(tx, spec.project, spec.profile_id, about, PROMPT_ENTRIES * 2).await?;
    let is_other = |entry: &MemoryEntry| entry.source.task_id != Some(spec.id);
    let limit = usize::try_from(PROMPT_ENTRIES).unwrap_or(usize::MAX);
    Ok(found.iter().filter(|entry| is_other(entry)).take(limit).map(prompt_line).collect())
}

fn prompt_line(entry: &MemoryEntry) -> String {
    let author = match entry.author {
        MemoryAuthorKind::Person => "a person",
        MemoryAuthorKind::Rule => "a rule",
        MemoryAuthorKind::Model => "a model, unconfirmed",
    };
    let line = format!("{} by {author}: {}. {}", entry.kind, entry.title, entry.text);
    line.chars().take(PROMPT_CHARS).collect()
}
