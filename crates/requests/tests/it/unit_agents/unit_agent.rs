//! An agent of a unit on a worker node, as the tests act for it.

use std::str::FromStr as _;

use cynode_client::NodeKey;
use cynode_domain::agent::{Activity, InstructionKind, Role};
use cynode_domain::ids::{HolderId, IncarnationId, JobId, MessageId, TaskId};
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::Step;
use cynode_domain::request::RequestSettings;
use cynode_execution::{JoinCredential, NodeService, WorkflowService};
use cynode_ops::{AgentMessages, WorkService};
use cynode_resources::agents::{AgentIdentity, AgentTokens};
use cynode_resources::{NodeCaller, Signals};
use cynode_wire::apmas::{Heartbeat, ReportToPm, SaveAgentCheckpoint};
use cynode_wire::git::REPOSITORIES_FEATURE;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::nodes::{
    AGENTS_FEATURE, Capabilities, Incarnation, Poll, RegisterNode, SandboxLevel,
};
use cynode_wire::requests::{InstructUnit, RequestView};
use cynode_wire::work::SubmitWork;
use cynode_wire::workflow::{DispatchStep, StartRun};
use serde_json::{Value, json};

use crate::world::RequestFixture;

/// The process of the node that runs the agents.
const PROCESS: &str = "00000000-0000-7000-8000-000000000001";

/// The agent of the job of an attempt, as a node gets it: with the token that it asks for.
pub(super) struct UnitAgent {
    pub(super) identity: AgentIdentity,
    pub(super) messages: AgentMessages,
    pub(super) work: WorkService,
    nodes: NodeService,
    node: NodeCaller,
    job: JobId,
    pub(super) task: TaskId,
    pub(super) role: Role,
}

impl RequestFixture {
    /// Starts the job of the open attempt at a unit on a new node, and takes the token of its agent.
    pub(super) async fn start_agent(&self, request: TaskId, unit: &str) -> UnitAgent {
        let child = self.child(request, unit).await;
        let parts = || (self.store.clone(), self.clock.clone(), Signals::new(self.store.engine()));
        let (store, clock, signals) = parts();
        let workflow = WorkflowService::new(store, clock, signals);
        let (store, clock, signals) = parts();
        let nodes = NodeService::new(store, clock, signals, 60_000);
        let node = join(&nodes).await;
        poll(&nodes, &node).await;
        let task_id = child.spec.id;
        let start = StartRun {
            task_id,
            holder_id: HolderId::generate(),
            lease_ms: Some(600_000),
            graph_versions: None,
        };
        let lease = workflow.start(&start).await.unwrap().lease;
        let prompt = child.spec.prompt.clone();
        let step = Step::new(Action::Agent { prompt, criteria: vec![], model_hint: None });
        let body = DispatchStep { lease, step_index: 7, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        let assigned = poll(&nodes, &node).await;
        assert!(assigned.contains(&job), "the node runs it: {assigned:?}");
        let secret = nodes.issue_agent_token(&node, job).await.unwrap().secret;
        let (store, clock, signals) = parts();
        let identity = AgentTokens::new(store, clock, signals).authenticate(&secret).await.unwrap();
        let (store, clock, signals) = parts();
        let messages = AgentMessages::new(store.clone(), clock.clone(), signals.clone());
        let role = identity.job_agent.role.clone().unwrap();
        UnitAgent {
            messages,
            work: WorkService::new(store, clock, signals),
            identity,
            nodes,
            node,
            job,
            task: child.spec.id,
            role,
        }
    }

    /// What the agents of a request said, as its history shows it.
    pub(super) async fn unit_reports(&self, request: TaskId) -> Vec<(String, String)> {
        let filter = cynode_store::EventFilter { owner: None, task: Some(request) };
        let listed = self.store.read(move |tx| {
            Box::pin(async move {
                tx.event_list(cynode_store::EventCursor::default(), filter, 500).await
            })
        });
        let listed: Result<_, cynode_store::Error> = listed.await;
        let text = |data: &Value, name: &str| data[name].as_str().unwrap_or_default().to_owned();
        let events = listed.unwrap().into_iter();
        let reports = events.filter(|event| event.kind == "request.unit_reported");
        reports.map(|event| (text(&event.data, "report"), text(&event.data, "text"))).collect()
    }

    pub(super) async fn instruct(&self, view: &RequestView, unit: &str, kind: &str, text: &str) {
        let body = instruction(unit, kind, text);
        self.requests.instruct_unit(&self.bob, &view.id.into(), body).await.unwrap();
        self.advance().await;
    }
}

pub(super) fn instruction(unit: &str, kind: &str, text: &str) -> InstructUnit {
    let instruction: InstructionKind = kind.parse().unwrap();
    InstructUnit { unit: unit.to_owned(), instruction, text: text.to_owned() }
}

async fn join(nodes: &NodeService) -> NodeCaller {
    let sandbox = SandboxLevel {
        supported: true,
        backend: "namespaces".to_owned(),
        features: vec![AGENTS_FEATURE.to_owned(), REPOSITORIES_FEATURE.to_owned()],
        reason: None,
    };
    let capabilities = Capabilities {
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        cpu_cores: 2,
        memory_mib: 4096,
        sandbox,
        max_concurrency: 16,
        version: String::new(),
        labels: cynode_domain::node_labels::NodeLabels::new(),
        images: vec![],
    };
    // The same process of the same node, each time.
    let (id, slug) = (IncarnationId::from_str(PROCESS).unwrap(), "builder".to_owned());
    let proof = NodeKey::from_seed(&[7; 32]).unwrap().prove(&slug, id);
    let incarnation = Incarnation { id, succeeds: vec![], predecessors_ended: false };
    let body = RegisterNode { node_slug: slug.clone(), capabilities, incarnation, proof };
    let node = nodes.register(body, JoinCredential::Shared).await.unwrap();
    NodeCaller { node: node.node_id, slug, incarnation: id }
}

async fn poll(nodes: &NodeService, node: &NodeCaller) -> Vec<JobId> {
    let request = Poll { holding: vec![], free_slots: 16, wait_ms: 0, load: None, settings: None };
    let view = nodes.poll(node, request).await.unwrap();
    view.assignments.into_iter().map(|assigned| assigned.job_id).collect()
}

impl UnitAgent {
    pub(super) fn report(&self, kind: &str, payload: Value) -> ReportToPm {
        ReportToPm {
            task_id: self.task,
            agent_role: self.role.clone(),
            message_type: kind.to_owned(),
            component: "main".to_owned(),
            payload,
            idempotency_key: None,
        }
    }

    pub(super) async fn ask(&self, question: &str) -> MessageId {
        let report = self.report("needs_clarification", json!({ "question": question }));
        self.messages.send_report(&self.identity, report).await.unwrap().message_id
    }

    pub(super) async fn replied(&self) -> Vec<(String, String)> {
        let reply = self.messages.deliver_with_reply(&self.identity).await.unwrap();
        let items = reply.map(|reply| reply.instructions).unwrap_or_default().into_iter();
        items.map(|item| (item.instruction_type, item.instructions)).collect()
    }

    pub(super) async fn replied_kinds(&self) -> Vec<String> {
        self.replied().await.into_iter().map(|(kind, _)| kind).collect()
    }

    /// Ends its job, as the node does after it has stopped it and collected its changes.
    pub(super) async fn end_job(&self) {
        let result = JobResult {
            ending: JobEnding::Canceled,
            stdout: String::new(),
            stderr: String::new(),
            truncated: Truncated::default(),
        };
        self.nodes.finish(&self.node, self.job, result).await.unwrap();
    }

    pub(super) async fn beat(&self, progress: &str) {
        let beat = Heartbeat {
            task_id: self.task,
            agent_role: None,
            status: Activity::Working,
            progress: Some(progress.to_owned()),
            estimated_context_usage: None,
            acknowledge: vec![],
        };
        self.messages.record_heartbeat(&self.identity, beat).await.unwrap();
    }

    pub(super) async fn checkpoint(&self, summary: &str) {
        let body = SaveAgentCheckpoint {
            task_id: self.task,
            agent_role: self.role.clone(),
            summary: summary.to_owned(),
            completed_items: vec!["the markup".to_owned()],
            pending_items: vec!["the script".to_owned()],
            active_files: vec!["a.js".to_owned()],
            notes: Some("store the choice".to_owned()),
        };
        self.messages.checkpoint(&self.identity, body).await.unwrap();
    }

    pub(super) fn submission(&self, unit: &str) -> SubmitWork {
        SubmitWork {
            task_id: self.task,
            agent_role: self.role.clone(),
            work_unit_id: unit.to_owned(),
            artifact_path: "a.rs".to_owned(),
            summary: "all of it".to_owned(),
            metadata: None,
        }
    }
}

pub(super) async fn until_implementation(world: &RequestFixture) -> RequestView {
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    view
}
