//! Why a run went as it did: each decision with what it was made from, by what, and what it led to.
//!
//! Invariant: every statement comes from a recorded row: a transition, a state that the history keeps, a job, or an
//! act of a person. The words around it name what is recorded and claim nothing else; what was not recorded is
//! "unknown". So a run of last year is explained as truthfully as one that is under way.

use std::collections::BTreeMap;

use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use cynode_domain::plan::{InputMode, Plan};
use cynode_domain::run::{
    DISPATCH, FAILED, FINALIZE, MARK_FAILED, PLAN, RunVerb, VERIFY, next_node,
};
use cynode_domain::verdict::{FindingStatus, Verdict};
use cynode_store::{
    Act, Decision, DecisionStore, Job, JobStore, NodeStore, PlacementStore, Transition, Tx,
};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::runs::DecisionView;
use serde::Deserialize;
use serde_json::Value;

use super::history::Part;
use super::look::describe;
use super::{RunError, Runs};
use crate::Caller;
use crate::nodes::PLACEMENT;

/// How much of a text a decision repeats.
const MAX_CHARS: usize = 200;
/// How many decisions of a task are looked through.
const MAX_DECISIONS: u32 = 1000;
/// What is said of a fact that was not recorded.
const UNKNOWN: &str = "unknown";

impl Runs {
    /// A page of the decisions of a run, oldest first. Pages are parts of the history, so that one
    /// may be short, or empty, before the end.
    pub async fn explain(
        &self,
        caller: &Caller,
        run: &str,
        query: &PageQuery,
    ) -> Result<Page<DecisionView>, RunError> {
        let Part { rows, acts, next_cursor } = self.part(caller, run, query, decision).await?;
        let jobs = rows.iter().flatten().filter_map(|(_, job)| *job).collect();
        let places = self.store.read(move |tx| Box::pin(places(tx, jobs))).await?;
        let made = rows.into_iter().flatten().map(|(decision, job)| placed(decision, job, &places));
        let mut items: Vec<_> = made.chain(acts.into_iter().map(by_person)).collect();
        items.sort_by_key(|decision| (decision.sequence, decision.node == PERSON));
        Ok(Page { items, next_cursor })
    }
}

const PERSON: &str = "person";

/// Where jobs were given to.
type Places = BTreeMap<JobId, Given>;

/// Where a job was given to.
struct Given {
    /// The name of the node.
    node: String,
    /// By what it was chosen, if that is on record.
    chosen: Option<String>,
}

async fn places(tx: &mut Tx, jobs: Vec<JobId>) -> Result<Places, RunError> {
    let mut places = Places::new();
    for id in jobs {
        if !places.contains_key(&id)
            && let Some(job) = tx.job_get(id).await?
            && let Some(node) = job.node
            && let Some(node) = tx.node_get(node).await?
        {
            let chosen = match tx.job_placement(id).await? {
                Some(by) => Some(short(&by)),
                None => choice(tx, &job, &node.slug).await?,
            };
            places.insert(id, Given { node: node.slug, chosen });
        }
    }
    Ok(places)
}

/// Who chose the node of a job of an earlier version, and why. All jobs of a task share a workspace, so that only the
/// first had a choice, which begins with the name of the node.
async fn choice(tx: &mut Tx, job: &Job, node: &str) -> Result<Option<String>, RunError> {
    if (job.asked.step_index, job.asked.attempt) != (0, 1) {
        return Ok(None);
    }
    let decisions = tx.decision_list(job.asked.task, MAX_DECISIONS).await?;
    let of_run = |made: &&Decision| made.purpose == PLACEMENT && made.run == Some(job.asked.run);
    let names_node = |made: &&Decision| made.reason.starts_with(&format!("{node}: "));
    // An answer that came after a rule had placed the job was not carried out.
    let is_rule = |made: &&Decision| made.decided_by == "fallback";
    let made = decisions.iter().filter(of_run).filter(names_node).max_by_key(is_rule);
    Ok(made.map(|made| match made.decided_by.as_str() {
        "fallback" => format!("rule, in the project manager's place: {}", short(&made.reason)),
        by => format!("project manager, {by}: {}", short(&made.reason)),
    }))
}

/// The parts of a state that decisions are made from.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Known {
    request: Option<Request>,
    plan: Plan,
    current_step_index: Option<u32>,
    attempts_by_step: BTreeMap<u32, u32>,
    verification: Option<Verdict>,
    continuation: Option<Continuation>,
    revision: Option<Revision>,
    bounds: Bounds,
    failure: Option<Failure>,
    finish: Option<Finish>,
}

#[derive(Deserialize)]
struct Request {
    mode: InputMode,
    prompt: String,
    commands: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Bounds {
    max_attempts: Option<u32>,
}

#[derive(PartialEq, Eq, Deserialize)]
struct Continuation {
    job_id: JobId,
    reason: String,
}

#[derive(PartialEq, Eq, Deserialize)]
struct Revision {
    job_id: JobId,
    #[serde(default)]
    action: Option<Action>,
    reason: String,
}

impl Revision {
    /// What became of the command, from what the run recorded.
    fn describe(&self) -> String {
        let reason = short(&self.reason);
        match &self.action {
            Some(action) => {
                let command = short(&describe(action));
                format!("planned anew by the project manager: {command} ({reason})")
            }
            None => format!("its command stays as it is: {reason}"),
        }
    }
}

#[derive(Deserialize)]
struct Failure {
    reason: String,
}

#[derive(Deserialize)]
struct Finish {
    outcome: String,
    summary: String,
}

fn known(state: &Value) -> Known {
    Known::deserialize(state).unwrap_or_default()
}

/// The decision that a transition made; nothing if it only carried on. With it the job whose node it
/// chose.
fn decision(
    row: Transition,
    before: &Value,
    after: &Value,
) -> Option<(DecisionView, Option<JobId>)> {
    let (before, after) = (known(before), known(after));
    let mut chosen_for = None;
    let (about, input, made_by, led_to) = match (row.node.as_str(), row.edge.as_str()) {
        (node, FAILED) => failed(node, &after),
        (PLAN, _) => planned(&row, &before, &after),
        (DISPATCH, _) => {
            chosen_for = row.job;
            dispatched(&row, &after)
        }
        (VERIFY, _) => verified(&row, &before, &after),
        (node @ (FINALIZE | MARK_FAILED), _) => ended(node, &after),
        _ => return None,
    };
    let (sequence, recorded_at) = (row.sequence, row.recorded_at.unwrap_or_default());
    let node = row.node;
    let view = DecisionView { sequence, node, about, input, made_by, led_to, recorded_at };
    Some((view, chosen_for))
}

/// The decision with the node that its job was given to.
fn placed(decision: DecisionView, job: Option<JobId>, places: &Places) -> DecisionView {
    match job.map(|job| (job, places.get(&job))) {
        Some((job, Some(Given { node, chosen }))) => DecisionView {
            led_to: format!("job {job} on node {node}"),
            made_by: chosen.clone().unwrap_or(decision.made_by),
            ..decision
        },
        Some((_, None)) | None => decision,
    }
}

/// About what, from what, by what, and what it led to.
type Told = (String, Vec<String>, String, String);

fn planned(row: &Transition, before: &Known, after: &Known) -> Told {
    let input = before.request.as_ref().map(asked).unwrap_or_default();
    let steps = after.plan.steps.len();
    let led_to = match after.plan.steps.first() {
        Some(first) => {
            let noun = if steps == 1 { "step" } else { "steps" };
            format!("{steps} {noun}; the first: {}", short(&describe(&first.action)))
        }
        None => format!("no steps, so {}", led_to(row)),
    };
    let made_by = after.plan.made_by.as_deref().map_or_else(|| UNKNOWN.to_owned(), short);
    ("which steps the task takes".to_owned(), input, made_by, led_to)
}

fn asked(request: &Request) -> Vec<String> {
    match request.mode {
        InputMode::Commands => {
            let lines = request.commands.iter().map(|line| format!("command: {}", short(line)));
            lines.take(20).collect()
        }
        InputMode::Script => vec![format!("a script of {} lines", request.prompt.lines().count())],
        InputMode::Prompt => vec![format!("prompt: {}", short(&request.prompt))],
    }
}

/// Such as `attempt 1 of 2`.
fn attempt_of(known: &Known, index: Option<u32>) -> String {
    let attempt = index.and_then(|index| known.attempts_by_step.get(&index).copied());
    // A step may run more often than that if it was interrupted.
    let most = known.bounds.max_attempts.map(|most| most.max(attempt.unwrap_or(0)));
    format!("attempt {} of {}", number(attempt), number(most))
}

fn number(number: Option<u32>) -> String {
    number.map_or_else(|| UNKNOWN.to_owned(), |number| number.to_string())
}

/// The step that is `further` than an index, counted from 1, such as `step 2`.
fn step(index: Option<u32>, further: u32) -> String {
    format!("step {}", number(index.map(|index| index.saturating_add(further + 1))))
}

fn dispatched(row: &Transition, after: &Known) -> Told {
    let index = row.step_index.or(after.current_step_index);
    let input = vec![format!("{}: {}", attempt_of(after, index), step_action(after, index))];
    let led_to = match row.job {
        Some(job) => format!("job {job}, for which no node is on record"),
        None => led_to(row),
    };
    (format!("where {} runs", step(index, 0)), input, UNKNOWN.to_owned(), led_to)
}

fn verified(row: &Transition, before: &Known, after: &Known) -> Told {
    let index = row.step_index.or(before.current_step_index);
    let findings = after.verification.as_ref().map_or(&[][..], |verdict| &verdict.findings);
    let mut input: Vec<_> = findings
        .iter()
        .take(50)
        .map(|finding| format!("{}: {}", word(finding.status), short(&finding.message)))
        .collect();
    input.push(attempt_of(after, index));
    let decided =
        after.continuation.as_ref().filter(|new| before.continuation.as_ref() != Some(new));
    input.extend(decided.map(|decided| format!("how it goes on: {}", short(&decided.reason))));
    let revised = after.revision.as_ref().filter(|new| before.revision.as_ref() != Some(new));
    input.extend(revised.map(Revision::describe));
    let mut rules: Vec<_> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let led_to = match row.edge.as_str() {
        "next_step" => format!("accepted: {} is next", step(index, 1)),
        "all_verified" => "accepted: it was the last step".to_owned(),
        "retry_step" => "not accepted: another attempt follows".to_owned(),
        "no_retry_left" => "not accepted, and it may not run again: the run fails".to_owned(),
        _ => led_to(row),
    };
    (format!("whether {} is done", step(index, 0)), input, rule_names(&rules), led_to)
}

fn rule_names(rules: &[&str]) -> String {
    match rules {
        [] => UNKNOWN.to_owned(),
        [only] => format!("rule: {only}"),
        many => format!("rules: {}", many.join(", ")),
    }
}

/// A node failed for good: the row says which, the state why.
fn failed(node: &str, after: &Known) -> Told {
    let reason = after.failure.as_ref().map(|failure| short(&failure.reason));
    let about = format!("whether {node} is tried again");
    (about, reason.into_iter().collect(), format!("node: {node}"), "the run fails".to_owned())
}

fn ended(node: &str, after: &Known) -> Told {
    let (input, led_to) = match &after.finish {
        Some(finish) => (vec![short(&finish.summary)], format!("the task is {}", finish.outcome)),
        None => (vec![], "the end of the run".to_owned()),
    };
    ("how the run ends".to_owned(), input, format!("node: {node}"), led_to)
}

fn by_person(act: Act) -> DecisionView {
    let text = |name: &str| act.detail[name].as_str().map(short);
    let said = |name: &str| text(name).unwrap_or_else(|| UNKNOWN.to_owned());
    let (about, led_to) = match act.verb {
        RunVerb::Pause => ("whether the run goes on", "pause".to_owned()),
        RunVerb::Resume => ("whether the run goes on", "resume".to_owned()),
        RunVerb::Answer => ("what the run asked", said("reply")),
        RunVerb::Retry => ("whether to try again", format!("run {}", said("run_id"))),
        RunVerb::Fork => ("whether to try something else", format!("task {}", said("task"))),
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

fn led_to(row: &Transition) -> String {
    next_node(&row.node, &row.edge).unwrap_or("the end of the run").to_owned()
}

fn step_action(known: &Known, index: Option<u32>) -> String {
    let index = index.and_then(|index| usize::try_from(index).ok());
    let step = index.and_then(|index| known.plan.steps.get(index));
    step.map_or_else(|| UNKNOWN.to_owned(), |step| short(&describe(&step.action)))
}

const fn word(status: FindingStatus) -> &'static str {
    match status {
        FindingStatus::Pass => "met",
        FindingStatus::Fail => "not met",
        FindingStatus::Unchecked => "not checked",
        FindingStatus::Unclear => "not clear: a person says",
    }
}

fn short(text: &str) -> String {
    let mut line: String = text.chars().take(MAX_CHARS).collect();
    if text.chars().count() > MAX_CHARS {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
