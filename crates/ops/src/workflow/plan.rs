//! Having a request in prose planned by the project manager.
//!
//! The plan is made beside the request that asks for it, so that a runner may ask again and get the
//! same one. It is kept here for a while only: what counts is the effect that the runner records.
//! Whatever goes wrong leads to [`PlanningView::NoPlanner`], and a person is asked.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::RunId;
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_store::{Fenced, Tx, UserStore, WorkflowStore};
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

/// Which plan is meant: that of a run, after so many answers of people.
type Key = (RunId, usize);

/// Who plans prose.
#[derive(Clone)]
pub(crate) struct Planner {
    handoffs: Handoffs,
    plans: Beside<Key, PlanningView>,
}

impl Planner {
    pub(crate) fn new(handoffs: Handoffs, signals: Signals) -> Self {
        Self { handoffs, plans: Beside::new(signals) }
    }

    async fn make(self, asked: Asked) -> PlanningView {
        let Asked { subject, body } = asked;
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
            let making = planner.clone().make(asked);
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
    Ok(Asked { subject, body: PlanHandoff { prompt, expected_outputs } })
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
    let is_sound = |step: &Step| {
        let (Action::Command { line: text } | Action::Script { text }) = &step.action;
        !text.trim().is_empty() && text.len() <= MAX_LINE_BYTES && !text.contains('\0')
    };
    if steps.is_empty() || steps.len() > MAX_STEPS || !steps.iter().all(is_sound) {
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
        Step { action: Action::Command { line: line.to_owned() }, expected_outputs: vec![] }
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
