//! What a person reads at the end of a run.

use cynode_domain::verdict::FindingStatus;

use crate::engine::Node;
use crate::nodes::collect_result::CollectResult;
use crate::nodes::dispatch_step::DispatchStep;
use crate::nodes::load_task_context::LoadTaskContext;
use crate::nodes::plan_steps::PlanSteps;
use crate::nodes::verify_step_result::VerifyStepResult;
use crate::state::{NodeFailure, RunState};

/// The summary of a run whose every step was verified.
pub(crate) fn completed(state: &RunState) -> String {
    if state.plan.steps.is_empty() {
        return "Nothing to do: the plan has no steps.".to_owned();
    }
    let attempts: u32 = state.attempts_by_step.values().sum();
    let repeated = usize::try_from(attempts).is_ok_and(|n| n > state.plan.steps.len());
    let sentences = [
        count(state.plan.steps.len(), "step"),
        " verified".to_owned(),
        if repeated { format!(" in {attempts} attempts") } else { String::new() },
        state.last_result.as_ref().map_or_else(String::new, |result| {
            format!("; the last command {}", result.ending.describe())
        }),
        ".".to_owned(),
        unchecked(state),
    ];
    sentences.concat()
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
    if let Some(decided) = state.decided() {
        return format!("{text} It was not run again: {}.", decided.reason);
    }
    let interrupted = state.last_result.as_ref().is_some_and(|result| result.is_interrupted());
    if interrupted && !state.bounds.retry_interrupted {
        text.push_str(" It was not run again, because it may have done part of its work.");
    }
    text
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

/// Says how many criteria nobody has looked at.
fn unchecked(state: &RunState) -> String {
    let findings = state.verification.as_ref().map_or(&[][..], |verdict| &verdict.findings);
    match findings.iter().filter(|finding| finding.status == FindingStatus::Unchecked).count() {
        0 => String::new(),
        1 => " 1 criterion in prose was not checked.".to_owned(),
        more => format!(" {more} criteria in prose were not checked."),
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TaskId;
    use cynode_domain::job::Action;
    use cynode_domain::plan::Step;
    use cynode_domain::verdict::{Finding, Verdict, VerdictStatus};

    use super::*;

    #[test]
    fn a_summary_owns_up_to_criteria_nobody_checked() {
        let mut state = RunState::new(TaskId::generate());
        let action = Action::Command { line: "make".to_owned() };
        state.plan.steps = vec![Step { action, expected_outputs: vec![] }];
        let verdict = Verdict {
            status: VerdictStatus::Pass,
            findings: vec![Finding::unchecked("reads well")],
            recommended_actions: vec![],
        };
        state.verification = Some(verdict.into());

        assert_eq!(completed(&state), "1 step verified. 1 criterion in prose was not checked.");
    }
}
