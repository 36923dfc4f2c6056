//! Questions to another agent, and the answers to them: passed on by rule, in the transaction that processes them.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{HelpKind, InstructionKind, MessageKind, PM, Role};
use cynode_domain::status::AgentStatus;
use cynode_store::{
    Message, MessageFilter, MessageStore, ReportClaim, ReportClaimStore, Task, TaskAgentStore,
    TaskStore, Tx,
};
use serde_json::json;

use crate::handoff::HandoffError;
use crate::messages::{Instruction, MessageError, give};

/// How many requests for help are searched for the one that an answer belongs to.
const SEARCHED: u32 = 200;

/// Whether a message was passed on.
pub(super) enum Forwarded {
    /// It is processed.
    Done,
    /// The agent that is asked does not work on the task now: the project manager decides.
    NobodyThere,
}

/// Passes a message on to the agent that it is for.
pub(super) async fn forward(
    tx: &mut Tx,
    claim: ReportClaim,
    message: Message,
    now: DateTime<Utc>,
) -> Result<Forwarded, HandoffError> {
    let Some(task) = tx.task_lock(message.sent.task).await? else { return Ok(Forwarded::Done) };
    let instruction = if message.sent.kind == MessageKind::Help {
        question(tx, &task, &message).await?
    } else {
        let Some(answer) = answer(tx, &task, &message).await? else {
            // It answers no question of another agent, and stays on record.
            tx.report_end(claim, now).await?;
            return Ok(Forwarded::Done);
        };
        Some(answer)
    };
    let Some(instruction) = instruction else { return Ok(Forwarded::NobodyThere) };
    if tx.report_end(claim, now).await? {
        give(tx, &task, instruction, now).await.map_err(failed)?;
    }
    Ok(Forwarded::Done)
}

/// The question for the agent whose help is wanted; none unless that agent is running.
async fn question(
    tx: &mut Tx,
    task: &Task,
    message: &Message,
) -> Result<Option<Instruction>, HandoffError> {
    let sent = &message.sent;
    let target = sent.payload["target_agent"].as_str().and_then(|role| role.parse::<Role>().ok());
    let Some(to) = target.filter(|to| to.as_str() != sent.sender) else { return Ok(None) };
    let agent = tx.agent_in_role(task.asked.id, &to).await?;
    if !agent.is_some_and(|agent| agent.status == AgentStatus::Running) {
        return Ok(None);
    }
    let asks = format!("{} asks: {}", sent.sender, sent.content);
    let how = "Answer with apmas_send_message to \"pm\", type answer; it is passed on.";
    Ok(Some(Instruction {
        to,
        kind: InstructionKind::Continue,
        text: format!("{asks}\n\n{how}"),
        context: json!({
            "question_id": sent.id, "from": sent.sender, "context": sent.payload["context"],
        }),
        work_unit: None,
        key: Some(format!("ask/{}", sent.id)),
    }))
}

/// The answer for the agent that asked: to the oldest question to this sender that has none.
async fn answer(
    tx: &mut Tx,
    task: &Task,
    message: &Message,
) -> Result<Option<Instruction>, HandoffError> {
    let sent = &message.sent;
    let filter = MessageFilter {
        task: Some(task.asked.id),
        kind: Some(MessageKind::Help),
        beyond: Some(sent.id),
        limit: SEARCHED,
        ..MessageFilter::default()
    };
    let mut asked = tx.message_list(&filter).await?;
    asked.retain(|help| {
        help.sent.subtype == HelpKind::Agent.as_str()
            && help.processed_at.is_some()
            && help.sent.payload["target_agent"].as_str() == Some(sent.sender.as_str())
    });
    for help in asked.into_iter().rev() {
        let key = format!("answer/{}", help.sent.id);
        let before = tx.message_by_key(task.asked.id, PM, &key).await?;
        let Ok(to) = help.sent.sender.parse::<Role>() else { continue };
        if before.is_none() {
            return Ok(Some(Instruction {
                to,
                kind: InstructionKind::Continue,
                text: format!("{} answers: {}", sent.sender, sent.content),
                context: json!({ "question_id": help.sent.id, "question": help.sent.content }),
                work_unit: None,
                key: Some(key),
            }));
        }
    }
    Ok(None)
}

fn failed(error: MessageError) -> HandoffError {
    if let MessageError::Store(error) = error {
        return HandoffError::Store(error);
    }
    HandoffError::Failed(error.to_string())
}
