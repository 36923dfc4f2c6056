//! Jobs of a task stay together: the first placement decides the rest.

use std::sync::Arc;
use std::time::Duration;

use cynode_execution::handoff::NoProjectManager;
use cynode_ops::sandboxes::OpenSandbox;
use cynode_resources::{Actor, ActorKind};
use serde_json::json;

use super::{PlacementFixture, ScriptedPlacement};
use crate::engines::on_each_engine;

on_each_engine! {
    a_sandbox_that_was_opened_before_the_first_step_decides_where_steps_run,
    steps_follow_a_sandbox_that_waits_for_its_node,
    work_that_has_not_begun_leaves_a_drained_node_as_a_whole,
}

async fn a_sandbox_that_was_opened_before_the_first_step_decides_where_steps_run() {
    let manager = Arc::new(ScriptedPlacement {
        node: Some("b"),
        waits: true,
        ..ScriptedPlacement::default()
    });
    let fixture = PlacementFixture::with(&["a", "b"], manager.clone(), manager).await;
    let task = fixture.task(json!({})).await;
    let lease = fixture.hold(task).await;
    let open = OpenSandbox { task, job: None, image: None, node: None };
    let opening = fixture
        .sandboxes
        .create(Actor { caller: &fixture.world.bob, kind: ActorKind::Person }, open);
    let working = async {
        // The step is created before the sandbox is placed.
        fixture.manager.begun.notified().await;
        fixture.wait_for_place("+ 3600").await;
        let (step, node) = (fixture.step(lease, 0).await, fixture.join("a").await);
        assert_eq!(fixture.job(step).await.node, None);
        fixture.manager.may_answer.notify_one();
        // One is placed by the project manager, however long that takes; the other follows when a
        // node polls for work, and neither ends before it is placed.
        let placed = "SELECT id FROM jobs WHERE node_id IS NOT NULL";
        while fixture.query(placed).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        while fixture.query(placed).await.len() < 2 {
            fixture.poll(&node).await;
        }
        let node = fixture.place(step).await;
        fixture.query("UPDATE jobs SET status = 'completed', closed = (1 = 1)").await;
        node
    };

    let (opened, node) = tokio::join!(opening, working);

    assert_eq!((opened.unwrap().node_slug.as_deref(), node.as_str()), (Some("b"), "b"));
    assert_eq!(fixture.manager.requests.lock().unwrap().len(), 1);
}

async fn steps_follow_a_sandbox_that_waits_for_its_node() {
    let manager = Arc::new(ScriptedPlacement::default());
    let fixture = PlacementFixture::with(&["a"], Arc::new(NoProjectManager), manager).await;
    fixture.join("b").await;
    let task = fixture.task(json!({})).await;
    let lease = fixture.hold(task).await;
    let open = OpenSandbox { task, job: None, image: None, node: Some("b".to_owned()) };
    let opening = fixture
        .sandboxes
        .create(Actor { caller: &fixture.world.bob, kind: ActorKind::Person }, open);
    let working = async {
        while fixture.query("SELECT id FROM jobs").await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fixture.step(lease, 0).await
    };

    let step = tokio::select! {
        opened = opening => panic!("its node is away: {opened:?}"),
        step = working => fixture.job(step).await,
    };

    let b = fixture.nodes.get(&"b".into()).await.unwrap().id;
    assert_eq!((step.node, step.spec.pinned_node), (None, Some(b)));
}

async fn work_that_has_not_begun_leaves_a_drained_node_as_a_whole() {
    let manager = Arc::new(ScriptedPlacement::default());
    let fixture = PlacementFixture::with(&["a", "b"], Arc::new(NoProjectManager), manager).await;
    let (new, begun) = (fixture.task(json!({})).await, fixture.task(json!({ "node": "a" })).await);
    let lease = fixture.hold(new).await;
    let (first, second) = (fixture.step(lease, 0).await, fixture.step(lease, 1).await);
    assert_eq!(
        (fixture.place(first).await, fixture.place(second).await),
        ("a".to_owned(), "a".to_owned())
    );
    let stays = fixture.step(fixture.hold(begun).await, 0).await;

    fixture.nodes.drain(&fixture.world.admin, &"a".into()).await.unwrap();
    // The second follows the first when a node polls for work.
    let b = fixture.join("b").await;
    fixture.poll(&b).await;

    assert_eq!(
        (fixture.place(first).await, fixture.place(second).await),
        ("b".to_owned(), "b".to_owned())
    );
    assert_eq!(fixture.job(stays).await.node, None, "it is for that node only");
}
