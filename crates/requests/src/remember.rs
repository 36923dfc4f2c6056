//! What requests write to the memory of their project, by rule.
//!
//! Invariant: decisions of people and failures are written once each, in the transaction of the change that they are
//! about.

use chrono::{DateTime, Utc};
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind, MemorySource};
use cynode_domain::question::Reply;
use cynode_domain::request::{AnswerAuthor, AnsweredQuestion};
use cynode_resources::project_memory::{RuleMemory, record_by_rule};
use cynode_store::{Error, Task, Tx};
use serde_json::Value;

/// Remembers what a person answered. The answer of an agent is remembered as one of a model, which no person confirmed.
pub(crate) async fn remember_answer(
    tx: &mut Tx,
    task: &Task,
    answered: &AnsweredQuestion,
    number: usize,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let AnsweredQuestion { asked, answer, author } = answered;
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
    let author = match author {
        AnswerAuthor::Person => MemoryAuthorKind::Rule,
        AnswerAuthor::Agent => MemoryAuthorKind::Model,
    };
    let entry = NewEntry { author, kind: MemoryKind::Decision, title, text };
    record(tx, task, entry, None, key, now).await
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
    // The same decision of the same request is recorded once.
    let key = format!("override/{}/{facts}", task.spec.id);
    let entry =
        NewEntry { author: MemoryAuthorKind::Rule, kind: MemoryKind::Decision, title, text };
    record(tx, task, entry, None, key, now).await
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
    let (author, kind) = (MemoryAuthorKind::Rule, MemoryKind::Failure);
    let entry = NewEntry { author, kind, title, text: reason.to_owned() };
    record(tx, task, entry, Some(unit.to_owned()), key, now).await
}

/// What is written by rule.
struct NewEntry {
    author: MemoryAuthorKind,
    kind: MemoryKind,
    title: String,
    text: String,
}

async fn record(
    tx: &mut Tx,
    task: &Task,
    NewEntry { author, kind, title, text }: NewEntry,
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
        author,
        kind,
        title,
        text,
        source,
        key,
        now,
    };
    record_by_rule(tx, memory).await
}
