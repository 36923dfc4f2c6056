//! The fixture: a user with a project, and helpers to add more.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::agent_profile::AgentSelection;
use cynode_domain::criteria::Criterion;
use cynode_domain::git::TaskRepository;
use cynode_domain::ids::{IncarnationId, JobId, NodeId, ProjectId, RunId, TaskId, TraceId, UserId};
use cynode_domain::job::Limits;
use cynode_domain::plan::{InputMode, StepCriterion};
use cynode_domain::status::{NodeStatus, RunStatus};
use cynode_domain::task_options::TaskOptions;
use cynode_store::{Error, NewJob, NewTask, Node, Project, Run, Store, Task, User};
use serde_json::json;

/// Runs a body in one write transaction and returns its result.
macro_rules! try_write_tx {
    ($store:expr, $tx:ident => $body:expr) => {
        $store.write(move |$tx| Box::pin(async move { $body })).await
    };
}

/// As `try_write_tx!`; panics on an error.
macro_rules! write_tx {
    ($store:expr, $tx:ident => $body:expr) => {
        try_write_tx!($store, $tx => $body).unwrap()
    };
}

/// Runs a body on one snapshot; panics on an error.
macro_rules! read_tx {
    ($store:expr, $tx:ident => $body:expr) => {
        $store.read(move |$tx| Box::pin(async move { $body })).await.unwrap()
    };
}

/// A store with one user and one project.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) user: UserId,
    pub(crate) project: ProjectId,
}

impl World {
    pub(crate) async fn new(store: Store) -> Self {
        let user = user("ada");
        let project = project("engine", user.id);
        let (owner, id) = (user.id, project.id);
        write_tx!(store, tx => {
            tx.user_insert(&user).await?;
            tx.project_insert(&project).await
        });
        Self { store, user: owner, project: id }
    }

    pub(crate) async fn other_user(&self, handle: &str) -> UserId {
        let user = user(handle);
        let id = user.id;
        write_tx!(self.store, tx => tx.user_insert(&user).await);
        id
    }

    pub(crate) fn new_task(&self, name: &str) -> NewTask {
        NewTask {
            id: TaskId::generate(),
            created_by: self.user,
            project: self.project,
            profile_id: None,
            name: name.to_owned(),
            input_mode: InputMode::Commands,
            prompt: String::new(),
            commands: vec!["echo hello".to_owned()],
            acceptance_criteria: vec![Criterion::ExitCode { equals: 0 }],
            options: TaskOptions {
                expected_outputs: vec!["out.txt".to_owned()],
                step_criteria: vec![StepCriterion {
                    step_index: 0,
                    criterion: Criterion::Text { description: "it greets".to_owned() },
                }],
                limits: Limits::default(),
                retry_interrupted: true,
                max_attempts: Some(3),
                approve_plan: true,
                answer_within_s: Some(60),
                node: Some(NodeId::generate()),
                repository: Some(TaskRepository {
                    url: "https://git.example/app".to_owned().try_into().unwrap(),
                    base_branch: None,
                    branch: Some("cynode/app".parse().unwrap()),
                    commit_subject: None,
                    credential: None,
                }),
                node_labels: std::collections::BTreeMap::new(),
                image: None,
                builds_on: vec![],
                mark_conflicts: false,
                push: None,
                trigger: Some(cynode_domain::start::Trigger::Api),
                agent: Some(AgentSelection {
                    profile: "opencode".parse().unwrap(),
                    is_canary: true,
                }),
                model_hint: Some("fast".to_owned()),
            },
            idempotency_key: None,
            created_at: at(0),
        }
    }

    pub(crate) async fn task(&self, name: &str) -> TaskId {
        self.add(self.new_task(name)).await.unwrap()
    }

    /// Adds a task; `None` if its name or key is taken.
    pub(crate) async fn add(&self, task: NewTask) -> Option<TaskId> {
        let id = task.id;
        write_tx!(self.store, tx => tx.task_insert(&task).await).then_some(id)
    }

    pub(crate) async fn task_now(&self, id: TaskId) -> Task {
        read_tx!(self.store, tx => tx.task_get(id).await).unwrap()
    }

    /// A task with a run that waits for a runner.
    pub(crate) async fn run(&self, name: &str) -> Run {
        let task = self.task(name).await;
        self.run_of(task).await
    }

    pub(crate) async fn run_of(&self, task: TaskId) -> Run {
        let run = new_run(task);
        write_tx!(self.store, tx => tx.run_insert(&run).await);
        run
    }

    pub(crate) async fn node(&self, slug: &str) -> NodeId {
        let node = new_node(slug);
        write_tx!(self.store, tx => tx.node_register(&node).await)
    }

    pub(crate) async fn job(&self, run: &Run, step_index: u32) -> JobId {
        let job = new_job(run, step_index, 1);
        write_tx!(self.store, tx => tx.job_insert(&job).await).0
    }

    /// A job that was assigned to a node and started, under a lease.
    pub(crate) async fn running_job(
        &self,
        run: &Run,
        step_index: u32,
        node: NodeId,
        lease_ms: u32,
    ) -> JobId {
        let job = self.job(run, step_index).await;
        write_tx!(self.store, tx => {
            tx.job_assign(job, node).await?;
            tx.job_start(job, node, process_of(node), lease_ms).await
        });
        job
    }
}

pub(crate) fn user(handle: &str) -> User {
    let (id, created_at) = (UserId::generate(), at(0));
    User { id, handle: handle.to_owned(), is_admin: false, is_active: true, created_at }
}

pub(crate) fn project(slug: &str, owner: UserId) -> Project {
    Project {
        id: ProjectId::generate(),
        slug: slug.to_owned(),
        display_name: slug.to_uppercase(),
        description: "about it".to_owned(),
        owner,
        group: None,
        is_default: false,
        is_active: true,
        repository: None,
        created_at: at(0),
        updated_at: at(1),
    }
}

pub(crate) fn new_run(task: TaskId) -> Run {
    let (id, trace) = (RunId::generate(), TraceId::generate());
    Run { id, task, trace, status: RunStatus::Pending }
}

pub(crate) fn new_job(run: &Run, step_index: u32, attempt: u32) -> NewJob {
    NewJob {
        id: JobId::generate(),
        task: run.task,
        run: run.id,
        step_index,
        attempt,
        pinned_node: None,
        payload: json!({"line": "echo hello"}),
    }
}

pub(crate) fn new_node(slug: &str) -> Node {
    Node {
        id: NodeId::generate(),
        slug: slug.to_owned(),
        status: NodeStatus::Registered,
        token_hash: format!("token of {slug}").into_bytes(),
        public_key: Some(format!("key of {slug}").into_bytes()),
        is_key_revoked: false,
        capabilities: json!({"cores": 2}),
        sandbox_supported: true,
        max_concurrency: 4,
        machine_load: None,
        open_jobs: 0,
        incarnation: None,
        last_seen_at: None,
        created_at: at(0),
    }
}

/// A time that both engines store exactly: they have microsecond resolution.
pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + seconds, 123_456_000).unwrap()
}

/// Polls until another clock or process has caught up; fails after a timeout.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(mut look: impl FnMut() -> F) -> T {
    let seen = async {
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), seen).await.unwrap()
}

/// An error and all its causes, as a log shows them.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// The process of a node in these tests.
pub(crate) fn process_of(node: NodeId) -> IncarnationId {
    node.as_uuid().into()
}
