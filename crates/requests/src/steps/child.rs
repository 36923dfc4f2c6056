//! Child tasks: one for each attempt at a unit or a step.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use cynode_blobs::BlobError;
use cynode_domain::git::{CommitSubject, TaskRepository};
use cynode_domain::ids::TaskId;
use cynode_execution::artifacts::{ArtifactError, DiffScope};
use cynode_execution::tasks::{CreationHook, TaskError, task_event};
use cynode_ops::WorkError;
use cynode_ops::work::{WorkBoard, persist_board};
use cynode_resources::Caller;
use cynode_store::{RequestClaim, Task, Tx, UnitAttempt, WorkRequest};
use cynode_wire::artifacts::ArtifactKind;
use cynode_wire::git::TaskDiffView;
use cynode_wire::tasks::CreateTask;
use futures_util::TryStreamExt as _;
use serde_json::json;

use super::Step;
use crate::RequestError;
use crate::snapshot::{CONTEXT, INTEGRATE, MERGE, PUSH, REVISE};

/// The longest patch that is read.
pub(super) const MAX_PATCH_BYTES: usize = 1024 * 1024;

impl Step<'_> {
    /// Starts an attempt at a step that is no unit.
    pub(super) async fn start_step(self, step: &'static str) -> Result<(), RequestError> {
        match step {
            CONTEXT => {
                let request = self.context_request();
                self.create_child(CONTEXT, request).await
            }
            INTEGRATE => self.start_integration().await,
            MERGE => Box::pin(self.start_merge()).await,
            PUSH => Box::pin(self.start_push()).await,
            REVISE => Box::pin(self.start_revision()).await,
            other => Err(RequestError::Invalid(vec![format!("there is no step {other}")])),
        }
    }

    /// What every child task of the request has. Each works in a checkout of its own and a push is safe to repeat, so
    /// that an interrupted one starts again instead of asking.
    pub(super) fn child_request(&self, unit: &str) -> CreateTask {
        let task = &self.snapshot.task.spec;
        let number = self.snapshot.next_number(unit);
        let repository = task.options.repository.as_ref().map(|repository| TaskRepository {
            branch: None,
            commit_subject: commit_subject(unit, &task.prompt),
            ..repository.clone()
        });
        CreateTask {
            task_name: Some(format!("{}-{}-{number}", task.name, unit.replace(':', "-"))),
            project: Some(task.project.to_string()),
            profile: task.profile_id.map(|profile| profile.to_string()),
            repository,
            max_attempts: Some(1),
            retry_interrupted: true,
            ..CreateTask::default()
        }
    }

    /// Creates a child task, together with the attempt and the changes of the request.
    pub(super) async fn create_child(
        self,
        unit: &str,
        request: CreateTask,
    ) -> Result<(), RequestError> {
        let owner = self.owner().await?;
        let service = self.service;
        let hook = self.into_hook(unit);
        service
            .tasks
            .create_with_hook(&owner, request, Arc::new(hook))
            .await
            .map_err(lost_claim)?;
        Ok(())
    }

    /// What is written together with a child task.
    pub(super) fn into_hook(self, unit: &str) -> NewAttempt {
        let number = self.snapshot.next_number(unit);
        let mut request = self.snapshot.request;
        request.updated_at = self.service.clock.now();
        request.failures = 0;
        NewAttempt {
            claim: self.claim,
            request,
            task: self.snapshot.task,
            board: self.snapshot.board,
            unit: unit.to_owned(),
            number,
        }
    }

    /// Reads a file that a child task left; `None` if there is none, or it is longer than `max_bytes`.
    pub(super) async fn read_artifact(
        &self,
        owner: &Caller,
        child: TaskId,
        path: &str,
        max_bytes: usize,
    ) -> Result<Option<String>, RequestError> {
        let opened = self
            .service
            .artifacts
            .open(owner, &child.into(), Some(ArtifactKind::Output), path)
            .await;
        let (view, content) = match opened {
            Ok(opened) => opened,
            Err(ArtifactError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if usize::try_from(view.size_bytes).map_or(true, |size| size > max_bytes) {
            return Ok(None);
        }
        let chunks: Vec<Bytes> =
            content.try_collect().await.map_err(BlobError::from).map_err(ArtifactError::from)?;
        Ok(Some(String::from_utf8_lossy(&chunks.concat()).into_owned()))
    }

    /// The changes of a child task; `None` if none were collected.
    pub(super) async fn read_changes(
        &self,
        owner: &Caller,
        child: TaskId,
        scope: DiffScope,
    ) -> Result<Option<TaskDiffView>, RequestError> {
        match self.service.artifacts.diff(owner, &child.into(), scope, MAX_PATCH_BYTES).await {
            Ok(diff) => Ok(Some(diff)),
            Err(ArtifactError::NotFound(_) | ArtifactError::NoChanges(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A claim that is lost during a creation arrives as a conflict.
pub(super) fn lost_claim(error: TaskError) -> RequestError {
    if matches!(error, TaskError::Conflict) { RequestError::ClaimLost } else { error.into() }
}

/// Writes an attempt, and the request with its units, together with the child task.
pub(super) struct NewAttempt {
    claim: RequestClaim,
    request: WorkRequest,
    task: Task,
    board: Option<WorkBoard>,
    unit: String,
    number: u32,
}

#[async_trait]
impl CreationHook for NewAttempt {
    fn parent(&self) -> Option<TaskId> {
        Some(self.task.spec.id)
    }

    async fn before(&self, tx: &mut Tx) -> Result<(), TaskError> {
        if !tx.request_check_claim(self.claim).await? {
            return Err(TaskError::Conflict);
        }
        tx.request_update(&self.request).await?;
        if let Some(board) = &self.board {
            persist_board(tx, &self.task, board).await.map_err(to_task_error)?;
        }
        Ok(())
    }

    async fn after(&self, tx: &mut Tx, child: &Task) -> Result<(), TaskError> {
        tx.task_set_parent(child.spec.id, self.task.spec.id, &self.unit).await?;
        let attempt = UnitAttempt {
            task: self.task.spec.id,
            unit: self.unit.clone(),
            number: self.number,
            // The database sets it.
            sequence: 0,
            child: child.spec.id,
            outcome: None,
            created_at: child.spec.created_at,
            concluded_at: None,
        };
        if !tx.attempt_insert(&attempt).await? {
            let fault = format!("attempt {} at {} exists already", self.number, self.unit);
            return Err(TaskError::Invalid(vec![fault]));
        }
        let data =
            json!({ "unit": self.unit, "attempt": self.number, "child_task_id": child.spec.id });
        tx.event_append(&task_event(&self.task, "request.attempt_started", data)).await?;
        Ok(())
    }
}

fn to_task_error(error: WorkError) -> TaskError {
    match error {
        WorkError::Task(error) => error,
        WorkError::Store(error) => error.into(),
        WorkError::NoPlan
        | WorkError::NotFound(_)
        | WorkError::PlanExists
        | WorkError::Invalid(_)
        | WorkError::OtherRole { .. }
        | WorkError::HeldByOtherAgent(_)
        | WorkError::TooManyRevisions(_)
        | WorkError::IllegalMove(_)
        | WorkError::Message(_)
        | WorkError::Page(_) => TaskError::Invalid(vec![error.to_string()]),
    }
}

/// The subject of the commits of a unit, such as `impl:api`, or of a step: what is asked for, with the part that it is.
fn commit_subject(unit: &str, text: &str) -> Option<CommitSubject> {
    let title = CommitSubject::from_text(text)?;
    let title = title.as_str();
    let subject = match unit.split_once(':') {
        Some(("impl", "main")) | None => title.to_owned(),
        Some((kind, "main")) => format!("{kind}: {title}"),
        Some(("impl", component)) => format!("{component}: {title}"),
        Some((kind, component)) => format!("{component} {kind}: {title}"),
    };
    CommitSubject::from_text(&subject)
}
