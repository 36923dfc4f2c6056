//! Tests of reads of past runs.

use cynode_domain::ids::RunId;
use cynode_domain::status::RunStatus;
use cynode_store::Store;

use crate::world::World;

pub(crate) async fn runs_of_a_task_are_paged_newest_first_with_their_times(store: Store) {
    let world = World::new(store).await;
    let first = world.run("a").await;
    let (second, third) = (world.run_of(first.task).await, world.run_of(first.task).await);
    world.run("b").await;
    write_tx!(world.store, tx => {
        tx.run_set_status(first.id, RunStatus::Running).await?;
        tx.run_set_status(first.id, RunStatus::Completed).await
    });

    let page = read_tx!(world.store, tx => tx.run_list(first.task, None, 2).await);
    let rest = read_tx!(world.store, tx => tx.run_list(first.task, Some(second.id), 2).await);
    let found = read_tx!(world.store, tx => tx.run_get(first.id).await);

    let ids: Vec<_> = page.iter().chain(&rest).map(|recorded| recorded.run.id).collect();
    assert_eq!(ids, [third.id, second.id, first.id]);
    assert_eq!(found, Some(rest[0]));
    assert_eq!(rest[0].run.status, RunStatus::Completed);
    assert!(rest[0].started_at.is_some() && rest[0].ended_at.is_some());
    assert!(page.iter().all(|run| run.started_at.is_none() && run.ended_at.is_none()));
    assert_eq!(read_tx!(world.store, tx => tx.run_get(RunId::generate()).await), None);
}
