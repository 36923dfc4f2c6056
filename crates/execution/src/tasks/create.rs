//! Task creation. A new task is runnable at once: there is no separate start.

use std::sync::Arc;

use cynode_domain::git::PushOrder;
use cynode_domain::ids::{ScheduleRunId, TaskId};
use cynode_domain::policy::repository_access::RepositoryAction;
use cynode_domain::start::Trigger;
use cynode_store::Tx;
use cynode_wire::tasks::{CreateTask, TaskView};

use super::creation::{TaskCreation, derive_task_name};
use super::hook::CreationHook;
use super::validation::validate_task_request;
use super::view::views;
use super::{TaskError, TaskService, find};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

impl TaskService {
    /// Creates a task for an API caller, with the run that a runner will claim.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        self.create_with_trigger(caller, Trigger::Api, request).await
    }

    /// Same as [`Self::create`], with an explicit trigger.
    pub async fn create_with_trigger(
        &self,
        caller: &Caller,
        trigger: Trigger,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        self.create_task(caller, trigger, None, request).await
    }

    /// Creates a task for a schedule run, linked to that run.
    pub async fn create_for_schedule(
        &self,
        caller: &Caller,
        run: ScheduleRunId,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        self.create_task(caller, Trigger::Schedule, Some(run), request).await
    }

    /// Creates all tasks of a schedule run in one transaction. Idempotent: a repeated call returns the tasks that
    /// the first call created and ignores `requests`.
    pub async fn create_all_for_schedule(
        &self,
        caller: &Caller,
        run: ScheduleRunId,
        requests: Vec<CreateTask>,
    ) -> Result<Vec<TaskView>, TaskError> {
        let mut all = vec![];
        for request in requests {
            let prepared =
                self.prepare_creation(caller, Trigger::Schedule, Some(run), request, None);
            all.push(prepared.await?);
        }
        let (caller, hashes) =
            (caller.clone(), all.iter().flat_map(TaskCreation::hashes).collect());
        let made =
            self.store.write(move |tx| Box::pin(insert_all_tasks(tx, caller, run, all))).await?;
        self.sync_attachments(hashes).await?;
        self.signals.send(Topic::Runs);
        Ok(made)
    }

    /// Creates a task whose only step is a push.
    pub(super) async fn create_push(
        &self,
        caller: &Caller,
        request: CreateTask,
        order: PushOrder,
        hook: Option<Arc<dyn CreationHook>>,
    ) -> Result<TaskView, TaskError> {
        let trigger = if hook.is_some() { Trigger::Request } else { Trigger::Api };
        let new = self.prepare_creation(caller, trigger, None, request, Some(order)).await?;
        self.insert_creation(TaskCreation { hook, ..new }).await
    }

    async fn create_task(
        &self,
        caller: &Caller,
        trigger: Trigger,
        schedule_run: Option<ScheduleRunId>,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        let new = self.prepare_creation(caller, trigger, schedule_run, request, None).await?;
        self.insert_creation(new).await
    }

    pub(super) async fn insert_creation(&self, new: TaskCreation) -> Result<TaskView, TaskError> {
        let hashes = new.hashes().collect();
        let created = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let (created, files) = new.insert(tx).await?;
                    files.insert(tx).await?;
                    Ok::<_, TaskError>(created)
                })
            })
            .await?;
        self.sync_attachments(hashes).await?;
        self.signals.send(Topic::Runs);
        Ok(created)
    }

    /// Validates the request and stages its attachments, outside of the transaction.
    pub(super) async fn prepare_creation(
        &self,
        caller: &Caller,
        trigger: Trigger,
        schedule_run: Option<ScheduleRunId>,
        request: CreateTask,
        push: Option<PushOrder>,
    ) -> Result<TaskCreation, TaskError> {
        let mut request = request.redact_secrets();
        request.limits = request.limits.with_defaults_below(&self.job_ceiling);
        let mut faults = validate_task_request(&request);
        if faults.is_empty() {
            faults = request.limits.errors_above(&self.job_ceiling);
        }
        if !faults.is_empty() {
            return Err(TaskError::Invalid(faults));
        }
        let action = push.as_ref().map_or(RepositoryAction::Clone, |_| RepositoryAction::Push);
        let repository = self.resolve_repository(caller, &request, action).await?;
        let sources = self.resolve_sources(caller, trigger, &request, repository.as_ref()).await?;
        let id = TaskId::generate();
        let attachments = self.stage_attachments(id, &request.attachments).await?;
        Ok(TaskCreation {
            caller: caller.clone(),
            trigger,
            schedule_run,
            id,
            stem: derive_task_name(&request),
            attachments,
            storage_limits: self.storage_limits,
            now: self.clock.now(),
            request,
            repository,
            sources,
            push,
            is_canary: false,
            hook: None,
        })
    }
}

/// Inserts all tasks, or loads those that an earlier call inserted.
async fn insert_all_tasks(
    tx: &mut Tx,
    caller: Caller,
    run: ScheduleRunId,
    all: Vec<TaskCreation>,
) -> Result<Vec<TaskView>, TaskError> {
    if tx.schedule_run_mark_tasks_created(run).await? {
        let (mut created, mut attachments) = (vec![], vec![]);
        for new in all {
            let (task, files) = new.insert(tx).await?;
            created.push(task);
            attachments.push(files);
        }
        // Last: a transaction that holds the lock of a sum waits for no lock of a task.
        for files in attachments {
            files.insert(tx).await?;
        }
        return Ok(created);
    }
    let recorded = tx.schedule_run_get(run).await?;
    if recorded.is_none_or(|run| run.made_at.is_none()) {
        let over = "the schedule run has ended: no more tasks can be created for it";
        return Err(TaskError::Invalid(vec![over.to_owned()]));
    }
    let mut tasks = vec![];
    for made in tx.scheduled_tasks_of(&[run]).await? {
        tasks.push(find(tx, &caller, &made.task.into()).await?);
    }
    views(tx, tasks).await
}
