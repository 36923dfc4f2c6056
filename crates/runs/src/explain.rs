//! Explanation of a run: each decision with its input, its author and its outcome.
//!
//! Invariant: every statement comes from a recorded row: a transition, a state in the history, a job, or an act of a
//! person. The wording adds no other claim; a fact that was not recorded is "unknown". So an old run is explained as
//! accurately as a current one. A state that cannot be read is reported as such and logged; the rest of the run is still
//! explained.

use std::collections::BTreeMap;

use cynode_domain::ids::{JobId, RunId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::plan::InputMode;
use cynode_domain::run::{
    DISPATCH_NODE, FAILED_EDGE, FINALIZE_NODE, MARK_FAILED_NODE, PLAN_NODE, RunVerb, VERIFY_NODE,
    next_node,
};
use cynode_domain::text::ellipsize_chars;
use cynode_domain::verdict::FindingStatus;
use cynode_store::{Job, ManagerDecision, RunAction, Transition, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::runs::DecisionView;
use cynode_workflow_state::{Outcome, RunTaskRequest, StepRevision, StoredState, WorkflowState};
use serde_json::Value;

use super::history::HistoryRange;
use super::queries::describe_action;
use super::{RunError, RunQueries};
use cynode_execution::nodes::PLACEMENT;
use cynode_resources::Caller;

/// Limit of a quoted text.
const MAX_CHARS: usize = 200;
/// How many decisions of a task are searched.
const MAX_DECISIONS: u32 = 1000;
/// Stands for a fact that was not recorded.
const UNKNOWN: &str = "unknown";
/// Input of a decision whose recorded state cannot be read.
const UNREADABLE_STATE: &str = "unknown: the recorded state cannot be read";
/// Nodes whose transitions are decisions.
const DECIDING_NODES: &[&str] =
    &[PLAN_NODE, DISPATCH_NODE, VERIFY_NODE, FINALIZE_NODE, MARK_FAILED_NODE];

impl RunQueries {
    /// Returns a page of the decisions of a run, oldest first. A page covers a range of the history, so it may be
    /// short or empty before the end.
    pub async fn explain(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        query: &PageQuery,
    ) -> Result<Page<DecisionView>, RunError> {
        let HistoryRange { rows, acts, next_cursor } =
            self.load_range(caller, run, query, explain_transition).await?;
        let jobs = rows.iter().flatten().filter_map(|(_, job)| *job).collect();
        let places = self.store.read(move |tx| Box::pin(load_placements(tx, jobs))).await?;
        let made =
            rows.into_iter().flatten().map(|(decision, job)| add_placement(decision, job, &places));
        let mut items: Vec<_> = made.chain(acts.into_iter().map(explain_act)).collect();
        items.sort_by_key(|decision| (decision.sequence, decision.node == PERSON));
        Ok(Page { items, next_cursor })
    }
}

const PERSON: &str = "person";

/// Placements by job.
type JobPlacements = BTreeMap<JobId, JobPlacement>;

/// The placement of a job.
struct JobPlacement {
    /// The slug of the node.
    node: String,
    /// The author of the choice, if recorded.
    chosen: Option<String>,
}

async fn load_placements(tx: &mut Tx, jobs: Vec<JobId>) -> Result<JobPlacements, RunError> {
    let mut places = JobPlacements::new();
    for id in jobs {
        if !places.contains_key(&id)
            && let Some(job) = tx.job_get(id).await?
            && let Some(node) = job.node
            && let Some(node) = tx.node_get(node).await?
        {
            let chosen = match tx.job_placement(id).await? {
                Some(by) => Some(shorten(&by)),
                None => find_placement_decision(tx, &job, &node.slug).await?,
            };
            places.insert(id, JobPlacement { node: node.slug, chosen });
        }
    }
    Ok(places)
}

/// Finds who chose the node of a job that an earlier version placed, and why. All jobs of a task share a workspace, so
/// only the first had a choice; its reason begins with the slug of the node.
async fn find_placement_decision(
    tx: &mut Tx,
    job: &Job,
    node: &str,
) -> Result<Option<String>, RunError> {
    if (job.spec.step_index, job.spec.attempt) != (0, 1) {
        return Ok(None);
    }
    let decisions = tx.decision_list(job.spec.task, MAX_DECISIONS).await?;
    let of_run =
        |made: &&ManagerDecision| made.purpose == PLACEMENT && made.run == Some(job.spec.run);
    let names_node = |made: &&ManagerDecision| made.reason.starts_with(&format!("{node}: "));
    // An answer that arrived after the fallback rule was not applied.
    let is_rule = |made: &&ManagerDecision| made.decided_by == "fallback";
    let made = decisions.iter().filter(of_run).filter(names_node).max_by_key(is_rule);
    Ok(made.map(|made| match made.decided_by.as_str() {
        "fallback" => format!("fallback rule: {}", shorten(&made.reason)),
        by => format!("project manager, {by}: {}", shorten(&made.reason)),
    }))
}

/// The states around a transition; `before` is absent for the first one.
struct TransitionStates {
    before: Option<StoredState>,
    after: StoredState,
}

impl TransitionStates {
    fn read(before: Option<&Value>, after: &Value) -> Result<Self, serde_json::Error> {
        let before = before.map(StoredState::read).transpose()?;
        Ok(Self { before, after: StoredState::read(after)? })
    }

    /// A part of the state before the transition.
    fn before<T>(&self, part: impl FnOnce(&WorkflowState) -> Option<&T>) -> Option<&T> {
        self.before.as_ref().and_then(|before| part(&before.state))
    }
}

/// The decision of a transition, with the job whose node it chose; `None` if the transition decided nothing.
fn explain_transition(
    row: Transition,
    before: Option<&Value>,
    after: &Value,
) -> Option<(DecisionView, Option<JobId>)> {
    let is_decision = row.edge == FAILED_EDGE || DECIDING_NODES.contains(&row.node.as_str());
    if !is_decision {
        return None;
    }
    let (about, input, made_by, led_to) = match TransitionStates::read(before, after) {
        Ok(states) => explain_decision(&row, &states),
        Err(error) => {
            tracing::warn!(
                run.id = %row.run,
                sequence = row.sequence,
                reason = %error,
                "stored workflow state is unreadable"
            );
            explain_unreadable(&row)
        }
    };
    let chosen_for = row.job.filter(|_| row.node == DISPATCH_NODE && row.edge != FAILED_EDGE);
    let (sequence, recorded_at) = (row.sequence, row.recorded_at.unwrap_or_default());
    let node = row.node;
    let view = DecisionView { sequence, node, about, input, made_by, led_to, recorded_at };
    Some((view, chosen_for))
}

fn explain_decision(row: &Transition, states: &TransitionStates) -> DecisionParts {
    let after = &states.after;
    match (row.node.as_str(), row.edge.as_str()) {
        (node, FAILED_EDGE) => explain_failure(node, after),
        (PLAN_NODE, _) => explain_plan(row, states),
        (DISPATCH_NODE, _) => explain_dispatch(row, after),
        (VERIFY_NODE, _) => explain_verification(row, states),
        (node, _) => explain_end(node, after),
    }
}

/// Explains a transition whose state cannot be read: only its row is known.
fn explain_unreadable(row: &Transition) -> DecisionParts {
    let about = match (row.node.as_str(), row.edge.as_str()) {
        (node, FAILED_EDGE) => format!("retry of {node}"),
        (PLAN_NODE, _) => "plan of the task".to_owned(),
        (DISPATCH_NODE, _) => format!("placement of {}", format_step(row.step_index, 0)),
        (VERIFY_NODE, _) => format!("verification of {}", format_step(row.step_index, 0)),
        _ => "outcome of the run".to_owned(),
    };
    (about, vec![UNREADABLE_STATE.to_owned()], UNKNOWN.to_owned(), describe_next(row))
}

/// Adds the node of the job to a decision.
fn add_placement(
    decision: DecisionView,
    job: Option<JobId>,
    places: &JobPlacements,
) -> DecisionView {
    match job.map(|job| (job, places.get(&job))) {
        Some((job, Some(JobPlacement { node, chosen }))) => DecisionView {
            led_to: format!("job {job} on node {node}"),
            made_by: chosen.clone().unwrap_or(decision.made_by),
            ..decision
        },
        Some((_, None)) | None => decision,
    }
}

/// Subject, input, author and outcome of a decision.
type DecisionParts = (String, Vec<String>, String, String);

fn explain_plan(row: &Transition, states: &TransitionStates) -> DecisionParts {
    let request = states.before(|before| before.request.as_ref());
    let input = request.map(|request| describe_request(request)).unwrap_or_default();
    let plan = &states.after.state.plan;
    let steps = plan.steps.len();
    let led_to = match plan.steps.first() {
        Some(first) => {
            let noun = if steps == 1 { "step" } else { "steps" };
            format!("{steps} {noun}; the first: {}", shorten(&describe_action(&first.action)))
        }
        None => format!("no steps, so {}", describe_next(row)),
    };
    let made_by = plan.made_by.as_deref().map_or_else(|| UNKNOWN.to_owned(), shorten);
    ("plan of the task".to_owned(), input, made_by, led_to)
}

fn describe_request(request: &RunTaskRequest) -> Vec<String> {
    match request.mode {
        InputMode::Commands => {
            let lines = request.commands.iter().map(|line| format!("command: {}", shorten(line)));
            lines.take(20).collect()
        }
        InputMode::Script => vec![format!("a script of {} lines", request.prompt.lines().count())],
        InputMode::Agent => vec![format!("for an agent: {}", shorten(&request.prompt))],
        InputMode::Prompt | InputMode::Request => {
            vec![format!("prompt: {}", shorten(&request.prompt))]
        }
    }
}

/// Formats as `attempt 1 of 2`.
fn format_attempt(known: &StoredState, index: Option<u32>) -> String {
    let attempt = index.and_then(|index| known.state.attempts_by_step.get(&index).copied());
    // An interrupted step may run more often than the limit.
    let most = known.max_attempts().map(|most| most.max(attempt.unwrap_or(0)));
    format!("attempt {} of {}", format_number(attempt), format_number(most))
}

fn format_number(number: Option<u32>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), |number| number.to_string())
}

/// Formats as `step 2`: the step `further` after an index, counted from 1.
fn format_step(index: Option<u32>, further: u32) -> String {
    format!("step {}", format_number(index.map(|index| index.saturating_add(further + 1))))
}

fn explain_dispatch(row: &Transition, after: &StoredState) -> DecisionParts {
    let index = row.step_index.or(after.current_step_index());
    let input =
        vec![format!("{}: {}", format_attempt(after, index), describe_step_action(after, index))];
    let led_to = match row.job {
        Some(job) => format!("job {job}, for which no node is on record"),
        None => describe_next(row),
    };
    (format!("placement of {}", format_step(index, 0)), input, UNKNOWN.to_owned(), led_to)
}

fn explain_verification(row: &Transition, states: &TransitionStates) -> DecisionParts {
    let current = states.before.as_ref().and_then(StoredState::current_step_index);
    let index = row.step_index.or(current);
    let after = &states.after.state;
    let findings = after.verification.as_ref().map_or(&[][..], |verdict| &verdict.findings);
    let mut input: Vec<_> = findings
        .iter()
        .take(50)
        .map(|finding| format!("{}: {}", finding_word(finding.status), shorten(&finding.message)))
        .collect();
    input.push(format_attempt(&states.after, index));
    let old = states.before(|before| before.continuation.as_ref());
    let decided = after.continuation.as_ref().filter(|new| old != Some(new));
    input.extend(decided.map(|decided| format!("continuation: {}", shorten(&decided.reason))));
    let old = states.before(|before| before.revision.as_ref());
    let revised = after.revision.as_ref().filter(|new| old != Some(new));
    input.extend(revised.map(describe_revision));
    let mut rules: Vec<_> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let led_to = match row.edge.as_str() {
        "next_step" => format!("accepted: {} is next", format_step(index, 1)),
        "all_verified" => "accepted: it was the last step".to_owned(),
        "retry_step" => "not accepted: another attempt follows".to_owned(),
        "no_retry_left" => "not accepted, and it may not run again: the run fails".to_owned(),
        _ => describe_next(row),
    };
    (format!("verification of {}", format_step(index, 0)), input, format_rules(&rules), led_to)
}

/// Describes the recorded outcome of a replanning.
fn describe_revision(revision: &StepRevision) -> String {
    let reason = shorten(&revision.reason);
    match &revision.action {
        Some(action) => {
            let command = shorten(&describe_action(action));
            format!("replanned by the project manager: {command} ({reason})")
        }
        None => format!("its command was kept: {reason}"),
    }
}

fn format_rules(rules: &[&str]) -> String {
    match rules {
        [] => UNKNOWN.to_owned(),
        [only] => format!("rule: {only}"),
        many => format!("rules: {}", many.join(", ")),
    }
}

/// A node failed permanently: the row has its name, the state the reason.
fn explain_failure(node: &str, after: &StoredState) -> DecisionParts {
    let reason = after.state.failure.as_ref().map(|failure| shorten(&failure.reason));
    let about = format!("retry of {node}");
    (about, reason.into_iter().collect(), format!("node: {node}"), "the run fails".to_owned())
}

fn explain_end(node: &str, after: &StoredState) -> DecisionParts {
    let (input, led_to) = match &after.state.finish {
        Some(finish) => {
            let outcome = match finish.outcome {
                Outcome::Completed => "completed",
                Outcome::Failed => "failed",
            };
            (vec![shorten(&finish.summary)], format!("the task is {outcome}"))
        }
        None => (vec![], "the end of the run".to_owned()),
    };
    ("outcome of the run".to_owned(), input, format!("node: {node}"), led_to)
}

fn explain_act(act: RunAction) -> DecisionView {
    let text = |name: &str| act.detail[name].as_str().map(shorten);
    let said = |name: &str| text(name).unwrap_or_else(|| UNKNOWN.to_owned());
    let (about, led_to) = match act.verb {
        RunVerb::Pause => ("progress of the run", "pause".to_owned()),
        RunVerb::Resume => ("progress of the run", "resume".to_owned()),
        RunVerb::Answer => ("answer to the question", said("reply")),
        RunVerb::Retry => ("retry of the run", format!("run {}", said("run_id"))),
        RunVerb::Fork => ("fork of the run", format!("task {}", said("task"))),
    };
    let input = [text("question"), text("comment")].into_iter().flatten().collect();
    DecisionView {
        sequence: act.sequence,
        node: PERSON.to_owned(),
        about: about.to_owned(),
        input,
        made_by: act.handle,
        led_to,
        recorded_at: act.recorded_at.unwrap_or_default(),
    }
}

fn describe_next(row: &Transition) -> String {
    next_node(&row.node, &row.edge).unwrap_or("the end of the run").to_owned()
}

fn describe_step_action(known: &StoredState, index: Option<u32>) -> String {
    let index = index.and_then(|index| usize::try_from(index).ok());
    let step = index.and_then(|index| known.state.plan.steps.get(index));
    step.map_or_else(|| UNKNOWN.to_owned(), |step| shorten(&describe_action(&step.action)))
}

const fn finding_word(status: FindingStatus) -> &'static str {
    match status {
        FindingStatus::Pass => "met",
        FindingStatus::Fail => "not met",
        FindingStatus::Unchecked => "not checked",
        FindingStatus::Unclear => "unclear: a person decides",
    }
}

fn shorten(text: &str) -> String {
    ellipsize_chars(text, MAX_CHARS).into_owned()
}

#[cfg(test)]
mod tests;
