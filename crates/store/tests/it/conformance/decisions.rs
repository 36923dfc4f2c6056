//! Tests of decisions.

use cynode_domain::ids::{DecisionId, ProjectId, RunId, TaskId, ThreadId, UserId};
use cynode_store::{DecisionFilter, ManagerDecision, Store};

use crate::world::{World, at, user};

fn decision(user: UserId, task: Option<TaskId>, purpose: &str) -> ManagerDecision {
    ManagerDecision {
        id: DecisionId::generate(),
        handoff: "plan".to_owned(),
        user,
        project: None,
        task,
        run: None,
        thread: None,
        trace_id: "t".to_owned(),
        purpose: purpose.to_owned(),
        decided_by: "rule".to_owned(),
        reason: "because".to_owned(),
        input_hash: "00".to_owned(),
        model: None,
        created_at: at(1),
    }
}

pub(crate) async fn a_decision_reads_back_as_it_was_written_and_with_its_task_only(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("a").await, world.task("b").await);
    let whole = ManagerDecision {
        project: Some(ProjectId::generate()),
        run: Some(RunId::generate()),
        thread: Some(ThreadId::generate()),
        model: Some("local/small".to_owned()),
        ..decision(world.user, Some(task), "first")
    };
    let second = decision(world.user, Some(task), "second");
    let (strange, taskless) =
        (decision(world.user, Some(other), "other"), decision(world.user, None, "none"));
    for row in [whole.clone(), second.clone(), strange, taskless] {
        write_tx!(world.store, tx => tx.decision_insert(&row).await);
    }

    let found = read_tx!(world.store, tx => tx.decision_list(task, 10).await);

    assert_eq!(found, [whole, second]);
}

pub(crate) async fn decisions_are_paged_newest_first_by_user_and_by_task(store: Store) {
    let world = World::new(store).await;
    let task = world.task("a").await;
    let mine = [
        decision(world.user, Some(task), "first"),
        decision(world.user, None, "second"),
        decision(world.user, Some(task), "third"),
    ];
    let other = user("eve");
    let theirs = decision(other.id, Some(task), "theirs");
    write_tx!(world.store, tx => tx.user_insert(&other).await);
    for row in mine.iter().cloned().chain([theirs.clone()]) {
        write_tx!(world.store, tx => tx.decision_insert(&row).await);
    }
    let [first, second, third] = mine;
    let of_user = DecisionFilter { user: Some(world.user), task: None };
    let of_both = DecisionFilter { task: Some(task), ..of_user };

    let page = read_tx!(world.store, tx => tx.decision_page(of_user, None, 2).await);
    let before = Some(page[1].id);
    let rest = read_tx!(world.store, tx => tx.decision_page(of_user, before, 2).await);
    let about = read_tx!(world.store, tx => tx.decision_page(of_both, None, 10).await);
    let all =
        read_tx!(world.store, tx => tx.decision_page(DecisionFilter::default(), None, 1).await);

    assert_eq!(page, [third.clone(), second]);
    assert_eq!(rest, std::slice::from_ref(&first));
    assert_eq!(about, [third, first]);
    assert_eq!(all, [theirs]);
}
