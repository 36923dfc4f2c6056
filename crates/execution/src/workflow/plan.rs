//! Planning of prompts by the project manager.
//!
//! The plan is computed in the background of the request, so that a runner may ask again and get the same plan. It is
//! cached briefly: the effect that the runner records is what counts. Every failure leads to
//! [`PlanningView::NoPlanner`], and the runner asks a person.
//!
//! Planning may take as long as a handoff. A run whose plan takes longer than one request releases its lease and stays
//! suspended meanwhile ([`PromptPlanner::extend_suspension`]); the plan is journalled as the effect that the runner would record,
//! and wakes the run. If this orchestrator dies, the suspension expires, and another runner has the run planned again.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::{RunId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::suspension::REPLANNING_GRAPH_VERSION;
use cynode_store::{Effect, StaleLease, Store, Tx};
use cynode_wire::handoff::{DecisionRecord, PlanHandoff, PlanOutcome};
use cynode_wire::planning::{NO_PLANNER, PlanRun, PlanningView};
use tokio::time::Instant;

use super::inflight::{InFlightCache, retry_unreachable};
use super::{MAX_WAIT_MS, WorkflowError, WorkflowService, load_task, read_lease};
use crate::{handoff::HandoffError, handoff::HandoffService, handoff::HandoffSubject};
use cynode_resources::signals::Topic;
use cynode_resources::{Caller, Signals};

const MAX_STEPS: usize = 50;
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How many answers of people one request may have.
const MAX_ANSWERS: usize = 8;

/// Reason of the suspension while a plan is computed. Stored and compared: do not change it.
pub const PLAN_PENDING_REASON: &str = "it waits for a plan of the project manager";
/// Length of one suspension.
pub(super) const PLAN_SUSPEND_MS: u32 = 60_000;
/// How often the suspension is extended.
const EXTEND_EVERY: Duration = Duration::from_secs(20);
/// The name of the planning node in effect keys.
const PLAN_NODE: &str = "plan_steps";

/// Run, and number of answers that people have given.
type PlanKey = (RunId, usize);

/// Has prompts planned by the project manager.
#[derive(Clone)]
pub(crate) struct PromptPlanner {
    store: Store,
    signals: Signals,
    handoffs: HandoffService,
    plans: InFlightCache<PlanKey, PlanningView>,
}

impl PromptPlanner {
    pub(super) fn new(store: Store, handoffs: HandoffService, signals: Signals) -> Self {
        Self { store, signals: signals.clone(), handoffs, plans: InFlightCache::new(signals) }
    }

    /// Whether this process is computing a plan of the run.
    pub(super) fn is_planning(&self, run: RunId) -> bool {
        self.plans.is_in_flight(|(of, _)| *of == run)
    }

    /// Computes a plan, and extends the suspension of its run meanwhile.
    async fn compute(self, run: RunId, request: PlanRequest) -> PlanningView {
        let slot = request.effect.clone();
        let mut planning = pin!(self.request_plan(request));
        let view = loop {
            tokio::select! {
                view = &mut planning => break view,
                () = tokio::time::sleep(EXTEND_EVERY) => {
                    if !self.extend_suspension(run).await {
                        return PlanningView::NoPlanner { reason: "The run has ended".to_owned() };
                    }
                }
            }
        };
        if let Err(error) = self.journal_plan(run, slot, &view).await {
            // The runner asks again and gets the cached plan.
            let error = &error as &dyn std::error::Error;
            tracing::warn!(run.id = %run, error, "plan not journalled");
        }
        view
    }

    /// Extends the suspension of the run. Returns whether the run is still open.
    async fn extend_suspension(&self, run: RunId) -> bool {
        let prolonged = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let longer =
                        tx.run_extend_suspension(run, PLAN_PENDING_REASON, PLAN_SUSPEND_MS).await;
                    longer.map_err(WorkflowError::from)
                })
            })
            .await;
        prolonged.unwrap_or(true)
    }

    /// Journals a plan under the key that the runner would use, so that it survives this process, and wakes the run.
    async fn journal_plan(
        &self,
        run: RunId,
        slot: EffectSlot,
        view: &PlanningView,
    ) -> Result<(), WorkflowError> {
        let has_criteria = matches!(view, PlanningView::Planned { steps, .. }
            if steps.iter().any(|step| !step.criteria.is_empty()));
        let is_answer = matches!(view, PlanningView::Planned { .. } | PlanningView::Ask { .. });
        let answer = serde_json::to_value(view).ok().filter(|_| is_answer);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let EffectSlot { task, sequence, key } = slot;
                    let has_moved = tx.checkpoint_position(task).await? + 1 != sequence;
                    if let Some(answer) = answer.filter(|_| !has_moved) {
                        if has_criteria {
                            // An older runner would drop the step criteria.
                            tx.run_require_version(run, REPLANNING_GRAPH_VERSION).await?;
                        }
                        tx.effect_record(run, sequence, &Effect { key, answer }).await?;
                    }
                    Ok::<_, WorkflowError>(tx.run_end_suspension(run).await?)
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(())
    }

    async fn request_plan(&self, request: PlanRequest) -> PlanningView {
        let PlanRequest { subject, body, .. } = request;
        let owed = body.expected_outputs.clone();
        let task = subject.task;
        let answer = retry_unreachable(|| self.handoffs.plan(&subject, body.clone())).await;
        let made_by = answer.as_ref().ok().and_then(|answer| plan_author(&answer.decisions));
        match answer.map(|answer| answer.outcome) {
            Ok(PlanOutcome::Planned { steps, assumptions }) => {
                let view = validate_plan(steps, assumptions, owed);
                with_author(view, made_by)
            }
            Ok(PlanOutcome::Ask { question }) => PlanningView::Ask { question },
            Err(error) => {
                tracing::warn!(
                    task.id = ?task, error = &error as &dyn std::error::Error,
                    "planning handoff failed"
                );
                PlanningView::NoPlanner { reason: describe_handoff_error(&error) }
            }
        }
    }
}

/// A planning request.
struct PlanRequest {
    subject: HandoffSubject,
    body: PlanHandoff,
    effect: EffectSlot,
}

/// The effect under which the runner journals the plan.
#[derive(Debug, Clone)]
struct EffectSlot {
    task: TaskId,
    sequence: i64,
    key: String,
}

impl WorkflowService {
    /// Has the prompt of a task planned; waits up to `wait_ms` for the plan.
    pub async fn plan(&self, request: PlanRun) -> Result<PlanningView, WorkflowError> {
        let Some(planner) = self.planner.clone().filter(|p| p.handoffs.is_configured()) else {
            return Ok(PlanningView::NoPlanner { reason: NO_PLANNER.to_owned() });
        };
        if request.answers.len() > MAX_ANSWERS {
            let reason = "The limit of clarifying questions for this request is reached".to_owned();
            return Ok(PlanningView::NoPlanner { reason });
        }
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Results);
        let request = Arc::new(request);
        loop {
            let shared = Arc::clone(&request);
            let loaded = self.store.read(move |tx| Box::pin(load_plan_request(tx, shared))).await?;
            let Some(run) = loaded.subject.run else { return Err(StaleLease.into()) };
            let making = planner.clone().compute(run, loaded);
            if let Some(view) = planner.plans.get_or_start((run, request.answers.len()), making) {
                return Ok(view);
            }
            if !listener.wait(deadline).await {
                let waiting_for = "a plan from the project manager".to_owned();
                return Ok(PlanningView::Waiting { waiting_for });
            }
        }
    }
}

/// Loads the planning request; fails unless the caller holds the task.
async fn load_plan_request(
    tx: &mut Tx,
    request: Arc<PlanRun>,
) -> Result<PlanRequest, WorkflowError> {
    let token = request.lease;
    let lease = read_lease(tx, token).await?;
    let task = load_task(tx, token.task_id).await?.spec;
    let subject = HandoffSubject::for_task(tx, &task, lease.run).await?;
    let said = request
        .answers
        .iter()
        .map(|text| format!("\n\nThe user answered a clarifying question: {text}"));
    let prompt = std::iter::once(task.prompt).chain(said).collect();
    let expected_outputs = task.options.expected_outputs;
    let sequence = tx.checkpoint_position(task.id).await? + 1;
    let round = match request.answers.len() {
        0 => "plan".to_owned(),
        said => format!("plan/{said}"),
    };
    let slot =
        EffectSlot { task: task.id, sequence, key: format!("{sequence}/{PLAN_NODE}/{round}") };
    Ok(PlanRequest { subject, body: PlanHandoff { prompt, expected_outputs }, effect: slot })
}

/// The owner of a task as a caller, for agents that act on the task: never with administrator rights.
pub async fn task_owner(
    tx: &mut Tx,
    user: cynode_domain::ids::UserId,
) -> Result<Caller, cynode_store::Error> {
    let handle = tx.user_get(user).await?.map(|user| user.handle);
    Ok(Caller::on_behalf_of(user, handle.unwrap_or_default(), false))
}

/// Validates a plan; an invalid one becomes `NoPlanner`.
fn validate_plan(
    mut steps: Vec<Step>,
    assumptions: Vec<String>,
    owed: Vec<String>,
) -> PlanningView {
    let are_sound = steps.iter().all(|step| is_runnable(&step.action));
    if steps.is_empty() || steps.len() > MAX_STEPS || !are_sound {
        let reason = "The project manager's plan is not valid".to_owned();
        return PlanningView::NoPlanner { reason };
    }
    if let Some(last) = steps.last_mut() {
        let missing: Vec<_> =
            owed.into_iter().filter(|path| !last.expected_outputs.contains(path)).collect();
        last.expected_outputs.extend(missing);
    }
    PlanningView::Planned { steps, assumptions, made_by: None }
}

/// Names the author of a plan from its decision record.
fn plan_author(decisions: &[DecisionRecord]) -> Option<String> {
    let made = decisions.iter().rev().find(|decision| decision.purpose == "plan")?;
    let model = made.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
    Some(format!("project manager, {}{model}: {}", made.by.as_str(), made.reason))
}

fn with_author(view: PlanningView, made_by: Option<String>) -> PlanningView {
    match view {
        PlanningView::Planned { steps, assumptions, .. } => {
            PlanningView::Planned { steps, assumptions, made_by }
        }
        view @ (PlanningView::Ask { .. }
        | PlanningView::NoPlanner { .. }
        | PlanningView::Waiting { .. }) => view,
    }
}

/// Whether an action can be run: not empty, not too long, without NUL.
pub(super) fn is_runnable(action: &Action) -> bool {
    let (Action::Command { line: text }
    | Action::Script { text }
    | Action::Agent { prompt: text, .. }) = action;
    !text.trim().is_empty() && text.len() <= MAX_LINE_BYTES && !text.contains('\0')
}

pub(super) fn describe_handoff_error(error: &HandoffError) -> String {
    match error {
        HandoffError::Unreachable(_) | HandoffError::ConnectionLost(_) => {
            "The project manager cannot be reached"
        }
        HandoffError::Busy { .. } => "The project manager is busy",
        HandoffError::Timeout(_) => "The project manager took too long",
        HandoffError::Failed(_) | HandoffError::Invalid(_) | HandoffError::Store(_) => {
            "The project manager gave no answer"
        }
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Step {
        Step::new(Action::Command { line: line.to_owned() })
    }

    #[test]
    fn a_plan_without_steps_or_with_an_empty_one_is_not_carried_out() {
        let many = vec![command("true"); MAX_STEPS + 1];
        for steps in [vec![], vec![command(" ")], vec![command("a\0b")], many] {
            let view = validate_plan(steps, vec![], vec![]);
            assert!(matches!(view, PlanningView::NoPlanner { .. }), "{view:?}");
        }
    }

    #[test]
    fn the_last_step_of_a_plan_owes_the_outputs_of_the_task() {
        let owed = vec!["report.txt".to_owned()];

        let view = validate_plan(vec![command("a"), command("b")], vec![], owed.clone());

        let PlanningView::Planned { steps, .. } = view else { panic!("{view:?}") };
        assert_eq!((steps[0].expected_outputs.len(), &steps[1].expected_outputs), (0, &owed));
    }
}
