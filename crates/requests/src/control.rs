//! What people do with the units of a running request: take one over, hand it back.
//!
//! Each operation locks the task before the request, and fences the process that advances it.

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply};
use cynode_domain::request::{AnswerAuthor, AnsweredQuestion, QuestionSubject, RequestQuestion};
use cynode_domain::status::{TaskStatus, WorkUnitStatus as Status};
use cynode_execution::artifacts::DiffScope;
use cynode_execution::tasks::{TaskError, close_with_children, task_event};
use cynode_ops::work::persist_board;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;
use cynode_store::{Task, Tx, UnitAttempt};
use cynode_wire::requests::{HandBackUnit, RequestView, TakeOverUnit};
use serde_json::json;

use crate::queries::find;
use crate::snapshot::RequestSnapshot;
use crate::steps::sources::is_source_kind;
use crate::{RequestError, RequestService};

/// The longest comment of a person.
const MAX_COMMENT_BYTES: usize = 16 * 1024;

impl RequestService {
    /// Gives a unit to a person: its running attempt is canceled, and no other one starts until it is handed back.
    pub async fn take_over(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: TakeOverUnit,
    ) -> Result<RequestView, RequestError> {
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let (task, mut snapshot) = load_locked(tx, &who, &name, now).await?;
                    start_take_over(&mut snapshot, &body.unit, &who.handle)?;
                    let running = snapshot.newest_attempt(&body.unit).filter(|newest| {
                        !newest.status.is_terminal() && newest.attempt.concluded_at.is_none()
                    });
                    if let Some(running) = running {
                        let reason = format!("{} took {} over", who.handle, body.unit);
                        let child = running.attempt.child;
                        close_with_children(tx, child, TaskStatus::Canceled, &reason).await?;
                        let outcome = json!({ "result": "taken_over", "message": reason });
                        tx.attempt_conclude(child, &outcome, now).await?;
                    }
                    let data = json!({ "unit": body.unit, "by": who.handle });
                    save(tx, &task, &mut snapshot, ("request.taken_over", data), now).await
                })
            })
            .await?;
        self.announce();
        self.get(caller, request).await
    }

    /// Gives a unit back: with the task that has a person's changes it is done, and without one an agent goes on.
    pub async fn hand_back(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: HandBackUnit,
    ) -> Result<RequestView, RequestError> {
        let body = HandBackUnit { comment: body.comment.redact_secrets(), ..body };
        if body.comment.as_ref().is_some_and(|text| text.len() > MAX_COMMENT_BYTES) {
            let fault = format!("the comment is longer than {MAX_COMMENT_BYTES} bytes");
            return Err(RequestError::Invalid(vec![fault]));
        }
        let result = match &body.task {
            Some(task) => Some(self.check_handed_back(caller, request, task).await?),
            None => None,
        };
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let (task, mut snapshot) = load_locked(tx, &who, &name, now).await?;
                    let unit = body.unit;
                    if snapshot.request.state.taken_over.remove(&unit).is_none() {
                        let fault = format!("no person works on {unit}: take it over first");
                        return Err(RequestError::Invalid(vec![fault]));
                    }
                    snapshot.request.state.unit_failures.remove(&unit);
                    if let Some(text) = body.comment.clone() {
                        record_comment(&mut snapshot, &unit, text, &who.handle);
                    }
                    if let Some(child) = result {
                        insert_result(tx, &mut snapshot, (&unit, child), &who.handle, now).await?;
                    }
                    let data = json!({ "unit": unit, "by": who.handle, "task_id": result });
                    save(tx, &task, &mut snapshot, ("request.handed_back", data), now).await
                })
            })
            .await?;
        self.announce();
        self.get(caller, request).await
    }

    /// The task with a person's changes: completed, on the same repository, with changes that may be used.
    async fn check_handed_back(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        task: &str,
    ) -> Result<TaskId, RequestError> {
        let invalid = |fault: String| Err(RequestError::Invalid(vec![fault]));
        let view = self.tasks.get(caller, &task.into()).await?;
        let parent = self.tasks.get(caller, request).await?;
        if view.status != TaskStatus::Completed.to_shown() {
            return invalid(format!(
                "task \"{}\" is {}, not completed",
                view.task_name, view.status
            ));
        }
        let diff = self.artifacts.diff(caller, &view.id.into(), DiffScope::All, 0).await?;
        let wanted = parent.repository.as_ref().map(|repository| &repository.url);
        if wanted != Some(&diff.changes.url) {
            return invalid(format!("task \"{}\" works on another repository", view.task_name));
        }
        match crate::steps::sources::blocking_finding(&diff) {
            Some(finding) => invalid(format!(
                "the changes of \"{}\" must not be used: {finding}",
                view.task_name
            )),
            None => Ok(view.id),
        }
    }

    pub(crate) fn announce(&self) {
        for topic in [Topic::Messages, Topic::Jobs, Topic::Policy, Topic::Events] {
            self.signals.send(topic);
        }
    }
}

/// Locks a request that has not ended.
pub(crate) async fn lock_open(
    tx: &mut Tx,
    caller: &Caller,
    request: &NameOrId<TaskId>,
) -> Result<Task, RequestError> {
    let task = find(tx, caller, request).await?;
    let missing = || RequestError::NotFound(request.excerpt());
    // Lock order: the task before the request.
    let task = tx.task_lock(task.spec.id).await?.ok_or_else(missing)?;
    tx.request_lock(task.spec.id).await?.ok_or_else(missing)?;
    if task.status.is_terminal() {
        return Err(TaskError::Closed { status: task.status.to_shown() }.into());
    }
    Ok(task)
}

/// Loads a request that has not ended, and locks it.
pub(crate) async fn load_locked(
    tx: &mut Tx,
    caller: &Caller,
    request: &NameOrId<TaskId>,
    now: DateTime<Utc>,
) -> Result<(Task, RequestSnapshot), RequestError> {
    let task = lock_open(tx, caller, request).await?;
    let snapshot = RequestSnapshot::load(tx, task.spec.id, now).await?;
    let snapshot = snapshot.ok_or_else(|| RequestError::NotFound(request.excerpt()))?;
    Ok((task, snapshot))
}

async fn save(
    tx: &mut Tx,
    task: &Task,
    snapshot: &mut RequestSnapshot,
    (event, data): (&'static str, serde_json::Value),
    now: DateTime<Utc>,
) -> Result<(), RequestError> {
    snapshot.request.updated_at = now;
    tx.request_update(&snapshot.request).await?;
    if let Some(board) = &snapshot.board {
        persist_board(tx, task, board).await?;
    }
    tx.request_wake(task.spec.id).await?;
    tx.event_append(&task_event(task, event, data)).await?;
    Ok(())
}

/// Marks a unit as a person's. Fails unless an agent could work on it now.
fn start_take_over(
    snapshot: &mut RequestSnapshot,
    unit: &str,
    handle: &str,
) -> Result<(), RequestError> {
    let invalid = |fault: String| Err(RequestError::Invalid(vec![fault]));
    let Some(board) = &mut snapshot.board else {
        return invalid("the request has no plan yet: wait until it is planned".to_owned());
    };
    let index = board.find_unit(unit)?;
    let (kind, status) = (board.unit(index).kind, board.unit(index).status);
    if !is_source_kind(kind) {
        return invalid(format!("{unit} judges work: answer the question of the request instead"));
    }
    if let Some(known) = snapshot.request.state.taken_over.get(unit) {
        return invalid(format!("{known} works on {unit} already"));
    }
    match status {
        Status::InProgress => {}
        Status::Assigned | Status::RevisionRequested => {
            board.transition(index, Status::InProgress)?;
        }
        Status::Pending
        | Status::Submitted
        | Status::Approved
        | Status::Routed
        | Status::Completed
        | Status::Blocked
        | Status::Failed => return invalid(format!("{unit} is {status}")),
    }
    snapshot.request.state.taken_over.insert(unit.to_owned(), handle.to_owned());
    let is_about = |asked: &RequestQuestion| matches!(&asked.subject, QuestionSubject::UnitFailed { unit: about } if about == unit);
    if snapshot.request.question.as_ref().is_some_and(is_about) {
        snapshot.request.question = None;
        snapshot.request.asked_at = None;
    }
    Ok(())
}

/// Records the comment of a person on a unit, for the prompt of its next agent.
fn record_comment(snapshot: &mut RequestSnapshot, unit: &str, text: String, handle: &str) {
    let question = Question {
        kind: QuestionKind::Clarification,
        text: format!("{handle} handed {unit} back"),
        about: vec![],
        accepts: vec![],
    };
    let subject = QuestionSubject::UnitFailed { unit: unit.to_owned() };
    let reply = Some(Reply::Text { text });
    let answer = Answer { reply, comment: None, by: Some(handle.to_owned()) };
    let asked = RequestQuestion { subject, question };
    let author = AnswerAuthor::Person;
    snapshot.request.state.answers.push(AnsweredQuestion { asked, answer, author });
}

/// Rejects a task of another user, project or profile than those of the request: what it changed would be delivered, and
/// shown, as work on the request.
async fn check_owner(tx: &mut Tx, request: &Task, child: TaskId) -> Result<(), RequestError> {
    let found = tx.task_get(child).await?;
    let is_own = found.is_some_and(|task| {
        let (own, given) = (&request.spec, &task.spec);
        (own.created_by, own.project, own.profile_id)
            == (given.created_by, given.project, given.profile_id)
    });
    if is_own {
        return Ok(());
    }
    let fault = "only a task of the request's owner, project and profile can be handed back";
    Err(RequestError::Invalid(vec![fault.to_owned()]))
}

/// Makes a person's task the accepted attempt at a unit; later steps judge it like the work of an agent.
async fn insert_result(
    tx: &mut Tx,
    snapshot: &mut RequestSnapshot,
    (unit, child): (&str, TaskId),
    handle: &str,
    now: DateTime<Utc>,
) -> Result<(), RequestError> {
    check_owner(tx, &snapshot.task, child).await?;
    let attempt = UnitAttempt {
        task: snapshot.request.task,
        unit: unit.to_owned(),
        number: snapshot.next_number(unit),
        // The database sets it.
        sequence: 0,
        child,
        outcome: None,
        created_at: now,
        concluded_at: None,
    };
    if !tx.attempt_insert(&attempt).await? {
        let fault = "the task is an attempt of a request already".to_owned();
        return Err(RequestError::Invalid(vec![fault]));
    }
    let message = format!("done by {handle}");
    let outcome = json!({ "result": "done", "message": message });
    tx.attempt_conclude(child, &outcome, now).await?;
    if let Some(board) = &mut snapshot.board {
        let index = board.find_unit(unit)?;
        board.transition(index, Status::Submitted)?;
        board.edit_unit(index).summary = Some(message);
        board.approve(index)?;
    }
    Ok(())
}
