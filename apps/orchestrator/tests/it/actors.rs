//! The processes that talk to an orchestrator: workflow runners and worker nodes.

use cynode_client::{Client, ClientError, NodeKey};
use cynode_domain::ids::{HolderId, IncarnationId, JobId, NodeId, TaskId};
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::Step;
use cynode_domain::verdict::Verdict;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::{Capabilities, Incarnation, Poll, PollView, RegisterNode, SandboxLevel};
use cynode_wire::run_suspension::CheckpointAckView;
use cynode_wire::runner_calls::NoContent;
use cynode_wire::workflow::{
    ClaimRun, DispatchStep, EffectView, Finish, GrantView, LeaseToken, Outcome, RecordEffect,
    SaveCheckpoint, StartRun, VerificationView, VerifyStep,
};
use serde_json::{Value, json};

use crate::harness::OrchestratorHarness;

/// A workflow runner.
pub(crate) struct HarnessRunner {
    pub(crate) client: Client,
    pub(crate) holder: HolderId,
}

impl HarnessRunner {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, holder: HolderId::generate() }
    }

    pub(crate) async fn start(&self, task: TaskId) -> Result<GrantView, ClientError> {
        self.start_for(task, 30_000).await
    }

    pub(crate) async fn start_for(
        &self,
        task: TaskId,
        lease_ms: u32,
    ) -> Result<GrantView, ClientError> {
        let (holder_id, lease_ms) = (self.holder, Some(lease_ms));
        let body = StartRun { task_id: task, holder_id, lease_ms, graph_versions: None };
        self.client.workflow_call(&body).await
    }

    pub(crate) async fn claim(&self, wait_ms: u32) -> Option<GrantView> {
        let holder_id = self.holder;
        let body = ClaimRun { holder_id, lease_ms: None, wait_ms, max: None, graph_versions: None };
        self.client.workflow_call(&body).await.unwrap().grant
    }

    pub(crate) async fn checkpoint(
        &self,
        lease: LeaseToken,
        sequence: i64,
    ) -> Result<CheckpointAckView, ClientError> {
        self.client.workflow_call(&checkpoint(lease, sequence)).await
    }

    pub(crate) async fn finish(
        &self,
        lease: LeaseToken,
        sequence: i64,
        outcome: Outcome,
    ) -> Result<CheckpointAckView, ClientError> {
        let finish =
            Some(Finish { outcome, summary: "All is done.".to_owned(), verification: None });
        let body = SaveCheckpoint { finish, ..checkpoint(lease, sequence) };
        self.client.workflow_call(&body).await
    }

    pub(crate) async fn dispatch(
        &self,
        lease: LeaseToken,
        step_index: u32,
    ) -> Result<JobId, ClientError> {
        self.dispatch_attempt(lease, step_index, 1).await
    }

    pub(crate) async fn dispatch_attempt(
        &self,
        lease: LeaseToken,
        step_index: u32,
        attempt: u32,
    ) -> Result<JobId, ClientError> {
        let action = Action::Command { line: "true".to_owned() };
        let step = Step::new(action);
        let body = DispatchStep { lease, step_index, attempt, step };
        Ok(self.client.workflow_call(&body).await?.job_id)
    }

    /// The verdict, which must be there at once.
    pub(crate) async fn verify(
        &self,
        lease: LeaseToken,
        job_id: JobId,
    ) -> Result<Verdict, ClientError> {
        let answer = self.poll_verdict(lease, job_id, 0).await?;
        Ok(answer.verdict.unwrap())
    }

    pub(crate) async fn poll_verdict(
        &self,
        lease: LeaseToken,
        job_id: JobId,
        wait_ms: u32,
    ) -> Result<VerificationView, ClientError> {
        let (expected_outputs, criteria) = (vec![], vec![]);
        let body =
            VerifyStep { lease, job_id, expected_outputs, criteria, is_last_step: true, wait_ms };
        self.client.workflow_call(&body).await
    }

    pub(crate) async fn effect(
        &self,
        lease: LeaseToken,
        key: &str,
        answer: Value,
    ) -> Result<NoContent, ClientError> {
        let effect = EffectView { key: key.to_owned(), answer };
        self.client.workflow_call(&RecordEffect { lease, effect }).await
    }
}

/// A transition like any other.
pub(crate) fn checkpoint(lease: LeaseToken, sequence: i64) -> SaveCheckpoint {
    SaveCheckpoint {
        lease,
        sequence,
        last_node_id: "plan_steps".to_owned(),
        edge: "next".to_owned(),
        state: Some(json!({ "sequence": sequence })),
        changes: None,
        duration_ms: 3,
        lease_ms: None,
        step_index: None,
        job_id: None,
        finish: None,
    }
}

/// A worker node.
pub(crate) struct HarnessNode {
    pub(crate) client: Client,
    pub(crate) id: NodeId,
    pub(crate) process: IncarnationId,
}

impl HarnessNode {
    pub(crate) async fn register(
        harness: &OrchestratorHarness,
        slug: &str,
        has_sandbox: bool,
    ) -> Self {
        Self::join(harness, &registration(slug, has_sandbox)).await.unwrap()
    }

    /// Joins with the join token.
    pub(crate) async fn join(
        harness: &OrchestratorHarness,
        body: &RegisterNode,
    ) -> Result<Self, ClientError> {
        let joining = harness.client(harness.secret("node-join.token"));
        let joined = joining.node_register(body).await?;
        let process = body.incarnation.id;
        let client = harness.client(joined.node_token).with_incarnation(process);
        Ok(Self { client, id: joined.node_id, process })
    }

    /// Another process that has this one's token.
    pub(crate) fn other_process(&self) -> Self {
        let process = IncarnationId::generate();
        let client = self.client.clone().with_incarnation(process);
        Self { client, id: self.id, process }
    }

    /// The next process on the same state directory, which can prove that this one has ended.
    pub(crate) async fn restart(&self) -> Self {
        let next = self.other_process();
        let succeeds = vec![self.process];
        let body = Incarnation { id: next.process, succeeds, predecessors_ended: true };
        next.client.node_start(&body).await.unwrap();
        next
    }

    /// Polls without waiting; the node has four free slots.
    pub(crate) async fn poll(&self, holding: &[JobId]) -> PollView {
        self.poll_for(holding, 0).await
    }

    pub(crate) async fn poll_for(&self, holding: &[JobId], wait_ms: u32) -> PollView {
        let body =
            Poll { holding: holding.to_vec(), free_slots: 4, wait_ms, load: None, settings: None };
        self.client.node_poll(&body).await.unwrap()
    }

    /// Takes the one job that waits for it.
    pub(crate) async fn take(&self) -> JobId {
        let news = self.poll(&[]).await;
        assert_eq!(news.assignments.len(), 1, "{news:?}");
        let job = news.assignments[0].job_id;
        self.poll(&[job]).await;
        job
    }

    pub(crate) async fn end(&self, job: JobId, code: i32) -> Result<(), ClientError> {
        self.client.node_finish(job, &exited_result(code)).await
    }
}

/// The result of a command that printed `out`.
pub(crate) fn exited_result(code: i32) -> JobResult {
    JobResult {
        ending: JobEnding::Exited { code },
        stdout: "out\n".to_owned(),
        stderr: String::new(),
        truncated: Truncated::default(),
    }
}

/// The key of the node with this name.
fn node_key(slug: &str) -> NodeKey {
    let mut seed = [7; 32];
    for (byte, of_name) in seed.iter_mut().zip(slug.bytes()) {
        *byte = of_name;
    }
    NodeKey::from_seed(&seed).unwrap()
}

/// How a node with this name introduces itself.
pub(crate) fn registration(slug: &str, has_sandbox: bool) -> RegisterNode {
    let process = IncarnationId::generate();
    RegisterNode {
        proof: node_key(slug).prove(slug, process),
        node_slug: slug.to_owned(),
        capabilities: Capabilities {
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            cpu_cores: 2,
            memory_mib: 4096,
            sandbox: SandboxLevel {
                supported: has_sandbox,
                backend: "namespaces".to_owned(),
                features: vec!["pid_namespace".to_owned()],
                reason: None,
            },
            max_concurrency: 4,
            version: String::new(),
            labels: cynode_domain::node_labels::NodeLabels::new(),
            images: vec![],
        },
        incarnation: Incarnation { id: process, succeeds: vec![], predecessors_ended: false },
    }
}
