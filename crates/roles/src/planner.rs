//! A goal becomes a plan of ordered steps.

use cynode_domain::ids::TraceId;
use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceField, TraceStop};
use cynode_runtime::trace_recorder::TraceRecorder;
use sha2::{Digest as _, Sha256};

/// The most steps of a plan, from 1 to 50.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLimit(u32);

impl StepLimit {
    pub const MIN: u32 = 1;
    pub const MAX: u32 = 50;

    /// Values out of range become the nearest one in it.
    pub const fn clamped(steps: u32) -> Self {
        match steps {
            0 => Self(Self::MIN),
            Self::MIN..=Self::MAX => Self(steps),
            _ => Self(Self::MAX),
        }
    }

    pub const fn get(self) -> u32 {
        self.0
    }

    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// What a plan is made with besides the goal.
#[derive(Debug, Clone)]
pub struct PlanMetadata {
    /// Where the events of the plan are recorded; its trace is that of the plan.
    pub trace: TraceRecorder,
    pub max_steps: StepLimit,
}

/// An ordered plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPlan<S> {
    pub trace: TraceId,
    /// In the order in which they are performed; at most the limit of the planner.
    pub steps: Vec<S>,
    /// Why planning ended. [`TraceStop::GoalMet`] means that the steps are a complete plan.
    pub stop: TraceStop,
}

/// What a planner came up with.
#[derive(Debug, Clone)]
pub struct PlanDraft<S> {
    pub steps: Vec<S>,
    pub stop: TraceStop,
    /// The event of the choice of tools; `None` if no tools were to be chosen.
    pub selection: Option<TraceEntry>,
}

impl<S> PlanDraft<S> {
    /// A plan without a choice of tools.
    pub fn new(steps: Vec<S>, stop: TraceStop) -> Self {
        Self { steps, stop, selection: None }
    }
}

/// Plans the steps of a goal.
pub trait Planner {
    type Step: Send;
    type Error: Send;

    /// Returns at most `limit` steps; more are cut off by [`run_planner`].
    fn draft(
        &mut self,
        goal: &str,
        limit: StepLimit,
    ) -> impl Future<Output = Result<PlanDraft<Self::Step>, Self::Error>> + Send;

    /// Why planning ended with this error.
    fn stop_of(error: &Self::Error) -> TraceStop;
}

/// Plans and records start, chosen tools, end and the reason for it. The goal itself is not recorded.
pub async fn run_planner<P: Planner + Send>(
    planner: &mut P,
    goal: &str,
    metadata: &PlanMetadata,
) -> Result<AgentPlan<P::Step>, P::Error> {
    let PlanMetadata { trace, max_steps } = metadata;
    let digest = hex::encode(Sha256::digest(goal.as_bytes()));
    trace.record(TraceEntry::new(TraceEventKind::PlanStarted).with(TraceField::GoalSha256, digest));
    let PlanDraft { mut steps, mut stop, selection } = match planner.draft(goal, *max_steps).await {
        Ok(draft) => draft,
        Err(error) => {
            trace.record(TraceEntry::plan_finished(P::stop_of(&error)));
            return Err(error);
        }
    };
    if let Some(selection) = selection {
        trace.record(selection);
    }
    if steps.len() > max_steps.as_usize() {
        steps.truncate(max_steps.as_usize());
        stop = TraceStop::MaxSteps;
    }
    trace.record(TraceEntry::plan_finished(stop).with(TraceField::Steps, steps.len()));
    Ok(AgentPlan { trace: trace.trace(), steps, stop })
}

#[cfg(test)]
mod tests {
    use cynode_domain::trace::TraceActor;

    use super::*;

    /// Plans this many steps.
    struct CountingPlanner(usize);

    impl Planner for CountingPlanner {
        type Step = usize;
        type Error = ();

        async fn draft(&mut self, _: &str, _: StepLimit) -> Result<PlanDraft<usize>, ()> {
            if self.0 == 0 {
                return Err(());
            }
            Ok(PlanDraft::new((0..self.0).collect(), TraceStop::GoalMet))
        }

        fn stop_of((): &()) -> TraceStop {
            TraceStop::ModelFailure
        }
    }

    fn metadata(max_steps: u32) -> PlanMetadata {
        let trace = TraceRecorder::new(TraceId::from(uuid::Uuid::nil()), TraceActor::Planner);
        PlanMetadata { trace, max_steps: StepLimit::clamped(max_steps) }
    }

    fn recorded(metadata: &PlanMetadata) -> Vec<(TraceEventKind, Option<TraceStop>)> {
        let events = metadata.trace.take().into_events();
        events.into_iter().map(|event| (event.entry.kind, event.entry.stop)).collect()
    }

    #[test]
    fn a_limit_is_from_1_to_50() {
        let limits = [0, 1, 7, 50, 51, u32::MAX].map(|steps| StepLimit::clamped(steps).get());
        assert_eq!(limits, [1, 1, 7, 50, 50, 50]);
    }

    #[tokio::test]
    async fn a_plan_keeps_its_order_and_the_trace_and_its_start_and_end_are_recorded() {
        let metadata = metadata(6);
        let plan = run_planner(&mut CountingPlanner(3), "wash the car", &metadata).await.unwrap();

        assert_eq!((plan.steps, plan.stop), (vec![0, 1, 2], TraceStop::GoalMet));
        assert_eq!(plan.trace, metadata.trace.trace());
        let events = metadata.trace.take().into_events();
        let wire = serde_json::to_string(&events).unwrap();
        assert!(!wire.contains("wash"), "{wire}");
        let kinds: Vec<_> = events.iter().map(|event| event.entry.kind).collect();
        assert_eq!(kinds, [TraceEventKind::PlanStarted, TraceEventKind::PlanFinished]);
        assert!(events.iter().all(|event| event.trace == plan.trace));
    }

    #[tokio::test]
    async fn a_plan_over_the_limit_is_cut_off_and_says_so() {
        let metadata = metadata(2);
        let plan = run_planner(&mut CountingPlanner(60), "", &metadata).await.unwrap();

        assert_eq!((plan.steps, plan.stop), (vec![0, 1], TraceStop::MaxSteps));
        assert_eq!(recorded(&metadata)[1].1, Some(TraceStop::MaxSteps));
    }

    #[tokio::test]
    async fn a_failed_planner_records_why() {
        let metadata = metadata(2);
        run_planner(&mut CountingPlanner(0), "x", &metadata).await.unwrap_err();

        let end = (TraceEventKind::PlanFinished, Some(TraceStop::ModelFailure));
        assert_eq!(recorded(&metadata).last(), Some(&end));
    }
}
