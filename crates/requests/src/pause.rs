//! Pauses and resumes requests, with their child tasks and agents.
//!
//! Invariant: the flags of the request and its child tasks, and the instructions to their agents, are written in one
//! transaction. Repeating an operation instructs only the agents that are not in the wanted state.

use chrono::{DateTime, Utc};
use cynode_domain::agent::InstructionKind;
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::AgentStatus;
use cynode_execution::tasks::task_event;
use cynode_ops::messages::instruct_agent;
use cynode_resources::Caller;
use cynode_resources::signals::Topic;
use cynode_store::{TaskAgent, Tx};
use cynode_wire::requests::RequestView;
use serde_json::json;

use crate::control::lock_open;
use crate::{RequestError, RequestService};

/// The most agents of a child task that get an instruction to wait or to continue.
const MAX_AGENTS: u32 = 100;

impl RequestService {
    /// Pauses a request: no attempt starts, its child tasks are paused, and their agents are instructed to wait. On a paused
    /// request, it only instructs the agents that go on.
    pub async fn pause(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
    ) -> Result<RequestView, RequestError> {
        self.set_paused(caller, request, true).await
    }

    /// Resumes a paused request. On another one, it only instructs the agents that are paused to continue.
    pub async fn resume(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
    ) -> Result<RequestView, RequestError> {
        self.set_paused(caller, request, false).await
    }

    async fn set_paused(
        &self,
        caller: &Caller,
        request: &NameOrId<TaskId>,
        is_paused: bool,
    ) -> Result<RequestView, RequestError> {
        let (who, name, now) = (caller.clone(), request.to_owned(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = lock_open(tx, &who, &name).await?;
                    let has_changed = pause_or_resume(tx, task.spec.id, is_paused).await?;
                    let switch = PauseSwitch { is_paused, has_changed, now };
                    for child in tx.task_open_children(task.spec.id).await? {
                        switch.apply_to_child(tx, child).await?;
                    }
                    if has_changed {
                        tx.request_wake(task.spec.id).await?;
                        let event = if is_paused { "request.paused" } else { "request.resumed" };
                        let data = json!({ "by": who.handle });
                        tx.event_append(&task_event(&task, event, data)).await?;
                    }
                    Ok::<_, RequestError>(())
                })
            })
            .await?;
        for topic in [Topic::Events, Topic::Runs, Topic::Messages] {
            self.signals.send(topic);
        }
        self.get(caller, request).await
    }
}

/// The wanted state of a request and its agents.
#[derive(Debug, Clone, Copy)]
struct PauseSwitch {
    is_paused: bool,
    /// Whether the request was in the other state.
    has_changed: bool,
    now: DateTime<Utc>,
}

impl PauseSwitch {
    /// Pauses or resumes a child task together with its request, and instructs its agents.
    async fn apply_to_child(self, tx: &mut Tx, child: TaskId) -> Result<(), RequestError> {
        let child = tx.task_lock(child).await?.filter(|child| !child.status.is_terminal());
        let Some(child) = child else { return Ok(()) };
        if self.has_changed {
            pause_or_resume(tx, child.spec.id, self.is_paused).await?;
        }
        let (kind, text) = self.instruction();
        let agents = tx.agent_list(child.spec.id, MAX_AGENTS).await?;
        for agent in agents.into_iter().filter(|agent| self.concerns(agent)) {
            instruct_agent(tx, &child, agent.role, (kind, text), self.now).await?;
        }
        Ok(())
    }

    /// Whether an agent gets the instruction. When the request changes, this does not depend on the state of the agent: an
    /// instruction to the contrary may be on its way.
    fn concerns(self, agent: &TaskAgent) -> bool {
        let is_agent_paused = agent.status == AgentStatus::Paused;
        !agent.status.is_terminal() && (self.has_changed || is_agent_paused != self.is_paused)
    }

    fn instruction(self) -> (InstructionKind, &'static str) {
        if self.is_paused {
            let text = "The request is paused. Stop after the current action, and wait.";
            (InstructionKind::Pause, text)
        } else {
            (InstructionKind::Continue, "The request goes on. Continue where you stopped.")
        }
    }
}

/// Pauses or resumes one task with its run; returns whether the task changed.
async fn pause_or_resume(tx: &mut Tx, task: TaskId, is_paused: bool) -> Result<bool, RequestError> {
    let changed = if is_paused { tx.task_pause(task).await? } else { tx.task_resume(task).await? };
    if changed && let Some(run) = tx.run_of_task(task).await? {
        tx.run_update_wait(run.id).await?;
    }
    Ok(changed)
}
