//! Creating a task. A task that names its work is runnable at once: no separate start.

use std::collections::BTreeSet;
use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cynode_domain::ids::{ArtifactId, NodeId, ScheduleRunId, TaskId, UserId};
use cynode_domain::name::Slug;
use cynode_domain::plan::InputMode;
use cynode_domain::start::Trigger;
use cynode_domain::status::TaskStatus;
use cynode_store::{
    Artifact, ArtifactStore, NewTask, Node, NodeStore, ScheduleRunStore, ScheduledTaskStore, Task,
    TaskOptions, TaskStore, Tx,
};
use cynode_wire::tasks::{Attachment, CreateTask, TaskView};
use futures_util::stream;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::check::{MAX_ATTACHMENT_BYTES, faults, is_id};
use super::{TaskError, Tasks, find, lock, start, view};
use crate::Caller;
use crate::artifacts::ATTACHMENT;
use crate::projects::{self, ProjectError};
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;

/// How much of a request becomes its name.
const NAME_CHARS: usize = 40;
/// Two creations with one name race for the next number; the loser tries again. Each try waits for a
/// winner, so that even many at once need few.
const NAME_TRIES: usize = 200;

impl Tasks {
    /// Creates a task for somebody who asks through the API and, with it, the run that a runner will
    /// claim.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        self.create_by(caller, Trigger::Api, request).await
    }

    /// The same, whatever asks for it.
    pub async fn create_by(
        &self,
        caller: &Caller,
        trigger: Trigger,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        self.create_as(caller, (trigger, None), request).await
    }

    /// The same for a run of a schedule, with which it stays connected.
    pub async fn create_for_schedule(
        &self,
        caller: &Caller,
        run: ScheduleRunId,
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        self.create_as(caller, (Trigger::Schedule, Some(run)), request).await
    }

    /// Makes all tasks of a run of a schedule, in one transaction and once: where they were made before,
    /// those are given, whatever is asked for now.
    pub async fn create_all_for_schedule(
        &self,
        caller: &Caller,
        run: ScheduleRunId,
        requests: Vec<CreateTask>,
    ) -> Result<Vec<TaskView>, TaskError> {
        let mut all = vec![];
        for request in requests {
            all.push(self.creation(caller, (Trigger::Schedule, Some(run)), request).await?);
        }
        let caller = caller.clone();
        let made = self.store.write(move |tx| Box::pin(insert_all(tx, caller, run, all))).await?;
        self.signals.send(Topic::Runs);
        Ok(made)
    }

    async fn create_as(
        &self,
        caller: &Caller,
        (trigger, schedule_run): (Trigger, Option<ScheduleRunId>),
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        let new = self.creation(caller, (trigger, schedule_run), request).await?;
        let created = self.store.write(move |tx| Box::pin(new.insert(tx))).await?;
        self.signals.send(Topic::Runs);
        Ok(created)
    }

    /// What is made, checked as far as that needs no transaction.
    async fn creation(
        &self,
        caller: &Caller,
        (trigger, schedule_run): (Trigger, Option<ScheduleRunId>),
        request: CreateTask,
    ) -> Result<Creation, TaskError> {
        let request = request.without_secrets();
        let faults = faults(&request);
        if !faults.is_empty() {
            return Err(TaskError::Invalid(faults));
        }
        let attachments = self.store_attachments(&request.attachments).await?;
        Ok(Creation {
            caller: caller.clone(),
            trigger,
            schedule_run,
            id: TaskId::generate(),
            stem: name_of(&request),
            attachments,
            now: self.clock.now(),
            request,
        })
    }

    async fn store_attachments(
        &self,
        attachments: &[Attachment],
    ) -> Result<Vec<Artifact>, TaskError> {
        let mut stored = vec![];
        for attachment in attachments {
            let content = STANDARD.decode(&attachment.content_base64).unwrap_or_default();
            let piece = Ok::<_, Infallible>(Bytes::from(content));
            let blob = self.blobs.put(stream::iter([piece]), MAX_ATTACHMENT_BYTES as u64).await?;
            stored.push(Artifact {
                id: ArtifactId::generate(),
                // Replaced by the task's id when the row is written.
                task: TaskId::generate(),
                job: None,
                kind: ATTACHMENT.to_owned(),
                path: attachment.name.clone(),
                size_bytes: blob.size_bytes,
                sha256: blob.sha256,
                created_at: self.clock.now(),
            });
        }
        Ok(stored)
    }
}

/// Makes all, unless that was done before.
async fn insert_all(
    tx: &mut Tx,
    caller: Caller,
    run: ScheduleRunId,
    all: Vec<Creation>,
) -> Result<Vec<TaskView>, TaskError> {
    let mut views = vec![];
    if tx.schedule_run_make(run).await? {
        for new in all {
            views.push(new.insert(tx).await?);
        }
        return Ok(views);
    }
    let of = tx.schedule_run_get(run).await?.filter(|run| run.made_at.is_some());
    let over = "the run of the schedule is over: no task is made for it any more";
    let of = of.ok_or_else(|| TaskError::Invalid(vec![over.to_owned()]))?;
    for made in tx.scheduled_task_list(of.schedule, (run, run)).await? {
        let task = find(tx, &caller, &made.task.to_string()).await?;
        views.push(view(tx, task).await?);
    }
    Ok(views)
}

/// Everything one creation needs inside its transaction.
struct Creation {
    caller: Caller,
    trigger: Trigger,
    schedule_run: Option<ScheduleRunId>,
    id: TaskId,
    stem: Slug,
    attachments: Vec<Artifact>,
    now: chrono::DateTime<chrono::Utc>,
    request: CreateTask,
}

impl Creation {
    async fn insert(self, tx: &mut Tx) -> Result<TaskView, TaskError> {
        let task = self.task_made(tx).await?;
        if let Some(run) = self.schedule_run {
            tx.scheduled_task_add(run, task.asked.id).await?;
        }
        view(tx, task).await
    }

    /// The task, new or known.
    async fn task_made(&self, tx: &mut Tx) -> Result<Task, TaskError> {
        if let Some(known) = self.known(tx).await? {
            return Ok(known);
        }
        if let Some(known) = self.insert_row(tx).await? {
            return Ok(known);
        }
        self.insert_dependencies(tx).await?;
        for artifact in &self.attachments {
            tx.artifact_put(&Artifact { task: self.id, ..artifact.clone() }).await?;
        }
        let task = find(tx, &self.caller, &self.id.to_string()).await?;
        start::request(tx, &task, self.trigger).await?;
        Ok(task)
    }

    /// The task that an earlier request with the same key created.
    async fn known(&self, tx: &mut Tx) -> Result<Option<Task>, TaskError> {
        let Some(key) = &self.request.idempotency_key else { return Ok(None) };
        known_by_key(tx, self.caller.user, key, &request_hash(&self.request)).await
    }

    /// Writes the task under the first free name of its stem, unless a request with the same key
    /// was faster: then gives that one's task.
    async fn insert_row(&self, tx: &mut Tx) -> Result<Option<Task>, TaskError> {
        let mut task = self.task(tx).await?;
        for _ in 0..NAME_TRIES {
            let highest = tx.task_highest_number(self.caller.user, self.stem.as_str()).await?;
            task.name = self.stem.numbered(highest + 1).to_string();
            if tx.task_insert(&task).await? {
                if task.idempotency_key.is_some() {
                    tx.task_set_request_hash(task.id, &request_hash(&self.request)).await?;
                }
                return Ok(None);
            }
            if let Some(known) = self.known(tx).await? {
                return Ok(Some(known));
            }
        }
        let fault = format!("no free name could be found for \"{}\": choose another", self.stem);
        Err(TaskError::Invalid(vec![fault]))
    }

    async fn task(&self, tx: &mut Tx) -> Result<NewTask, TaskError> {
        let project = match &self.request.project {
            Some(wanted) => projects::find(tx, &self.caller, wanted).await?,
            None => projects::default_of(tx, self.caller.user, self.now).await?,
        };
        if !project.is_active {
            let fault = format!("project \"{}\" takes no new tasks", project.slug);
            return Err(ProjectError::Invalid(vec![fault]).into());
        }
        let request = &self.request;
        Ok(NewTask {
            id: self.id,
            created_by: self.caller.user,
            project: project.id,
            name: String::new(),
            input_mode: request.input_mode,
            prompt: request.prompt.clone(),
            commands: request.commands.clone(),
            acceptance_criteria: request.acceptance_criteria.clone(),
            options: TaskOptions {
                expected_outputs: request.expected_outputs.clone(),
                step_criteria: request.step_criteria.clone(),
                limits: request.limits,
                retry_interrupted: request.retry_interrupted,
                max_attempts: request.max_attempts,
                approve_plan: request.approve_plan,
                answer_within_s: request.answer_within_s,
                node: match &request.node {
                    Some(wanted) => Some(node_named(tx, wanted).await?),
                    None => None,
                },
            },
            idempotency_key: request.idempotency_key.clone(),
            created_at: self.now,
        })
    }

    /// What it waits for is locked, in one order by everybody, so that none of it closes unseen.
    async fn insert_dependencies(&self, tx: &mut Tx) -> Result<(), TaskError> {
        let mut wanted = BTreeSet::new();
        for name in &self.request.depends_on {
            wanted.insert(find(tx, &self.caller, name).await?.asked.id);
        }
        for id in wanted {
            let on = lock(tx, id).await?;
            if on.status.is_terminal() && on.status != TaskStatus::Completed {
                let status = on.status.shown();
                return Err(TaskError::DeadDependency { name: on.asked.name, status });
            }
            tx.dependency_insert(self.id, id).await?;
        }
        Ok(())
    }
}

/// The user's task with an idempotency key. It is an error if it was made by another request than that
/// with this hash; of tasks of older versions that is not known.
pub(super) async fn known_by_key(
    tx: &mut Tx,
    user: UserId,
    key: &str,
    hash: &str,
) -> Result<Option<Task>, TaskError> {
    let Some(known) = tx.task_by_key(user, key).await? else { return Ok(None) };
    match tx.task_request_hash(known.asked.id).await? {
        Some(made_by) if made_by != hash => {
            Err(TaskError::KeyReused { key: key.to_owned(), name: known.asked.name })
        }
        _ => Ok(Some(known)),
    }
}

/// What a request asks for, its idempotency key aside. What is absent and what is empty is the same, so
/// that a field that a later version adds changes no hash.
fn request_hash(request: &CreateTask) -> String {
    let mut fields = serde_json::to_value(request).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("idempotency_key");
        fields.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::String(text) => !text.is_empty(),
            Value::Bool(true) | Value::Number(_) => true,
        });
    }
    hex::encode(Sha256::digest(fields.to_string()))
}

/// The node that a task must run on. It may be away: then the task waits for it.
pub(crate) async fn node_named(tx: &mut Tx, wanted: &str) -> Result<NodeId, TaskError> {
    let nodes = tx.node_list().await?;
    let is_it =
        |node: &&Node| node.slug.eq_ignore_ascii_case(wanted) || node.id.to_string() == wanted;
    if let Some(node) = nodes.iter().find(is_it) {
        return Ok(node.id);
    }
    let wanted: String = wanted.chars().take(100).collect();
    let known: Vec<_> = nodes.iter().take(50).map(|node| node.slug.as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(TaskError::Invalid(vec![format!("there is no node \"{wanted}\"; there are: {known}")]))
}

/// The asked-for name, or one made from what is to be done.
fn name_of(request: &CreateTask) -> Slug {
    let text = match (&request.task_name, request.input_mode) {
        (Some(name), _) => name.clone(),
        // A name is shown wherever the task is; its commands are not.
        (None, InputMode::Commands) => request.commands.join(" ").without_secrets(),
        (None, InputMode::Script) => "script".to_owned(),
        (None, InputMode::Prompt) => request.prompt.clone(),
    };
    let short: String = match request.task_name {
        Some(_) => text,
        None => text.chars().take(NAME_CHARS).collect(),
    };
    Slug::normalise(&short).ok().filter(|slug| !is_id(slug)).unwrap_or_else(Slug::task)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: serde_json::Value) -> CreateTask {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn a_name_is_made_from_the_work() {
        let request =
            request(serde_json::json!({ "input_mode": "commands", "commands": ["echo Hello!"] }));

        assert_eq!(name_of(&request).as_str(), "echo-hello");
    }

    #[test]
    fn a_name_holds_no_secret_of_a_command() {
        let line = "mysql -u root -phunter2hunter2 shop";
        let request = request(serde_json::json!({ "input_mode": "commands", "commands": [line] }));

        let name = name_of(&request);
        assert!(name.as_str().starts_with("mysql") && !name.as_str().contains("hunter"), "{name}");
    }

    #[test]
    fn a_request_without_letters_is_still_named() {
        let request = request(serde_json::json!({ "prompt": "…" }));

        assert_eq!(name_of(&request).as_str(), "task");
    }
}
