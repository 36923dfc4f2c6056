//! Why a run stands still where another attempt is nobody's to decide by rule alone.
//!
//! A command that ended by itself with the wrong exit code is not among it: that step has failed.

use crate::job::Ending;
use crate::verdict::{BY_ANALYST, Finding, Verdict, VerdictStatus};

/// How often a run may go on after it stood still.
pub const MAX_CONTINUATIONS: u32 = 3;
/// The first version of the graph whose runs go on after they stood still. A runner that knows only
/// older ones would fail such a run, whatever was answered.
pub const CONTINUES_SINCE: u32 = 2;
/// How often a run may have a step planned anew.
pub const MAX_REPLANS: u32 = 3;
/// The first version of the graph whose plans say who planned each step, and what must be true of its
/// result. A runner that knows only older ones would forget both.
pub const REPLANS_SINCE: u32 = 5;
/// Why a command is not planned anew that a person gave.
pub const GIVEN_BY_PERSON: &str = "its command was given by a person";
/// The preference that says what becomes of interrupted steps: a word of [`IfInterrupted`].
pub const IF_INTERRUPTED: &str = "agents.project_manager.continue.interrupted";

words! {
    /// Why a run stands still after its step was not accepted and no attempt is left.
    Standstill("reason to stand still") {
        /// Nobody knows how much of its work the step did.
        Interrupted = "interrupted",
        /// The step never began.
        NotStarted = "not_started",
        /// The step took more time or room than it may.
        LimitReached = "limit_reached",
        /// The step ended well, and an analyst did not accept its result.
        Rejected = "rejected",
    }

    /// What becomes of a step that was interrupted.
    IfInterrupted("way to go on after an interruption") {
        /// A person says.
        Ask = "ask",
        /// It runs again.
        Retry = "retry",
        /// It has failed.
        GiveUp = "give_up",
    }
}

impl Standstill {
    /// Why a step that ended like this and was judged like that stands still; nothing if it does not.
    pub fn of(ending: &Ending, verdict: &Verdict) -> Option<Self> {
        if verdict.status != VerdictStatus::Fail {
            return None;
        }
        match ending {
            Ending::Interrupted { .. } => Some(Self::Interrupted),
            Ending::NotStarted { .. } => Some(Self::NotStarted),
            Ending::TimedOut | Ending::LimitReached { .. } => Some(Self::LimitReached),
            Ending::Exited { .. } => {
                let mut failures = verdict.findings.iter().filter(|f| f.is_failure()).peekable();
                let is_judged = failures.peek().is_some();
                let by_analyst = |finding: &Finding| finding.rule == BY_ANALYST;
                (is_judged && failures.all(by_analyst)).then_some(Self::Rejected)
            }
            Ending::Canceled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rules: &[(&str, bool)]) -> Verdict {
        let finding = |(rule, met): &(&str, bool)| Finding::of(rule, *met, String::new());
        Verdict::of(rules.iter().map(finding).collect())
    }

    #[test]
    fn a_run_stands_still_for_what_its_command_did_not_decide() {
        let reason = String::new;
        let failed = judged(&[("exit_code", false)]);
        for (ending, expected) in [
            (Ending::Interrupted { reason: reason() }, Some(Standstill::Interrupted)),
            (Ending::NotStarted { reason: reason() }, Some(Standstill::NotStarted)),
            (Ending::TimedOut, Some(Standstill::LimitReached)),
            (Ending::LimitReached { limit: reason() }, Some(Standstill::LimitReached)),
            (Ending::Exited { code: 1 }, None),
            (Ending::Canceled, None),
        ] {
            assert_eq!(Standstill::of(&ending, &failed), expected, "{ending:?}");
        }
    }

    #[test]
    fn only_what_an_analyst_alone_refused_counts_as_rejected() {
        let well = Ending::Exited { code: 0 };
        for (rules, expected) in [
            (&[("exit_code", true), (BY_ANALYST, true)][..], None),
            (&[("exit_code", true), (BY_ANALYST, false)], Some(Standstill::Rejected)),
            (&[("file_exists", false), (BY_ANALYST, false)], None),
            (&[("file_exists", false)], None),
        ] {
            assert_eq!(Standstill::of(&well, &judged(rules)), expected, "{rules:?}");
        }
    }
}
