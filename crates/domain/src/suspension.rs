//! Why a run is suspended after a failed step when no rule may decide about another attempt.
//!
//! A command that exited with the wrong code is not a reason: that step has failed.

use crate::job::JobEnding;
use crate::verdict::{ANALYST_RULE, Finding, Verdict, VerdictStatus};

/// Limit of continuations of a suspended run.
pub const MAX_CONTINUATIONS: u32 = 3;
/// The first graph version that supports continuation. A runner that supports only older versions
/// would fail the run regardless of the answer.
pub const CONTINUATION_GRAPH_VERSION: u32 = 2;
/// Limit of replanned steps per run.
pub const MAX_REPLANS: u32 = 3;
/// The first graph version whose plans record the author and the criteria of each step. A runner that
/// supports only older versions would lose both.
pub const REPLANNING_GRAPH_VERSION: u32 = 5;
/// Why a person's command is not replanned.
pub const AUTHORED_BY_PERSON: &str = "its command was given by a person";
/// The preference for interrupted steps; see [`IfInterrupted`].
pub const IF_INTERRUPTED_KEY: &str = "agents.project_manager.continue.interrupted";

words! {
    /// Why a run is suspended after its step was not accepted and no attempt is left.
    SuspensionReason("suspension reason") {
    /// It is unknown how much of the step was executed.
        Interrupted = "interrupted",
        /// The step did not start.
        NotStarted = "not_started",
        /// The step exceeded a limit.
        LimitReached = "limit_reached",
        /// The step succeeded, but an analyst did not accept its result.
        Rejected = "rejected",
    }

    /// What happens to an interrupted step.
    IfInterrupted("interruption policy") {
    /// A person decides.
        Ask = "ask",
        /// It is retried.
        Retry = "retry",
        /// It fails.
        GiveUp = "give_up",
    }
}

impl IfInterrupted {
    /// Resolves the policy for an interrupted step, with its reason: the preference decides, else whether the task
    /// allows its commands to be repeated, else a person.
    pub const fn resolve(preference: Option<Self>, may_repeat: bool) -> (Self, &'static str) {
        match (preference, may_repeat) {
            (Some(Self::Retry), _) => (Self::Retry, "a preference retries interrupted steps"),
            (Some(Self::GiveUp), _) => (Self::GiveUp, "a preference fails interrupted steps"),
            (None, true) => (Self::Retry, "the task allows a retry"),
            (Some(Self::Ask), _) | (None, false) => {
                (Self::Ask, "it may have done part of its work")
            }
        }
    }
}

impl SuspensionReason {
    /// The suspension reason for a step with this ending and verdict; `None` if there is none.
    pub fn for_step(ending: &JobEnding, verdict: &Verdict) -> Option<Self> {
        if verdict.status != VerdictStatus::Fail {
            return None;
        }
        match ending {
            JobEnding::Interrupted { .. } => Some(Self::Interrupted),
            JobEnding::NotStarted { .. } if ending.is_merge_conflict() => None,
            JobEnding::NotStarted { .. } => Some(Self::NotStarted),
            JobEnding::TimedOut | JobEnding::LimitReached { .. } => Some(Self::LimitReached),
            JobEnding::Exited { .. } => {
                let mut failures = verdict.findings.iter().filter(|f| f.is_failure()).peekable();
                let is_judged = failures.peek().is_some();
                let by_analyst = |finding: &Finding| finding.rule == ANALYST_RULE;
                (is_judged && failures.all(by_analyst)).then_some(Self::Rejected)
            }
            JobEnding::Canceled => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(rules: &[(&str, bool)]) -> Verdict {
        let finding = |(rule, met): &(&str, bool)| Finding::from_rule(rule, *met, String::new());
        Verdict::from_findings(rules.iter().map(finding).collect())
    }

    #[test]
    fn a_run_stands_still_for_what_its_command_did_not_decide() {
        let reason = String::new;
        let failed = verdict_of(&[("exit_code", false)]);
        for (ending, expected) in [
            (JobEnding::Interrupted { reason: reason() }, Some(SuspensionReason::Interrupted)),
            (JobEnding::NotStarted { reason: reason() }, Some(SuspensionReason::NotStarted)),
            (
                JobEnding::NotStarted { reason: "merge conflict: a conflicts with b".to_owned() },
                None,
            ),
            (JobEnding::TimedOut, Some(SuspensionReason::LimitReached)),
            (JobEnding::LimitReached { limit: reason() }, Some(SuspensionReason::LimitReached)),
            (JobEnding::Exited { code: 1 }, None),
            (JobEnding::Canceled, None),
        ] {
            assert_eq!(SuspensionReason::for_step(&ending, &failed), expected, "{ending:?}");
        }
    }

    #[test]
    fn only_what_an_analyst_alone_refused_counts_as_rejected() {
        let well = JobEnding::Exited { code: 0 };
        for (rules, expected) in [
            (&[("exit_code", true), (ANALYST_RULE, true)][..], None),
            (&[("exit_code", true), (ANALYST_RULE, false)], Some(SuspensionReason::Rejected)),
            (&[("file_exists", false), (ANALYST_RULE, false)], None),
            (&[("file_exists", false)], None),
        ] {
            assert_eq!(
                SuspensionReason::for_step(&well, &verdict_of(rules)),
                expected,
                "{rules:?}"
            );
        }
    }
}
