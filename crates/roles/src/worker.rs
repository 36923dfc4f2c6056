//! The one loop of agents: observe, reason, act, until something ends it.

use std::ops::ControlFlow;

use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceField, TraceStop};
use cynode_runtime::trace_recorder::TraceRecorder;

/// The most steps that are recorded one by one, so that the end always fits into a trace.
const RECORDED_STEPS: u32 = 80;

/// An agent that works step by step. Each part may end the work.
pub trait StepWorker: Send {
    /// What the agent sees before it decides.
    type Observation: Send;
    /// What it decided to do.
    type Decision: Send;
    /// How the work ended.
    type End: WorkerEnd + Send;

    /// Checks limits and gathers what is new.
    fn observe(&mut self)
    -> impl Future<Output = ControlFlow<Self::End, Self::Observation>> + Send;

    /// Decides what to do; `None` if there is nothing to do in this step, and the next one decides again.
    fn reason(
        &mut self,
        observation: Self::Observation,
    ) -> impl Future<Output = ControlFlow<Self::End, Option<Self::Decision>>> + Send;

    /// The tools that a decision calls, for the record.
    fn tools(&self, decision: &Self::Decision) -> Vec<String>;

    /// Acts through tools. A tool that failed for good ends the work with [`TraceStop::ToolFailure`].
    fn act(
        &mut self,
        decision: Self::Decision,
    ) -> impl Future<Output = ControlFlow<Self::End>> + Send;
}

/// The end of an agent's work.
pub trait WorkerEnd {
    /// Why it ended.
    fn stop(&self) -> TraceStop;

    /// Code of the error, if it ended with one.
    fn error_kind(&self) -> Option<&str> {
        None
    }
}

/// Runs a worker to its end. Start, the first 80 steps with their tools, errors, the number of steps and the reason for stopping are
/// recorded.
///
/// The caller may drop the future, for example at a deadline; then it records the end itself.
pub async fn run_worker<W: StepWorker>(worker: &mut W, trace: &TraceRecorder) -> W::End {
    trace.record(TraceEntry::new(TraceEventKind::ExecutionStarted));
    let mut steps: u32 = 0;
    let end = loop {
        let observation = match worker.observe().await {
            ControlFlow::Continue(observation) => observation,
            ControlFlow::Break(end) => break end,
        };
        let index = steps;
        steps = steps.saturating_add(1);
        let record_step = |entry: TraceEntry| {
            if index < RECORDED_STEPS {
                trace.record(entry.at_step(index));
            }
        };
        record_step(TraceEntry::new(TraceEventKind::StepStarted));
        let mut finished = TraceEntry::new(TraceEventKind::StepFinished);
        let flow = match worker.reason(observation).await {
            ControlFlow::Continue(Some(decision)) => {
                finished = with_tools(finished, worker.tools(&decision));
                worker.act(decision).await
            }
            ControlFlow::Continue(None) => ControlFlow::Continue(()),
            ControlFlow::Break(end) => ControlFlow::Break(end),
        };
        record_step(finished);
        if let ControlFlow::Break(end) = flow {
            if let Some(kind) = end.error_kind() {
                let error = TraceEntry::new(TraceEventKind::Error).at_step(index);
                trace.record(error.with(TraceField::ErrorKind, kind));
            }
            break end;
        }
    };
    trace.record(TraceEntry::execution_stopped(end.stop()).with(TraceField::Steps, steps));
    end
}

fn with_tools(entry: TraceEntry, mut tools: Vec<String>) -> TraceEntry {
    match (tools.pop(), tools.is_empty()) {
        (None, _) => entry,
        (Some(tool), true) => entry.with(TraceField::Tool, tool),
        (Some(last), false) => {
            tools.push(last);
            entry.with(TraceField::Tools, tools)
        }
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TraceId;
    use cynode_domain::trace::TraceActor;

    use super::*;

    /// Works through a script: what each step decides.
    struct ScriptedWorker {
        script: Vec<ScriptedDecision>,
        acted: Vec<usize>,
        max_steps: usize,
        observed: usize,
    }

    #[derive(Clone, Copy)]
    enum ScriptedDecision {
        Act,
        Nothing,
        Finish,
        Fail,
    }

    #[derive(Debug, PartialEq, Eq)]
    struct ScriptedEnd(TraceStop);

    impl WorkerEnd for ScriptedEnd {
        fn stop(&self) -> TraceStop {
            self.0
        }

        fn error_kind(&self) -> Option<&str> {
            (self.0 == TraceStop::ToolFailure).then_some("timeout")
        }
    }

    impl StepWorker for ScriptedWorker {
        type Observation = usize;
        type Decision = usize;
        type End = ScriptedEnd;

        async fn observe(&mut self) -> ControlFlow<ScriptedEnd, usize> {
            if self.observed == self.max_steps {
                return ControlFlow::Break(ScriptedEnd(TraceStop::MaxSteps));
            }
            self.observed += 1;
            ControlFlow::Continue(self.observed - 1)
        }

        async fn reason(&mut self, step: usize) -> ControlFlow<ScriptedEnd, Option<usize>> {
            match self.script.get(step).unwrap_or(&ScriptedDecision::Act) {
                ScriptedDecision::Finish => ControlFlow::Break(ScriptedEnd(TraceStop::GoalMet)),
                ScriptedDecision::Nothing => ControlFlow::Continue(None),
                ScriptedDecision::Act | ScriptedDecision::Fail => ControlFlow::Continue(Some(step)),
            }
        }

        fn tools(&self, step: &usize) -> Vec<String> {
            (0..*step).map(|index| format!("tool-{index}")).collect()
        }

        async fn act(&mut self, step: usize) -> ControlFlow<ScriptedEnd> {
            self.acted.push(step);
            match self.script.get(step) {
                Some(ScriptedDecision::Fail) => {
                    ControlFlow::Break(ScriptedEnd(TraceStop::ToolFailure))
                }
                Some(_) | None => ControlFlow::Continue(()),
            }
        }
    }

    /// Runs a worker with this script; returns it, its end and what was recorded.
    async fn run_recorded(
        script: &[ScriptedDecision],
        max_steps: usize,
    ) -> (ScriptedWorker, TraceStop, Vec<TraceEntry>) {
        let script = script.to_vec();
        let mut worker = ScriptedWorker { script, acted: vec![], max_steps, observed: 0 };
        let trace = TraceRecorder::new(TraceId::from(uuid::Uuid::nil()), TraceActor::Worker);
        let end = run_worker(&mut worker, &trace).await;
        let entries = trace.take().into_events().into_iter().map(|it| it.entry);
        (worker, end.0, entries.collect())
    }

    /// The worker after its work, its end, and the recorded kinds with step and reason.
    async fn run(
        script: &[ScriptedDecision],
        max_steps: usize,
    ) -> (ScriptedWorker, TraceStop, Vec<(TraceEventKind, Option<u32>, Option<TraceStop>)>) {
        let (worker, end, entries) = run_recorded(script, max_steps).await;
        let recorded = entries.into_iter().map(|it| (it.kind, it.step_index, it.stop));
        (worker, end, recorded.collect())
    }

    use ScriptedDecision::{Act, Fail, Finish, Nothing};

    #[tokio::test]
    async fn a_worker_acts_in_order_until_the_goal_is_met() {
        let (worker, end, events) = run(&[Act, Nothing, Act, Finish], 9).await;

        assert_eq!((worker.acted, end), (vec![0, 2], TraceStop::GoalMet));
        let steps: Vec<u32> = events
            .iter()
            .filter(|(kind, ..)| *kind == TraceEventKind::StepStarted)
            .filter_map(|(_, step, _)| *step)
            .collect();
        assert_eq!(steps, [0, 1, 2, 3]);
        assert_eq!(events[0].0, TraceEventKind::ExecutionStarted);
        let last = (TraceEventKind::ExecutionStopped, None, Some(TraceStop::GoalMet));
        assert_eq!(events.last(), Some(&last));
    }

    #[tokio::test]
    async fn a_finished_step_has_the_tools_that_it_called() {
        let (_, _, entries) = run_recorded(&[Act, Act, Act, Finish], 9).await;

        let finished = entries.iter().filter(|entry| entry.kind == TraceEventKind::StepFinished);
        let tools: Vec<_> = finished
            .map(|it| (it.fields.get(TraceField::Tool), it.fields.get(TraceField::Tools)))
            .collect();
        let (one, two) = ("tool-0".into(), vec!["tool-0".to_owned(), "tool-1".to_owned()].into());
        assert_eq!(tools, [(None, None), (Some(&one), None), (None, Some(&two)), (None, None)]);
    }

    #[tokio::test]
    async fn the_limit_of_steps_ends_the_work() {
        let (worker, end, events) = run(&[], 3).await;

        assert_eq!((worker.acted, end), (vec![0, 1, 2], TraceStop::MaxSteps));
        assert_eq!(events.last().unwrap().2, Some(TraceStop::MaxSteps));
    }

    #[tokio::test]
    async fn the_end_of_a_long_execution_is_recorded_too() {
        let (_, end, events) = run(&[], 5_000).await;

        assert_eq!(end, TraceStop::MaxSteps);
        assert_eq!(events.last().unwrap().2, Some(TraceStop::MaxSteps));
    }

    #[tokio::test]
    async fn a_failed_tool_ends_the_work_and_is_recorded_as_an_error() {
        let (worker, end, events) = run(&[Act, Fail, Act], 9).await;

        assert_eq!((worker.acted, end), (vec![0, 1], TraceStop::ToolFailure));
        assert!(events.contains(&(TraceEventKind::Error, Some(1), None)), "{events:?}");
        assert_eq!(events.last().unwrap().2, Some(TraceStop::ToolFailure));
    }
}
