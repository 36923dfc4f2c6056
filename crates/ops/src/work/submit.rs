//! Starting, blocking and submitting work units.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{MessageKind, Progress};
use cynode_domain::report::ReportKind;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_domain::work::UnitKind;
use cynode_store::{Task, TaskAgent, TaskParent, Tx, WorkUnit};
use cynode_wire::work::{SubmitWork, SubmittedView};
use serde_json::json;

use super::board::WorkBoard;
use super::{WorkError, WorkService, load_board, persist_board, view};
use crate::{
    messages::AgentChange, messages::MessageDraft, messages::MessageError, messages::RoleClaim,
    messages::append_as_agent, messages::check_json, messages::check_text,
};
use cynode_execution::artifacts::validate_artifact_path;
use cynode_execution::tasks::TaskError;
use cynode_resources::agents::AgentIdentity;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

/// Maximum agent rows searched for the current holder.
const MAX_AGENTS_SEARCHED: u32 = 500;

impl WorkService {
    /// Submits a unit for the project manager's verdict. Idempotent while it waits.
    pub async fn submit_unit(
        &self,
        identity: &AgentIdentity,
        request: SubmitWork,
    ) -> Result<SubmittedView, WorkError> {
        check_text("summary", &request.summary)?;
        validate_artifact_path(&request.artifact_path)
            .map_err(|fault| WorkError::Invalid(vec![fault]))?;
        if let Some(metadata) = &request.metadata {
            check_json("metadata", metadata)?;
        }
        let speaker = RoleClaim {
            identity: identity.clone(),
            task: request.task_id,
            role: request.agent_role.clone(),
            now: self.clock.now(),
        };
        speaker.claim_unit(Some(request.work_unit_id.clone()))?;
        let request = SubmitWork {
            summary: request.summary.redact_secrets(),
            metadata: request.metadata.redact_secrets(),
            ..request
        };
        let submitted = self
            .store
            .write(move |tx| Box::pin(async move { submit_in_tx(tx, &speaker, request).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(submitted)
    }
}

async fn submit_in_tx(
    tx: &mut Tx,
    speaker: &RoleClaim,
    request: SubmitWork,
) -> Result<SubmittedView, WorkError> {
    let (task, agent) = speaker.claim_role(tx).await?;
    if let Some(parent) = task.parent.clone() {
        return submit_attempt(tx, (&task, &parent), agent, request, speaker.now).await;
    }
    let mut board = load_board(tx, task.spec.id, speaker.now).await?;
    let index = find_own_unit(tx, &board, &agent, &request.work_unit_id).await?;
    let unit = board.unit(index);
    let repeated = unit.status == Status::Submitted
        && unit.agent == Some(agent.id)
        && unit.artifact_path.as_ref() == Some(&request.artifact_path)
        && unit.summary.as_ref() == Some(&request.summary)
        && unit.metadata == request.metadata;
    let component = Some(unit.component.clone());
    if !repeated {
        start_unit(&mut board, index, &agent)?;
        board.transition(index, Status::Submitted)?;
        let unit = board.edit_unit(index);
        unit.artifact_path = Some(request.artifact_path.clone());
        unit.summary = Some(request.summary.clone());
        unit.metadata.clone_from(&request.metadata);
        persist_board(tx, &task, &board).await?;
    }
    let draft = MessageDraft {
        kind: MessageKind::Submission,
        subtype: Status::Submitted.as_str(),
        component,
        work_unit: Some(request.work_unit_id),
        content: request.summary,
        payload: json!({
            "artifact_path": request.artifact_path,
            "metadata": request.metadata,
            "revision": board.unit(index).revision_count,
        }),
        key: None,
    };
    let message =
        append_as_agent(tx, &task, agent, draft, AgentChange::default(), speaker.now).await?;
    let work_unit = view(board.unit(index).clone());
    Ok(SubmittedView { work_unit, repeated, instructions: message.instructions, note: None })
}

/// Records what the agent of a request's unit submits. The unit does not change: its request judges what the job leaves.
async fn submit_attempt(
    tx: &mut Tx,
    (task, parent): (&Task, &TaskParent),
    agent: TaskAgent,
    request: SubmitWork,
    now: DateTime<Utc>,
) -> Result<SubmittedView, WorkError> {
    let unit = load_attempt_unit(tx, parent, &agent, Some(&request.work_unit_id)).await?;
    let unit = unit.ok_or_else(|| WorkError::NotFound(request.work_unit_id.clone()))?;
    let draft = MessageDraft {
        kind: MessageKind::Submission,
        subtype: Status::Submitted.as_str(),
        component: Some(unit.component.clone()),
        work_unit: Some(request.work_unit_id),
        content: request.summary,
        payload: json!({
            "artifact_path": request.artifact_path,
            "metadata": request.metadata,
            "revision": unit.revision_count,
        }),
        key: None,
    };
    let message = append_as_agent(tx, task, agent, draft, AgentChange::default(), now).await?;
    Ok(SubmittedView {
        work_unit: view(WorkUnit { task: task.spec.id, ..unit }),
        repeated: message.is_repeated,
        instructions: message.instructions,
        note: message.note.map(str::to_owned),
    })
}

/// The unit that an attempt is for; `None` if it is for another step of its request. Fails if the agent has another role, or
/// names another unit.
async fn load_attempt_unit(
    tx: &mut Tx,
    parent: &TaskParent,
    agent: &TaskAgent,
    named: Option<&str>,
) -> Result<Option<WorkUnit>, WorkError> {
    if let Some(named) = named.filter(|named| *named != parent.unit) {
        let claimed = named.chars().take(100).collect();
        return Err(MessageError::OtherUnit { has: parent.unit.clone(), claimed }.into());
    }
    let unit = tx.work_unit_get(parent.task, &parent.unit).await?;
    match unit {
        Some(unit) if unit.role != agent.role.family() => {
            Err(WorkError::OtherRole { unit: unit.id, role: unit.role })
        }
        unit => Ok(unit),
    }
}

/// Rejects a report that the unit of an attempt does not make: a review by the agent of another kind of unit, for example.
async fn check_attempt_report(
    tx: &mut Tx,
    parent: &TaskParent,
    agent: &TaskAgent,
    kind: ReportKind,
    named: Option<&str>,
) -> Result<(), WorkError> {
    let unit = load_attempt_unit(tx, parent, agent, named).await?;
    match concluded_kind(kind) {
        Some(concluded) if unit.as_ref().is_none_or(|unit| unit.kind != concluded) => {
            let component =
                parent.unit.split_once(':').map_or(parent.unit.as_str(), |(_, name)| name);
            let role = concluded.role().to_owned();
            Err(WorkError::OtherRole { unit: concluded.unit_id(component), role })
        }
        _ => Ok(()),
    }
}

/// The kind of unit that a report concludes.
const fn concluded_kind(kind: ReportKind) -> Option<UnitKind> {
    match kind {
        ReportKind::ReviewApproved | ReportKind::ReviewChangesRequested => Some(UnitKind::Review),
        ReportKind::TestsPassed | ReportKind::TestsFailed => Some(UnitKind::Test),
        ReportKind::WorkCompleted
        | ReportKind::WorkBlocked
        | ReportKind::NeedsClarification
        | ReportKind::RequestHumanInput => None,
    }
}

/// Rejects a report about a unit of another role: the unit that it names, and the unit of the component that it concludes.
pub(crate) async fn check_reported_units(
    tx: &mut Tx,
    agent: &TaskAgent,
    kind: ReportKind,
    component: &str,
    named: Option<String>,
) -> Result<(), WorkError> {
    if let Some(parent) = tx.task_get(agent.task).await?.and_then(|task| task.parent) {
        return check_attempt_report(tx, &parent, agent, kind, named.as_deref()).await;
    }
    let board = match load_board(tx, agent.task, agent.last_heartbeat_at).await {
        Err(WorkError::NoPlan) => return Ok(()),
        board => board?,
    };
    if let Some(named) = named {
        find_own_unit(tx, &board, agent, &named).await?;
    }
    let Some(concluded) = concluded_kind(kind) else { return Ok(()) };
    let is_concluded = |unit: &&WorkUnit| unit.kind == concluded && unit.component == component;
    match board.units().iter().find(is_concluded) {
        Some(unit) if unit.role != agent.role.family() => {
            Err(WorkError::OtherRole { unit: unit.id.clone(), role: unit.role.clone() })
        }
        _ => Ok(()),
    }
}

/// Applies an agent's status to the unit it names: started or blocked.
pub(crate) async fn apply_agent_status(
    tx: &mut Tx,
    agent: &TaskAgent,
    unit: &str,
    progress: Progress,
    reason: &str,
    now: DateTime<Utc>,
) -> Result<(), WorkError> {
    let task = tx.task_get(agent.task).await?;
    let task = task.ok_or_else(|| TaskError::NotFound(agent.task.to_string()))?;
    if let Some(parent) = &task.parent {
        return load_attempt_unit(tx, parent, agent, Some(unit)).await.map(drop);
    }
    let mut board = load_board(tx, agent.task, now).await?;
    let index = find_own_unit(tx, &board, agent, unit).await?;
    match progress {
        Progress::Working => start_unit(&mut board, index, agent)?,
        Progress::Blocked => {
            board.transition(index, Status::Blocked)?;
            board.edit_unit(index).notes = Some(reason.to_owned());
        }
        // Submission is a separate tool.
        Progress::Done | Progress::NeedsReview | Progress::ContextLimit => {}
    }
    persist_board(tx, &task, &board).await
}

/// Returns the index of a unit that the agent may work on.
async fn find_own_unit(
    tx: &mut Tx,
    board: &WorkBoard,
    agent: &TaskAgent,
    id: &str,
) -> Result<usize, WorkError> {
    let index = board.find_unit(id)?;
    let unit = board.unit(index);
    if unit.role != agent.role.family() {
        return Err(WorkError::OtherRole { unit: unit.id.clone(), role: unit.role.clone() });
    }
    if let Some(other) = unit.agent.filter(|other| *other != agent.id) {
        let lives = tx.agent_list(agent.task, MAX_AGENTS_SEARCHED).await?;
        let is_there = |life: &TaskAgent| life.id == other && !life.status.is_terminal();
        if lives.iter().any(is_there) {
            return Err(WorkError::HeldByOtherAgent(unit.id.clone()));
        }
    }
    Ok(index)
}

/// Starts the unit, or takes it over from another agent.
fn start_unit(board: &mut WorkBoard, index: usize, agent: &TaskAgent) -> Result<(), WorkError> {
    if board.unit(index).status != Status::InProgress {
        board.transition(index, Status::InProgress)?;
    }
    if board.unit(index).agent != Some(agent.id) {
        board.edit_unit(index).agent = Some(agent.id);
    }
    Ok(())
}
