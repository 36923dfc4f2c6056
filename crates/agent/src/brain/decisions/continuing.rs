//! How a run goes on that stands where rules of the workflow do not say.

use cynode_domain::standstill::{IfInterrupted, MAX_CONTINUATIONS, Standstill};
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
    /// Why, where the result of a step is what it stands still for.
    #[serde(default)]
    pub standstill: Option<Standstill>,
    /// How often the run went on after it stood still.
    #[serde(default)]
    pub continued: u32,
    /// Whether the task says that what was interrupted may run again.
    #[serde(default)]
    pub may_repeat: bool,
    /// What a preference says about interrupted steps.
    #[serde(default)]
    pub if_interrupted: Option<IfInterrupted>,
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

impl ContinueRun {
    /// What becomes of a step whose result was not accepted. No model has a say in whether a command
    /// runs again that may have done part of its work.
    fn after(&self, standstill: Standstill) -> Option<Ruling<Continued>> {
        use ContinueWith as With;
        if self.continued >= MAX_CONTINUATIONS {
            let reason = format!("the run went on {MAX_CONTINUATIONS} times already");
            return Some(Continued::ruled(With::GiveUp, &reason));
        }
        let (with, reason) = match (standstill, self.if_interrupted, self.may_repeat) {
            (Standstill::NotStarted, _, _) => (With::Retry, "nothing of it ran"),
            (Standstill::LimitReached | Standstill::Rejected, _, _) => return None,
            (Standstill::Interrupted, Some(IfInterrupted::Retry), _) => {
                (With::Retry, "a preference says that interrupted steps run again")
            }
            (Standstill::Interrupted, Some(IfInterrupted::GiveUp), _) => {
                (With::GiveUp, "a preference says that interrupted steps have failed")
            }
            (Standstill::Interrupted, None, true) => {
                (With::Retry, "the task says that it may run again")
            }
            (Standstill::Interrupted, _, _) => {
                (With::AskPerson, "it may have done part of its work")
            }
        };
        Some(Continued::ruled(with, reason))
    }
}

impl Decision for ContinueRun {
    type Answer = Continued;

    const PURPOSE: &'static str = "continue_run";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
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
        if let Some(standstill) = self.standstill {
            return self.after(standstill);
        }
        (self.attempts >= MAX_ATTEMPTS)
            .then(|| Continued::ruled(ContinueWith::AskPerson, "it was tried often enough"))
    }

    fn fallback(&self) -> Ruling<Continued> {
        if self.standstill.is_some() {
            return Continued::ruled(
                ContinueWith::GiveUp,
                "nobody says that another try would help",
            );
        }
        Continued::ruled(ContinueWith::AskPerson, "a person decides what nobody else can")
    }

    fn objection(&self, answer: &Continued) -> Option<String> {
        let is_taken = self.standstill.is_some() && answer.with == ContinueWith::Continue;
        is_taken.then(|| {
            "a result that was not accepted is not taken as it is: retry, ask_person or give_up"
                .to_owned()
        })
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

#[cfg(test)]
mod tests {
    use super::super::tests::has_a_sound_schema;
    use super::*;
    use crate::brain::answer::accept;

    fn standing(standstill: Option<Standstill>, attempts: u32) -> ContinueRun {
        ContinueRun {
            node: "collect_result".to_owned(),
            situation: "the node is gone".to_owned(),
            attempts,
            standstill,
            continued: 0,
            may_repeat: false,
            if_interrupted: None,
        }
    }

    #[test]
    fn the_schema_takes_what_rules_decide() {
        has_a_sound_schema(&standing(None, 1));
    }

    #[test]
    fn an_interrupted_step_runs_again_only_if_the_task_a_preference_or_a_person_says_so() {
        let interrupted = standing(Some(Standstill::Interrupted), 1);
        for (if_interrupted, may_repeat, expected) in [
            (None, false, ContinueWith::AskPerson),
            (None, true, ContinueWith::Retry),
            (Some(IfInterrupted::Ask), true, ContinueWith::AskPerson),
            (Some(IfInterrupted::Retry), false, ContinueWith::Retry),
            (Some(IfInterrupted::GiveUp), true, ContinueWith::GiveUp),
        ] {
            let question = ContinueRun { may_repeat, if_interrupted, ..interrupted.clone() };
            let ruling = question.by_rule().unwrap();
            assert_eq!(ruling.answer.with, expected, "{if_interrupted:?} {may_repeat}");
        }
    }

    #[test]
    fn a_run_goes_on_three_times_and_no_more() {
        for &standstill in Standstill::ALL {
            let question = ContinueRun { continued: 3, ..standing(Some(standstill), 4) };
            assert_eq!(
                question.by_rule().unwrap().answer.with,
                ContinueWith::GiveUp,
                "{standstill}"
            );
        }
        let unstarted = ContinueRun { continued: 2, ..standing(Some(Standstill::NotStarted), 3) };
        assert_eq!(unstarted.by_rule().unwrap().answer.with, ContinueWith::Retry);
    }

    #[test]
    fn a_result_that_was_not_accepted_is_never_taken_as_it_is() {
        let rejected = standing(Some(Standstill::Rejected), 1);

        assert_eq!(rejected.by_rule(), None);
        assert_eq!(rejected.fallback().answer.with, ContinueWith::GiveUp);
        assert!(accept(&rejected, &json!({ "with": "continue", "reason": "r" })).is_err());
        assert!(accept(&rejected, &json!({ "with": "retry", "reason": "r" })).is_ok());
    }

    #[test]
    fn a_run_that_was_tried_often_enough_waits_for_a_person() {
        let question = |attempts| standing(None, attempts);

        assert_eq!(question(3).by_rule().unwrap().answer.with, ContinueWith::AskPerson);
        assert_eq!(question(1).by_rule(), None);
        assert_eq!(question(1).fallback().answer.with, ContinueWith::AskPerson);
    }
}
