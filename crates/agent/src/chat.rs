//! Chat turns of the project manager.
//!
//! Start at [`answer_turn`]. Requests in the form of a command (`parse_command`) are handled by rule. Otherwise a model calls
//! tools that the gateway authorises (`model_turn`); without a model, rules detect the intent (`detect_intent`) and call
//! the same tools (`rules`). The user sees every change in either case.
//!
//! Invariant: rules change only what the user requested in this turn, and every change is authorised by the
//! gateway; changes are reported even if the answer is cut off.

mod call_buffer;
mod command;
mod event_sender;
mod find_task;
mod functions;
mod intent;
mod model_turn;
mod recurring;
mod render;
mod reported_tools;
mod requests;
mod rules;
mod schedules;

use cynode_wire::handoff::{DecidedBy, DecisionRecord, HandoffUsage, Turn, TurnRole};

use self::command::parse_command;
use self::event_sender::{ChatEventSender, run_with_events};
use self::intent::detect_intent;
use self::model_turn::{ModelTurn, ModelTurnError, ModelTurnOutcome};
use self::reported_tools::ReportedTools;
use crate::brain::{BrainOptions, ChatModel, ModelError, hash_parts};
use crate::session::HandoffSession;
use crate::{ChatEventStream, HandoffAgentError};

/// Answers the last turn.
pub(crate) fn answer_turn(
    work: HandoffSession,
    options: BrainOptions,
    turns: Vec<Turn>,
) -> ChatEventStream {
    run_with_events(|events| async move {
        match work.model.clone().filter(|_| parse_command(last_user_message(&turns)).is_none()) {
            Some(model) => {
                answer_with_model(&work, model.as_ref(), &options, &turns, &events).await;
            }
            None => answer_by_rule(&work, &turns, &events, &ModelError::NoModel).await,
        }
    })
}

async fn answer_with_model(
    work: &HandoffSession,
    model: &dyn ChatModel,
    options: &BrainOptions,
    turns: &[Turn],
    events: &ChatEventSender,
) {
    let (tools, system) = (work.tools.as_ref(), work.system.as_str());
    let (trace, excerpts) = (&work.trace, work.excerpts.as_ref());
    let conversation = ModelTurn { tools, model, options, system, excerpts, events, trace };
    let mut ended = ModelTurnOutcome::default();
    let outcome = conversation.answer(turns, &mut ended).await;
    if let Err(ModelTurnError::Model(error)) = &outcome
        && !ended.has_shown
        && !matches!(error, ModelError::MissingRecording(_))
    {
        return answer_by_rule(work, turns, events, error).await;
    }
    events.send_text(render_changes(&ended.changes)).await;
    let changes =
        if ended.changes.is_empty() { "nothing".to_owned() } else { ended.changes.join(", ") };
    let reason = format!("questions to the model: {}; changed: {changes}", ended.rounds);
    let mut record = decision_record(turns, DecidedBy::Model, reason);
    record.model = Some(ended.model).filter(|name| !name.is_empty());
    match outcome {
        Ok(()) => events.send_done(ended.usage, vec![record]).await,
        Err(ModelTurnError::Model(error)) => {
            let may_retry = error.is_retryable();
            events.send_failed(error.to_string(), may_retry, vec![record]).await;
        }
        Err(ModelTurnError::Agent(fault)) => send_failure(events, &fault, vec![record]).await,
    }
}

/// Answers by rule, and reports why if a model was expected to answer.
async fn answer_by_rule(
    work: &HandoffSession,
    turns: &[Turn],
    events: &ChatEventSender,
    why: &ModelError,
) {
    let wanted = last_user_message(turns);
    let intent = detect_intent(wanted);
    let kind = intent.label();
    let (by, reason) = if *why == ModelError::NoModel {
        (DecidedBy::Rule, kind.to_owned())
    } else {
        (DecidedBy::Fallback, format!("{kind} ({why})"))
    };
    let decisions = vec![decision_record(turns, by, reason)];
    if *why != ModelError::NoModel {
        events.send_text(format!("I answer by rule, because {why}.\n\n")).await;
    }
    match rules::execute_intent(&ReportedTools::new(work.tools.as_ref(), events), &intent).await {
        Ok(text) => {
            events.send_text(text).await;
            events.send_done(HandoffUsage::default(), decisions).await;
        }
        // A failed tool call is an answer; a rejection by the gateway fails the turn.
        Err(HandoffAgentError::Tool { tool, message, .. }) => {
            events.send_text(format!("I did nothing: `{tool}` failed: {message}\n")).await;
            events.send_done(HandoffUsage::default(), decisions).await;
        }
        Err(fault) => send_failure(events, &fault, decisions).await,
    }
}

async fn send_failure(
    events: &ChatEventSender,
    fault: &HandoffAgentError,
    decisions: Vec<DecisionRecord>,
) {
    events.send_failed(fault.to_string(), fault.is_retryable(), decisions).await;
}

/// The user's last message.
fn last_user_message(turns: &[Turn]) -> &str {
    let last = turns.iter().rev().find(|turn| turn.role == TurnRole::User);
    last.map_or("", |turn| turn.content.as_str())
}

/// Lists the changes below the model's answer.
fn render_changes(changes: &[String]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = changes.iter().map(|change| format!("- `{change}`")).collect();
    format!("\n\nWhat I did:\n{}\n", lines.join("\n"))
}

fn decision_record(turns: &[Turn], by: DecidedBy, reason: String) -> DecisionRecord {
    let input_hash = hash_parts(&["chat", last_user_message(turns)]);
    DecisionRecord { purpose: "chat".to_owned(), by, reason, input_hash, model: None }
}

#[cfg(test)]
mod tests;
