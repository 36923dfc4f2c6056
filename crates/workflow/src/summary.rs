//! What a person reads at the end of a run.

use cynode_domain::job::{Action, Ending};
use cynode_domain::plan::{Step, StepAuthor};
use cynode_domain::verification::{ACCEPT_UNVERIFIED, VerificationStatus};

use crate::engine::Node;
use crate::nodes::collect_result::CollectResult;
use crate::nodes::dispatch_step::DispatchStep;
use crate::nodes::load_task_context::LoadTaskContext;
use crate::nodes::plan_steps::PlanSteps;
use crate::nodes::verify_step_result::VerifyStepResult;
use crate::state::{NodeFailure, RunState, Tally};

/// The summary of a run whose every step was accepted: what ran, what was checked, and what was not.
pub(crate) fn completed(state: &RunState) -> String {
    if state.plan.steps.is_empty() {
        return "Nothing to do: the plan has no steps.".to_owned();
    }
    let attempts: u32 = state.attempts_by_step.values().sum();
    let repeated = usize::try_from(attempts).is_ok_and(|n| n > state.plan.steps.len());
    let attempts = if repeated { format!(" in {attempts} attempts") } else { String::new() };
    let tally = &state.tally;
    let ran = format!("{}{attempts}", endings(state));
    match tally.status() {
        VerificationStatus::NotChecked => {
            format!("{ran}; no acceptance criteria were given.")
        }
        VerificationStatus::Verified => {
            format!("{ran}; {} met: {}.", criteria(tally), judges(tally))
        }
        VerificationStatus::Unverified => {
            let open = unjudged(state);
            format!(
                "Unverified: {ran}; of {} {} not judged, which the preference {ACCEPT_UNVERIFIED} \
                 accepts{open}.",
                total_criteria(tally.total()),
                were(tally.unverified),
            )
        }
    }
}

/// How the commands ended: all with code 0, but for the last where a criterion demands another code.
fn endings(state: &RunState) -> String {
    let steps = state.plan.steps.len();
    let is_script = |step: &Step| matches!(step.action, Action::Script { .. });
    let noun = if state.plan.steps.iter().any(is_script) { "script" } else { "command" };
    match state.last_result.as_ref().map(|result| &result.ending) {
        Some(Ending::Exited { code: 0 }) | None => {
            format!("{} exited with code 0", count(steps, noun))
        }
        Some(ending) => format!("{} ran, and the last {}", count(steps, noun), ending.describe()),
    }
}

fn criteria(tally: &Tally) -> String {
    let verb = if tally.total() == 1 { "is" } else { "are" };
    format!("{} {verb}", total_criteria(tally.total()))
}

fn total_criteria(number: u32) -> String {
    let noun = if number == 1 { "criterion" } else { "criteria" };
    format!("{number} acceptance {noun}")
}

fn were(number: u32) -> String {
    if number == 1 { "1 was".to_owned() } else { format!("{number} were") }
}

/// By whom the criteria were judged.
fn judges(tally: &Tally) -> String {
    let by = [
        (tally.by_rule, "by rule"),
        (tally.by_analyst, "by an analyst"),
        (tally.by_person, "by a person"),
    ];
    let by = by.iter().filter(|(number, _)| *number > 0);
    by.map(|(number, who)| format!("{number} {who}")).collect::<Vec<_>>().join(", ")
}

/// What was not judged at the last step, and why.
fn unjudged(state: &RunState) -> String {
    let open = state.verification.iter().flat_map(|verdict| verdict.open());
    let open: Vec<_> = open.map(|finding| finding.message.as_str()).collect();
    if open.is_empty() { String::new() } else { format!(": {}", open.join("; ")) }
}

/// The summary of a run that failed for good.
pub(crate) fn failed(state: &RunState) -> String {
    if let Some(failure) = &state.failure {
        return format!(
            "{}: {}.",
            what_failed(state, failure),
            failure.reason.trim_end_matches('.')
        );
    }
    let attempts = count(usize::try_from(state.attempts()).unwrap_or(usize::MAX), "attempt");
    let reason = state.verification.as_ref().and_then(|verdict| verdict.first_failure());
    let reason = reason.unwrap_or("its result was not accepted");
    let mut text = format!("{} failed after {attempts}: {reason}.", step(state));
    if let Some(reason) = reason_kept(state) {
        text = format!("{text} It was not planned anew: {reason}.");
    }
    if let Some(decided) = state.decided() {
        return format!("{text} It was not run again: {}.", decided.reason);
    }
    let interrupted = state.last_result.as_ref().is_some_and(|result| result.is_interrupted());
    if interrupted && !state.bounds.retry_interrupted {
        text.push_str(" It was not run again, because it may have done part of its work.");
    }
    text
}

/// Why the project manager planned no other command for the step that failed, if it could have.
fn reason_kept(state: &RunState) -> Option<&str> {
    let result = state.last_result.as_ref()?;
    let revision = state.revision.as_ref().filter(|revision| revision.job_id == result.job_id)?;
    let is_managers = state.current_step().is_some_and(|step| step.author == StepAuthor::Manager);
    (is_managers && revision.action.is_none()).then_some(revision.reason.as_str())
}

fn what_failed(state: &RunState, failure: &NodeFailure) -> String {
    match failure.node.as_str() {
        LoadTaskContext::NAME => "The task could not be read".to_owned(),
        PlanSteps::NAME => "The task could not be planned".to_owned(),
        DispatchStep::NAME => format!("{} could not be dispatched", step(state)),
        CollectResult::NAME => format!("The result of {} is missing", lower(&step(state))),
        VerifyStepResult::NAME => format!("{} could not be verified", step(state)),
        other => format!("{other} failed"),
    }
}

fn step(state: &RunState) -> String {
    format!("Step {} of {}", state.current_step_index + 1, state.plan.steps.len())
}

fn lower(sentence: &str) -> String {
    sentence.replacen("Step", "step", 1)
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TaskId;
    use cynode_domain::plan::Plan;
    use cynode_domain::verdict::{BY_ANALYST, Finding, Verdict};

    use super::*;

    fn state(commands: usize, findings: Vec<Finding>) -> RunState {
        let mut state = RunState::new(TaskId::generate());
        let action = Action::Command { line: "make".to_owned() };
        state.plan =
            Plan { steps: vec![Step::new(action); commands], assumptions: vec![], made_by: None }
                .into();
        let verdict = Verdict::of(findings).accept_unverified();
        state.tally = state.tally.with(&verdict, &[]);
        state.verification = Some(verdict.into());
        state
    }

    fn met(rule: &str) -> Finding {
        Finding::of(rule, true, String::new())
    }

    #[test]
    fn a_summary_says_what_was_checked_and_by_whom() {
        let bare = state(3, vec![met("exit_code")]);
        let judged = state(1, vec![met("exit_code"), met("file_exists"), met(BY_ANALYST)]);

        assert_eq!(
            completed(&bare),
            "3 commands exited with code 0; no acceptance criteria were given."
        );
        assert_eq!(
            completed(&judged),
            "1 command exited with code 0; 2 acceptance criteria are met: 1 by rule, 1 by an analyst."
        );
    }

    #[test]
    fn a_summary_names_what_nobody_judged_and_what_accepted_it() {
        let open = Finding::unchecked("reads well (no model is configured)");
        let state = state(1, vec![met("exit_code"), met("file_exists"), open]);

        assert_eq!(
            completed(&state),
            "Unverified: 1 command exited with code 0; of 2 acceptance criteria 1 was not judged, which \
             the preference verification.accept_unverified accepts: reads well (no model is configured)."
        );
    }
}
