//! What waits for a person, and the person's answer, which the agent gets as an instruction.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use chrono::{DateTime, Utc};
use cynode_domain::agent::{HelpKind, InstructionKind, MessageKind, PM, Progress, Role};
use cynode_domain::disposition::Disposition;
use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::report::ReportKind;
use cynode_store::{
    EventStore, Message, MessageFilter, MessageOrder, MessageStore, NewMessage, Task, TaskStore, Tx,
};
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use cynode_wire::page::Page;
use serde_json::json;

use super::look::brief;
use super::{Instruction, MessageError, Messages, check_text, give, message_view, open_task};
use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::tasks::{self, TaskError, event};
use crate::{Caller, work};

impl Messages {
    /// A page of the messages that wait for a person, on open tasks that the caller may see, oldest first.
    pub async fn waiting(
        &self,
        caller: &Caller,
        query: InboxQuery,
    ) -> Result<Page<InboxItem>, MessageError> {
        let request = PageRequest::<MessageId>::check(&query.page())?;
        let (caller, beyond, limit) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = match &query.task {
                        Some(task) => Some(tasks::find(tx, &caller, task).await?.asked.id),
                        None => None,
                    };
                    let filter = MessageFilter {
                        owner: caller.own(),
                        task,
                        waits_for_person: true,
                        order: MessageOrder::OldestFirst,
                        beyond,
                        limit,
                        ..MessageFilter::default()
                    };
                    named(tx, filter).await
                })
            })
            .await?;
        let item = |(task_name, message)| InboxItem { task_name, message: brief(message) };
        Ok(request.page(found, |(_, message)| message.sent.id.to_string(), item))
    }

    /// Answers a message that waits for a person: its sender gets the answer as an instruction. The same answer
    /// again changes nothing.
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
            .write(move |tx| Box::pin(async move { answer(tx, &caller, (id, request), now).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(answered)
    }
}

/// Messages, each with the name of its task.
async fn named(tx: &mut Tx, filter: MessageFilter) -> Result<Vec<(String, Message)>, MessageError> {
    let mut names: BTreeMap<TaskId, String> = BTreeMap::new();
    let mut found = vec![];
    for message in tx.message_list(&filter).await? {
        let task = message.sent.task;
        let name = match names.entry(task) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let loaded = tx.task_get(task).await?;
                unknown.insert(loaded.map(|task| task.asked.name).unwrap_or_default())
            }
        };
        found.push((name.clone(), message));
    }
    Ok(found)
}

async fn answer(
    tx: &mut Tx,
    caller: &Caller,
    (id, request): (MessageId, AnswerMessage),
    now: DateTime<Utc>,
) -> Result<InboxItem, MessageError> {
    let message = tx.message_get(id).await?.ok_or(MessageError::NotFound(id))?;
    let task = match open_task(tx, caller, message.sent.task).await {
        Err(TaskError::NotFound(_)) => return Err(MessageError::NotFound(id)),
        task => task?,
    };
    let message = tx.message_get(id).await?.ok_or(MessageError::NotFound(id))?;
    let is_repeated = check_waits(&message)?;
    let key = format!("answer/{id}");
    // An agent that has ended does not hear it; its successor in the role does.
    let to: Role = message.sent.sender.parse().map_err(|_| MessageError::NotFound(id))?;
    let kind = request.instruction.unwrap_or(InstructionKind::Continue);
    if is_repeated && tx.message_by_key(task.asked.id, PM, &key).await?.is_none() {
        return Err(MessageError::Settled(id));
    }
    let instruction = Instruction {
        to,
        kind,
        text: request.text,
        context: json!({
            "report_id": id, "question": message.sent.content, "answered_by": caller.handle,
        }),
        work_unit: message.sent.work_unit.clone(),
        key: Some(key),
    };
    let given = give(tx, &task, instruction, now).await;
    if matches!(given, Err(MessageError::KeyReused)) {
        return Err(MessageError::Settled(id));
    }
    given?;
    if !is_repeated {
        settle(tx, (&task, &message), caller, (kind, now)).await?;
    }
    let message = tx.message_get(id).await?.ok_or(MessageError::NotFound(id))?;
    Ok(InboxItem { task_name: task.asked.name, message: message_view(message) })
}

/// Whether a person has answered the message before; fails unless it waits for a person.
fn check_waits(message: &Message) -> Result<bool, MessageError> {
    let id = message.sent.id;
    if message.processed_at.is_some() {
        return if message.answered_by.is_some() {
            Ok(true)
        } else {
            Err(MessageError::Settled(id))
        };
    }
    if message.needs_person.is_none() && message.given_up.is_none() {
        return Err(MessageError::NotForPeople(id));
    }
    Ok(false)
}

/// Marks a message as answered, and lets the work unit go on that was blocked with it.
async fn settle(
    tx: &mut Tx,
    (task, message): (&Task, &Message),
    caller: &Caller,
    (kind, now): (InstructionKind, DateTime<Utc>),
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
    tx.event_append(&event(task, "agent.answered", data)).await?;
    Ok(())
}

/// Marks a new message as its kind demands: what wants nothing is processed, and what only a person can answer is
/// left to a person at once, whether or not there is a project manager.
pub(super) async fn dispose(
    tx: &mut Tx,
    task: &Task,
    message: &NewMessage,
) -> Result<(), MessageError> {
    match Disposition::of(message.kind, &message.subtype) {
        Disposition::Record => {
            tx.message_process(message.id, message.created_at).await?;
        }
        Disposition::AskPerson => {
            let why = reason_for_person(message);
            tx.message_ask_person(message.id, &why).await?;
            let data = json!({ "message_id": message.id, "reason": why });
            tx.event_append(&event(task, "agent.needs_person", data)).await?;
        }
        Disposition::Decide | Disposition::Forward => {}
    }
    Ok(())
}

/// Why a message of this kind is left to a person.
pub(crate) fn reason_for_person(message: &NewMessage) -> String {
    let is = |kind: MessageKind, subtype: &str| message.kind == kind && message.subtype == subtype;
    if is(MessageKind::Help, HelpKind::Human.as_str())
        || is(MessageKind::Report, ReportKind::RequestHumanInput.as_str())
    {
        return format!("{} asks for a person", message.sender);
    }
    if is(MessageKind::Status, Progress::ContextLimit.as_str()) {
        return format!(
            "the context of {} is full: tell it what to leave out, or start a successor, which continues from its checkpoint",
            message.sender
        );
    }
    format!("this version does not know messages of type {}", message.subtype)
}
