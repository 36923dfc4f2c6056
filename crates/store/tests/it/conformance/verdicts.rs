//! Tests of verdicts on steps.

use cynode_domain::ids::JobId;
use cynode_domain::verdict::{Finding, Verdict};
use cynode_store::{StepVerdict, Store};

use crate::world::World;

pub(crate) async fn the_newest_verdict_of_a_run_on_a_job_takes_the_place_of_the_one_before(
    store: Store,
) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (first, second) = (JobId::generate(), JobId::generate());
    let open = Verdict::from_findings(vec![Finding::unchecked("it reads well")]);
    let settled = open.clone().settle(true, "ada accepted it");
    let row = |job, verdict: &Verdict| StepVerdict {
        run: run.id,
        job,
        task: run.task,
        verdict: verdict.clone(),
    };
    let strange = StepVerdict { run: other.id, task: other.task, ..row(first, &open) };
    for row in [row(first, &open), row(second, &open), strange, row(first, &settled)] {
        write_tx!(world.store, tx => tx.verdict_put(&row).await);
    }

    let listed = read_tx!(world.store, tx => tx.verdict_list(run.task).await);

    assert_eq!(listed, [row(first, &settled), row(second, &open)]);
}
