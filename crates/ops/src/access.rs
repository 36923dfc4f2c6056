//! Whether somebody could call a tool, and why: the question without the call.

use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::ids::{TokenId, UserId};
use cynode_domain::name::kept_spelling;
use cynode_store::{Binding, Store, UserStore};
use cynode_wire::tools::{ExplainAccess, ExplainView};
use serde_json::Value;

use crate::Caller;
use crate::agents::{AgentIdentity, identity, with_groups};
use crate::tasks::{self, TaskError};
use crate::tools;

/// What decides tool calls, asked without calling. The gateway is the one that knows.
#[async_trait]
pub trait Explain: Send + Sync {
    /// What each stage would say if `identity` called `tool`; nothing is called and no record
    /// written. Without arguments the stages that look at them are passed over.
    async fn explain(
        &self,
        identity: &AgentIdentity,
        tool: &str,
        arguments: Option<&Value>,
        audience: Audience,
    ) -> ExplainView;
}

/// Who reads an explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person who can look the tool up in the registry: reads what each stage says.
    Registry,
    /// A person who cannot: reads of a tool that the caller may not use what a call would be answered.
    Caller,
}

/// Why access was not explained.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Only administrators may ask about others.
    #[error("only an administrator may ask about another user")]
    NotAdmin,
    /// There is no such user.
    #[error("there is no active user \"{0}\"")]
    NoUser(String),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Explains access. Cheap to clone.
#[derive(Clone)]
pub struct Access {
    store: Store,
    decider: Arc<dyn Explain>,
}

impl Access {
    /// Explains what `decider` would decide.
    pub fn new(store: Store, decider: Arc<dyn Explain>) -> Self {
        Self { store, decider }
    }

    /// What each stage would say about a call by such an agent for such a user.
    pub async fn explain(
        &self,
        caller: &Caller,
        request: ExplainAccess,
    ) -> Result<ExplainView, AccessError> {
        let (asking, agent) = (caller.clone(), request.caller);
        let (user, task, tool) = (request.user, request.task, request.tool.clone());
        let (who, audience) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let wanted = user.unwrap_or_else(|| asking.user.to_string());
                    let found = match wanted.parse::<UserId>() {
                        Ok(id) => tx.user_get(id).await?,
                        Err(_) => tx.user_by_handle(&kept_spelling(&wanted)).await?,
                    };
                    let is_asked = |id: UserId| asking.is_admin || id == asking.user;
                    if !found.as_ref().is_none_or(|user| is_asked(user.id)) {
                        return Err(AccessError::NotAdmin);
                    }
                    let user = found.filter(|user| user.is_active);
                    let user = user
                        .ok_or_else(|| AccessError::NoUser(wanted.chars().take(100).collect()))?;
                    let mut bound = Binding::default();
                    if let Some(task) = task {
                        let asked = Caller::on_behalf_of(user.id, user.handle.clone(), false);
                        let task = tasks::find(tx, &asked, &task).await?;
                        (bound.task, bound.project) =
                            (Some(task.asked.id), Some(task.asked.project));
                    }
                    let user = with_groups(tx, user).await?;
                    let is_seen = tools::is_seen(tx, &asking, &tool).await?;
                    let audience = if is_seen { Audience::Registry } else { Audience::Caller };
                    // No such token exists; the id only fills the place.
                    Ok((identity(agent, TokenId::generate(), user, bound, None), audience))
                })
            })
            .await?;
        let arguments = request.arguments.as_ref();
        Ok(self.decider.explain(&who, &request.tool, arguments, audience).await)
    }
}
