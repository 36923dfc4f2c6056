//! Renders the summary of a run.

use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::{Step, StepAuthor};
use cynode_domain::verification::{ACCEPT_UNVERIFIED_KEY, VerificationStatus};
use cynode_workflow_state::{NodeFailure, VerificationTally, WorkflowState};

use crate::engine::WorkflowNode;
use crate::nodes::collect_result::CollectResultNode;
use crate::nodes::dispatch_step::DispatchStepNode;
use crate::nodes::load_task_context::LoadTaskContextNode;
use crate::nodes::plan_steps::PlanStepsNode;
use crate::nodes::verify_step_result::VerifyStepResultNode;

/// The summary of a completed run: what ran, which criteria were judged, and which were not.
pub(crate) fn render_completed(state: &WorkflowState) -> String {
    if state.plan.steps.is_empty() {
        return "Nothing to do: the plan has no steps.".to_owned();
    }
    let attempts: u32 = state.attempts_by_step.values().sum();
    let repeated = usize::try_from(attempts).is_ok_and(|n| n > state.plan.steps.len());
    let attempts = if repeated { format!(" in {attempts} attempts") } else { String::new() };
    let tally = &state.tally;
    let ran = format!("{}{attempts}", describe_endings(state));
    match tally.status() {
        VerificationStatus::NotChecked => {
            format!("{ran}; no acceptance criteria were given.")
        }
        VerificationStatus::Verified => {
            format!("{ran}; {} met: {}.", describe_criteria(tally), describe_judges(tally))
        }
        VerificationStatus::Unverified => {
            let open = describe_unjudged(state);
            format!(
                "Unverified: {ran}; of {} {} not judged, which the preference {ACCEPT_UNVERIFIED_KEY} \
                 accepts{open}.",
                count_criteria(tally.total()),
                count_unjudged(tally.unverified),
            )
        }
    }
}

/// How the commands ended: all with code 0, except the last if a criterion requires another code.
fn describe_endings(state: &WorkflowState) -> String {
    let steps = state.plan.steps.len();
    let is_script = |step: &Step| matches!(step.action, Action::Script { .. });
    let noun = if state.plan.steps.iter().any(is_script) { "script" } else { "command" };
    match state.last_result.as_ref().map(|result| &result.ending) {
        Some(JobEnding::Exited { code: 0 }) | None => {
            format!("{} exited with code 0", pluralize(steps, noun))
        }
        Some(ending) => {
            format!("{} ran, and the last {}", pluralize(steps, noun), ending.describe())
        }
    }
}

fn describe_criteria(tally: &VerificationTally) -> String {
    let verb = if tally.total() == 1 { "is" } else { "are" };
    format!("{} {verb}", count_criteria(tally.total()))
}

fn count_criteria(number: u32) -> String {
    let noun = if number == 1 { "criterion" } else { "criteria" };
    format!("{number} acceptance {noun}")
}

fn count_unjudged(number: u32) -> String {
    if number == 1 { "1 was".to_owned() } else { format!("{number} were") }
}

/// Number of criteria by judge.
fn describe_judges(tally: &VerificationTally) -> String {
    let by = [
        (tally.by_rule, "by rule"),
        (tally.by_analyst, "by an analyst"),
        (tally.by_person, "by a person"),
    ];
    let by = by.iter().filter(|(number, _)| *number > 0);
    by.map(|(number, who)| format!("{number} {who}")).collect::<Vec<_>>().join(", ")
}

/// Criteria that were not judged at the last step, and why.
fn describe_unjudged(state: &WorkflowState) -> String {
    let open = state.verification.iter().flat_map(|verdict| verdict.open());
    let open: Vec<_> = open.map(|finding| finding.message.as_str()).collect();
    if open.is_empty() { String::new() } else { format!(": {}", open.join("; ")) }
}

/// The summary of a failed run.
pub(crate) fn render_failed(state: &WorkflowState) -> String {
    if let Some(failure) = &state.failure {
        return format!(
            "{}: {}.",
            describe_failed_node(state, failure),
            failure.reason.trim_end_matches('.')
        );
    }
    let attempts = pluralize(usize::try_from(state.attempts()).unwrap_or(usize::MAX), "attempt");
    let reason = state.verification.as_ref().and_then(|verdict| verdict.first_failure());
    let reason = reason.unwrap_or("its result was not accepted");
    let mut text = format!("{} failed after {attempts}: {reason}.", describe_current_step(state));
    if let Some(reason) = unrevised_reason(state) {
        text = format!("{text} It was not replanned: {reason}.");
    }
    if let Some(decided) = state.current_continuation() {
        return format!("{text} It was not run again: {}.", decided.reason);
    }
    let interrupted = state.last_result.as_ref().is_some_and(|result| result.is_interrupted());
    if interrupted && !state.bounds.retry_interrupted {
        text.push_str(" It was not run again, because it may have done part of its work.");
    }
    text
}

/// Why the project manager planned no other command for the failed step, if the step is the manager's.
fn unrevised_reason(state: &WorkflowState) -> Option<&str> {
    let result = state.last_result.as_ref()?;
    let revision = state.revision.as_ref().filter(|revision| revision.job_id == result.job_id)?;
    let is_managers = state.current_step().is_some_and(|step| step.author == StepAuthor::Manager);
    (is_managers && revision.action.is_none()).then_some(revision.reason.as_str())
}

fn describe_failed_node(state: &WorkflowState, failure: &NodeFailure) -> String {
    match failure.node.as_str() {
        LoadTaskContextNode::NAME => "The task could not be read".to_owned(),
        PlanStepsNode::NAME => "The task could not be planned".to_owned(),
        DispatchStepNode::NAME => {
            format!("{} could not be dispatched", describe_current_step(state))
        }
        CollectResultNode::NAME => {
            format!("The result of {} is missing", lowercase_step(&describe_current_step(state)))
        }
        VerifyStepResultNode::NAME => {
            format!("{} could not be verified", describe_current_step(state))
        }
        other => format!("{other} failed"),
    }
}

fn describe_current_step(state: &WorkflowState) -> String {
    format!("Step {} of {}", state.current_step_index + 1, state.plan.steps.len())
}

fn lowercase_step(sentence: &str) -> String {
    sentence.replacen("Step", "step", 1)
}

fn pluralize(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TaskId;
    use cynode_domain::plan::Plan;
    use cynode_domain::verdict::{ANALYST_RULE, Finding, Verdict};

    use super::*;

    fn state_with(commands: usize, findings: Vec<Finding>) -> WorkflowState {
        let mut state = WorkflowState::new(TaskId::generate());
        let action = Action::Command { line: "make".to_owned() };
        state.plan =
            Plan { steps: vec![Step::new(action); commands], assumptions: vec![], made_by: None }
                .into();
        let verdict = Verdict::from_findings(findings).accept_unverified();
        state.tally = state.tally.with_verdict(&verdict, &[]);
        state.verification = Some(verdict.into());
        state
    }

    fn met_finding(rule: &str) -> Finding {
        Finding::from_rule(rule, true, String::new())
    }

    #[test]
    fn a_summary_says_what_was_checked_and_by_whom() {
        let bare = state_with(3, vec![met_finding("exit_code")]);
        let judged = state_with(
            1,
            vec![met_finding("exit_code"), met_finding("file_exists"), met_finding(ANALYST_RULE)],
        );

        assert_eq!(
            render_completed(&bare),
            "3 commands exited with code 0; no acceptance criteria were given."
        );
        assert_eq!(
            render_completed(&judged),
            "1 command exited with code 0; 2 acceptance criteria are met: 1 by rule, 1 by an analyst."
        );
    }

    #[test]
    fn a_summary_names_what_nobody_judged_and_what_accepted_it() {
        let open = Finding::unchecked("reads well (no model is configured)");
        let state = state_with(1, vec![met_finding("exit_code"), met_finding("file_exists"), open]);

        assert_eq!(
            render_completed(&state),
            "Unverified: 1 command exited with code 0; of 2 acceptance criteria 1 was not judged, which \
             the preference verification.accept_unverified accepts: reads well (no model is configured)."
        );
    }
}
