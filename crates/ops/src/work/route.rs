//! Decisions about work units and their consequences.

use cynode_domain::agent::{InstructionKind, Role};
use cynode_domain::report::{MAX_TEXT_BYTES, ReviewFeedback};
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_store::{Task, Tx, WorkUnit};
use cynode_wire::work::{Decision, RouteWork, RoutedView};
use serde_json::{Value, json};

use super::board::WorkBoard;
use super::{WorkError, WorkService, load_board, persist_board, view};
use crate::{
    messages::NewInstruction, messages::check_json, messages::check_max_bytes,
    messages::check_text, messages::lock_open_task, messages::store_instruction,
};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

/// Maximum agent rows searched for the author of the unit.
const MAX_AGENTS_SEARCHED: u32 = 500;

impl WorkService {
    /// Applies a decision to a unit. Idempotent.
    pub async fn route(
        &self,
        caller: &Caller,
        request: RouteWork,
    ) -> Result<RoutedView, WorkError> {
        check_max_bytes("notes", request.notes.as_deref().unwrap_or_default(), MAX_TEXT_BYTES)?;
        let feedback = validate_feedback(&request)?.redact_secrets();
        let request = RouteWork { notes: request.notes.redact_secrets(), ..request };
        let (caller, now) = (caller.clone(), self.clock.now());
        let routed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = lock_open_task(tx, &caller, request.task_id).await?;
                    let board = load_board(tx, request.task_id, now).await?;
                    apply_decision(tx, &task, board, request, feedback).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(routed)
    }
}

/// Validates the feedback: text, or complete review feedback.
fn validate_feedback(request: &RouteWork) -> Result<Option<Value>, WorkError> {
    let invalid = |fault: String| WorkError::Invalid(vec![fault]);
    let Some(feedback) = &request.feedback else {
        if request.decision == Decision::Revision {
            return Err(invalid("feedback is missing: describe what to change".to_owned()));
        }
        return Ok(None);
    };
    match feedback {
        Value::String(text) => check_text("feedback", text)?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            check_json("feedback", feedback)?;
            let review: ReviewFeedback = serde_json::from_value(feedback.clone())
                .map_err(|fault| invalid(format!("feedback: {fault}")))?;
            let faults = review.validation_errors();
            if !faults.is_empty() {
                return Err(WorkError::Invalid(faults));
            }
        }
    }
    Ok(Some(feedback.clone()))
}

async fn apply_decision(
    tx: &mut Tx,
    task: &Task,
    mut board: WorkBoard,
    request: RouteWork,
    feedback: Option<Value>,
) -> Result<RoutedView, WorkError> {
    let index = board.find_unit(&request.work_unit_id)?;
    let repeated = is_already_decided(board.unit(index), request.decision, feedback.as_ref());
    if !repeated {
        match request.decision {
            Decision::Approve => board.approve(index)?,
            Decision::Revision => {
                let feedback = feedback.unwrap_or_default();
                board.revise(index, feedback.clone())?;
                send_revision_instruction(tx, task, board.unit(index), feedback, board.now())
                    .await?;
            }
            Decision::Resume => board.transition(index, Status::Assigned)?,
            Decision::Fail => board.transition(index, Status::Failed)?,
        }
        if request.notes.is_some() {
            board.edit_unit(index).notes = request.notes;
        }
        persist_board(tx, task, &board).await?;
    }
    Ok(RoutedView {
        work_unit: view(board.unit(index).clone()),
        repeated,
        plan_completed: board.is_completed(),
        assigned: board.assigned,
        completed: board.completed,
    })
}

/// Returns whether the decision was already applied.
fn is_already_decided(unit: &WorkUnit, decision: Decision, feedback: Option<&Value>) -> bool {
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

/// Sends the feedback to the author of the unit; minor issues are dropped.
async fn send_revision_instruction(
    tx: &mut Tx,
    task: &Task,
    unit: &WorkUnit,
    feedback: Value,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<(), WorkError> {
    let lives = tx.agent_list(task.spec.id, MAX_AGENTS_SEARCHED).await?;
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
    let instruction = NewInstruction {
        to,
        kind: InstructionKind::Revise,
        text: format!("revise {}: apply the feedback and change nothing else", unit.id),
        context: json!({ "work_unit_id": unit.id, "feedback": handed_on }),
        work_unit: Some(unit.id.clone()),
        key: Some(format!("revise:{}:{}", unit.id, unit.revision_count)),
    };
    store_instruction(tx, task, instruction, now).await?;
    Ok(())
}

/// Resumes a blocked unit; units in other states are unchanged.
pub(crate) async fn resume_blocked(
    tx: &mut Tx,
    task: &Task,
    unit: &str,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<(), WorkError> {
    let mut board = match load_board(tx, task.spec.id, now).await {
        Err(WorkError::NoPlan) => return Ok(()),
        board => board?,
    };
    let Ok(index) = board.find_unit(unit) else { return Ok(()) };
    if board.unit(index).status == Status::Blocked {
        board.transition(index, Status::Assigned)?;
        persist_board(tx, task, &board).await?;
    }
    Ok(())
}
