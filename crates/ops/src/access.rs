//! Explains whether a caller may use a tool and why, without calling it.

use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{TokenId, UserId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{Store, TokenBinding};
use cynode_wire::tools::{ExplainAccess, ExplainView};
use serde_json::Value;

use cynode_execution::{tasks, tasks::TaskError};
use cynode_resources::Caller;
use cynode_resources::groups::load_group_ids;
use cynode_resources::tools;
use cynode_resources::{agents::AgentIdentity, agents::identity};

/// Evaluates the policy of a tool call without calling the tool. Implemented by the gateway.
#[async_trait]
pub trait ToolAccessExplainer: Send + Sync {
    /// Returns the verdict of each policy stage for a call of `tool` by `identity`. Nothing is
    /// called or recorded. Without arguments, stages that inspect arguments are skipped.
    async fn explain(
        &self,
        identity: &AgentIdentity,
        tool: &str,
        arguments: Option<&Value>,
        audience: Audience,
    ) -> ExplainView;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// A person who can see the tool in the registry: gets the verdict of each stage.
    Registry,
    /// A person who cannot: for a tool that the caller may not use, gets only what a call would
    /// return.
    Caller,
}

#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("only an administrator may ask about another user")]
    NotAdmin,
    #[error("no active user \"{0}\"")]
    NoUser(String),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for AccessError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::NoUser(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Task(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Explains access. Cheap to clone.
#[derive(Clone)]
pub struct Access {
    store: Store,
    decider: Arc<dyn ToolAccessExplainer>,
}

impl Access {
    /// Creates an explainer of the decisions of `decider`.
    pub fn new(store: Store, decider: Arc<dyn ToolAccessExplainer>) -> Self {
        Self { store, decider }
    }

    /// Returns the verdict of each policy stage for a call by this agent type on behalf of this
    /// user.
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
                    let name_or_id = user.map_or(NameOrId::Id(asking.user), NameOrId::from);
                    let found = match &name_or_id {
                        NameOrId::Id(id) => tx.user_get(*id).await?,
                        NameOrId::Name(handle) => tx.user_by_handle(&lookup_name(handle)).await?,
                    };
                    let is_asked = |id: UserId| asking.is_admin || id == asking.user;
                    if !found.as_ref().is_none_or(|user| is_asked(user.id)) {
                        return Err(AccessError::NotAdmin);
                    }
                    let user = found.filter(|user| user.is_active);
                    let user = user.ok_or_else(|| AccessError::NoUser(name_or_id.excerpt()))?;
                    let mut bound = TokenBinding::default();
                    if let Some(task) = task {
                        let subject = Caller::on_behalf_of(user.id, user.handle.clone(), false);
                        let task = tasks::find(tx, &subject, &task.into()).await?;
                        (bound.task, bound.project) = (Some(task.spec.id), Some(task.spec.project));
                    }
                    let groups = load_group_ids(tx, user.id).await?;
                    let is_seen = tools::is_tool_visible(tx, &asking, &tool).await?;
                    let audience = if is_seen { Audience::Registry } else { Audience::Caller };
                    // No such token exists; the id is a placeholder.
                    Ok((identity(agent, TokenId::generate(), user, groups, bound, None), audience))
                })
            })
            .await?;
        let arguments = request.arguments.as_ref();
        Ok(self.decider.explain(&who, &request.tool, arguments, audience).await)
    }
}
