//! Worker nodes: joining, and who gets which job.

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::status::NodeStatus;
use cynode_wire::jobs::Stream;
use cynode_wire::nodes::{AskWorkspaces, Incarnation, MachineLoad, NodeSettings, Poll, PollView};

use crate::actors::{HarnessNode, HarnessRunner, registration};
use crate::harness::{OrchestratorHarness, eventually, refused};

/// A job of a new task.
async fn job(harness: &OrchestratorHarness, runner: &HarnessRunner) -> JobId {
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap()
}

fn ids(news: &PollView) -> Vec<JobId> {
    news.assignments.iter().map(|given| given.job_id).collect()
}

pub(crate) async fn a_node_that_registers_again_keeps_its_id_and_loses_its_old_token(
    harness: OrchestratorHarness,
) {
    let old = harness.node("anvil").await;

    old.client.node_stop().await.unwrap();
    let new = harness.node("anvil").await;

    assert_eq!(old.id, new.id);
    let body = Poll { holding: vec![], free_slots: 1, wait_ms: 0, load: None, settings: None };
    let problem = refused(old.client.node_poll(&body).await, 401);
    assert!(problem.detail.contains("register again"));
    assert_eq!(harness.admin().node_list().await.unwrap().len(), 1);
}

pub(crate) async fn a_second_node_with_a_name_in_use_is_rejected_and_changes_nothing(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let job = job(&harness, &runner).await;
    node.take().await;

    let second = registration("anvil", true);
    let joining = harness.client(harness.secret("node-join.token"));
    let problem = refused(joining.node_register(&second).await, 409);

    assert!(problem.detail.contains("the node name \"anvil\" is in use"), "{problem:?}");
    assert!(problem.detail.contains("--slug"), "{problem:?}");
    // Neither the token nor the capabilities were replaced.
    assert_eq!(node.poll(&[job]).await, PollView::default());
    let seen = harness.admin().node_get("anvil").await.unwrap();
    assert_eq!(seen.incarnation, Some(node.process));
    node.end(job, 0).await.unwrap();
}

pub(crate) async fn a_process_with_a_copied_token_gets_no_job_and_reports_none(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let copy = node.other_process();
    let job = job(&harness, &runner).await;
    // Assigned but not acknowledged: any process that polls as this node would get it.
    assert_eq!(ids(&node.poll(&[]).await), [job]);

    let body = Poll { holding: vec![], free_slots: 4, wait_ms: 0, load: None, settings: None };
    refused(copy.client.node_poll(&body).await, 409);
    let start = Incarnation { id: copy.process, succeeds: vec![], predecessors_ended: false };
    let problem = refused(copy.client.node_start(&start).await, 409);
    assert!(problem.detail.contains("--slug"), "{problem:?}");
    refused(copy.end(job, 0).await, 409);
    refused(copy.client.node_append_log(job, Stream::Stdout, 0, b"x").await, 409);
    refused(copy.client.node_put_artifact(job, "a", "x".into()).await, 409);

    assert_eq!(node.poll(&[job]).await, PollView::default());
    node.end(job, 0).await.unwrap();
}

pub(crate) async fn a_restarted_node_takes_over_at_once_with_the_jobs_it_had(
    harness: OrchestratorHarness,
) {
    let (runner, old) = (harness.runner(), harness.node("anvil").await);
    let kept = job(&harness, &runner).await;
    old.take().await;
    let lost = job(&harness, &runner).await;
    assert_eq!(ids(&old.poll(&[kept]).await), [lost]);

    let new = old.restart().await;

    // A job that the old process did not acknowledge is assigned again, to the new one only.
    let news = new.poll(&[kept]).await;
    assert_eq!(ids(&news), [lost]);
    assert_eq!(news.assignments[0].incarnation, Some(new.process));
    let body = Poll { holding: vec![kept], free_slots: 4, wait_ms: 0, load: None, settings: None };
    refused(old.client.node_poll(&body).await, 409);
    refused(old.end(kept, 1).await, 409);
    for job in [kept, lost] {
        new.end(job, 0).await.unwrap();
    }
}

pub(crate) async fn a_stopped_node_leaves_its_name_and_not_its_jobs(harness: OrchestratorHarness) {
    let (runner, old) = (harness.runner(), harness.node("anvil").await);
    let job = job(&harness, &runner).await;
    old.take().await;

    old.client.node_stop().await.unwrap();
    let stranger = harness.node("anvil").await;

    assert_eq!(stranger.poll(&[job]).await.forget, [job]);
    refused(stranger.end(job, 0).await, 409);
}

pub(crate) async fn a_job_that_goes_on_with_earlier_files_says_so(harness: OrchestratorHarness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let first = node.poll(&[]).await.assignments.remove(0);
    node.poll(&[first.job_id]).await;
    node.end(first.job_id, 0).await.unwrap();

    runner.dispatch(lease, 1).await.unwrap();
    let second = node.poll(&[]).await.assignments.remove(0);

    assert_eq!([first.needs_workspace, second.needs_workspace], [false, true]);
    node.end(second.job_id, 0).await.unwrap();
}

pub(crate) async fn only_workspaces_of_closed_tasks_may_be_removed(harness: OrchestratorHarness) {
    let (admin, node) = (harness.admin(), harness.node("anvil").await);
    let (open, closed) = (harness.task().await.id, harness.task().await.id);
    admin.task_cancel(&closed.to_string()).await.unwrap();
    let unknown = TaskId::generate();
    let removable = async |closed_for_s| {
        let body = AskWorkspaces { tasks: vec![open, closed, unknown], closed_for_s };
        node.client.node_workspaces(&body).await.unwrap().removable
    };

    assert_eq!(removable(0).await, [closed]);
    assert_eq!(removable(3600).await, []);
}

pub(crate) async fn an_assignment_is_handed_out_again_until_the_node_has_it(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let job = job(&harness, &runner).await;

    assert_eq!(ids(&node.poll(&[]).await), [job]);
    // The answer was lost on the way.
    assert_eq!(ids(&node.poll(&[]).await), [job]);
    assert_eq!(node.poll(&[job]).await, PollView::default());
    // From now on the orchestrator records that the node holds it.
    assert_eq!(node.poll(&[]).await, PollView::default());
    node.end(job, 0).await.unwrap();
    assert_eq!(node.poll(&[]).await, PollView::default());
}

pub(crate) async fn a_drained_node_gets_nothing_until_it_is_enabled(harness: OrchestratorHarness) {
    let (admin, runner, node) = (harness.admin(), harness.runner(), harness.node("anvil").await);
    let early = job(&harness, &runner).await;
    assert_eq!(admin.node_drain("anvil").await.unwrap().status, NodeStatus::Drained);
    let late = job(&harness, &runner).await;

    assert_eq!(node.poll(&[]).await, PollView::default());
    assert_eq!(admin.node_get("anvil").await.unwrap().status, NodeStatus::Drained);
    admin.node_enable(&node.id.to_string()).await.unwrap();

    // A concurrent reader of the job, such as the sweep, may hold its lock.
    let given = eventually("both jobs are handed out", async || {
        let given = ids(&node.poll(&[]).await);
        (given.len() > 1).then_some(given)
    });
    assert_eq!(given.await, [early, late]);
}

pub(crate) async fn a_job_that_a_drained_node_has_not_begun_goes_to_another(
    harness: OrchestratorHarness,
) {
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

pub(crate) async fn a_waiting_poll_wakes_when_a_job_is_queued(harness: OrchestratorHarness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);

    let (news, job) = tokio::join!(node.poll_for(&[], 30_000), job(&harness, &runner));

    assert_eq!(ids(&news), [job]);
}

pub(crate) async fn jobs_nobody_waits_for_are_forgotten(harness: OrchestratorHarness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let unknown = JobId::generate();
    let over = job(&harness, &runner).await;
    node.take().await;
    node.end(over, 0).await.unwrap();

    let news = node.poll(&[unknown, over]).await;

    assert_eq!(news, PollView { forget: vec![unknown, over], ..PollView::default() });
}

pub(crate) async fn the_least_loaded_node_gets_the_next_job(harness: OrchestratorHarness) {
    let runner = harness.runner();
    let (one, other) = (harness.node("a").await, harness.node("b").await);

    let jobs =
        [job(&harness, &runner).await, job(&harness, &runner).await, job(&harness, &runner).await];

    assert_eq!(ids(&one.poll(&[]).await), [jobs[0], jobs[2]]);
    assert_eq!(ids(&other.poll(&[]).await), [jobs[1]]);
    assert_eq!(harness.admin().node_get("a").await.unwrap().running_jobs, 2);
}

pub(crate) async fn the_steps_of_a_task_stay_on_one_node(harness: OrchestratorHarness) {
    let (runner, one) = (harness.runner(), harness.node("a").await);
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let first = one.take().await;
    let busy = job(&harness, &runner).await;
    let other = harness.node("b").await;
    one.end(first, 0).await.unwrap();

    let second = runner.dispatch(lease, 1).await.unwrap();

    assert_eq!(other.poll(&[]).await, PollView::default());
    let mut given = ids(&one.poll(&[]).await);
    given.retain(|id| *id != busy);
    assert_eq!(given, [second]);
}

pub(crate) async fn a_node_without_sandbox_gets_no_job(harness: OrchestratorHarness) {
    let runner = harness.runner();
    let node = HarnessNode::register(&harness, "open", false).await;
    node.poll(&[]).await;
    job(&harness, &runner).await;

    assert_eq!(node.poll(&[]).await, PollView::default());
}

pub(crate) async fn odd_registrations_are_refused(harness: OrchestratorHarness) {
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

pub(crate) async fn long_jobs_of_one_user_do_not_keep_another_waiting(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let slots = usize::try_from(registration("anvil", true).capabilities.max_concurrency).unwrap();
    // A single user has all slots.
    for _ in 0..slots + 3 {
        job(&harness, &runner).await;
    }
    let held = ids(&node.poll(&[]).await);
    assert_eq!(held.len(), slots);
    for job in &held {
        node.end(*job, 0).await.unwrap();
    }
    // With a second user, one slot stays free for others.
    let bob = harness.user("bob").await;
    for _ in 0..slots {
        job(&harness, &runner).await;
    }
    let held = ids(&node.poll(&[]).await);
    assert_eq!(held.len(), slots - 1);

    let task = bob.task_create(&crate::harness::create_commands_task(&["true"])).await.unwrap();
    let lease = runner.start(task.id).await.unwrap().lease;
    let quick = runner.dispatch(lease, 0).await.unwrap();

    assert_eq!(ids(&node.poll(&held).await), [quick]);
    // Its slot is not taken by those who waited longer.
    node.end(quick, 0).await.unwrap();
    assert!(ids(&node.poll(&held).await).is_empty());
    node.end(held[0], 0).await.unwrap();
    assert_eq!(ids(&node.poll(&held[1..]).await).len(), 1);
}

pub(crate) async fn a_node_with_a_full_disk_gets_no_job_and_the_task_says_so(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let poll = async |free_disk_mib| {
        let load = MachineLoad {
            free_disk_mib: Some(free_disk_mib),
            available_memory_mib: Some(1_000),
            load_average_percent: Some(150),
            // What a node says about the limit of the orchestrator does not count.
            is_disk_short: false,
        };
        let load = Some(load);
        let body = Poll { holding: vec![], free_slots: 4, wait_ms: 0, load, settings: None };
        node.client.node_poll(&body).await.unwrap()
    };
    poll(511).await;
    let task = harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    let job = runner.dispatch(lease, 0).await.unwrap();

    assert_eq!(poll(511).await, PollView::default());
    let waiting = harness.admin().task_get(&task.id.to_string()).await.unwrap();
    let reason = waiting.blocked_reason.unwrap_or_default();
    assert!(reason.contains("anvil") && reason.contains("511 MiB"), "{reason}");
    let shown = harness.admin().node_get("anvil").await.unwrap().load.unwrap();
    assert_eq!((shown.free_disk_mib, shown.is_disk_short), (Some(511), true));

    poll(512).await;
    assert_eq!(ids(&poll(512).await), [job]);
}

pub(crate) async fn settings_that_a_running_node_reports_are_used_and_invalid_ones_refused(
    harness: OrchestratorHarness,
) {
    let node = harness.node("anvil").await;
    let poll = async |max_concurrency, zone: &str| {
        let labels = [("zone".to_owned(), zone.to_owned())].into_iter().collect();
        let settings = Some(NodeSettings { max_concurrency, labels });
        let body = Poll { holding: vec![], free_slots: 4, wait_ms: 0, load: None, settings };
        node.client.node_poll(&body).await
    };

    poll(2, "eu").await.unwrap();
    refused(poll(0, "us").await, 400);
    refused(poll(2, "a b").await, 400);
    node.poll(&[]).await;

    let seen = harness.admin().node_get("anvil").await.unwrap();
    assert_eq!(seen.capabilities.max_concurrency, 2);
    assert_eq!(seen.capabilities.labels.get("zone").map(String::as_str), Some("eu"));
    assert_eq!(seen.load, None, "a node of an older version reports none");
}
