//! Recorded decisions of the project manager, as users read them.

use chrono::{TimeZone as _, Utc};
use cynode_domain::ids::{DecisionId, TaskId};
use cynode_models::decisions::DecisionRecords;
use cynode_resources::Caller;
use cynode_store::ManagerDecision;
use cynode_wire::decisions::DecisionQuery;

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    people_see_what_was_decided_for_them_and_administrators_everything,
}

async fn decided(world: &World, caller: &Caller, purpose: &str) {
    let decision = ManagerDecision {
        id: DecisionId::generate(),
        handoff: "chat".to_owned(),
        user: caller.user,
        project: None,
        task: None,
        run: None,
        thread: None,
        trace_id: "t".to_owned(),
        purpose: purpose.to_owned(),
        decided_by: "rule".to_owned(),
        reason: "because".to_owned(),
        input_hash: "00".to_owned(),
        model: None,
        created_at: Utc.timestamp_opt(1, 0).unwrap(),
    };
    let write =
        world.store.write(move |tx| Box::pin(async move { tx.decision_insert(&decision).await }));
    let written: Result<(), cynode_store::Error> = write.await;
    written.unwrap();
}

async fn people_see_what_was_decided_for_them_and_administrators_everything() {
    let world = World::new().await;
    decided(&world, &world.bob, "for bob").await;
    decided(&world, &world.admin, "for the administrator").await;
    let decisions = DecisionRecords::new(world.store.clone());
    let purposes = async |caller: &Caller, query: DecisionQuery| -> Vec<String> {
        let page = decisions.list(caller, query).await.unwrap();
        page.items.into_iter().map(|decision| decision.purpose).collect()
    };

    let about_a_task = DecisionQuery { task: Some(TaskId::generate()), ..DecisionQuery::default() };

    let all = DecisionQuery::default;
    assert_eq!(purposes(&world.bob, all()).await, ["for bob"]);
    assert_eq!(purposes(&world.admin, all()).await, ["for the administrator", "for bob"]);
    assert!(purposes(&world.admin, about_a_task).await.is_empty());
}
