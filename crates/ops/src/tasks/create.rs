//! Creating a task. A task that names its work is runnable at once: no separate start.

use std::collections::BTreeSet;
use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{ArtifactId, NodeId, ScheduleRunId, TaskId};
use cynode_domain::name::Slug;
use cynode_domain::plan::InputMode;
use cynode_domain::start::Trigger;
use cynode_domain::status::TaskStatus;
use cynode_store::{
    Artifact, ArtifactStore, NewTask, Node, NodeStore, ScheduledTaskStore, Task, TaskOptions,
    TaskStore, Tx,
};
use cynode_wire::tasks::{Attachment, CreateTask, TaskView};
use futures_util::stream;

use super::{TaskError, Tasks, find, lock, start, view};
use crate::Caller;
use crate::artifacts::{ATTACHMENT, check_path};
use crate::projects::{self, ProjectError};
use crate::signals::Topic;

const MAX_PROMPT_BYTES: usize = 1024 * 1024;
const MAX_SCRIPT_BYTES: usize = 256 * 1024;
const MAX_COMMANDS: usize = 200;
const MAX_COMMANDS_BYTES: usize = 64 * 1024;
const MAX_LIST: usize = 100;
const MAX_ATTACHMENTS: usize = 16;
const MAX_ATTACHMENT_BYTES: usize = 10 * 1024 * 1024;
const MAX_ATTEMPTS: u32 = 10;
/// From a minute to a year.
const ANSWER_WITHIN_S: std::ops::RangeInclusive<u32> = 60..=31_536_000;
/// How much of a request becomes its name.
const NAME_CHARS: usize = 40;
/// Two creations with one name race for the next number; the loser tries again. Each try waits for a
/// winner, so that even many at once need few.
const NAME_TRIES: usize = 200;
const MAX_CRITERION_BYTES: usize = 16 * 1024;

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

    async fn create_as(
        &self,
        caller: &Caller,
        (trigger, schedule_run): (Trigger, Option<ScheduleRunId>),
        request: CreateTask,
    ) -> Result<TaskView, TaskError> {
        let faults = faults(&request);
        if !faults.is_empty() {
            return Err(TaskError::Invalid(faults));
        }
        let attachments = self.store_attachments(&request.attachments).await?;
        let new = Creation {
            caller: caller.clone(),
            trigger,
            schedule_run,
            id: TaskId::generate(),
            stem: name_of(&request),
            attachments,
            now: self.clock.now(),
            request,
        };
        let created = self.store.write(move |tx| Box::pin(new.insert(tx))).await?;
        self.signals.send(Topic::Runs);
        Ok(created)
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
        match &self.request.idempotency_key {
            Some(key) => Ok(tx.task_by_key(self.caller.user, key).await?),
            None => Ok(None),
        }
    }

    /// Writes the task under the first free name of its stem, unless a request with the same key
    /// was faster: then gives that one's task.
    async fn insert_row(&self, tx: &mut Tx) -> Result<Option<Task>, TaskError> {
        let mut task = self.task(tx).await?;
        for _ in 0..NAME_TRIES {
            let highest = tx.task_highest_number(self.caller.user, self.stem.as_str()).await?;
            task.name = self.stem.numbered(highest + 1).to_string();
            if tx.task_insert(&task).await? {
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
                let status = on.status.api_name();
                return Err(TaskError::DeadDependency { name: on.asked.name, status });
            }
            tx.dependency_insert(self.id, id).await?;
        }
        Ok(())
    }
}

/// The node that a task must run on. It may be away: then the task waits for it.
pub(crate) async fn node_named(tx: &mut Tx, wanted: &str) -> Result<NodeId, TaskError> {
    let nodes = tx.node_list().await?;
    let is_it = |node: &&Node| node.slug == wanted || node.id.to_string() == wanted;
    if let Some(node) = nodes.iter().find(is_it) {
        return Ok(node.id);
    }
    let wanted: String = wanted.chars().take(100).collect();
    let known: Vec<_> = nodes.iter().take(50).map(|node| node.slug.as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(TaskError::Invalid(vec![format!("there is no node \"{wanted}\"; there are: {known}")]))
}

/// Everything that is wrong with a request, in words.
pub(crate) fn faults(request: &CreateTask) -> Vec<String> {
    let mut faults = work_faults(request);
    let list = |what: &str, length: usize| {
        (length > MAX_LIST).then(|| format!("{what} has {length} entries; allowed are {MAX_LIST}"))
    };
    faults.extend(criteria_faults(&request.acceptance_criteria));
    faults.extend(list("expected_outputs", request.expected_outputs.len()));
    faults.extend(list("depends_on", request.depends_on.len()));
    faults.extend(request.expected_outputs.iter().filter_map(|path| check_path(path).err()));
    faults.extend(request.limits.problems());
    if let Some(attempts) = request.max_attempts
        && !(1..=MAX_ATTEMPTS).contains(&attempts)
    {
        faults.push(format!("max_attempts is {attempts}; allowed is 1 to {MAX_ATTEMPTS}"));
    }
    if let Some(seconds) = request.answer_within_s
        && !ANSWER_WITHIN_S.contains(&seconds)
    {
        let (low, high) = (ANSWER_WITHIN_S.start(), ANSWER_WITHIN_S.end());
        faults.push(format!("answer_within_s is {seconds}; allowed is {low} to {high}"));
    }
    faults.extend(request.task_name.as_deref().and_then(name_fault));
    let is_bad_key = |key: &String| key.is_empty() || key.len() > 200 || key.contains('\0');
    if request.idempotency_key.as_ref().is_some_and(is_bad_key) {
        faults.push("idempotency_key needs 1 to 200 bytes, none of them NUL".to_owned());
    }
    faults.extend(attachment_faults(&request.attachments));
    faults
}

pub(super) fn name_fault(name: &str) -> Option<String> {
    if name.contains('\0') {
        return Some("task_name must not hold NUL characters".to_owned());
    }
    match Slug::normalise(name) {
        Ok(slug) if is_id(&slug) => {
            Some("task_name looks like an id, and would be taken for one".to_owned())
        }
        Ok(_) => None,
        Err(error) => Some(format!("task_name: {error}")),
    }
}

/// Whether a name would be read as an id wherever either is accepted.
fn is_id(slug: &Slug) -> bool {
    slug.as_str().parse::<TaskId>().is_ok()
}

/// Everything that is wrong with acceptance criteria, in words.
pub(super) fn criteria_faults(criteria: &[Criterion]) -> Vec<String> {
    let count = criteria.len();
    let too_many = (count > MAX_LIST)
        .then(|| format!("acceptance_criteria has {count} entries; allowed are {MAX_LIST}"));
    too_many.into_iter().chain(criteria.iter().filter_map(criterion_fault)).collect()
}

/// The length is looked at first: an expression of megabytes is not worth compiling.
fn criterion_fault(criterion: &Criterion) -> Option<String> {
    let text = match criterion {
        Criterion::Text { description: text }
        | Criterion::OutputMatches { pattern: text }
        | Criterion::FileExists { path: text }
        | Criterion::CommandSucceeds { command: text } => text,
        Criterion::ExitCode { .. } => return None,
    };
    if text.len() > MAX_CRITERION_BYTES {
        return Some(format!("an acceptance criterion is longer than {MAX_CRITERION_BYTES} bytes"));
    }
    if text.contains('\0') {
        return Some("acceptance criteria must not hold NUL characters".to_owned());
    }
    criterion.problem()
}

/// The mode decides which fields say what is to be done; the others must be empty.
fn work_faults(request: &CreateTask) -> Vec<String> {
    let mut faults = vec![];
    let (prompt, commands) = (&request.prompt, &request.commands);
    match request.input_mode {
        InputMode::Prompt | InputMode::Script => {
            let is_script = request.input_mode == InputMode::Script;
            let max = if is_script { MAX_SCRIPT_BYTES } else { MAX_PROMPT_BYTES };
            if prompt.trim().is_empty() {
                faults.push("prompt is empty: say what is to be done".to_owned());
            }
            if prompt.len() > max {
                faults.push(format!("prompt is longer than {max} bytes"));
            }
            if !commands.is_empty() {
                faults.push("commands belong to input_mode \"commands\"".to_owned());
            }
        }
        InputMode::Commands => {
            if commands.is_empty() || commands.len() > MAX_COMMANDS {
                faults.push(format!("commands needs 1 to {MAX_COMMANDS} entries"));
            }
            if commands.iter().any(|line| line.trim().is_empty()) {
                faults.push("a command is empty".to_owned());
            }
            if commands.iter().map(String::len).sum::<usize>() > MAX_COMMANDS_BYTES {
                faults.push(format!("commands are longer than {MAX_COMMANDS_BYTES} bytes in all"));
            }
        }
    }
    if prompt.contains('\0') || commands.iter().any(|line| line.contains('\0')) {
        faults.push("prompt and commands must not hold NUL characters".to_owned());
    }
    faults
}

fn attachment_faults(attachments: &[Attachment]) -> Vec<String> {
    let mut faults = vec![];
    if attachments.len() > MAX_ATTACHMENTS {
        faults.push(format!("{} attachments; allowed are {MAX_ATTACHMENTS}", attachments.len()));
    }
    for (index, attachment) in attachments.iter().enumerate() {
        let name = &attachment.name;
        if check_path(name).is_err() || name.contains('/') {
            faults.push(format!("attachment \"{name}\" is no plain file name"));
        }
        if attachments[..index].iter().any(|other| other.name == *name) {
            faults.push(format!("two attachments are called \"{name}\""));
        }
        match STANDARD.decode(&attachment.content_base64) {
            Ok(content) if content.len() <= MAX_ATTACHMENT_BYTES => {}
            Ok(_) => faults.push(format!("attachment \"{name}\" is longer than 10 MiB")),
            Err(error) => faults.push(format!("attachment \"{name}\" is no base64: {error}")),
        }
    }
    faults
}

/// The asked-for name, or one made from what is to be done.
fn name_of(request: &CreateTask) -> Slug {
    let text = match (&request.task_name, request.input_mode) {
        (Some(name), _) => name.clone(),
        (None, InputMode::Commands) => request.commands.join(" "),
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
    fn every_fault_of_a_request_is_named_at_once() {
        let request = request(serde_json::json!({
            "input_mode": "commands",
            "commands": ["true", " "],
            "max_attempts": 99,
            "limits": { "timeout_s": 0 },
            "expected_outputs": ["../escape"],
            "attachments": [{ "name": "a/b", "content_base64": "?" }],
        }));

        let faults = faults(&request);

        assert_eq!(faults.len(), 6, "{faults:#?}");
    }

    #[test]
    fn a_name_is_made_from_the_work() {
        let request =
            request(serde_json::json!({ "input_mode": "commands", "commands": ["echo Hello!"] }));

        assert_eq!(name_of(&request).as_str(), "echo-hello");
    }

    #[test]
    fn a_request_without_letters_is_still_named() {
        let request = request(serde_json::json!({ "prompt": "…" }));

        assert_eq!(name_of(&request).as_str(), "task");
    }
}
