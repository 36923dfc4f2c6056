//! Instructions of people to the agent of a unit.
//!
//! They reach the agent with the reply to its next tool call. An abort ends its attempt, and a change of scope replaces it:
//! ADR 47 has the next steps of the driver.

use cynode_domain::agent::{InstructionKind, Role};
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::report::MAX_TEXT_BYTES;
use cynode_domain::request::ScopeChange;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_execution::tasks::task_event;
use cynode_ops::AgentMessages;
use cynode_ops::messages::change_unit_scope;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_store::{TaskParent, Tx};
use cynode_wire::apmas::InstructAgent;
use cynode_wire::requests::{InstructUnit, RequestView};
use serde_json::json;

use crate::control::load_locked;
use crate::snapshot::RequestSnapshot;
use crate::{RequestError, RequestService};

/// The most agents of an attempt that are read.
const MAX_AGENTS: u32 = 100;

impl RequestService {
    /// Instructs the agent of a unit. Without a running attempt only its scope can be changed, until the unit is submitted.
    pub async fn instruct_unit(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        body: InstructUnit,
    ) -> Result<RequestView, RequestError> {
        let body = InstructUnit { text: body.text.redact_secrets(), ..body };
        if body.text.trim().is_empty() || body.text.len() > MAX_TEXT_BYTES {
            let fault = format!("text must have 1 to {MAX_TEXT_BYTES} bytes");
            return Err(RequestError::Invalid(vec![fault]));
        }
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        let wanted = body.clone();
        let running = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let (task, snapshot) = load_locked(tx, &who, &name, now).await?;
                    if let Some(agent) = find_agent(tx, &snapshot, &wanted.unit).await? {
                        return Ok::<_, RequestError>(Some(agent));
                    }
                    check_is_changeable(&snapshot, &wanted)?;
                    let change = ScopeChange { instruction: wanted.instruction, text: wanted.text };
                    let data = json!({
                        "unit": wanted.unit, "instruction": change.instruction, "text": change.text,
                        "by": who.handle,
                    });
                    let unit = TaskParent { task: task.spec.id, unit: wanted.unit };
                    change_unit_scope(tx, &unit, change, now).await?;
                    tx.event_append(&task_event(&task, "request.unit_replanned", data)).await?;
                    Ok(None)
                })
            })
            .await?;
        if let Some((task_id, to_agent)) = running {
            let instruction = InstructAgent {
                task_id,
                to_agent,
                instruction_type: body.instruction,
                instructions: body.text,
                context: Some(json!({ "instructed_by": caller.handle })),
                idempotency_key: None,
            };
            let messages =
                AgentMessages::new(self.store.clone(), self.clock.clone(), self.signals.clone());
            messages.send_instruction(caller, instruction).await?;
        }
        self.announce();
        self.get(caller, request).await
    }
}

/// The running attempt at a unit, and the role of its agent; that of the unit until its job has started.
async fn find_agent(
    tx: &mut Tx,
    snapshot: &RequestSnapshot,
    unit: &str,
) -> Result<Option<(TaskId, Role)>, RequestError> {
    if !snapshot.is_running(unit) {
        return Ok(None);
    }
    let Some(newest) = snapshot.newest_attempt(unit) else { return Ok(None) };
    let child = newest.attempt.child;
    let agents = tx.agent_list(child, MAX_AGENTS).await?;
    if let Some(agent) = agents.into_iter().find(|agent| !agent.status.is_terminal()) {
        return Ok(Some((child, agent.role)));
    }
    let row = tx.work_unit_get(snapshot.request.task, unit).await?;
    Ok(row.and_then(|row| row.role.parse().ok()).map(|role| (child, role)))
}

/// Fails unless the instruction changes the scope of a unit that has no result yet.
fn check_is_changeable(
    snapshot: &RequestSnapshot,
    wanted: &InstructUnit,
) -> Result<(), RequestError> {
    let unit = &wanted.unit;
    let invalid = |fault: String| Err(RequestError::Invalid(vec![fault]));
    let Some(board) = &snapshot.board else {
        return invalid("the request has no plan yet: wait until it is planned".to_owned());
    };
    let status = board.unit(board.find_unit(unit)?).status;
    let changes_scope =
        matches!(wanted.instruction, InstructionKind::ExpandScope | InstructionKind::ReduceScope);
    if !changes_scope {
        return invalid(format!("no agent works on {unit} now: see `cynork pm show`"));
    }
    match status {
        Status::Pending | Status::Assigned | Status::InProgress | Status::RevisionRequested => {
            Ok(())
        }
        Status::Submitted
        | Status::Approved
        | Status::Routed
        | Status::Completed
        | Status::Blocked
        | Status::Failed => {
            invalid(format!("{unit} is {status}: its scope cannot change any more"))
        }
    }
}
