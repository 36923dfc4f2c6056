//! Property test: for any verdicts, the history is a path of the graph and attempts stay in bounds.

use std::sync::Arc;

use cynode_domain::ids::LeaseId;
use cynode_wire::workflow::{LeaseToken, Outcome};
use cynode_workflow::graph::build_task_graph;
use cynode_workflow::run_handle::RunHandle;
use proptest::prelude::*;

use crate::fake::{CrashPoint, FakeAttempt, FakeOrchestrator, drive_once, drive_to_end};

fn attempt() -> impl Strategy<Value = FakeAttempt> {
    prop_oneof![
        3 => Just(FakeAttempt::good()),
        3 => Just(FakeAttempt::bad()),
        1 => Just(FakeAttempt::interrupted()),
    ]
}

#[derive(Debug, Clone)]
struct GraphPathCase {
    steps: usize,
    max_attempts: u32,
    retry_interrupted: bool,
    attempts: Vec<FakeAttempt>,
    crash: Option<(usize, usize)>,
}

prop_compose! {
    fn case()(
        steps in 0..5_usize,
        max_attempts in 1..5_u32,
        retry_interrupted in any::<bool>(),
        attempts in prop::collection::vec(attempt(), 25),
        crash in prop::option::of((0..CrashPoint::ALL.len(), 1..12_usize)),
    ) -> GraphPathCase {
        GraphPathCase { steps, max_attempts, retry_interrupted, attempts, crash }
    }
}

impl GraphPathCase {
    fn task(&self) -> Arc<FakeOrchestrator> {
        let fake = FakeOrchestrator::with_commands(&vec!["make"; self.steps]);
        {
            let mut world = fake.lock_state();
            world.task.max_attempts = self.max_attempts;
            world.task.retry_interrupted = self.retry_interrupted;
            let keys = (0..5).flat_map(|step| (1..=5).map(move |attempt| (step, attempt)));
            world.attempts = keys.zip(self.attempts.iter().cloned()).collect();
        }
        if let Some((moment, nth)) = self.crash {
            fake.crash_at(CrashPoint::ALL[moment], nth);
        }
        fake
    }
}

/// Follows the history through the graph: each transition starts where the one before led.
fn follows_the_graph(fake: &Arc<FakeOrchestrator>) -> Result<(), TestCaseError> {
    let task_id = fake.lock_state().task.task_id;
    let lease = LeaseToken { task_id, lease_id: LeaseId::generate(), epoch: 0 };
    let graph = build_task_graph(Arc::new(RunHandle::new(Arc::clone(fake) as _, lease))).unwrap();
    let mut at = Some(graph.start());
    for (index, save) in fake.lock_state().history.iter().enumerate() {
        prop_assert_eq!(at, Some(save.last_node_id.as_str()));
        prop_assert_eq!(usize::try_from(save.sequence).unwrap(), index + 1);
        at = graph.successor(&save.last_node_id, &save.edge).unwrap();
        prop_assert_eq!(at.is_none(), save.finish.is_some());
    }
    prop_assert_eq!(at, None, "the run ended");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_history_is_a_path_of_the_graph(case in case()) {
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        let fake = case.task();
        let state = clock.block_on(async {
            match drive_once(&fake).await {
                Some(Ok(cynode_workflow::engine::DriveOutcome::Finished(state))) => state,
                None => drive_to_end(&fake).await,
                other => panic!("stopped: {other:?}"),
            }
        });

        follows_the_graph(&fake)?;
        let most = if case.retry_interrupted { case.max_attempts.max(3) } else { case.max_attempts };
        prop_assert!(state.attempts_by_step.values().all(|n| *n <= most));
        let jobs = fake.job_attempts();
        let planned: u32 = state.attempts_by_step.values().sum();
        prop_assert_eq!(jobs.len(), usize::try_from(planned).unwrap(), "one job per attempt");
        let all_passed = state.attempts_by_step.len() == case.steps && (case.steps == 0 || state.is_accepted());
        let outcome = fake.finish().unwrap().outcome;
        prop_assert_eq!(outcome == Outcome::Completed, all_passed);
    }
}
