//! The project manager in a conversation.
//!
//! Start at [`answer`]. What is written like a command (`command`) is done by rule. Else, with a model,
//! the model says what it needs and the gateway decides (`converse`); without one, rules read what the
//! person wants (`intent`) and do it through the same tools (`rules`). Either way the person sees
//! what was done.
//!
//! Invariant: nothing is changed that the person did not ask for in this turn by rule, or that the
//! gateway did not allow; what was changed is told, also when the answer breaks off.

mod command;
mod converse;
mod desk;
mod find;
mod functions;
mod intent;
mod recurring;
mod rules;
mod schedules;
mod show;
mod similarity;
mod teller;
mod withheld;

use cynode_wire::handoff::{DecidedBy, DecisionRecord, HandoffUsage, Turn, TurnRole};

use self::command::command;
use self::converse::{Conversation, Ended, Trouble};
use self::desk::Desk;
use self::intent::intent;
use self::teller::{Teller, events};
use crate::brain::{BrainOptions, Model, ModelError, hash};
use crate::work::Work;
use crate::{AgentError, ChatEvents};

/// Answers the last turn.
pub(crate) fn answer(work: Work, options: BrainOptions, turns: Vec<Turn>) -> ChatEvents {
    events(|teller| async move {
        match work.model.clone().filter(|_| command(last_words(&turns)).is_none()) {
            Some(model) => with_model(&work, model.as_ref(), &options, &turns, &teller).await,
            None => by_rule(&work, &turns, &teller, &ModelError::NoModel).await,
        }
    })
}

async fn with_model(
    work: &Work,
    model: &dyn Model,
    options: &BrainOptions,
    turns: &[Turn],
    teller: &Teller,
) {
    let (tools, system) = (work.tools.as_ref(), work.system.as_str());
    let conversation = Conversation { tools, model, options, system, teller };
    let mut ended = Ended::default();
    let outcome = conversation.run(turns, &mut ended).await;
    if let Err(Trouble::Model(error)) = &outcome
        && !ended.has_shown
        && !matches!(error, ModelError::NoRecord(_))
    {
        return by_rule(work, turns, teller, error).await;
    }
    teller.say(footer(&ended.changes)).await;
    let changes =
        if ended.changes.is_empty() { "nothing".to_owned() } else { ended.changes.join(", ") };
    let reason = format!("questions to the model: {}; changed: {changes}", ended.rounds);
    let mut record = record(turns, DecidedBy::Model, reason);
    record.model = Some(ended.model).filter(|name| !name.is_empty());
    match outcome {
        Ok(()) => teller.done(ended.usage, vec![record]).await,
        Err(Trouble::Model(error)) => {
            let may_retry = error.may_retry();
            teller.failed(error.to_string(), may_retry, vec![record]).await;
        }
        Err(Trouble::Agent(fault)) => fail(teller, &fault, vec![record]).await,
    }
}

/// Answers by rule, and says why where a model was expected.
async fn by_rule(work: &Work, turns: &[Turn], teller: &Teller, why: &ModelError) {
    let wanted = last_words(turns);
    let intent = intent(wanted);
    let kind = intent.word();
    let (by, reason) = if *why == ModelError::NoModel {
        (DecidedBy::Rule, kind.to_owned())
    } else {
        (DecidedBy::Fallback, format!("{kind} ({why})"))
    };
    let decisions = vec![record(turns, by, reason)];
    if *why != ModelError::NoModel {
        teller.say(format!("I answer by rule, because {why}.\n\n")).await;
    }
    match rules::act(&Desk::new(work.tools.as_ref(), teller), &intent).await {
        Ok(text) => {
            teller.say(text).await;
            teller.done(HandoffUsage::default(), decisions).await;
        }
        // What a tool says no to is an answer; what the gateway refuses is not.
        Err(AgentError::Tool { tool, message, .. }) => {
            teller.say(format!("I did nothing: `{tool}` says: {message}\n")).await;
            teller.done(HandoffUsage::default(), decisions).await;
        }
        Err(fault) => fail(teller, &fault, decisions).await,
    }
}

async fn fail(teller: &Teller, fault: &AgentError, decisions: Vec<DecisionRecord>) {
    teller.failed(fault.to_string(), fault.may_retry(), decisions).await;
}

/// What the person said last.
fn last_words(turns: &[Turn]) -> &str {
    let last = turns.iter().rev().find(|turn| turn.role == TurnRole::User);
    last.map_or("", |turn| turn.content.as_str())
}

/// What was changed, below what the model says about it.
fn footer(changes: &[String]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = changes.iter().map(|change| format!("- `{change}`")).collect();
    format!("\n\nWhat I did:\n{}\n", lines.join("\n"))
}

fn record(turns: &[Turn], by: DecidedBy, reason: String) -> DecisionRecord {
    let input_hash = hash(&["chat", last_words(turns)]);
    DecisionRecord { purpose: "chat".to_owned(), by, reason, input_hash, model: None }
}

#[cfg(test)]
mod tests;
