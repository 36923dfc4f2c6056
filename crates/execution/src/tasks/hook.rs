//! Creation of tasks that belong to a request.

use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::ids::TaskId;
use cynode_domain::start::Trigger;
use cynode_resources::Caller;
use cynode_store::{Task, Tx};
use cynode_wire::tasks::{CreateTask, TaskView};

use super::{TaskError, TaskService};

/// What a creation does in its transaction beside inserting the task. An error inserts nothing.
#[async_trait]
pub trait CreationHook: Send + Sync {
    /// Distinguishes requests with the same idempotency key, in addition to the hash of the task.
    fn fingerprint(&self) -> Option<String> {
        None
    }

    /// The request whose child the task becomes: its run belongs to the trace of the request.
    fn parent(&self) -> Option<TaskId> {
        None
    }

    /// Runs before the task is inserted.
    async fn before(&self, tx: &mut Tx) -> Result<(), TaskError>;

    /// Runs after the task was inserted.
    async fn after(&self, tx: &mut Tx, task: &Task) -> Result<(), TaskError>;
}

impl TaskService {
    /// Creates a task of a request, together with what the hook writes.
    pub async fn create_with_hook(
        &self,
        caller: &Caller,
        request: CreateTask,
        hook: Arc<dyn CreationHook>,
    ) -> Result<TaskView, TaskError> {
        let prepared = self.prepare_creation(caller, Trigger::Request, None, request, None);
        let mut new = prepared.await?;
        new.hook = Some(hook);
        self.insert_creation(new).await
    }
}
