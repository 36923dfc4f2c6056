//! Decision: how a run continues that the workflow's rules cannot continue.

use cynode_domain::suspension::{IfInterrupted, MAX_CONTINUATIONS, SuspensionReason};
use cynode_wire::handoff::ContinueWith;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{enum_schema, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// The number of attempts after which a person decides.
const MAX_ATTEMPTS: u32 = 3;

/// Decides how a blocked run continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinueBlockedRun {
    /// The current workflow node.
    pub node: String,
    /// Why the run is blocked.
    pub situation: String,
    pub attempts: u32,
    /// Why a step's result blocks the run; `None` for other causes.
    #[serde(default)]
    #[serde(rename = "standstill")]
    pub suspension: Option<SuspensionReason>,
    /// How often the run was continued before.
    #[serde(default)]
    pub continued: u32,
    /// Whether the task allows interrupted commands to run again.
    #[serde(default)]
    pub may_repeat: bool,
    /// The preference for interrupted steps.
    #[serde(default)]
    pub if_interrupted: Option<IfInterrupted>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunContinuation {
    pub with: ContinueWith,
    pub reason: String,
}

impl RunContinuation {
    fn rule_answer(with: ContinueWith, reason: &str) -> RuleAnswer<Self> {
        let answer = Self { with, reason: reason.to_owned() };
        let words = ContinueBlockedRun::summarize(&answer);
        RuleAnswer::new(answer, words)
    }
}

impl ContinueBlockedRun {
    /// Decides about a step whose result was rejected. A model never decides whether a command runs again that may
    /// have done part of its work.
    fn decide_after_standstill(
        &self,
        suspension: SuspensionReason,
    ) -> Option<RuleAnswer<RunContinuation>> {
        use ContinueWith as With;
        if self.continued >= MAX_CONTINUATIONS && !cynode_fault::fault!("PMA-08") {
            let reason = format!("the run was already continued {MAX_CONTINUATIONS} times");
            return Some(RunContinuation::rule_answer(With::GiveUp, &reason));
        }
        let (with, reason) = match suspension {
            SuspensionReason::NotStarted => (With::Retry, "it was not started"),
            SuspensionReason::LimitReached | SuspensionReason::Rejected => return None,
            SuspensionReason::Interrupted => {
                let (policy, reason) = IfInterrupted::resolve(self.if_interrupted, self.may_repeat);
                (policy.into(), reason)
            }
        };
        Some(RunContinuation::rule_answer(with, reason))
    }
}

impl BrainDecision for ContinueBlockedRun {
    type Answer = RunContinuation;

    const PURPOSE: &'static str = "continue_run";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "with": enum_schema("The action.", &["continue", "retry", "ask_person", "give_up"]),
            "reason": text_schema("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let situation = untrusted::quote("situation", &self.situation, 8 * 1024);
        format!(
            "A run is blocked at workflow node {} after {} attempts. Continue from there, retry, ask a \
             person or give up?\n\n{situation}",
            untrusted::inline(&self.node),
            self.attempts
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<RunContinuation>> {
        if let Some(suspension) = self.suspension {
            return self.decide_after_standstill(suspension);
        }
        (self.attempts >= MAX_ATTEMPTS).then(|| {
            RunContinuation::rule_answer(ContinueWith::AskPerson, "the attempts are used up")
        })
    }

    fn fallback(&self) -> RuleAnswer<RunContinuation> {
        if self.suspension.is_some() {
            return RunContinuation::rule_answer(
                ContinueWith::GiveUp,
                "no other attempt is known to help",
            );
        }
        RunContinuation::rule_answer(ContinueWith::AskPerson, "no rule decides this")
    }

    fn find_objection(&self, answer: &RunContinuation) -> Option<String> {
        let is_taken = self.suspension.is_some() && answer.with == ContinueWith::Continue;
        is_taken.then(|| {
            "a result that was not accepted is not taken as it is: retry, ask_person or give_up"
                .to_owned()
        })
    }

    fn summarize(answer: &RunContinuation) -> String {
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
    use crate::brain::answer::validate_answer;

    fn blocked_run(suspension: Option<SuspensionReason>, attempts: u32) -> ContinueBlockedRun {
        ContinueBlockedRun {
            node: "collect_result".to_owned(),
            situation: "the node is gone".to_owned(),
            attempts,
            suspension,
            continued: 0,
            may_repeat: false,
            if_interrupted: None,
        }
    }

    #[test]
    fn the_schema_takes_what_rules_decide() {
        has_a_sound_schema(&blocked_run(None, 1));
    }

    #[test]
    fn an_interrupted_step_runs_again_only_if_the_task_a_preference_or_a_person_says_so() {
        let interrupted = blocked_run(Some(SuspensionReason::Interrupted), 1);
        for (if_interrupted, may_repeat, expected) in [
            (None, false, ContinueWith::AskPerson),
            (None, true, ContinueWith::Retry),
            (Some(IfInterrupted::Ask), true, ContinueWith::AskPerson),
            (Some(IfInterrupted::Retry), false, ContinueWith::Retry),
            (Some(IfInterrupted::GiveUp), true, ContinueWith::GiveUp),
        ] {
            let question = ContinueBlockedRun { may_repeat, if_interrupted, ..interrupted.clone() };
            let ruling = question.decide_by_rule().unwrap();
            assert_eq!(ruling.answer.with, expected, "{if_interrupted:?} {may_repeat}");
        }
    }

    #[test]
    fn a_run_goes_on_three_times_and_no_more() {
        for &suspension in SuspensionReason::ALL {
            let question = ContinueBlockedRun { continued: 3, ..blocked_run(Some(suspension), 4) };
            assert_eq!(
                question.decide_by_rule().unwrap().answer.with,
                ContinueWith::GiveUp,
                "{suspension}"
            );
        }
        let unstarted = ContinueBlockedRun {
            continued: 2,
            ..blocked_run(Some(SuspensionReason::NotStarted), 3)
        };
        assert_eq!(unstarted.decide_by_rule().unwrap().answer.with, ContinueWith::Retry);
    }

    #[test]
    fn a_result_that_was_not_accepted_is_never_taken_as_it_is() {
        let rejected = blocked_run(Some(SuspensionReason::Rejected), 1);

        assert_eq!(rejected.decide_by_rule(), None);
        assert_eq!(rejected.fallback().answer.with, ContinueWith::GiveUp);
        assert!(validate_answer(&rejected, &json!({ "with": "continue", "reason": "r" })).is_err());
        assert!(validate_answer(&rejected, &json!({ "with": "retry", "reason": "r" })).is_ok());
    }

    #[test]
    fn a_run_that_was_tried_often_enough_waits_for_a_person() {
        let question = |attempts| blocked_run(None, attempts);

        assert_eq!(question(3).decide_by_rule().unwrap().answer.with, ContinueWith::AskPerson);
        assert_eq!(question(1).decide_by_rule(), None);
        assert_eq!(question(1).fallback().answer.with, ContinueWith::AskPerson);
    }
}
