//! How a run goes on that stands where rules of the workflow do not say.

use cynode_wire::handoff::ContinueWith;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, one_of, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// After this many tries a person is asked.
const MAX_ATTEMPTS: u32 = 3;

/// How does this run go on?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinueRun {
    /// The node at which it stands.
    pub node: String,
    /// Why it does not go on by itself.
    pub situation: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// How it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continued {
    /// How.
    pub with: ContinueWith,
    /// Why.
    pub reason: String,
}

impl Continued {
    fn ruled(with: ContinueWith, reason: &str) -> Ruling<Self> {
        let answer = Self { with, reason: reason.to_owned() };
        let words = ContinueRun::summary(&answer);
        Ruling::new(answer, words)
    }
}

impl Decision for ContinueRun {
    type Answer = Continued;

    const PURPOSE: &'static str = "continue_run";
    const HINT: &'static str = "balanced";

    fn schema() -> Value {
        object(&json!({
            "with": one_of("How it goes on.", &["continue", "retry", "ask_person", "give_up"]),
            "reason": text("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let situation = untrusted::quote("situation", &self.situation, 8 * 1024);
        format!(
            "A run stands at {} after {} tries. Does it go on from there, is the same tried again, is a \
             person asked, or is it given up?\n\n{situation}",
            untrusted::inline(&self.node),
            self.attempts
        )
    }

    fn by_rule(&self) -> Option<Ruling<Continued>> {
        (self.attempts >= MAX_ATTEMPTS)
            .then(|| Continued::ruled(ContinueWith::AskPerson, "it was tried often enough"))
    }

    fn fallback(&self) -> Ruling<Continued> {
        Continued::ruled(ContinueWith::AskPerson, "a person decides what nobody else can")
    }

    fn summary(answer: &Continued) -> String {
        let with = match answer.with {
            ContinueWith::Continue => "continue",
            ContinueWith::Retry => "retry",
            ContinueWith::AskPerson => "ask_person",
            ContinueWith::GiveUp => "give_up",
        };
        format!("{with}: {}", answer.reason)
    }
}
