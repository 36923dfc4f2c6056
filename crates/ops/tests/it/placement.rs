//! Placement by the project manager and without it.

mod sandboxes;
mod together;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_blobs::BlobStore;
use cynode_client::NodeKey;
use cynode_domain::ids::{HolderId, IncarnationId, JobId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::status::JobStatus;
use cynode_execution::{JobPlacer, JoinCredential, NodeService, TaskService, WorkflowService};
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::NoProjectManager, handoff::ProjectManager,
};
use cynode_ops::sandboxes::Sandboxes;
use cynode_resources::{NodeCaller, Signals};
use cynode_runs::RunQueries;
use cynode_store::Job;
use cynode_testkit::query;
use cynode_wire::handoff::HandoffKind;
use cynode_wire::nodes::{Capabilities, Incarnation, Poll, PollView, RegisterNode, SandboxLevel};
use cynode_wire::page::PageQuery;
use cynode_wire::tasks::CreateTask;
use cynode_wire::workflow::{DispatchStep, LeaseToken, StartRun};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::engines::on_each_engine;
use crate::world::World;

on_each_engine! {
    where_several_nodes_could_take_a_task_the_project_manager_chooses,
    a_run_is_explained_with_who_chose_its_node,
    a_project_manager_that_does_not_choose_is_replaced_by_a_rule_on_record,
    a_job_whose_question_got_lost_is_placed_by_rule_when_its_time_is_over,
    nobody_is_asked_where_there_is_nothing_to_choose,
    without_a_project_manager_work_is_placed_by_rule_at_once,
    a_task_for_an_unknown_node_is_refused_with_those_there_are,
    a_job_of_a_task_that_is_canceled_meanwhile_is_handed_out_only_if_it_runs,
}

/// Returns a scripted choice, or none.
#[derive(Default)]
struct ScriptedPlacement {
    node: Option<&'static str>,
    requests: Mutex<Vec<Value>>,
    /// Whether it withholds its answer until it is released.
    waits: bool,
    /// Notified when it is asked.
    begun: Notify,
    may_answer: Notify,
}

#[async_trait]
impl ProjectManager for ScriptedPlacement {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        assert_eq!(kind, HandoffKind::Place);
        self.requests.lock().unwrap().push(handoff["body"].clone());
        self.begun.notify_one();
        if self.waits {
            self.may_answer.notified().await;
        }
        let Some(node) = self.node else {
            return Err(HandoffError::Failed("it has no opinion".to_owned()));
        };
        let record = json!({
            "purpose": "place_job", "by": "rule", "reason": format!("{node}: I like it"),
            "input_hash": "00",
        });
        Ok(json!({ "node_slug": node, "reason": "I like it", "decisions": [record] }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("it only chooses".to_owned()))
    }
}

struct PlacementFixture {
    world: World,
    tasks: TaskService,
    workflow: WorkflowService,
    nodes: NodeService,
    sandboxes: Sandboxes,
    manager: Arc<ScriptedPlacement>,
}

impl PlacementFixture {
    /// An installation with these nodes, whose project manager chooses `node`.
    async fn new(slugs: &[&str], node: Option<&'static str>) -> Self {
        let manager = Arc::new(ScriptedPlacement { node, ..ScriptedPlacement::default() });
        Self::with(slugs, manager.clone(), manager).await
    }

    async fn with(
        slugs: &[&str],
        requests: Arc<dyn ProjectManager>,
        manager: Arc<ScriptedPlacement>,
    ) -> Self {
        let world = World::new().await;
        let signals = Signals::new(world.store.engine());
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let (timeout, place_within) = (Duration::from_hours(1), Duration::from_hours(1));
        let options = HandoffOptions { timeout, place_within, ..HandoffOptions::default() };
        let handoffs =
            HandoffService::new(store.clone(), clock.clone(), signals.clone(), requests, options);
        let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone())
            .with_handoffs(handoffs);
        let blobs = BlobStore::new(world.data.path().join("blobs"));
        let fixture = Self {
            tasks: TaskService::new(store.clone(), clock.clone(), signals.clone(), blobs),
            workflow: WorkflowService::new(store.clone(), clock.clone(), signals.clone())
                .with_placer(placer.clone()),
            nodes: NodeService::new(store.clone(), clock.clone(), signals.clone(), 60_000)
                .with_placer(placer.clone()),
            sandboxes: Sandboxes::new(store, clock, signals, placer),
            manager,
            world,
        };
        for slug in slugs {
            let caller = fixture.join(slug).await;
            fixture.poll(&caller).await;
        }
        fixture
    }

    async fn join(&self, slug: &str) -> NodeCaller {
        let sandbox = SandboxLevel {
            supported: true,
            backend: "namespaces".to_owned(),
            features: vec![],
            reason: None,
        };
        let capabilities = Capabilities {
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            cpu_cores: 2,
            memory_mib: 4096,
            sandbox,
            max_concurrency: 4,
            version: String::new(),
            labels: cynode_domain::node_labels::NodeLabels::new(),
            images: vec![],
        };
        let node_slug = slug.to_owned();
        let id = process_of(slug);
        let incarnation = Incarnation { id, succeeds: vec![], predecessors_ended: false };
        let seed = [slug.as_bytes()[0]; 32];
        let proof = NodeKey::from_seed(&seed).unwrap().prove(slug, id);
        let body = RegisterNode { node_slug, capabilities, incarnation, proof };
        let node = self.nodes.register(body, JoinCredential::Shared).await.unwrap();
        NodeCaller { node: node.node_id, slug: slug.to_owned(), incarnation: id }
    }

    async fn poll(&self, node: &NodeCaller) -> PollView {
        let request =
            Poll { holding: vec![], free_slots: 4, wait_ms: 0, load: None, settings: None };
        self.nodes.poll(node, request).await.unwrap()
    }

    async fn task(&self, more: Value) -> TaskId {
        let mut body = json!({ "input_mode": "commands", "commands": ["true"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body: CreateTask = serde_json::from_value(body).unwrap();
        self.tasks.create(&self.world.bob, body).await.unwrap().id
    }

    async fn hold(&self, task_id: TaskId) -> LeaseToken {
        let (holder_id, lease_ms) = (HolderId::generate(), Some(3_600_000));
        let start = StartRun { task_id, holder_id, lease_ms, graph_versions: None };
        self.workflow.start(&start).await.unwrap().lease
    }

    async fn step(&self, lease: LeaseToken, step_index: u32) -> JobId {
        let action = Action::Command { line: "true".to_owned() };
        let step = Step::new(action);
        let body = DispatchStep { lease, step_index, attempt: 1, step };
        self.workflow.dispatch(body).await.unwrap().job_id
    }

    async fn job(&self, id: JobId) -> Job {
        let read: Result<_, cynode_store::Error> =
            self.world.store.read(move |tx| Box::pin(async move { tx.job_get(id).await })).await;
        read.unwrap().unwrap()
    }

    /// The name of the node that a job is given, once it is.
    async fn place(&self, id: JobId) -> String {
        loop {
            if let Some(node) = self.job(id).await.node {
                return self.nodes.get(&node.into()).await.unwrap().node_slug;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// By what and why jobs of a task were placed.
    async fn decisions(&self, task: TaskId) -> Vec<(String, String)> {
        let read: Result<_, cynode_store::Error> = self
            .world
            .store
            .read(move |tx| Box::pin(async move { tx.decision_list(task, 100).await }))
            .await;
        let placed = read.unwrap().into_iter().filter(|made| made.purpose == "place_job");
        placed.map(|made| (made.decided_by, made.reason)).collect()
    }

    /// Jobs wait for their place until so many seconds after they were made.
    async fn wait_for_place(&self, seconds: &str) {
        let is_sqlite = self.world.database.url.starts_with("sqlite:");
        let second = if is_sqlite { "1000000" } else { "interval '1 second'" };
        let later = format!("{seconds} * {second}");
        self.query(&format!("UPDATE jobs SET place_until = created_at {later}")).await;
    }

    async fn query(&self, sql: &str) -> Vec<Vec<String>> {
        query(&self.world.database.url, sql).await
    }
}

async fn a_job_of_a_task_that_is_canceled_meanwhile_is_handed_out_only_if_it_runs() {
    let fixture = PlacementFixture::new(&["a"], None).await;
    let node = fixture.join("a").await;

    for round in 0..40 {
        let task = fixture.task(json!({})).await;
        let lease = fixture.hold(task).await;
        let job = fixture.step(lease, 0).await;
        fixture.place(job).await;
        let named = task.into();
        let (canceled, polled) =
            tokio::join!(fixture.tasks.cancel(&fixture.world.bob, &named), fixture.poll(&node));
        canceled.unwrap();

        let is_handed_out = polled.assignments.iter().any(|assigned| assigned.job_id == job);
        let row = fixture.job(job).await;
        if is_handed_out {
            assert_eq!(row.status, JobStatus::Running, "round {round}");
            assert!(row.cancel_requested, "round {round}");
        } else {
            assert_eq!(row.status, JobStatus::Canceled, "round {round}");
        }
        // The assignment was lost: the node reports nothing about it, and the job is closed.
        fixture.poll(&node).await;
    }
}

async fn where_several_nodes_could_take_a_task_the_project_manager_chooses() {
    let fixture = PlacementFixture::new(&["a", "b"], Some("b")).await;
    let task = fixture.task(json!({})).await;
    let lease = fixture.hold(task).await;

    let first = fixture.step(lease, 0).await;

    assert_eq!(fixture.place(first).await, "b");
    let second = fixture.step(lease, 1).await;
    assert_eq!(fixture.place(second).await, "b");
    let requests = fixture.manager.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), 1, "the workspace of a task is in one place: {requests:?}");
    let slugs: Vec<_> = requests[0]["candidates"].as_array().unwrap().iter().collect();
    assert_eq!((&slugs[0]["node_slug"], &slugs[1]["node_slug"]), (&json!("a"), &json!("b")));
    assert_eq!((&slugs[0]["room"], &slugs[0]["cpu_cores"]), (&json!(4), &json!(2)));
    let placed = fixture.query("SELECT data FROM events WHERE kind = 'job.placed'").await;
    assert_eq!(placed.len(), 1);
    let data: Value = serde_json::from_str(&placed[0][0]).unwrap();
    assert_eq!((&data["node"], &data["by"]), (&json!("b"), &json!("rule")));
}

/// The one process of a node with this name: a node that joins again here is the same process.
fn process_of(slug: &str) -> IncarnationId {
    let letters = slug.bytes().fold(0_u64, |all, letter| all << 8 | u64::from(letter));
    format!("00000000-0000-7000-8000-{letters:012x}").parse().unwrap()
}

async fn a_run_is_explained_with_who_chose_its_node() {
    let fixture = PlacementFixture::new(&["a", "b"], Some("b")).await;
    let task = fixture.task(json!({})).await;
    let lease = fixture.hold(task).await;
    let job = fixture.step(lease, 0).await;
    fixture.place(job).await;
    let dispatched = json!({
        "hold": lease, "sequence": 1, "last_node_id": "dispatch_step", "edge": "dispatched",
        "state": {}, "duration_ms": 1, "step_index": 0, "job_id": job,
    });
    fixture.workflow.checkpoint(serde_json::from_value(dispatched).unwrap()).await.unwrap();
    let run = fixture.query("SELECT id FROM runs").await.concat().concat();

    let (runs, query) = (RunQueries::new(fixture.world.store.clone()), PageQuery::default());
    let explain = async || {
        runs.explain(&fixture.world.bob, &run.as_str().into(), &query)
            .await
            .unwrap()
            .items
            .remove(0)
    };
    let explained = explain().await;

    let made = fixture.decisions(task).await;
    assert_eq!(made, [("rule".to_owned(), "b: I like it".to_owned())]);
    assert_eq!(explained.made_by, "project manager, rule: b: I like it");
    assert!(explained.led_to.ends_with("on node b"), "{explained:?}");
    // A choice that came too late is on record, and is not the reason: it placed nothing.
    let elsewhere = "UPDATE jobs SET placed_by = NULL,
        node_id = (SELECT id FROM nodes WHERE node_slug = 'a')";
    fixture.query(elsewhere).await;
    let late = explain().await;
    assert!(!late.made_by.contains("I like it"), "{late:?}");
    assert!(late.led_to.ends_with("on node a"), "{late:?}");
}

async fn a_project_manager_that_does_not_choose_is_replaced_by_a_rule_on_record() {
    for chosen in [None, Some("nowhere")] {
        let fixture = PlacementFixture::new(&["a", "b"], chosen).await;
        let task = fixture.task(json!({})).await;

        let job = fixture.step(fixture.hold(task).await, 0).await;

        assert_eq!(fixture.place(job).await, "a");
        let decisions = fixture.decisions(task).await;
        let fallback = decisions.iter().find(|(by, _)| by == "fallback").unwrap();
        assert!(fallback.1.starts_with("a: the least loaded node, because"), "{fallback:?}");
    }
}

async fn a_job_whose_question_got_lost_is_placed_by_rule_when_its_time_is_over() {
    let fixture = PlacementFixture::new(&["a", "b"], None).await;
    let task = fixture.task(json!({})).await;
    let job = fixture.step(fixture.hold(task).await, 0).await;
    fixture.place(job).await;
    // As if the process had died right after recording that it asks.
    fixture.query("UPDATE jobs SET node_id = NULL").await;

    fixture.wait_for_place("+ 3600").await;
    let node = fixture.join("a").await;
    assert_eq!(fixture.poll(&node).await, PollView::default(), "it is waited for");
    fixture.wait_for_place("- 1").await;
    let news = fixture.poll(&node).await;

    assert_eq!(news.assignments.len(), 1, "{news:?}");
    let (by, reason) = fixture.decisions(task).await.pop().unwrap();
    assert!(by == "fallback" && reason.contains("did not answer in time"), "{by}: {reason}");
}

async fn nobody_is_asked_where_there_is_nothing_to_choose() {
    let fixture = PlacementFixture::new(&["a"], Some("a")).await;
    let task = fixture.task(json!({})).await;
    let job = fixture.step(fixture.hold(task).await, 0).await;
    assert!(fixture.job(job).await.node.is_some(), "it is placed at once");

    fixture.join("b").await;
    let pinned = fixture.task(json!({ "node": "b" })).await;
    let waiting = fixture.step(fixture.hold(pinned).await, 0).await;

    assert!(fixture.job(waiting).await.node.is_none(), "its node has not polled");
    let view = fixture.tasks.get(&fixture.world.bob, &pinned.into()).await.unwrap();
    assert_eq!(view.node.as_deref(), Some("b"));
    assert!(view.blocked_reason.unwrap().contains("waiting for node \"b\", which is offline"));
    let node = fixture.join("b").await;
    assert_eq!(fixture.poll(&node).await.assignments[0].job_id, waiting);
    assert!(fixture.manager.requests.lock().unwrap().is_empty());
}

async fn without_a_project_manager_work_is_placed_by_rule_at_once() {
    let manager = Arc::new(ScriptedPlacement::default());
    let fixture = PlacementFixture::with(&["a", "b"], Arc::new(NoProjectManager), manager).await;
    let task = fixture.task(json!({})).await;

    let job = fixture.step(fixture.hold(task).await, 0).await;

    assert!(fixture.job(job).await.node.is_some());
    assert_eq!(fixture.decisions(task).await, []);
}

async fn a_task_for_an_unknown_node_is_refused_with_those_there_are() {
    let fixture = PlacementFixture::new(&["anvil", "mill"], None).await;
    let body = json!({ "input_mode": "commands", "commands": ["true"], "node": "moon" });
    let body = serde_json::from_value(body).unwrap();

    let fault = fixture.tasks.create(&fixture.world.bob, body).await.unwrap_err().to_string();

    assert_eq!(fault, "there is no node \"moon\"; there are: anvil, mill");
}
