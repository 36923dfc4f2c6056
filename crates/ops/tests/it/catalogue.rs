//! The state behind catalogue tools, in an installation with a task of bob.

use cynode_blobs::BlobStore;
use cynode_domain::ids::{JobId, RunId, TraceId};
use cynode_domain::status::{JobStatus, RunStatus};
use cynode_execution::TaskService;
use cynode_execution::findings::FindingService;
use cynode_ops::memory::JobNotes;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::skills::Skills;
use cynode_resources::{Caller, Signals};
use cynode_runs::RunQueries;
use cynode_store::{NewJob, Run};
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::json;

use crate::world::World;

pub(crate) struct Catalogue {
    pub(crate) world: World,
    pub(crate) tasks: TaskService,
    pub(crate) preferences: PreferenceService,
    pub(crate) memory: JobNotes,
    pub(crate) skills: Skills,
    pub(crate) findings: FindingService,
    pub(crate) runs: RunQueries,
    /// A task of bob's.
    pub(crate) task: TaskView,
    pub(crate) eve: Caller,
}

impl Catalogue {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let signals = Signals::new(store.engine());
        let blobs = BlobStore::new(world.data.path().join("blobs"));
        let tasks = TaskService::new(store.clone(), clock.clone(), signals, blobs);
        let request = json!({ "input_mode": "commands", "commands": ["true"] });
        let request: CreateTask = serde_json::from_value(request).unwrap();
        let task = tasks.create(&world.bob, request).await.unwrap();
        Self {
            preferences: PreferenceService::new(store.clone(), clock.clone()),
            memory: JobNotes::new(store.clone(), clock.clone()),
            skills: Skills::new(store.clone(), clock.clone()),
            findings: FindingService::new(store.clone(), clock),
            runs: RunQueries::new(store),
            eve: Caller::on_behalf_of(world.admin.user, "eve".to_owned(), false),
            world,
            tasks,
            task,
        }
    }

    pub(crate) fn bob(&self) -> &Caller {
        &self.world.bob
    }

    /// A job of the task that waits for a node.
    pub(crate) async fn job(&self) -> JobId {
        let (task, run, id) = (self.task.id, RunId::generate(), JobId::generate());
        let (trace, status) = (TraceId::generate(), RunStatus::Pending);
        let job = NewJob {
            id,
            task,
            run,
            step_index: 3,
            attempt: 1,
            pinned_node: None,
            payload: json!({}),
        };
        let made: Result<_, cynode_store::Error> = self
            .world
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.run_insert(&Run { id: run, task, trace, status }).await?;
                    tx.job_insert(&job).await
                })
            })
            .await;
        assert!(made.unwrap().1);
        id
    }

    pub(crate) async fn close(&self, job: JobId) {
        self.close_as(job, JobStatus::Failed).await;
    }

    pub(crate) async fn close_as(&self, job: JobId, status: JobStatus) {
        let closed: Result<_, cynode_store::Error> = self
            .world
            .store
            .write(move |tx| Box::pin(async move { tx.job_close(job, status, None).await }))
            .await;
        assert!(closed.unwrap());
    }
}
