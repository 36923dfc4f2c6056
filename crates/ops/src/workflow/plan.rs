//! Having a request in prose planned by the project manager.
//!
//! The plan is made beside the request that asks for it, so that a runner may ask again and get the
//! same one. It is kept here for a while only: what counts is the effect that the runner records.
//! Whatever goes wrong leads to [`PlanningView::NoPlanner`], and a person is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cynode_domain::ids::RunId;
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_runtime::tasks::Tasks as Background;
use cynode_store::{Fenced, LeaseStore, Tx, UserStore, WorkflowStore};
use cynode_wire::handoff::{PlanHandoff, PlanOutcome};
use cynode_wire::planning::{NO_PLANNER, PlanRun, PlanningView};
use tokio::time::Instant;

use super::{MAX_WAIT_MS, Workflow, WorkflowError, task_of};
use crate::handoff::{HandoffError, Handoffs, Subject};
use crate::signals::Topic;
use crate::{Caller, Signals};

/// How long a plan that nobody fetched is kept.
const KEPT: Duration = Duration::from_mins(10);
/// How often the project manager is asked in all while it is away, and how long it is waited for.
const TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
const MAX_STEPS: usize = 50;
const MAX_LINE_BYTES: usize = 64 * 1024;
/// How much people may say about one request.
const MAX_SAID: usize = 8;

/// Which plan is meant: that of a run, after so many answers of people.
type Key = (RunId, usize);

/// Plans that are being made, and those nobody fetched yet.
#[derive(Clone)]
pub(crate) struct Planner {
    handoffs: Handoffs,
    signals: Signals,
    plans: Arc<Mutex<HashMap<Key, Planning>>>,
    background: Background,
}

#[derive(Clone)]
struct Planning {
    begun: Instant,
    /// Nothing while it is being made.
    view: Option<PlanningView>,
}

impl Planner {
    pub(crate) fn new(handoffs: Handoffs, signals: Signals) -> Self {
        Self { handoffs, signals, plans: Arc::default(), background: Background::new() }
    }

    /// What is known of a plan; begins with it if nobody has.
    fn progress(&self, key: Key, asked: Asked) -> Option<PlanningView> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.retain(|_, planning| planning.view.is_none() || planning.begun.elapsed() < KEPT);
        if let Some(planning) = plans.get(&key) {
            return planning.view.clone();
        }
        plans.insert(key, Planning { begun: Instant::now(), view: None });
        let planner = self.clone();
        self.background.spawn("planning", async move {
            let view = planner.make(asked).await;
            let mut plans = planner.plans.lock().unwrap_or_else(PoisonError::into_inner);
            plans.insert(key, Planning { begun: Instant::now(), view: Some(view) });
            drop(plans);
            planner.signals.send(Topic::Results);
        });
        None
    }

    async fn make(&self, asked: Asked) -> PlanningView {
        let Asked { subject, body } = asked;
        let owed = body.expected_outputs.clone();
        let task = subject.task;
        match self.patiently(&subject, body).await {
            Ok(PlanOutcome::Planned { steps, assumptions }) => checked(steps, assumptions, owed),
            Ok(PlanOutcome::Ask { question }) => PlanningView::Ask { question },
            Err(error) => {
                tracing::warn!(task.id = ?task, %error, "no plan came from the project manager");
                PlanningView::NoPlanner { reason: in_words(&error) }
            }
        }
    }
}

impl Planner {
    /// Asks again where the project manager went away: a plan does nothing by itself.
    async fn patiently(
        &self,
        subject: &Subject,
        body: PlanHandoff,
    ) -> Result<PlanOutcome, HandoffError> {
        let mut tries = 1;
        loop {
            match self.handoffs.plan(subject, body.clone()).await {
                Err(error) if error.may_repeat() && tries < TRIES => {
                    tokio::time::sleep(BETWEEN_TRIES).await;
                    tries += 1;
                }
                answer => return answer.map(|answer| answer.outcome),
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
            if let Some(view) = planner.progress((run, request.said.len()), asked) {
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
    let lease = tx.lease_get(hold.task_id).await?.filter(|lease| {
        lease.is_live
            && lease.holder.is_some()
            && (lease.id, lease.epoch) == (hold.lease_id, hold.epoch)
    });
    let lease = lease.ok_or(Fenced)?;
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
    PlanningView::Planned { steps, assumptions }
}

fn in_words(error: &HandoffError) -> String {
    match error {
        HandoffError::Away(_) | HandoffError::Lost(_) => "The project manager cannot be reached",
        HandoffError::Busy { .. } => "The project manager is busy",
        HandoffError::Timeout(_) => "The project manager took too long",
        HandoffError::Failed(_) | HandoffError::Invalid(_) | HandoffError::Store(_) => {
            "The project manager made no plan"
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
