//! What a task creation writes in its transaction: the task under a free name, its dependencies and its run.

use std::collections::BTreeSet;
use std::sync::Arc;

use cynode_domain::git::BranchName;
use cynode_domain::git::PushOrder;
use cynode_domain::git::TaskRepository;
use cynode_domain::ids::{NodeId, ProfileId, ProjectId, ScheduleRunId, TaskId, UserId};
use cynode_domain::name::Slug;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::plan::InputMode;
use cynode_domain::start::Trigger;
use cynode_domain::status::TaskStatus;
use cynode_domain::task_options::TaskOptions;
use cynode_domain::text::truncate_chars;
use cynode_store::{NewTask, Node, Task, Tx};
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::agent::select_agent;
use super::attachments::TaskAttachments;
use super::builds_on::ResolvedSources;
use super::hook::CreationHook;
use super::validation::parses_as_task_id;
use super::view::{TaskRelations, task_view, view};
use super::{TaskError, find, lock_task, scope_of, start};
use crate::artifacts::{NewFile, StorageLimits};
use cynode_resources::Caller;
use cynode_resources::allowed_images::AllowedImages;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::{profiles, projects};

/// How many characters of a request become the default name.
const NAME_CHARS: usize = 40;
/// Concurrent creations race for the next free number of a name; the loser retries. Each retry waits for the
/// winner, so that few retries suffice.
const NAME_TRIES: usize = 200;

/// Everything that one creation needs inside its transaction.
pub(super) struct TaskCreation {
    pub(super) caller: Caller,
    pub(super) trigger: Trigger,
    pub(super) schedule_run: Option<ScheduleRunId>,
    pub(super) id: TaskId,
    pub(super) stem: Slug,
    pub(super) attachments: Vec<NewFile>,
    pub(super) storage_limits: StorageLimits,
    pub(super) now: chrono::DateTime<chrono::Utc>,
    pub(super) request: CreateTask,
    /// The repository that the request names, or that of the project that it selects.
    pub(super) repository: Option<TaskRepository>,
    pub(super) sources: ResolvedSources,
    /// The push that the task is.
    pub(super) push: Option<PushOrder>,
    /// Whether the task is a canary run of its agent profile.
    pub(super) is_canary: bool,
    /// Further writes of the transaction.
    pub(super) hook: Option<Arc<dyn CreationHook>>,
}

/// The outcome of an attempt to insert a task.
enum InsertedTask {
    New(Task),
    /// An earlier request with the same key created this one.
    Existing(Task),
}

impl TaskCreation {
    /// The hashes of its attachments.
    pub(super) fn hashes(&self) -> impl Iterator<Item = String> {
        self.attachments.iter().map(|file| file.artifact.sha256.clone())
    }

    /// Inserts the task; the caller inserts the returned attachments before the transaction ends.
    pub(super) async fn insert(
        self,
        tx: &mut Tx,
    ) -> Result<(TaskView, TaskAttachments), TaskError> {
        if let Some(hook) = &self.hook {
            hook.before(tx).await?;
        } else if self.request.input_mode == InputMode::Request {
            let fault = "input_mode \"request\" is for submitted work: use POST /v1/requests";
            return Err(TaskError::Invalid(vec![fault.to_owned()]));
        }
        let (task, scope) = match self.insert_row(tx).await? {
            InsertedTask::New(task) => {
                let scope = scope_of(&task);
                (self.insert_relations(tx, task).await?, Some(scope))
            }
            InsertedTask::Existing(task) => (view(tx, task).await?, None),
        };
        if let Some(run) = self.schedule_run {
            tx.scheduled_task_add(run, task.id).await?;
        }
        let (files, limits) = (self.attachments, self.storage_limits);
        Ok((task, TaskAttachments { scope, files, limits }))
    }

    /// Inserts dependencies and run of a new task. The view contains what was written; nothing is read back.
    async fn insert_relations(&self, tx: &mut Tx, task: Task) -> Result<TaskView, TaskError> {
        let depends_on = self.insert_dependencies(tx, &task).await?;
        // The child tasks of a request have runs; it waits for them without one.
        let run = match self.request.input_mode {
            InputMode::Request => None,
            InputMode::Prompt | InputMode::Script | InputMode::Commands | InputMode::Agent => {
                let parent = self.hook.as_ref().and_then(|hook| hook.parent());
                Some(start::insert_run(tx, &task, self.trigger, parent).await?)
            }
        };
        if let Some(hook) = &self.hook {
            hook.after(tx, &task).await?;
        }
        let required: Vec<NodeId> = task.spec.options.node.into_iter().collect();
        let node = tx.node_summaries(&required).await?.into_values().next().map(|node| node.slug);
        let relations = TaskRelations { depends_on, run, node, ..TaskRelations::default() };
        Ok(task_view(task, relations))
    }

    /// Loads the task that an earlier request with the same key created.
    async fn load_existing(&self, tx: &mut Tx) -> Result<Option<Task>, TaskError> {
        let Some(key) = &self.request.idempotency_key else { return Ok(None) };
        load_by_idempotency_key(tx, self.caller.user, key, &self.request_hash()).await
    }

    /// Hashes the request, with what its hook writes.
    fn request_hash(&self) -> String {
        let hash = request_hash(&self.request);
        match self.hook.as_ref().and_then(|hook| hook.fingerprint()) {
            Some(more) => hex::encode(Sha256::digest(format!("{hash}\n{more}"))),
            None => hash,
        }
    }

    /// Names the branch of the task's changes after the task, unless the request names one.
    fn name_branch(&self, task: &mut NewTask) {
        let Some(repository) = &mut task.options.repository else { return };
        let requested = self.repository.as_ref();
        repository.branch = requested
            .and_then(|requested| requested.branch.clone())
            .or_else(|| default_branch(&task.name));
    }

    /// Inserts the task under the first free name of its stem, unless an earlier or concurrent request with the
    /// same key created it.
    async fn insert_row(&self, tx: &mut Tx) -> Result<InsertedTask, TaskError> {
        if let Some(known) = self.load_existing(tx).await? {
            return Ok(InsertedTask::Existing(known));
        }
        let mut task = self.build_new_task(tx).await?;
        for _ in 0..NAME_TRIES {
            let highest = tx.task_highest_number(self.caller.user, self.stem.as_str()).await?;
            task.name = self.stem.numbered(highest + 1).to_string();
            self.name_branch(&mut task);
            if tx.task_insert(&task).await? {
                if task.idempotency_key.is_some() {
                    tx.task_set_request_hash(task.id, &self.request_hash()).await?;
                }
                return Ok(InsertedTask::New(Task::from_new(task)));
            }
            if let Some(known) = self.load_existing(tx).await? {
                return Ok(InsertedTask::Existing(known));
            }
        }
        let fault = format!("no free name was found for \"{}\": choose another", self.stem);
        Err(TaskError::Invalid(vec![fault]))
    }

    async fn build_new_task(&self, tx: &mut Tx) -> Result<NewTask, TaskError> {
        let project = match &self.request.project {
            Some(name_or_id) => projects::find(tx, &self.caller, &name_or_id.into()).await?,
            None => {
                projects::load_or_create_default_project(tx, self.caller.user, self.now).await?
            }
        };
        projects::require_active(&project)?;
        let request = &self.request;
        let profile_id = self.resolve_profile(tx, project.id).await?;
        Ok(NewTask {
            id: self.id,
            created_by: self.caller.user,
            project: project.id,
            profile_id,
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
                    Some(name_or_id) => Some(find_required_node(tx, name_or_id).await?),
                    None => self.sources.node.filter(|_| request.node_labels.is_empty()),
                },
                node_labels: request.node_labels.clone(),
                image: self.check_image(tx).await?,
                repository: self.repository.clone(),
                builds_on: self.sources.changes.clone(),
                mark_conflicts: request.mark_conflicts,
                push: self.push.clone(),
                agent: select_agent(tx, request, self.is_canary).await?,
                model_hint: request.model_hint.clone(),
                trigger: Some(self.trigger),
            },
            idempotency_key: request.idempotency_key.clone(),
            created_at: self.now,
        })
    }

    /// The profile that the request names, kept until the transaction ends; `None` for the default one.
    async fn resolve_profile(
        &self,
        tx: &mut Tx,
        project: ProjectId,
    ) -> Result<Option<ProfileId>, TaskError> {
        let Some(name) = &self.request.profile else { return Ok(None) };
        let name: NameOrId<ProfileId> = name.into();
        let profile = profiles::resolve_for_write(tx, &self.caller, project, Some(&name)).await?;
        Ok((!profile.is_default).then_some(profile.id))
    }

    /// The image of the jobs, which must be allowed. A push runs in no sandbox.
    async fn check_image(&self, tx: &mut Tx) -> Result<Option<String>, TaskError> {
        let image = self.request.image.as_deref();
        if self.push.is_none() {
            let allowed = AllowedImages::load(tx).await?.check(tx, image).await?;
            allowed.map_err(|refused| TaskError::Invalid(vec![refused.to_string()]))?;
        }
        Ok(image.map(str::to_owned))
    }

    /// Locks the dependencies in id order, so that none of them closes concurrently. Returns them in this order.
    async fn insert_dependencies(
        &self,
        tx: &mut Tx,
        task: &Task,
    ) -> Result<Vec<TaskId>, TaskError> {
        let mut dependencies = BTreeSet::new();
        for name in &self.request.depends_on {
            let name_or_id = NameOrId::<TaskId>::from(name);
            let found = find(tx, &self.caller, &name_or_id).await?;
            // To an agent, tasks of other profiles do not exist.
            if self.trigger == Trigger::Chat && found.spec.profile_id != task.spec.profile_id {
                return Err(TaskError::NotFound(name_or_id.excerpt()));
            }
            dependencies.insert(found.spec.id);
        }
        for &id in &dependencies {
            let on = lock_task(tx, id).await?;
            if on.status.is_terminal() && on.status != TaskStatus::Completed {
                let status = on.status.to_shown();
                return Err(TaskError::ClosedDependency { name: on.spec.name, status });
            }
            tx.dependency_insert(self.id, id).await?;
        }
        Ok(dependencies.into_iter().collect())
    }
}

/// The branch for the changes of a task that names none.
pub(super) fn default_branch(task_name: &str) -> Option<BranchName> {
    format!("cynode/{task_name}").parse().ok()
}

/// Loads the user's task with an idempotency key. Fails if a request with another hash created it; tasks of older
/// versions have no hash and always match.
pub(super) async fn load_by_idempotency_key(
    tx: &mut Tx,
    user: UserId,
    key: &str,
    hash: &str,
) -> Result<Option<Task>, TaskError> {
    let Some(known) = tx.task_by_key(user, key).await? else { return Ok(None) };
    match tx.task_request_hash(known.spec.id).await? {
        Some(made_by) if made_by != hash => {
            Err(TaskError::KeyReused { key: key.to_owned(), name: known.spec.name })
        }
        _ => Ok(Some(known)),
    }
}

/// Hashes a request without its idempotency key. Absent and empty values are equal, so that a field added in a later
/// version does not change the hash; except `project_repository`, which selects the repository of the project if it is
/// empty.
fn request_hash(request: &CreateTask) -> String {
    let mut fields = serde_json::to_value(request).unwrap_or_default();
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("idempotency_key");
        fields.retain(|name, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty() || name == "project_repository",
            Value::String(text) => !text.is_empty(),
            Value::Bool(true) | Value::Number(_) => true,
        });
    }
    hex::encode(Sha256::digest(fields.to_string()))
}

/// Finds the node that a task must run on, by slug or id. The node may be offline; the task then waits for it.
pub async fn find_required_node(tx: &mut Tx, name_or_id: &str) -> Result<NodeId, TaskError> {
    let nodes = tx.node_list().await?;
    let is_it = |node: &&Node| {
        node.slug.eq_ignore_ascii_case(name_or_id) || node.id.to_string() == name_or_id
    };
    if let Some(node) = nodes.iter().find(is_it) {
        return Ok(node.id);
    }
    let name_or_id = truncate_chars(name_or_id, 100);
    let known: Vec<_> = nodes.iter().take(50).map(|node| node.slug.as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(TaskError::Invalid(vec![format!("there is no node \"{name_or_id}\"; there are: {known}")]))
}

/// The requested name, or one derived from the prompt or commands.
pub(super) fn derive_task_name(request: &CreateTask) -> Slug {
    let text = match (&request.task_name, request.input_mode) {
        (Some(name), _) => name.clone(),
        // Names are shown more widely than commands.
        (None, InputMode::Commands) => request.commands.join(" ").redact_secrets(),
        (None, InputMode::Script) => "script".to_owned(),
        (None, InputMode::Prompt | InputMode::Agent | InputMode::Request) => request.prompt.clone(),
    };
    let short = match request.task_name {
        Some(_) => text.as_str(),
        None => truncate_chars(&text, NAME_CHARS),
    };
    Slug::normalise(short)
        .ok()
        .filter(|slug| !parses_as_task_id(slug))
        .unwrap_or_else(Slug::default_task_name)
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

        assert_eq!(derive_task_name(&request).as_str(), "echo-hello");
    }

    #[test]
    fn a_name_holds_no_secret_of_a_command() {
        let line = "mysql -u root -phunter2hunter2 shop";
        let request = request(serde_json::json!({ "input_mode": "commands", "commands": [line] }));

        let name = derive_task_name(&request);
        assert!(name.as_str().starts_with("mysql") && !name.as_str().contains("hunter"), "{name}");
    }

    #[test]
    fn empty_values_are_absent_ones_to_a_hash_and_the_repository_of_a_project_is_not() {
        let hash = |json| request_hash(&request(json));
        let plain = hash(serde_json::json!({ "prompt": "mend it" }));
        let empty = serde_json::json!({ "prompt": "mend it", "depends_on": [], "node_labels": {} });
        let of_project = serde_json::json!({ "prompt": "mend it", "project_repository": {} });

        assert_eq!(hash(empty), plain);
        assert_ne!(hash(of_project), plain);
    }

    #[test]
    fn a_request_without_letters_is_still_named() {
        let request = request(serde_json::json!({ "prompt": "…" }));

        assert_eq!(derive_task_name(&request).as_str(), "task");
    }
}
