//! Deciding about units of work, and what that sets going.

use cynode_domain::agent::{InstructionKind, Role};
use cynode_domain::report::ReviewFeedback;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_store::{Task, TaskAgentStore, Tx, WorkUnit};
use cynode_wire::work::{Decision, RouteWork, RoutedView};
use serde_json::{Value, json};

use super::board::Board;
use super::{Work, WorkError, load, save, view};
use crate::Caller;
use crate::messages::{Instruction, at_most, check_json, check_text, give, open_task};
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;

const MAX_NOTES_BYTES: usize = 16 * 1024;
/// How many lives of agents are looked through for the one that did the work.
const LIVES: u32 = 500;

impl Work {
    /// Decides about a unit. The same decision again changes nothing.
    pub async fn route(
        &self,
        caller: &Caller,
        request: RouteWork,
    ) -> Result<RoutedView, WorkError> {
        at_most("notes", request.notes.as_deref().unwrap_or_default(), MAX_NOTES_BYTES)?;
        let feedback = feedback(&request)?.without_secrets();
        let request = RouteWork { notes: request.notes.without_secrets(), ..request };
        let (caller, now) = (caller.clone(), self.clock.now());
        let routed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = open_task(tx, &caller, request.task_id).await?;
                    let board = load(tx, request.task_id, now).await?;
                    decide(tx, &task, board, (request, feedback)).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(routed)
    }
}

/// Why a unit is sent back: text, or a reviewer's feedback, which must be whole.
fn feedback(request: &RouteWork) -> Result<Option<Value>, WorkError> {
    let invalid = |fault: String| WorkError::Invalid(vec![fault]);
    let Some(feedback) = &request.feedback else {
        if request.decision == Decision::Revision {
            return Err(invalid("feedback is missing: say what is to be changed".to_owned()));
        }
        return Ok(None);
    };
    match feedback {
        Value::String(text) => check_text("feedback", text)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            check_json("feedback", feedback)?;
            let review: ReviewFeedback = serde_json::from_value(feedback.clone())
                .map_err(|fault| invalid(format!("feedback: {fault}")))?;
            let faults = review.faults();
            if !faults.is_empty() {
                return Err(WorkError::Invalid(faults));
            }
        }
    }
    Ok(Some(feedback.clone()))
}

async fn decide(
    tx: &mut Tx,
    task: &Task,
    mut board: Board,
    (request, feedback): (RouteWork, Option<Value>),
) -> Result<RoutedView, WorkError> {
    let place = board.find(&request.work_unit_id)?;
    let repeated = is_decided(board.unit(place), request.decision, feedback.as_ref());
    if !repeated {
        match request.decision {
            Decision::Approve => board.approve(place)?,
            Decision::Revision => {
                let feedback = feedback.unwrap_or_default();
                board.revise(place, feedback.clone())?;
                send_back(tx, task, board.unit(place), feedback, board.now()).await?;
            }
            Decision::Resume => board.go(place, Status::Assigned)?,
            Decision::Fail => board.go(place, Status::Failed)?,
        }
        if request.notes.is_some() {
            board.edit(place).notes = request.notes;
        }
        save(tx, task, &board).await?;
    }
    Ok(RoutedView {
        work_unit: view(board.unit(place).clone()),
        repeated,
        plan_completed: board.is_completed(),
        assigned: board.assigned,
        completed: board.completed,
    })
}

/// Whether the unit stands where this decision brought it.
fn is_decided(unit: &WorkUnit, decision: Decision, feedback: Option<&Value>) -> bool {
    match decision {
        Decision::Approve => {
            matches!(unit.status, Status::Approved | Status::Routed | Status::Completed)
        }
        Decision::Revision => {
            unit.status == Status::RevisionRequested && unit.revision_feedback.as_ref() == feedback
        }
        Decision::Resume => matches!(unit.status, Status::Assigned),
        Decision::Fail => unit.status == Status::Failed,
    }
}

/// Tells whoever did the unit what is to be changed; minor issues are not handed on.
async fn send_back(
    tx: &mut Tx,
    task: &Task,
    unit: &WorkUnit,
    feedback: Value,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<(), WorkError> {
    let lives = tx.agent_list(task.asked.id, LIVES).await?;
    let did_it = lives.into_iter().find(|life| Some(life.id) == unit.agent);
    let role = did_it.filter(|life| !life.status.is_terminal()).map(|life| life.role);
    let to = match role {
        Some(role) => role,
        None => unit.role.parse::<Role>().map_err(|_| WorkError::NotFound(unit.id.clone()))?,
    };
    let handed_on = match serde_json::from_value::<ReviewFeedback>(feedback.clone()) {
        Ok(review) => json!(review.without_minor()),
        Err(_) => feedback,
    };
    let instruction = Instruction {
        to,
        kind: InstructionKind::Revise,
        text: format!("revise {}: do what the feedback says, and nothing else", unit.id),
        context: json!({ "work_unit_id": unit.id, "feedback": handed_on }),
        work_unit: Some(unit.id.clone()),
        key: Some(format!("revise:{}:{}", unit.id, unit.revision_count)),
    };
    give(tx, task, instruction, now).await?;
    Ok(())
}

/// Lets a unit go on that is blocked; others stay as they are.
pub(crate) async fn resume_blocked(
    tx: &mut Tx,
    task: &Task,
    unit: &str,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<(), WorkError> {
    let mut board = match load(tx, task.asked.id, now).await {
        Err(WorkError::NoPlan) => return Ok(()),
        board => board?,
    };
    let Ok(place) = board.find(unit) else { return Ok(()) };
    if board.unit(place).status == Status::Blocked {
        board.go(place, Status::Assigned)?;
        save(tx, task, &board).await?;
    }
    Ok(())
}
