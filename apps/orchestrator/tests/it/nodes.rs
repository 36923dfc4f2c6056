//! Worker nodes: joining, and who gets which job.

use cynode_domain::ids::JobId;
use cynode_domain::status::NodeStatus;
use cynode_wire::nodes::PollView;

use crate::actors::{Node, Runner, registration};
use crate::harness::{Harness, eventually, refused};

/// A job of a new task.
async fn job(harness: &Harness, runner: &Runner) -> JobId {
    harness.task().await;
    let hold = runner.claim(0).await.unwrap().hold;
    runner.dispatch(hold, 0).await.unwrap()
}

fn ids(news: &PollView) -> Vec<JobId> {
    news.assignments.iter().map(|given| given.job_id).collect()
}

pub(crate) async fn a_node_that_registers_again_keeps_its_id_and_loses_its_old_token(
    harness: Harness,
) {
    let old = harness.node("anvil").await;

    let new = harness.node("anvil").await;

    assert_eq!(old.id, new.id);
    let body = cynode_wire::nodes::Poll { holding: vec![], free_slots: 1, wait_ms: 0 };
    let problem = refused(old.client.node_poll(&body).await, 401);
    assert!(problem.detail.contains("register again"));
    assert_eq!(harness.admin().node_list().await.unwrap().len(), 1);
}

pub(crate) async fn an_assignment_is_handed_out_again_until_the_node_has_it(harness: Harness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let job = job(&harness, &runner).await;

    assert_eq!(ids(&node.poll(&[]).await), [job]);
    // The answer was lost on the way.
    assert_eq!(ids(&node.poll(&[]).await), [job]);
    assert_eq!(node.poll(&[job]).await, PollView::default());
    // From now on the node is known to have it, whatever it says.
    assert_eq!(node.poll(&[]).await, PollView::default());
    node.end(job, 0).await.unwrap();
    assert_eq!(node.poll(&[]).await, PollView::default());
}

pub(crate) async fn a_drained_node_gets_nothing_until_it_is_enabled(harness: Harness) {
    let (admin, runner, node) = (harness.admin(), harness.runner(), harness.node("anvil").await);
    let early = job(&harness, &runner).await;
    assert_eq!(admin.node_drain("anvil").await.unwrap().status, NodeStatus::Drained);
    let late = job(&harness, &runner).await;

    assert_eq!(node.poll(&[]).await, PollView::default());
    assert_eq!(admin.node_get("anvil").await.unwrap().status, NodeStatus::Drained);
    admin.node_enable(&node.id.to_string()).await.unwrap();

    // Who looks at a job just now, such as the sweep, keeps it from others.
    let given = eventually("both jobs are handed out", async || {
        let given = ids(&node.poll(&[]).await);
        (given.len() > 1).then_some(given)
    });
    assert_eq!(given.await, [early, late]);
}

pub(crate) async fn a_job_that_a_drained_node_has_not_begun_goes_to_another(harness: Harness) {
    let (runner, one) = (harness.runner(), harness.node("a").await);
    let begun = job(&harness, &runner).await;
    one.take().await;
    let waiting = job(&harness, &runner).await;
    let other = harness.node("b").await;
    assert_eq!(other.poll(&[]).await, PollView::default());

    harness.admin().node_drain("a").await.unwrap();

    assert_eq!(one.poll(&[begun]).await, PollView::default());
    assert_eq!(ids(&other.poll(&[]).await), [waiting]);
    one.end(begun, 0).await.unwrap();
}

pub(crate) async fn a_waiting_poll_wakes_when_a_job_is_queued(harness: Harness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);

    let (news, job) = tokio::join!(node.poll_for(&[], 30_000), job(&harness, &runner));

    assert_eq!(ids(&news), [job]);
}

pub(crate) async fn jobs_nobody_waits_for_are_forgotten(harness: Harness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let unknown = JobId::generate();
    let over = job(&harness, &runner).await;
    node.take().await;
    node.end(over, 0).await.unwrap();

    let news = node.poll(&[unknown, over]).await;

    assert_eq!(news, PollView { forget: vec![unknown, over], ..PollView::default() });
}

pub(crate) async fn the_least_loaded_node_gets_the_next_job(harness: Harness) {
    let runner = harness.runner();
    let (one, other) = (harness.node("a").await, harness.node("b").await);

    let jobs =
        [job(&harness, &runner).await, job(&harness, &runner).await, job(&harness, &runner).await];

    assert_eq!(ids(&one.poll(&[]).await), [jobs[0], jobs[2]]);
    assert_eq!(ids(&other.poll(&[]).await), [jobs[1]]);
    assert_eq!(harness.admin().node_get("a").await.unwrap().running_jobs, 2);
}

pub(crate) async fn the_steps_of_a_task_stay_on_one_node(harness: Harness) {
    let (runner, one) = (harness.runner(), harness.node("a").await);
    harness.task().await;
    let hold = runner.claim(0).await.unwrap().hold;
    runner.dispatch(hold, 0).await.unwrap();
    let first = one.take().await;
    let busy = job(&harness, &runner).await;
    let other = harness.node("b").await;
    one.end(first, 0).await.unwrap();

    let second = runner.dispatch(hold, 1).await.unwrap();

    assert_eq!(other.poll(&[]).await, PollView::default());
    let mut given = ids(&one.poll(&[]).await);
    given.retain(|id| *id != busy);
    assert_eq!(given, [second]);
}

pub(crate) async fn a_node_without_sandbox_gets_no_job(harness: Harness) {
    let runner = harness.runner();
    let node = Node::register(&harness, "open", false).await;
    node.poll(&[]).await;
    job(&harness, &runner).await;

    assert_eq!(node.poll(&[]).await, PollView::default());
}

pub(crate) async fn odd_registrations_are_refused(harness: Harness) {
    let joining = harness.client(harness.secret("node-join.token"));
    let id = JobId::generate().to_string();
    for slug in ["", "Anvil", "a b", "a/b", "a\0b", id.as_str()] {
        refused(joining.node_register(&registration(slug, true)).await, 400);
    }
    for jobs in [0, 257] {
        let mut body = registration("anvil", true);
        body.capabilities.max_concurrency = jobs;
        refused(joining.node_register(&body).await, 400);
    }
}
