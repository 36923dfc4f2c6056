//! Messages between agents and the project manager about a task.
//!
//! Hub and spoke: agents talk to the project manager only. Start at [`AgentMessages`]; `role_claim` decides
//! who holds a role, and every message of an agent goes through `append`.
//!
//! Invariants: an acknowledged message is persisted; a repeated one is persisted once. An
//! instruction is marked as delivered in the transaction whose response carries it, and is shown in
//! the agent's context until the agent acknowledges it.

mod answer;
mod append;
mod checkpoint;
mod context;
mod delivery;
mod heartbeat;
mod instructions;
mod queries;
mod report;
mod role_claim;
mod unit_attempt;

use cynode_domain::agent::Role;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::MessageId;
use cynode_domain::report::{MAX_ITEMS, MAX_LINE_BYTES, MAX_TEXT_BYTES};
use cynode_domain::status::IllegalTransition;
use cynode_domain::text::ellipsize_bytes;
use cynode_runtime::clock::SharedClock;
use cynode_store::{AgentMessage, Store, TaskAgent};
use cynode_wire::apmas::{AgentView, InstructionView, MessageView};
use serde_json::{Value, json};

pub(crate) use answer::reason_for_person;
pub use checkpoint::render_progress;
pub use delivery::ReplyInstructions;
pub use instructions::instruct_agent;
pub use unit_attempt::{answer_unit_message, change_unit_scope};

pub(crate) use append::{AgentChange, MessageDraft, append_as_agent};
pub(crate) use instructions::{NewInstruction, store_instruction};
pub(crate) use role_claim::{RoleClaim, lock_open_task};

use crate::work::WorkError;
use cynode_execution::tasks::TaskError;
use cynode_resources::{PageError, Signals};

const MAX_JSON_BYTES: usize = 64 * 1024;
/// Limit of messages per task.
const MAX_MESSAGES: i64 = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// Also returned if the caller may not see the message.
    #[error("there is no message {0}")]
    NotFound(MessageId),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("this caller has the role {has} on the task and cannot act as {claimed}")]
    OtherRole { has: Role, claimed: Role },
    #[error("the work unit of this caller is {has}: it cannot act on {claimed}")]
    OtherUnit { has: String, claimed: String },
    #[error("another agent has the role {0} on the task; use a numbered role, such as {0}-2")]
    RoleTaken(Role),
    #[error("the {role} of the task is {status}: stop here")]
    Ended { role: Role, status: &'static str },
    #[error("agentRole is missing: name your role")]
    RoleMissing,
    #[error(
        "agents can message the project manager only: send it to \"pm\", which forwards it to \"{0}\" if needed"
    )]
    RecipientNotAllowed(String),
    /// Only an instruction ends the wait.
    #[error("{0} is waiting for help and continues when the project manager sends an instruction")]
    WaitingForHelp(Role),
    #[error("the idempotency key was used for another message")]
    KeyReused,
    #[error("the task has reached its limit of {MAX_MESSAGES} messages from agents")]
    TooMany,
    #[error("the task has no {role}; its roles are: {known}")]
    UnknownRole {
        role: Role,
        /// The existing roles, comma separated.
        known: String,
    },
    /// Already processed, or answered differently by a person.
    #[error("message {0} is already settled; see `cynork inbox list` for waiting ones")]
    Settled(MessageId),
    #[error("message {0} is not waiting for a person; the project manager processes it")]
    NotWaitingForPerson(MessageId),
    /// The agent's status does not allow the transition.
    #[error(transparent)]
    IllegalMove(#[from] IllegalTransition),
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The work unit does not allow it.
    #[error(transparent)]
    Work(Box<WorkError>),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for MessageError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::UnknownRole { .. } => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::RoleMissing => Classification::new(ErrorClass::Invalid, self),
            Self::OtherRole { .. } | Self::OtherUnit { .. } | Self::RecipientNotAllowed(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::RoleTaken(_)
            | Self::Ended { .. }
            | Self::WaitingForHelp(_)
            | Self::KeyReused
            | Self::TooMany
            | Self::Settled(_)
            | Self::NotWaitingForPerson(_)
            | Self::IllegalMove(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Task(error) => error.classify(),
            Self::Work(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Manages messages. Cheap to clone.
#[derive(Clone)]
pub struct AgentMessages {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl AgentMessages {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }
}

pub(crate) fn invalid_message(fault: impl Into<String>) -> MessageError {
    MessageError::Invalid(vec![fault.into()])
}

/// Rejects empty or too long text.
pub(crate) fn check_text(name: &str, text: &str) -> Result<(), MessageError> {
    if text.trim().is_empty() {
        return Err(invalid_message(format!("{name} is empty")));
    }
    check_max_bytes(name, text, MAX_TEXT_BYTES)
}

pub(crate) fn check_max_bytes(name: &str, text: &str, bytes: usize) -> Result<(), MessageError> {
    if text.len() > bytes {
        return Err(invalid_message(format!("{name} is longer than {bytes} bytes")));
    }
    Ok(())
}

/// Removes blank lines; rejects too many or too long ones.
fn check_lines(name: &str, lines: Vec<String>) -> Result<Vec<String>, MessageError> {
    if lines.len() > MAX_ITEMS {
        return Err(invalid_message(format!("{name} must have at most {MAX_ITEMS} items")));
    }
    for line in &lines {
        check_max_bytes(&format!("an item of {name}"), line, MAX_LINE_BYTES)?;
    }
    Ok(lines.into_iter().filter(|line| !line.trim().is_empty()).collect())
}

pub(crate) fn check_json(name: &str, value: &Value) -> Result<(), MessageError> {
    check_max_bytes(name, &value.to_string(), MAX_JSON_BYTES)
}

/// Maximum text bytes in a list.
const BRIEF_TEXT_BYTES: usize = 2 * 1024;
/// Maximum JSON bytes in a list.
const BRIEF_JSON_BYTES: usize = 8 * 1024;

/// Truncates text for lists; the item itself has all of it.
pub(crate) fn truncate_text(text: &str) -> String {
    ellipsize_bytes(text, BRIEF_TEXT_BYTES).into_owned()
}

/// Omits long JSON in lists; the item itself has all of it.
pub(crate) fn omit_long_json(value: Value) -> Value {
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

fn message_view(message: AgentMessage) -> MessageView {
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
        given_up: message.abandon_reason,
        needs_person: message.escalation_reason,
        answered_by: message.answered_by,
    }
}

fn instruction_view(message: AgentMessage) -> InstructionView {
    InstructionView {
        id: message.sent.id,
        instruction_type: message.sent.subtype,
        instructions: message.sent.content,
        context: message.sent.payload,
        created_at: message.sent.created_at,
    }
}
