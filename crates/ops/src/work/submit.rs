//! Beginning, blocking and handing in units of work.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{MessageKind, Progress};
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_store::{TaskAgent, TaskAgentStore, TaskStore, Tx};
use cynode_wire::work::{SubmitWork, SubmittedView};
use serde_json::json;

use super::board::Board;
use super::{Work, WorkError, load, save, view};
use crate::agents::AgentIdentity;
use crate::artifacts::check_path;
use crate::messages::{Change, Draft, Speaker, check_json, check_text, say_as};
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;
use crate::tasks::TaskError;

/// How many lives of agents are looked through for the one that has begun.
const LIVES: u32 = 500;

impl Work {
    /// Hands in a unit, which then waits for the project manager's verdict. The same again while it
    /// waits changes nothing.
    pub async fn submit(
        &self,
        who: &AgentIdentity,
        request: SubmitWork,
    ) -> Result<SubmittedView, WorkError> {
        check_text("summary", &request.summary)?;
        check_path(&request.artifact_path).map_err(|fault| WorkError::Invalid(vec![fault]))?;
        if let Some(metadata) = &request.metadata {
            check_json("metadata", metadata)?;
        }
        let speaker = Speaker {
            who: who.clone(),
            task: request.task_id,
            role: request.agent_role.clone(),
            now: self.clock.now(),
        };
        let request = SubmitWork {
            summary: request.summary.without_secrets(),
            metadata: request.metadata.without_secrets(),
            ..request
        };
        let submitted = self
            .store
            .write(move |tx| Box::pin(async move { submit(tx, &speaker, request).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(submitted)
    }
}

async fn submit(
    tx: &mut Tx,
    speaker: &Speaker,
    request: SubmitWork,
) -> Result<SubmittedView, WorkError> {
    let (task, agent) = speaker.enter(tx).await?;
    let mut board = load(tx, task.asked.id, speaker.now).await?;
    let place = own(tx, &board, &agent, &request.work_unit_id).await?;
    let unit = board.unit(place);
    let repeated = unit.status == Status::Submitted
        && unit.agent == Some(agent.id)
        && unit.artifact_path.as_ref() == Some(&request.artifact_path)
        && unit.summary.as_ref() == Some(&request.summary)
        && unit.metadata == request.metadata;
    let component = Some(unit.component.clone());
    if !repeated {
        begin(&mut board, place, &agent)?;
        board.go(place, Status::Submitted)?;
        let unit = board.edit(place);
        unit.artifact_path = Some(request.artifact_path.clone());
        unit.summary = Some(request.summary.clone());
        unit.metadata.clone_from(&request.metadata);
        save(tx, &task, &board).await?;
    }
    let draft = Draft {
        kind: MessageKind::Submission,
        subtype: Status::Submitted.as_str(),
        component,
        work_unit: Some(request.work_unit_id),
        content: request.summary,
        payload: json!({
            "artifact_path": request.artifact_path,
            "metadata": request.metadata,
            "revision": board.unit(place).revision_count,
        }),
        key: None,
    };
    let said = say_as(tx, &task, agent, (draft, Change::default()), speaker.now).await?;
    let work_unit = view(board.unit(place).clone());
    Ok(SubmittedView { work_unit, repeated, instructions: said.told })
}

/// What an agent's status means for the unit it names: work on it has begun, or cannot go on.
pub(crate) async fn follow(
    tx: &mut Tx,
    agent: &TaskAgent,
    unit: &str,
    (progress, reason): (Progress, &str),
    now: DateTime<Utc>,
) -> Result<(), WorkError> {
    let task = tx.task_get(agent.task).await?;
    let task = task.ok_or_else(|| TaskError::NotFound(agent.task.to_string()))?;
    let mut board = load(tx, agent.task, now).await?;
    let place = own(tx, &board, agent, unit).await?;
    match progress {
        Progress::Working => begin(&mut board, place, agent)?,
        Progress::Blocked => {
            board.go(place, Status::Blocked)?;
            board.edit(place).notes = Some(reason.to_owned());
        }
        // Handing in is a tool of its own.
        Progress::Done | Progress::NeedsReview | Progress::ContextLimit => {}
    }
    save(tx, &task, &board).await
}

/// The place of a unit that is the agent's to do.
async fn own(tx: &mut Tx, board: &Board, agent: &TaskAgent, id: &str) -> Result<usize, WorkError> {
    let place = board.find(id)?;
    let unit = board.unit(place);
    if unit.role != agent.role.family() {
        return Err(WorkError::NotYours { unit: unit.id.clone(), role: unit.role.clone() });
    }
    if let Some(other) = unit.agent.filter(|other| *other != agent.id) {
        let lives = tx.agent_list(agent.task, LIVES).await?;
        let is_there = |life: &TaskAgent| life.id == other && !life.status.is_terminal();
        if lives.iter().any(is_there) {
            return Err(WorkError::Taken(unit.id.clone()));
        }
    }
    Ok(place)
}

/// Work on it begins, or goes on under another agent.
fn begin(board: &mut Board, place: usize, agent: &TaskAgent) -> Result<(), WorkError> {
    if board.unit(place).status != Status::InProgress {
        board.go(place, Status::InProgress)?;
    }
    if board.unit(place).agent != Some(agent.id) {
        board.edit(place).agent = Some(agent.id);
    }
    Ok(())
}
