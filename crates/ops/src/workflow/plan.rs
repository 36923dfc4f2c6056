//! Having a request in prose planned by the project manager.
//!
//! The plan is made beside the request that asks for it, so that a runner may ask again and get the
//! same one. It is kept here for a while only: what counts is the effect that the runner records.
//! Whatever goes wrong leads to [`PlanningView::NoPlanner`], and a person is asked.
//!
//! A plan may take as long as a handoff may. A run whose plan takes longer than one request gives its lease back and is
//! left alone while the plan is made ([`Planner::wait_longer`]); the plan is journalled as the effect that the runner
//! would record, and wakes the run. If this orchestrator dies, the run is taken again soon and planned anew.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::{RunId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::standstill::REPLANS_SINCE;
use cynode_store::{Effect, Fenced, Store, Tx, UserStore, WorkflowStore};
use cynode_wire::handoff::{DecisionRecord, PlanHandoff, PlanOutcome};
use cynode_wire::planning::{NO_PLANNER, PlanRun, PlanningView};
use tokio::time::Instant;

use super::beside::{Beside, patiently};
use super::{MAX_WAIT_MS, Workflow, WorkflowError, held_now, task_of};
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::signals::Topic;
use crate::{Caller, Signals};

const MAX_STEPS: usize = 50;
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How much people may say about one request.
const MAX_SAID: usize = 8;

/// Why a run is left alone whose plan is being made.
pub(crate) const WAITS_FOR_PLAN: &str = "it waits for a plan of the project manager";
/// How long it is left alone at a time.
pub(super) const WAIT_MS: u32 = 60_000;
/// How often that is prolonged.
const PROLONG_EVERY: Duration = Duration::from_secs(20);
/// The node that plans, as its effects are named.
const NODE: &str = "plan_steps";

/// Which plan is meant: that of a run, after so many answers of people.
type Key = (RunId, usize);

/// Who plans prose.
#[derive(Clone)]
pub(crate) struct Planner {
    store: Store,
    signals: Signals,
    handoffs: Handoffs,
    plans: Beside<Key, PlanningView>,
}

impl Planner {
    pub(crate) fn new(store: Store, handoffs: Handoffs, signals: Signals) -> Self {
        Self { store, signals: signals.clone(), handoffs, plans: Beside::new(signals) }
    }

    /// Whether a plan of this run is being made here.
    pub(super) fn is_planning(&self, run: RunId) -> bool {
        self.plans.is_making(|(of, _)| *of == run)
    }

    /// Makes a plan, while its run is left alone.
    async fn make(self, run: RunId, asked: Asked) -> PlanningView {
        let place = asked.place.clone();
        let mut planning = pin!(self.hand_over(asked));
        let view = loop {
            tokio::select! {
                view = &mut planning => break view,
                () = tokio::time::sleep(PROLONG_EVERY) => {
                    if !self.wait_longer(run).await {
                        return PlanningView::NoPlanner { reason: "The run has ended".to_owned() };
                    }
                }
            }
        };
        if let Err(error) = self.keep(run, place, &view).await {
            // The runner asks again and gets the plan from memory.
            let error = &error as &dyn std::error::Error;
            tracing::warn!(run.id = %run, error, "a plan could not be journalled");
        }
        view
    }

    /// Leaves the run alone for a while longer. Returns whether the run is still open.
    async fn wait_longer(&self, run: RunId) -> bool {
        let prolonged = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let longer = tx.run_wait_longer(run, WAITS_FOR_PLAN, WAIT_MS).await;
                    longer.map_err(WorkflowError::from)
                })
            })
            .await;
        prolonged.unwrap_or(true)
    }

    /// Journals a plan as the runner would, so that it survives this process, and wakes the run.
    async fn keep(
        &self,
        run: RunId,
        place: EffectPlace,
        view: &PlanningView,
    ) -> Result<(), WorkflowError> {
        let has_criteria = matches!(view, PlanningView::Planned { steps, .. }
            if steps.iter().any(|step| !step.criteria.is_empty()));
        let is_answer = matches!(view, PlanningView::Planned { .. } | PlanningView::Ask { .. });
        let answer = serde_json::to_value(view).ok().filter(|_| is_answer);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let EffectPlace { task, sequence, key } = place;
                    let has_moved = tx.checkpoint_position(task).await? + 1 != sequence;
                    if let Some(answer) = answer.filter(|_| !has_moved) {
                        if has_criteria {
                            // An older runner would forget the criteria of steps.
                            tx.run_raise_version(run, REPLANS_SINCE).await?;
                        }
                        tx.effect_record(run, sequence, &Effect { key, answer }).await?;
                    }
                    Ok::<_, WorkflowError>(tx.run_wake(run).await?)
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(())
    }

    async fn hand_over(&self, asked: Asked) -> PlanningView {
        let Asked { subject, body, .. } = asked;
        let owed = body.expected_outputs.clone();
        let task = subject.task;
        let answer = patiently(|| self.handoffs.plan(&subject, body.clone())).await;
        let made_by = answer.as_ref().ok().and_then(|answer| planned_by(&answer.decisions));
        match answer.map(|answer| answer.outcome) {
            Ok(PlanOutcome::Planned { steps, assumptions }) => {
                let view = checked(steps, assumptions, owed);
                attributed(view, made_by)
            }
            Ok(PlanOutcome::Ask { question }) => PlanningView::Ask { question },
            Err(error) => {
                tracing::warn!(
                    task.id = ?task, error = &error as &dyn std::error::Error,
                    "no plan came from the project manager"
                );
                PlanningView::NoPlanner { reason: in_words(&error) }
            }
        }
    }
}

/// For whom and what is to be planned.
struct Asked {
    subject: Subject,
    body: PlanHandoff,
    place: EffectPlace,
}

/// Where the runner journals the plan.
#[derive(Debug, Clone)]
struct EffectPlace {
    task: TaskId,
    sequence: i64,
    key: String,
}

impl Workflow {
    /// Has the prompt of a task planned; waits for the plan as long as the request says.
    pub async fn plan(&self, request: PlanRun) -> Result<PlanningView, WorkflowError> {
        let Some(planner) = self.planner.clone().filter(|p| p.handoffs.is_configured()) else {
            return Ok(PlanningView::NoPlanner { reason: NO_PLANNER.to_owned() });
        };
        if request.said.len() > MAX_SAID {
            let reason = "People were asked often enough about this request".to_owned();
            return Ok(PlanningView::NoPlanner { reason });
        }
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Results);
        let request = Arc::new(request);
        loop {
            let wanted = Arc::clone(&request);
            let asked = self.store.read(move |tx| Box::pin(look(tx, wanted))).await?;
            let Some(run) = asked.subject.run else { return Err(Fenced.into()) };
            let making = planner.clone().make(run, asked);
            if let Some(view) = planner.plans.progress((run, request.said.len()), making) {
                return Ok(view);
            }
            if !listener.wait(deadline).await {
                let waiting_for = "a plan of the project manager".to_owned();
                return Ok(PlanningView::Waiting { waiting_for });
            }
        }
    }
}

/// What the database knows of the request, if the caller holds its task.
async fn look(tx: &mut Tx, request: Arc<PlanRun>) -> Result<Asked, WorkflowError> {
    let hold = request.hold;
    let lease = held_now(tx, hold).await?;
    let task = task_of(tx, hold.task_id).await?.asked;
    let trace = tx.run_of_task(hold.task_id).await?.map(|run| run.trace.to_string());
    let subject = Subject {
        project: Some(task.project),
        task: Some(task.id),
        run: Some(lease.run),
        ..Subject::of(owner(tx, task.created_by).await?, trace.unwrap_or_default())
    };
    let said = request.said.iter().map(|text| format!("\n\nAsked about it, the user said: {text}"));
    let prompt = std::iter::once(task.prompt).chain(said).collect();
    let expected_outputs = task.options.expected_outputs;
    let sequence = tx.checkpoint_position(task.id).await? + 1;
    let round = match request.said.len() {
        0 => "plan".to_owned(),
        said => format!("plan/{said}"),
    };
    let place = EffectPlace { task: task.id, sequence, key: format!("{sequence}/{NODE}/{round}") };
    Ok(Asked { subject, body: PlanHandoff { prompt, expected_outputs }, place })
}

/// The owner of a task, as whom agents act for it: never with an administrator's powers.
pub(crate) async fn owner(
    tx: &mut Tx,
    user: cynode_domain::ids::UserId,
) -> Result<Caller, cynode_store::Error> {
    let handle = tx.user_get(user).await?.map(|user| user.handle);
    Ok(Caller::on_behalf_of(user, handle.unwrap_or_default(), false))
}

/// A plan that can be carried out, or why it cannot.
fn checked(mut steps: Vec<Step>, assumptions: Vec<String>, owed: Vec<String>) -> PlanningView {
    let are_sound = steps.iter().all(|step| is_sound(&step.action));
    if steps.is_empty() || steps.len() > MAX_STEPS || !are_sound {
        let reason = "The project manager's plan cannot be carried out".to_owned();
        return PlanningView::NoPlanner { reason };
    }
    if let Some(last) = steps.last_mut() {
        let missing: Vec<_> =
            owed.into_iter().filter(|path| !last.expected_outputs.contains(path)).collect();
        last.expected_outputs.extend(missing);
    }
    PlanningView::Planned { steps, assumptions, made_by: None }
}

/// Who made a plan, by the record of the decision.
fn planned_by(decisions: &[DecisionRecord]) -> Option<String> {
    let made = decisions.iter().rev().find(|decision| decision.purpose == "plan")?;
    let model = made.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
    Some(format!("project manager, {}{model}: {}", made.by.as_str(), made.reason))
}

fn attributed(view: PlanningView, made_by: Option<String>) -> PlanningView {
    match view {
        PlanningView::Planned { steps, assumptions, .. } => {
            PlanningView::Planned { steps, assumptions, made_by }
        }
        view @ (PlanningView::Ask { .. }
        | PlanningView::NoPlanner { .. }
        | PlanningView::Waiting { .. }) => view,
    }
}

/// Whether there is something that can be run.
pub(super) fn is_sound(action: &Action) -> bool {
    let (Action::Command { line: text } | Action::Script { text }) = action;
    !text.trim().is_empty() && text.len() <= MAX_LINE_BYTES && !text.contains('\0')
}

pub(super) fn in_words(error: &HandoffError) -> String {
    match error {
        HandoffError::Away(_) | HandoffError::Lost(_) => "The project manager cannot be reached",
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
            let view = checked(steps, vec![], vec![]);
            assert!(matches!(view, PlanningView::NoPlanner { .. }), "{view:?}");
        }
    }

    #[test]
    fn the_last_step_of_a_plan_owes_the_outputs_of_the_task() {
        let owed = vec!["report.txt".to_owned()];

        let view = checked(vec![command("a"), command("b")], vec![], owed.clone());

        let PlanningView::Planned { steps, .. } = view else { panic!("{view:?}") };
        assert_eq!((steps[0].expected_outputs.len(), &steps[1].expected_outputs), (0, &owed));
    }
}
