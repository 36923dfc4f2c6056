//! What agents and the project manager say to each other about a task.
//!
//! Hub and spoke: agents speak to the project manager only. Start at [`Messages`]; who may speak in
//! a role is decided in `speaker`, and everything an agent says goes through `say`.
//!
//! Invariants: a message that was answered is stored; one that is repeated is stored once. An
//! instruction is marked as delivered in the transaction whose answer carries it, and is shown in
//! the agent's context until the agent acknowledges it.

mod answer;
mod beat;
mod checkpoint;
mod context;
mod instruct;
mod look;
mod report;
mod say;
mod speaker;

use cynode_domain::agent::Role;
use cynode_domain::ids::MessageId;
use cynode_domain::status::IllegalMove;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Message, Store, TaskAgent};
use cynode_wire::apmas::{AgentView, InstructionView, MessageView};
use serde_json::{Value, json};

pub(crate) use answer::reason_for_person;
pub(crate) use instruct::{Instruction, give};
pub(crate) use say::{Change, Draft, say_as};
pub(crate) use speaker::{Speaker, open_task};

use crate::tasks::TaskError;
use crate::work::WorkError;
use crate::{BadCursor, Signals};

const MAX_TEXT_BYTES: usize = 16 * 1024;
const MAX_LINE_BYTES: usize = 1024;
const MAX_ITEMS: usize = 200;
const MAX_JSON_BYTES: usize = 64 * 1024;
/// How much agents can say about one task.
const MAX_MESSAGES: i64 = 10_000;

/// Why something was not said, or not found.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// There is no such message, or the caller may not see it.
    #[error("there is no message {0}")]
    NotFound(MessageId),
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The caller has another role on this task.
    #[error("this caller is the {has} of the task, and cannot speak as its {said}")]
    OtherRole {
        /// The role it has.
        has: Role,
        /// The role it named.
        said: Role,
    },
    /// Somebody else has the role.
    #[error(
        "another agent is the {0} of the task; a second one takes a numbered role, such as {0}-2"
    )]
    RoleTaken(Role),
    /// The agent has ended.
    #[error("the {role} of the task is {status}: stop here")]
    Ended {
        /// The role.
        role: Role,
        /// How it ended.
        status: &'static str,
    },
    /// The caller must say who it is.
    #[error("agentRole is missing: an agent says who it is")]
    Nameless,
    /// Agents speak to the project manager only.
    #[error(
        "agents speak to the project manager only: send it to \"pm\", who passes on what \"{0}\" should know"
    )]
    NotTheManager(String),
    /// The agent waits for help, and cannot go on by itself.
    #[error("the {0} waits for help: an instruction of the project manager lets it go on")]
    WaitsForHelp(Role),
    /// The key belongs to another message.
    #[error("the idempotency key was used for another message")]
    KeyReused,
    /// Too much was said about the task.
    #[error("agents have sent {MAX_MESSAGES} messages about the task, and can send no more")]
    TooMany,
    /// Nobody has that role.
    #[error("the task has no {role}; its roles are: {known}")]
    NobodyThere {
        /// The role.
        role: Role,
        /// The roles there are.
        known: String,
    },
    /// It was processed, or a person gave another answer.
    #[error("message {0} was settled already; `cynork inbox list` lists what waits")]
    Settled(MessageId),
    /// It does not wait for a person.
    #[error("message {0} does not wait for a person: the project manager processes it")]
    NotForPeople(MessageId),
    /// The agent cannot go where it said.
    #[error(transparent)]
    IllegalMove(#[from] IllegalMove),
    /// The task was not found, or is closed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The work unit that the message is about does not allow it.
    #[error(transparent)]
    Work(Box<WorkError>),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// What agents and the project manager say. Cheap to clone.
#[derive(Clone)]
pub struct Messages {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Messages {
    /// Messages kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }
}

pub(crate) fn invalid(fault: impl Into<String>) -> MessageError {
    MessageError::Invalid(vec![fault.into()])
}

/// Text that is there and not too long.
pub(crate) fn check_text(name: &str, text: &str) -> Result<(), MessageError> {
    if text.trim().is_empty() {
        return Err(invalid(format!("{name} is empty")));
    }
    at_most(name, text, MAX_TEXT_BYTES)
}

pub(crate) fn at_most(name: &str, text: &str, bytes: usize) -> Result<(), MessageError> {
    if text.len() > bytes {
        return Err(invalid(format!("{name} is longer than {bytes} bytes")));
    }
    Ok(())
}

/// Lines without blank ones, if they are not too many or too long.
fn check_lines(name: &str, lines: Vec<String>) -> Result<Vec<String>, MessageError> {
    if lines.len() > MAX_ITEMS {
        return Err(invalid(format!("{name} has more than {MAX_ITEMS} items")));
    }
    for line in &lines {
        at_most(&format!("an item of {name}"), line, MAX_LINE_BYTES)?;
    }
    Ok(lines.into_iter().filter(|line| !line.trim().is_empty()).collect())
}

pub(crate) fn check_json(name: &str, value: &Value) -> Result<(), MessageError> {
    at_most(name, &value.to_string(), MAX_JSON_BYTES)
}

/// How much of a text a list shows.
const BRIEF_TEXT_BYTES: usize = 2 * 1024;
/// How much detail a list shows.
const BRIEF_JSON_BYTES: usize = 8 * 1024;

/// A text as lists show it; the whole is in the item itself.
pub(crate) fn brief_text(mut text: String) -> String {
    if text.len() > BRIEF_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(BRIEF_TEXT_BYTES));
        text.push('…');
    }
    text
}

/// Details as lists show them; the whole is in the item itself.
pub(crate) fn brief_json(value: Value) -> Value {
    if value.to_string().len() > BRIEF_JSON_BYTES { json!({ "omitted": true }) } else { value }
}

fn agent_view(agent: TaskAgent) -> AgentView {
    AgentView {
        id: agent.id,
        role: agent.role,
        status: agent.status.as_str().to_owned(),
        activity: agent.activity,
        progress: agent.progress,
        context_usage: agent.context_usage,
        artifacts: agent.artifacts,
        started_at: agent.started_at,
        last_heartbeat_at: agent.last_heartbeat_at,
        ended_at: agent.ended_at,
    }
}

fn message_view(message: Message) -> MessageView {
    let sent = message.sent;
    MessageView {
        id: sent.id,
        task_id: sent.task,
        sender: sent.sender,
        recipient: sent.recipient,
        kind: sent.kind.as_str().to_owned(),
        subtype: sent.subtype,
        component: sent.component,
        work_unit_id: sent.work_unit,
        content: sent.content,
        payload: sent.payload,
        created_at: sent.created_at,
        delivered_at: message.delivered_at,
        acknowledged_at: message.acknowledged_at,
        processed_at: message.processed_at,
        given_up: message.given_up,
        needs_person: message.needs_person,
        answered_by: message.answered_by,
    }
}

fn instruction_view(message: Message) -> InstructionView {
    InstructionView {
        id: message.sent.id,
        instruction_type: message.sent.subtype,
        instructions: message.sent.content,
        context: message.sent.payload,
        created_at: message.sent.created_at,
    }
}
