//! A task with running agents.

use chrono::Utc;
use cynode_blobs::BlobStore;
use cynode_domain::agent::Role;
use cynode_domain::ids::{JobId, MessageId, RunId, TaskId, TokenId, TraceId};
use cynode_domain::policy::Principal;
use cynode_domain::status::RunStatus;
use cynode_execution::TaskService;
use cynode_ops::{AgentMessages, WorkService};
use cynode_resources::Signals;
use cynode_resources::{agents::AgentIdentity, agents::JobAgent, agents::TokenOrigin};
use cynode_store::{ListedProfiles, NewJob, Run};
use cynode_wire::apmas::{
    CompleteAgent, GetContext, Heartbeat, HeartbeatView, InstructAgent, MessageQuery, ReportToPm,
};
use cynode_wire::page::Page;
use cynode_wire::tasks::CreateTask;
use serde_json::{Value, json};

use crate::world::World;

/// One task of bob's, with its agents and its manager.
pub(crate) struct Team {
    pub(crate) world: World,
    pub(crate) messages: AgentMessages,
    pub(crate) work: WorkService,
    pub(crate) tasks: TaskService,
    pub(crate) task: TaskId,
}

impl Team {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        let signals = Signals::new(world.store.engine());
        let blobs = BlobStore::new(world.data.path().join("blobs"));
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let tasks = TaskService::new(store.clone(), clock.clone(), signals.clone(), blobs);
        let messages = AgentMessages::new(store.clone(), clock.clone(), signals.clone());
        let work = WorkService::new(store, clock, signals);
        let request = json!({ "input_mode": "commands", "commands": ["true"] });
        let request: CreateTask = serde_json::from_value(request).unwrap();
        let task = tasks.create(&world.bob, request).await.unwrap().id;
        Self { world, messages, work, tasks, task }
    }

    /// Another task of bob's.
    pub(crate) async fn other_task(&self) -> TaskId {
        let request = json!({ "input_mode": "commands", "commands": ["true"] });
        let request: CreateTask = serde_json::from_value(request).unwrap();
        self.tasks.create(&self.world.bob, request).await.unwrap().id
    }

    /// A caller with its own token that is bound to no job.
    pub(crate) fn agent(&self) -> AgentIdentity {
        self.agent_of(self.task)
    }

    /// The same on another task.
    pub(crate) fn agent_of(&self, task: TaskId) -> AgentIdentity {
        AgentIdentity {
            token_id: TokenId::generate(),
            agent: Principal::SANDBOX,
            user: self.world.bob.user,
            caller: self.world.bob.clone(),
            groups: vec![],
            roles: vec![],
            project: None,
            task: Some(task),
            run: None,
            job: None,
            session: None,
            origin: TokenOrigin::default(),
            job_agent: JobAgent::default(),
            profile_id: None,
            expires_at: None::<chrono::DateTime<Utc>>,
        }
    }

    /// An agent in a job of its own.
    pub(crate) async fn in_job(&self, attempt: u32) -> AgentIdentity {
        let run = Run {
            id: RunId::generate(),
            task: self.task,
            trace: TraceId::generate(),
            status: RunStatus::Pending,
        };
        let job = NewJob {
            id: JobId::generate(),
            task: self.task,
            run: run.id,
            step_index: 0,
            attempt,
            pinned_node: None,
            payload: json!({}),
        };
        let id = job.id;
        self.world
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.run_insert(&run).await?;
                    tx.job_insert(&job).await.map(drop)
                })
            })
            .await
            .map_err(|fault: cynode_resources::StoreError| fault)
            .unwrap();
        AgentIdentity { job: Some(id), ..self.agent() }
    }

    pub(crate) fn beat(&self, role: &str) -> Heartbeat {
        Heartbeat {
            task_id: self.task,
            agent_role: Some(named(role)),
            status: cynode_domain::agent::Activity::Working,
            progress: None,
            estimated_context_usage: None,
            acknowledge: vec![],
        }
    }

    pub(crate) async fn heartbeat(&self, who: &AgentIdentity, role: &str) -> HeartbeatView {
        self.messages.record_heartbeat(who, self.beat(role)).await.unwrap()
    }

    pub(crate) fn report(&self, kind: &str, payload: Value) -> ReportToPm {
        ReportToPm {
            task_id: self.task,
            agent_role: named("developer"),
            message_type: kind.to_owned(),
            component: "auth".to_owned(),
            payload,
            idempotency_key: None,
        }
    }

    pub(crate) fn done(&self, summary: &str) -> ReportToPm {
        self.report("work_completed", json!({ "summary": summary }))
    }

    pub(crate) fn completion(&self, role: &str) -> CompleteAgent {
        CompleteAgent {
            task_id: self.task,
            agent_role: named(role),
            summary: "all of it".to_owned(),
            artifacts: vec!["a.rs".to_owned()],
            notes: None,
        }
    }

    pub(crate) async fn instruct(&self, role: &str, kind: &str) -> MessageId {
        let request = self.instruction(role, kind);
        self.messages.send_instruction(&self.world.bob, request).await.unwrap().id
    }

    pub(crate) fn instruction(&self, role: &str, kind: &str) -> InstructAgent {
        InstructAgent {
            task_id: self.task,
            to_agent: named(role),
            instruction_type: kind.parse().unwrap(),
            instructions: format!("please {kind}"),
            context: None,
            idempotency_key: None,
        }
    }

    pub(crate) fn context_request(&self, role: Option<&str>) -> GetContext {
        GetContext {
            task_id: self.task,
            agent_role: role.map(named),
            include: None,
            agent_roles: vec![],
            message_limit: None,
        }
    }

    /// What waits for the manager, oldest first, as sender and type.
    pub(crate) async fn inbox(&self) -> Vec<(String, String)> {
        self.inbox_of(self.task).await
    }

    /// The same about another task.
    pub(crate) async fn inbox_of(&self, task: TaskId) -> Vec<(String, String)> {
        let query =
            MessageQuery { unprocessed: true, oldest_first: true, ..MessageQuery::default() };
        let (bob, profiles) = (&self.world.bob, ListedProfiles::All);
        let Page { items, .. } =
            self.messages.list(bob, None, Some(task), profiles, query).await.unwrap();
        items.into_iter().map(|message| (message.sender, message.subtype)).collect()
    }
}

pub(crate) fn named(role: &str) -> Role {
    role.parse().unwrap()
}
