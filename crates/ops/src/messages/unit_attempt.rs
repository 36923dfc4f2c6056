//! Messages between a request and the agent that works on one of its units. The agent's task is a child task: one attempt
//! of the unit.
//!
//! A message is recorded on the attempt, or becomes a question of the request to a person. It never completes the unit: the
//! driver of the request judges the result of the job. ADR 47 has the table of messages and effects.
//!
//! Invariants: the task of the request is locked before that of its child ([`super::lock_open_task`]). A change to the
//! request fences its driver, which loads the request again.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{InstructionKind, MessageKind, Role};
use cynode_domain::disposition::UnitDisposition;
use cynode_domain::ids::MessageId;
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::report::ReportKind;
use cynode_domain::request::{QuestionSubject, RequestQuestion, ScopeChange};
use cynode_domain::status::TaskStatus;
use cynode_domain::text::ellipsize_chars;
use cynode_store::{AgentCheckpoint, AttemptStatus, NewAgentMessage, Task, TaskParent, Tx};
use serde_json::{Value, json};

use super::checkpoint::render_progress;
use super::{MessageError, NewInstruction, store_instruction};
use cynode_execution::tasks::{close_with_children, task_event};

/// The note in the response to a reported result.
const GATE_NOTE: &str = "Recorded. This report does not complete the unit. After the job ends, the orchestrator decides from its changes, the required commands and the review.";
/// The most characters of a message in the history of a request.
const MAX_EVENT_CHARS: usize = 500;
/// The most characters of a message in a question.
const MAX_QUESTION_CHARS: usize = 4_000;
/// Maximum detail lines shown with a question.
const MAX_ABOUT: usize = 20;

/// Applies a new message of a unit's agent to its request. Returns the note for the agent; `None` if there is none.
pub(super) async fn apply_unit_message(
    tx: &mut Tx,
    task: &Task,
    parent: &TaskParent,
    message: &NewAgentMessage,
) -> Result<Option<&'static str>, MessageError> {
    let Some((request_task, attempt)) = load_open_attempt(tx, task, parent).await? else {
        tracing::info!(message.id = %message.id, task.id = %task.spec.id, "late message of a unit ignored");
        tx.message_mark_processed(message.id, message.created_at).await?;
        return Ok(None);
    };
    let data = json!({
        "unit": parent.unit, "attempt": attempt.attempt.number, "message_id": message.id,
        "report": message.subtype, "text": shorten(&message.content, MAX_EVENT_CHARS),
    });
    tx.event_append(&task_event(&request_task, "request.unit_reported", data)).await?;
    match UnitDisposition::for_message(message.kind, &message.subtype) {
        UnitDisposition::Record => {
            tx.message_mark_processed(message.id, message.created_at).await?;
            Ok(None)
        }
        UnitDisposition::Acknowledge => {
            tx.message_mark_processed(message.id, message.created_at).await?;
            Ok(Some(GATE_NOTE))
        }
        UnitDisposition::AskPerson => {
            ask_person(tx, &request_task, task, parent, message).await?;
            Ok(None)
        }
    }
}

/// Appends a checkpoint to the history of the request.
pub(super) async fn append_checkpoint_event(
    tx: &mut Tx,
    task: &Task,
    saved: &AgentCheckpoint,
) -> Result<(), MessageError> {
    let Some(parent) = &task.parent else { return Ok(()) };
    let Some((request_task, attempt)) = load_open_attempt(tx, task, parent).await? else {
        return Ok(());
    };
    let text = format!("{}: {}", render_progress(saved), saved.summary);
    let data = json!({
        "unit": parent.unit, "attempt": attempt.attempt.number, "checkpoint_id": saved.id,
        "report": "checkpoint", "text": shorten(&text, MAX_EVENT_CHARS),
    });
    tx.event_append(&task_event(&request_task, "request.unit_reported", data)).await?;
    Ok(())
}

/// The task of an open request, and the attempt that a child task is; `None` if the request has concluded the
/// attempt.
async fn load_open_attempt(
    tx: &mut Tx,
    task: &Task,
    parent: &TaskParent,
) -> Result<Option<(Task, AttemptStatus)>, MessageError> {
    let attempt = tx.attempt_of_child(task.spec.id).await?;
    let attempt = attempt.filter(|attempt| attempt.attempt.concluded_at.is_none());
    let request_task = tx.task_get(parent.task).await?.filter(|task| !task.status.is_terminal());
    Ok(request_task.zip(attempt))
}

/// Makes a message the question of the request. If the request waits for another answer already, the message waits in the inbox.
async fn ask_person(
    tx: &mut Tx,
    request_task: &Task,
    task: &Task,
    parent: &TaskParent,
    message: &NewAgentMessage,
) -> Result<(), MessageError> {
    let request = tx.request_lock(parent.task).await?;
    let Some(mut request) = request.filter(|request| request.question.is_none()) else {
        let why = format!(
            "the {} of {} asks, and its request waits for another answer already",
            message.sender, parent.unit
        );
        tx.message_escalate(message.id, &why).await?;
        let data = json!({ "message_id": message.id, "reason": why });
        tx.event_append(&task_event(task, "agent.needs_person", data)).await?;
        return Ok(());
    };
    let text = shorten(&message.content, MAX_QUESTION_CHARS);
    let asked = RequestQuestion {
        subject: QuestionSubject::AgentMessage {
            unit: parent.unit.clone(),
            message_id: message.id,
        },
        question: Question {
            kind: question_kind(message),
            text: format!("The {} of {} asks: {text}", message.sender, parent.unit),
            about: describe_payload(&message.payload),
            accepts: vec![ReplyForm::Text, ReplyForm::No],
        },
    };
    let data = json!({ "question": asked });
    request.question = Some(asked);
    request.asked_at = Some(message.created_at);
    request.updated_at = message.created_at;
    tx.request_update(&request).await?;
    // The driver works with the state that it has loaded: it must load the question before it writes.
    tx.request_wake(parent.task).await?;
    tx.message_mark_processed(message.id, message.created_at).await?;
    tx.event_append(&task_event(request_task, "request.waiting", data)).await?;
    Ok(())
}

/// Only people answer an agent that asks for one; other questions may be answered on their behalf.
fn question_kind(message: &NewAgentMessage) -> QuestionKind {
    let is_for_person = matches!(
        (message.kind, message.subtype.as_str()),
        (MessageKind::Help, "human") | (MessageKind::Status, _)
    ) || message.subtype == ReportKind::RequestHumanInput.as_str();
    if is_for_person { QuestionKind::Approval } else { QuestionKind::Clarification }
}

/// The details of a message, as lines.
fn describe_payload(payload: &Value) -> Vec<String> {
    let text = |name: &str| payload[name].as_str().map(str::to_owned);
    let list = |name: &str| {
        let items = payload[name].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(|item| format!("- {item}")).collect::<Vec<_>>()
    };
    let mut lines: Vec<String> =
        ["context", "blockedOn", "blocked_reason"].into_iter().filter_map(text).collect();
    lines.extend(["options", "attempted"].into_iter().flat_map(list));
    lines.retain(|line| !line.trim().is_empty());
    lines.truncate(MAX_ABOUT);
    lines.into_iter().map(|line| shorten(&line, MAX_EVENT_CHARS)).collect()
}

/// Sends the answer of a person to the agent that asked. If its attempt has ended, the prompt of the next one has it.
pub async fn answer_unit_message(
    tx: &mut Tx,
    id: MessageId,
    text: String,
    by: &str,
    now: DateTime<Utc>,
) -> Result<(), MessageError> {
    let Some(message) = tx.message_get(id).await? else {
        tracing::warn!(message.id = %id, "answer to a unit dropped, message not found");
        return Ok(());
    };
    let task = tx.task_lock(message.sent.task).await?;
    let Some(task) = task.filter(|task| !task.status.is_terminal()) else {
        tracing::info!(message.id = %id, task.id = %message.sent.task, "answer to an ended unit attempt not sent");
        return Ok(());
    };
    let to: Role = message.sent.sender.parse().map_err(|_| MessageError::NotFound(id))?;
    let instruction = NewInstruction {
        to,
        kind: InstructionKind::Continue,
        text,
        context: json!({
            "report_id": id, "question": message.sent.content, "answered_by": by,
        }),
        work_unit: message.sent.work_unit.clone(),
        key: Some(format!("answer/{id}")),
    };
    store_instruction(tx, &task, instruction, now).await?;
    Ok(())
}

/// Applies an instruction to its attempt: an abort ends the attempt as failed, so that the request decides as after every
/// failure, and a change of scope replaces the attempt.
pub(super) async fn apply_unit_instruction(
    tx: &mut Tx,
    task: &Task,
    parent: &TaskParent,
    kind: InstructionKind,
    full: &str,
    now: DateTime<Utc>,
) -> Result<(), MessageError> {
    let Some((request_task, attempt)) = load_open_attempt(tx, task, parent).await? else {
        return Ok(());
    };
    let text = shorten(full, MAX_EVENT_CHARS);
    match kind {
        InstructionKind::Abort => {
            let reason = format!("its agent was aborted: {text}");
            close_with_children(tx, task.spec.id, TaskStatus::Failed, &reason).await?;
        }
        InstructionKind::ExpandScope | InstructionKind::ReduceScope => {
            // A step that is no unit has no scope of its own.
            if tx.work_unit_get(parent.task, &parent.unit).await?.is_none() {
                return Ok(());
            }
            let reason = format!("replaced, because the scope changed ({kind}): {text}");
            close_with_children(tx, task.spec.id, TaskStatus::Canceled, &reason).await?;
            let outcome = json!({ "result": "replanned", "message": reason });
            tx.attempt_conclude(task.spec.id, &outcome, now).await?;
            let change = ScopeChange { instruction: kind, text: full.to_owned() };
            change_unit_scope(tx, parent, change, now).await?;
            let data = json!({
                "unit": parent.unit, "attempt": attempt.attempt.number, "instruction": kind,
                "text": text,
            });
            tx.event_append(&task_event(&request_task, "request.unit_replanned", data)).await?;
        }
        InstructionKind::Continue | InstructionKind::Pause | InstructionKind::Revise => {}
    }
    Ok(())
}

/// Changes the scope of a unit; the prompt of the next attempt has the change. Only the newest changes are kept.
pub async fn change_unit_scope(
    tx: &mut Tx,
    parent: &TaskParent,
    change: ScopeChange,
    now: DateTime<Utc>,
) -> Result<(), MessageError> {
    const MAX_CHANGES: usize = 20;
    let Some(mut request) = tx.request_lock(parent.task).await? else {
        tracing::warn!(task.id = %parent.task, unit = %parent.unit, "scope change dropped, request not found");
        return Ok(());
    };
    let changes = request.state.scope_changes.entry(parent.unit.clone()).or_default();
    changes.push(change);
    if changes.len() > MAX_CHANGES {
        changes.remove(0);
    }
    request.updated_at = now;
    tx.request_update(&request).await?;
    tx.request_wake(parent.task).await?;
    Ok(())
}

fn shorten(text: &str, chars: usize) -> String {
    ellipsize_chars(text, chars).into_owned()
}
