//! Forwards questions and answers between agents by rule, in the transaction that processes them.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{HelpKind, InstructionKind, MessageKind, PM, Role};
use cynode_domain::status::AgentStatus;
use cynode_store::{AgentMessage, MessageFilter, ReportClaim, Task, Tx};
use serde_json::json;

use crate::{messages::MessageError, messages::NewInstruction, messages::store_instruction};
use cynode_execution::handoff::HandoffError;

/// How many help requests are searched for the one that an answer belongs to.
const MAX_SEARCHED_REQUESTS: u32 = 200;

/// The result of forwarding.
pub(super) enum ForwardOutcome {
    Done,
    /// The recipient is not running on the task: the project manager decides.
    NoRecipient,
}

/// Forwards a message to its recipient.
pub(super) async fn forward_message(
    tx: &mut Tx,
    claim: ReportClaim,
    message: AgentMessage,
    now: DateTime<Utc>,
) -> Result<ForwardOutcome, HandoffError> {
    let Some(task) = tx.task_lock(message.sent.task).await? else {
        return Ok(ForwardOutcome::Done);
    };
    let instruction = if message.sent.kind == MessageKind::Help {
        build_question(tx, &task, &message).await?
    } else {
        let Some(answer) = build_answer(tx, &task, &message).await? else {
            // It answers no question of another agent and is only recorded.
            tx.report_complete(claim, now).await?;
            return Ok(ForwardOutcome::Done);
        };
        Some(answer)
    };
    let Some(instruction) = instruction else { return Ok(ForwardOutcome::NoRecipient) };
    if tx.report_complete(claim, now).await? {
        store_instruction(tx, &task, instruction, now).await.map_err(to_handoff_error)?;
    }
    Ok(ForwardOutcome::Done)
}

/// Builds the question for the requested agent; `None` unless that agent is running.
async fn build_question(
    tx: &mut Tx,
    task: &Task,
    message: &AgentMessage,
) -> Result<Option<NewInstruction>, HandoffError> {
    let sent = &message.sent;
    let target = sent.payload["target_agent"].as_str().and_then(|role| role.parse::<Role>().ok());
    let Some(to) = target.filter(|to| to.as_str() != sent.sender) else { return Ok(None) };
    let agent = tx.agent_in_role(task.spec.id, &to).await?;
    if !agent.is_some_and(|agent| agent.status == AgentStatus::Running) {
        return Ok(None);
    }
    let asks = format!("{} asks: {}", sent.sender, sent.content);
    let how = "Answer with apmas_send_message to \"pm\", type answer; it is forwarded.";
    Ok(Some(NewInstruction {
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

/// Builds the answer for the asking agent: to the oldest unanswered question to this sender.
async fn build_answer(
    tx: &mut Tx,
    task: &Task,
    message: &AgentMessage,
) -> Result<Option<NewInstruction>, HandoffError> {
    let sent = &message.sent;
    let filter = MessageFilter {
        task: Some(task.spec.id),
        kind: Some(MessageKind::Help),
        after: Some(sent.id),
        limit: MAX_SEARCHED_REQUESTS,
        ..MessageFilter::default()
    };
    let mut help_requests = tx.message_list(&filter).await?;
    help_requests.retain(|help| {
        help.sent.subtype == HelpKind::Agent.as_str()
            && help.processed_at.is_some()
            && help.sent.payload["target_agent"].as_str() == Some(sent.sender.as_str())
    });
    for help in help_requests.into_iter().rev() {
        let key = format!("answer/{}", help.sent.id);
        let before = tx.message_by_key(task.spec.id, PM, &key).await?;
        let Ok(to) = help.sent.sender.parse::<Role>() else { continue };
        if before.is_none() {
            return Ok(Some(NewInstruction {
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

fn to_handoff_error(error: MessageError) -> HandoffError {
    if let MessageError::Store(error) = error {
        return HandoffError::Store(error);
    }
    HandoffError::Failed(error.to_string())
}
