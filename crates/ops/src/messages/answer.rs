//! Messages that wait for a person, and the answer, which the agent gets as an instruction.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{HelpKind, InstructionKind, MessageKind, PM, Progress, Role};
use cynode_domain::disposition::Disposition;
use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::report::ReportKind;
use cynode_store::{AgentMessage, MessageFilter, MessageOrder, NewAgentMessage, Task, Tx};
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use cynode_wire::page::Page;
use serde_json::json;

use super::queries::brief_message_view;
use super::{
    AgentMessages, MessageError, NewInstruction, check_text, lock_open_task, message_view,
    store_instruction,
};
use crate::work;
use cynode_execution::{tasks, tasks::TaskError, tasks::task_event};
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_resources::signals::Topic;

impl AgentMessages {
    /// Returns a page of the messages that wait for a person on open tasks that the caller may see,
    /// oldest first.
    pub async fn waiting(
        &self,
        caller: &Caller,
        query: InboxQuery,
    ) -> Result<Page<InboxItem>, MessageError> {
        let request = PageRequest::<MessageId>::parse(&query.page())?;
        let (caller, beyond, limit) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = match &query.task {
                        Some(task) => Some(tasks::find(tx, &caller, &task.into()).await?.spec.id),
                        None => None,
                    };
                    let filter = MessageFilter {
                        owner: caller.own(),
                        task,
                        waits_for_person: true,
                        order: MessageOrder::OldestFirst,
                        after: beyond,
                        limit,
                        ..MessageFilter::default()
                    };
                    list_with_task_names(tx, filter).await
                })
            })
            .await?;
        let item =
            |(task_name, message)| InboxItem { task_name, message: brief_message_view(message) };
        Ok(request.page(found, |(_, message)| message.sent.id.to_string(), item))
    }

    /// Answers a message that waits for a person: the sender gets the answer as an instruction.
    /// Idempotent for the same answer.
    pub async fn answer(
        &self,
        caller: &Caller,
        id: MessageId,
        request: AnswerMessage,
    ) -> Result<InboxItem, MessageError> {
        check_text("text", &request.text)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let answered = self
            .store
            .write(move |tx| {
                Box::pin(async move { answer_in_tx(tx, &caller, id, request, now).await })
            })
            .await?;
        // An abort stops a job; that of a unit's agent ends a task.
        for topic in [Topic::Jobs, Topic::Runs, Topic::Policy, Topic::Events] {
            self.signals.send(topic);
        }
        Ok(answered)
    }
}

/// Loads messages with the names of their tasks.
async fn list_with_task_names(
    tx: &mut Tx,
    filter: MessageFilter,
) -> Result<Vec<(String, AgentMessage)>, MessageError> {
    let messages = tx.message_list(&filter).await?;
    let tasks: Vec<TaskId> = messages.iter().map(|message| message.sent.task).collect();
    let names = tx.task_names(&tasks).await?;
    let with_name = |message: AgentMessage| {
        (names.get(&message.sent.task).cloned().unwrap_or_default(), message)
    };
    Ok(messages.into_iter().map(with_name).collect())
}

async fn answer_in_tx(
    tx: &mut Tx,
    caller: &Caller,
    id: MessageId,
    request: AnswerMessage,
    now: DateTime<Utc>,
) -> Result<InboxItem, MessageError> {
    let message = tx.message_get(id).await?.ok_or(MessageError::NotFound(id))?;
    let task = match lock_open_task(tx, caller, message.sent.task).await {
        Err(TaskError::NotFound(_)) => return Err(MessageError::NotFound(id)),
        task => task?,
    };
    let message = tx.message_get(id).await?.ok_or(MessageError::NotFound(id))?;
    let is_repeated = check_is_waiting(&message)?;
    let key = format!("answer/{id}");
    // If the agent has ended, its successor in the role gets the answer.
    let to: Role = message.sent.sender.parse().map_err(|_| MessageError::NotFound(id))?;
    let kind = request.instruction.unwrap_or(InstructionKind::Continue);
    if is_repeated && tx.message_by_key(task.spec.id, PM, &key).await?.is_none() {
        return Err(MessageError::Settled(id));
    }
    let instruction = NewInstruction {
        to,
        kind,
        text: request.text,
        context: json!({
            "report_id": id, "question": message.sent.content, "answered_by": caller.handle,
        }),
        work_unit: message.sent.work_unit.clone(),
        key: Some(key),
    };
    let given = store_instruction(tx, &task, instruction, now).await;
    if matches!(given, Err(MessageError::KeyReused)) {
        return Err(MessageError::Settled(id));
    }
    given?;
    if !is_repeated {
        mark_answered(tx, &task, &message, caller, kind, now).await?;
    }
    let message = tx.message_get(id).await?.ok_or(MessageError::NotFound(id))?;
    Ok(InboxItem { task_name: task.spec.name, message: message_view(message) })
}

/// Returns whether a person has already answered the message; fails unless it waits for a person.
fn check_is_waiting(message: &AgentMessage) -> Result<bool, MessageError> {
    let id = message.sent.id;
    if message.processed_at.is_some() {
        return if message.answered_by.is_some() {
            Ok(true)
        } else {
            Err(MessageError::Settled(id))
        };
    }
    if message.escalation_reason.is_none() && message.abandon_reason.is_none() {
        return Err(MessageError::NotWaitingForPerson(id));
    }
    Ok(false)
}

/// Marks a message as answered and resumes the work unit that was blocked with it.
async fn mark_answered(
    tx: &mut Tx,
    task: &Task,
    message: &AgentMessage,
    caller: &Caller,
    kind: InstructionKind,
    now: DateTime<Utc>,
) -> Result<(), MessageError> {
    let id = message.sent.id;
    tx.message_answer(id, &caller.handle, now).await?;
    let goes_on = !matches!(kind, InstructionKind::Pause | InstructionKind::Abort);
    if let Some(unit) = message.sent.work_unit.as_deref().filter(|_| goes_on) {
        work::resume_blocked(tx, task, unit, now)
            .await
            .map_err(|fault| MessageError::Work(Box::new(fault)))?;
    }
    let data = json!({ "message_id": id, "answered_by": caller.handle });
    tx.event_append(&task_event(task, "agent.answered", data)).await?;
    Ok(())
}

/// Applies the disposition of a new message: informational ones are processed, and those for a
/// person wait for one at once, whether or not there is a project manager.
pub(super) async fn apply_disposition(
    tx: &mut Tx,
    task: &Task,
    message: &NewAgentMessage,
) -> Result<(), MessageError> {
    match Disposition::for_message(message.kind, &message.subtype) {
        Disposition::Record => {
            tx.message_mark_processed(message.id, message.created_at).await?;
        }
        Disposition::AskPerson => {
            let why = reason_for_person(message);
            tx.message_escalate(message.id, &why).await?;
            let data = json!({ "message_id": message.id, "reason": why });
            tx.event_append(&task_event(task, "agent.needs_person", data)).await?;
        }
        Disposition::Decide | Disposition::Forward => {}
    }
    Ok(())
}

/// Returns why a message of this kind waits for a person.
pub(crate) fn reason_for_person(message: &NewAgentMessage) -> String {
    let is = |kind: MessageKind, subtype: &str| message.kind == kind && message.subtype == subtype;
    if is(MessageKind::Help, HelpKind::Human.as_str())
        || is(MessageKind::Report, ReportKind::RequestHumanInput.as_str())
    {
        return format!("{} requests a person", message.sender);
    }
    if is(MessageKind::Status, Progress::ContextLimit.as_str()) {
        return format!(
            "the context of {} is full: reduce its scope, or start a successor, which resumes from its checkpoint",
            message.sender
        );
    }
    format!("this version does not support messages of type {}", message.subtype)
}
