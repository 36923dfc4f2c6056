//! The context of an agent's task, in one response of bounded size.

use cynode_domain::agent::Role;
use cynode_domain::policy::{AgentType, Principal};
use cynode_store::{MessageFilter, Task, Tx, WorkUnit};
use cynode_wire::apmas::{ContextPart, ContextView, GetContext, MAX_CONTEXT_MESSAGES};
use cynode_wire::tasks::TaskView;
use serde::Serialize;

use super::delivery::{MAX_DELIVERED, deliver_instructions};
use super::{
    AgentMessages, MessageError, RoleClaim, agent_view, checkpoint, instruction_view, message_view,
};
use crate::work;
use cynode_execution::tasks;
use cynode_resources::agents::AgentIdentity;

/// Maximum size of each part.
const PART_BYTES: usize = 128 * 1024;
const MAX_PROMPT_BYTES: usize = 32 * 1024;
const MAX_AGENTS: u32 = 100;

impl AgentMessages {
    /// Returns the context. An agent that names its role gets its instructions, and its own
    /// messages; a manager sees all messages.
    pub async fn load_context(
        &self,
        identity: &AgentIdentity,
        request: GetContext,
    ) -> Result<ContextView, MessageError> {
        let is_agent =
            matches!(identity.agent, Principal::Agent(AgentType::Sandbox | AgentType::Pa));
        if is_agent && request.agent_role.is_none() {
            return Err(MessageError::RoleMissing);
        }
        let speaker =
            request.agent_role.clone().map(|role| self.role_claim(identity, request.task_id, role));
        let caller = identity.caller.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &request.task_id.into()).await?;
                    let mut view = empty_context();
                    if let Some(speaker) = &speaker {
                        add_instructions(tx, speaker, &mut view).await?;
                    }
                    add_parts(tx, task, &request, &mut view).await?;
                    Ok(view)
                })
            })
            .await
    }
}

fn empty_context() -> ContextView {
    ContextView {
        project: None,
        agents: None,
        messages: None,
        artifacts: None,
        work_units: None,
        checkpoint: None,
        instructions: vec![],
        truncated: false,
    }
}

/// Delivers instructions to the holder of the role; an ended agent, or one of a closed task, may
/// still read the context.
async fn add_instructions(
    tx: &mut Tx,
    speaker: &RoleClaim,
    view: &mut ContextView,
) -> Result<(), MessageError> {
    match speaker.claim_role(tx).await {
        Ok((_, mut agent)) => {
            agent.last_heartbeat_at = speaker.now;
            tx.agent_update(&agent).await?;
            deliver_instructions(tx, &mut agent, speaker.now).await?;
            let waiting =
                tx.message_pending(agent.task, agent.role.as_str(), MAX_DELIVERED).await?;
            view.instructions = waiting.into_iter().map(instruction_view).collect();
        }
        Err(MessageError::Ended { .. } | MessageError::Task(tasks::TaskError::Closed { .. })) => {}
        Err(refusal) => return Err(refusal),
    }
    let last = tx.agent_checkpoint_list(speaker.task, &speaker.role, 1).await?.pop();
    view.checkpoint = last.map(checkpoint::checkpoint_view);
    Ok(())
}

async fn add_parts(
    tx: &mut Tx,
    task: Task,
    request: &GetContext,
    view: &mut ContextView,
) -> Result<(), MessageError> {
    let (id, own) = (task.spec.id, request.agent_role.as_ref());
    let is_wanted = |part| request.include.as_ref().is_none_or(|included| included.contains(&part));
    if is_wanted(ContextPart::Agents) {
        let agents = tx.agent_list(id, MAX_AGENTS).await?.into_iter();
        let roles = &request.agent_roles;
        let agents = agents.filter(|agent| roles.is_empty() || roles.contains(&agent.role));
        view.agents = Some(truncate_items(agents.map(agent_view), &mut view.truncated));
    }
    if is_wanted(ContextPart::Messages) {
        let limit =
            request.message_limit.unwrap_or(MAX_CONTEXT_MESSAGES).clamp(1, MAX_CONTEXT_MESSAGES);
        let role = own.map(ToString::to_string);
        let filter = MessageFilter { task: Some(id), role, limit, ..MessageFilter::default() };
        let messages = tx.message_list(&filter).await?.into_iter();
        view.messages = Some(truncate_items(messages.map(message_view), &mut view.truncated));
    }
    if is_wanted(ContextPart::Artifacts) {
        let mut paths: Vec<_> =
            tx.artifact_list(id).await?.into_iter().map(|artifact| artifact.path).collect();
        paths.dedup();
        view.artifacts = Some(truncate_items(paths.into_iter(), &mut view.truncated));
    }
    if is_wanted(ContextPart::Work) {
        let is_own = |role: &str| own.is_none_or(|own: &Role| own.family() == role);
        let units = load_units(tx, &task).await?.into_iter().filter(|unit| is_own(&unit.role));
        view.work_units = Some(truncate_items(units.map(work::view), &mut view.truncated));
    }
    if is_wanted(ContextPart::Project) {
        let project = tasks::view(tx, task).await?;
        view.project = Some(truncate_prompt(project, &mut view.truncated));
    }
    Ok(())
}

/// The units of a task; of an attempt the unit that it is for.
async fn load_units(tx: &mut Tx, task: &Task) -> Result<Vec<WorkUnit>, MessageError> {
    let Some(parent) = &task.parent else { return Ok(tx.work_unit_list(task.spec.id).await?) };
    let unit = tx.work_unit_get(parent.task, &parent.unit).await?;
    Ok(unit.into_iter().map(|unit| WorkUnit { task: task.spec.id, ..unit }).collect())
}

/// Keeps as many items as fit.
fn truncate_items<T: Serialize>(items: impl Iterator<Item = T>, is_cut: &mut bool) -> Vec<T> {
    let (mut kept, mut bytes) = (vec![], 0);
    for item in items {
        bytes += serde_json::to_string(&item).map_or(PART_BYTES, |text| text.len());
        if bytes > PART_BYTES {
            *is_cut = true;
            break;
        }
        kept.push(item);
    }
    kept
}

fn truncate_prompt(mut task: TaskView, is_cut: &mut bool) -> TaskView {
    if task.prompt.len() > MAX_PROMPT_BYTES {
        let end = task.prompt.floor_char_boundary(MAX_PROMPT_BYTES);
        task.prompt.truncate(end);
        *is_cut = true;
    }
    task
}
