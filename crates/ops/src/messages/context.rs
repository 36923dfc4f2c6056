//! What an agent should know about its task, in one answer of bounded size.

use cynode_domain::agent::Role;
use cynode_domain::policy::{AgentType, Principal};
use cynode_store::{
    AgentCheckpointStore, ArtifactStore, MessageFilter, MessageStore, Task, TaskAgentStore, Tx,
    WorkStore,
};
use cynode_wire::apmas::{ContextPart, ContextView, GetContext};
use cynode_wire::tasks::TaskView;
use serde::Serialize;

use super::instruct::{CARRIED, tell};
use super::{
    MessageError, Messages, Speaker, agent_view, checkpoint, instruction_view, message_view,
};
use crate::agents::AgentIdentity;
use crate::{tasks, work};

/// How long each part of an answer may be.
const PART_BYTES: usize = 128 * 1024;
const MAX_PROMPT_BYTES: usize = 32 * 1024;
const MAX_MESSAGES: u32 = 50;
const MAX_AGENTS: u32 = 100;

impl Messages {
    /// What the caller should know. An agent that says who it is hears its instructions, and sees
    /// what it said and was told; whoever manages sees what everybody said.
    pub async fn context(
        &self,
        who: &AgentIdentity,
        request: GetContext,
    ) -> Result<ContextView, MessageError> {
        let is_agent = matches!(who.agent, Principal::Agent(AgentType::Sandbox | AgentType::Pa));
        if is_agent && request.agent_role.is_none() {
            return Err(MessageError::Nameless);
        }
        let speaker =
            request.agent_role.clone().map(|role| self.speaker(who, request.task_id, role));
        let caller = who.caller.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &request.task_id.to_string()).await?;
                    let mut view = empty();
                    if let Some(speaker) = &speaker {
                        hear(tx, speaker, &mut view).await?;
                    }
                    fill(tx, task, &request, &mut view).await?;
                    Ok(view)
                })
            })
            .await
    }
}

fn empty() -> ContextView {
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

/// Instructions are told to whoever has the role; one that has ended, or whose task is closed, may
/// still look.
async fn hear(tx: &mut Tx, speaker: &Speaker, view: &mut ContextView) -> Result<(), MessageError> {
    match speaker.enter(tx).await {
        Ok((_, mut agent)) => {
            agent.last_heartbeat_at = speaker.now;
            tx.agent_update(&agent).await?;
            tell(tx, &mut agent, speaker.now).await?;
            let waiting = tx.message_pending(agent.task, agent.role.as_str(), CARRIED).await?;
            view.instructions = waiting.into_iter().map(instruction_view).collect();
        }
        Err(MessageError::Ended { .. } | MessageError::Task(tasks::TaskError::Closed { .. })) => {}
        Err(refusal) => return Err(refusal),
    }
    let last = tx.agent_checkpoint_list(speaker.task, &speaker.role, 1).await?.pop();
    view.checkpoint = last.map(checkpoint::view);
    Ok(())
}

async fn fill(
    tx: &mut Tx,
    task: Task,
    request: &GetContext,
    view: &mut ContextView,
) -> Result<(), MessageError> {
    let (id, own) = (task.asked.id, request.agent_role.as_ref());
    let is_wanted = |part| request.include.as_ref().is_none_or(|included| included.contains(&part));
    if is_wanted(ContextPart::Agents) {
        let agents = tx.agent_list(id, MAX_AGENTS).await?.into_iter();
        let roles = &request.agent_roles;
        let agents = agents.filter(|agent| roles.is_empty() || roles.contains(&agent.role));
        view.agents = Some(cut(agents.map(agent_view), &mut view.truncated));
    }
    if is_wanted(ContextPart::Messages) {
        let limit = request.message_limit.unwrap_or(MAX_MESSAGES).clamp(1, MAX_MESSAGES);
        let role = own.map(ToString::to_string);
        let filter = MessageFilter { task: Some(id), role, limit, ..MessageFilter::default() };
        let messages = tx.message_list(&filter).await?.into_iter();
        view.messages = Some(cut(messages.map(message_view), &mut view.truncated));
    }
    if is_wanted(ContextPart::Artifacts) {
        let mut paths: Vec<_> =
            tx.artifact_list(id).await?.into_iter().map(|artifact| artifact.path).collect();
        paths.dedup();
        view.artifacts = Some(cut(paths.into_iter(), &mut view.truncated));
    }
    if is_wanted(ContextPart::Work) {
        let is_own = |role: &str| own.is_none_or(|own: &Role| own.family() == role);
        let units = tx.work_unit_list(id).await?.into_iter().filter(|unit| is_own(&unit.role));
        view.work_units = Some(cut(units.map(work::view), &mut view.truncated));
    }
    if is_wanted(ContextPart::Project) {
        let project = tasks::view(tx, task).await?;
        view.project = Some(short(project, &mut view.truncated));
    }
    Ok(())
}

/// As many items as fit.
fn cut<T: Serialize>(items: impl Iterator<Item = T>, is_cut: &mut bool) -> Vec<T> {
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

fn short(mut task: TaskView, is_cut: &mut bool) -> TaskView {
    if task.prompt.len() > MAX_PROMPT_BYTES {
        let end = task.prompt.floor_char_boundary(MAX_PROMPT_BYTES);
        task.prompt.truncate(end);
        *is_cut = true;
    }
    task
}
