//! Work of a task stays together: what was there first decides where the rest of it goes.

use std::sync::Arc;
use std::time::Duration;

use cynode_ops::handoff::Nobody;
use cynode_ops::runs::Voice;
use cynode_ops::sandboxes::OpenSandbox;
use serde_json::json;

use super::{Chooser, Places};
use crate::engines::on_each_engine;

on_each_engine! {
    a_sandbox_that_was_opened_before_the_first_step_decides_where_steps_run,
    steps_follow_a_sandbox_that_waits_for_its_node,
    work_that_has_not_begun_leaves_a_drained_node_as_a_whole,
}

async fn a_sandbox_that_was_opened_before_the_first_step_decides_where_steps_run() {
    let manager = Arc::new(Chooser { node: Some("b"), waits: true, ..Chooser::default() });
    let its = Places::with(&["a", "b"], manager.clone(), manager).await;
    let task = its.task(json!({})).await;
    let hold = its.hold(task).await;
    let open = OpenSandbox { task, job: None, image: None, node: None };
    let opening = its.sandboxes.create((&its.world.bob, Voice::Person), open);
    let working = async {
        // The step is made while nobody knows where the sandbox will be.
        its.manager.begun.notified().await;
        its.wait_for_place("+ 3600").await;
        let (step, node) = (its.step(hold, 0).await, its.join("a").await);
        assert_eq!(its.job(step).await.node, None);
        its.manager.may_answer.notify_one();
        // One is placed as the project manager says, however long it takes; the other follows when
        // somebody asks for work, and neither ends before it has a place.
        let placed = "SELECT id FROM jobs WHERE node_id IS NOT NULL";
        while its.query(placed).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        while its.query(placed).await.len() < 2 {
            its.poll(&node).await;
        }
        let place = its.place(step).await;
        its.query("UPDATE jobs SET status = 'completed', closed = (1 = 1)").await;
        place
    };

    let (opened, place) = tokio::join!(opening, working);

    assert_eq!((opened.unwrap().node_slug.as_deref(), place.as_str()), (Some("b"), "b"));
    assert_eq!(its.manager.asked.lock().unwrap().len(), 1);
}

async fn steps_follow_a_sandbox_that_waits_for_its_node() {
    let manager = Arc::new(Chooser::default());
    let its = Places::with(&["a"], Arc::new(Nobody), manager).await;
    its.join("b").await;
    let task = its.task(json!({})).await;
    let hold = its.hold(task).await;
    let open = OpenSandbox { task, job: None, image: None, node: Some("b".to_owned()) };
    let opening = its.sandboxes.create((&its.world.bob, Voice::Person), open);
    let working = async {
        while its.query("SELECT id FROM jobs").await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        its.step(hold, 0).await
    };

    let step = tokio::select! {
        opened = opening => panic!("its node is away: {opened:?}"),
        step = working => its.job(step).await,
    };

    let b = its.nodes.get("b").await.unwrap().id;
    assert_eq!((step.node, step.asked.pinned_node), (None, Some(b)));
}

async fn work_that_has_not_begun_leaves_a_drained_node_as_a_whole() {
    let manager = Arc::new(Chooser::default());
    let its = Places::with(&["a", "b"], Arc::new(Nobody), manager).await;
    let (new, begun) = (its.task(json!({})).await, its.task(json!({ "node": "a" })).await);
    let hold = its.hold(new).await;
    let (first, second) = (its.step(hold, 0).await, its.step(hold, 1).await);
    assert_eq!((its.place(first).await, its.place(second).await), ("a".to_owned(), "a".to_owned()));
    let stays = its.step(its.hold(begun).await, 0).await;

    its.nodes.drain(&its.world.admin, "a").await.unwrap();
    // The second follows the first when somebody asks for work.
    let b = its.join("b").await;
    its.poll(&b).await;

    assert_eq!((its.place(first).await, its.place(second).await), ("b".to_owned(), "b".to_owned()));
    assert_eq!(its.job(stays).await.node, None, "it is for that node only");
}
