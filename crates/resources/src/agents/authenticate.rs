//! Authentication of gateway callers.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, TokenId};
use cynode_domain::policy::{AgentType, Principal};
use cynode_store::{TokenBinding, TokenOrigin, Tx, User};

use super::{AgentIdentity, AgentTokenError, AgentTokens, binding};
use crate::Caller;
use crate::groups;
use crate::{tokens, tokens::TokenKind};

impl AgentTokens {
    /// Authenticates an agent token, or a user's API token. The stored row decides the kind; the prefix
    /// only selects the table to search.
    pub async fn authenticate(&self, token: &str) -> Result<AgentIdentity, AgentTokenError> {
        let (hash, now) = (tokens::hash_token(token), self.clock.now());
        let kind = principal_from_prefix(token).ok_or(AgentTokenError::BadToken)?;
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = match kind {
                        Principal::Agent(agent) => {
                            load_agent_identity(tx, &hash, agent, now).await?
                        }
                        Principal::User => load_user_identity(tx, &hash, now).await?,
                    };
                    found.ok_or(AgentTokenError::BadToken)
                })
            })
            .await
    }
}

fn principal_from_prefix(token: &str) -> Option<Principal> {
    let agents = AgentType::ALL.iter().map(|agent| Principal::Agent(*agent));
    agents.chain([Principal::User]).find(|principal| {
        let kind = match principal {
            Principal::Agent(agent) => TokenKind::Agent(*agent),
            Principal::User => TokenKind::Api,
        };
        token.starts_with(kind.prefix())
    })
}

async fn load_agent_identity(
    tx: &mut Tx,
    hash: &[u8],
    agent: AgentType,
    now: DateTime<Utc>,
) -> Result<Option<AgentIdentity>, AgentTokenError> {
    let Some(token) = tx.agent_token_by_hash(hash).await? else {
        return Ok(None);
    };
    if token.agent != agent || token.revoked_at.is_some() || token.expires_at <= now {
        return Ok(None);
    }
    let Some(user) = filter_active(tx.user_get(token.user).await?) else {
        return Ok(None);
    };
    if !binding::is_consistent(tx, &token).await? {
        return Ok(None);
    }
    let end = Some(token.expires_at);
    let groups = groups::load_group_ids(tx, user.id).await?;
    let known = identity(Principal::Agent(agent), token.id, user, groups, token.binding, end);
    Ok(Some(AgentIdentity { origin: token.origin, ..known }))
}

async fn load_user_identity(
    tx: &mut Tx,
    hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<AgentIdentity>, AgentTokenError> {
    let token = tx.token_by_hash(hash).await?;
    let token = token
        .filter(|token| token.revoked_at.is_none())
        .filter(|token| token.expires_at.is_none_or(|end| end > now));
    let Some(token) = token else {
        return Ok(None);
    };
    let Some(user) = filter_active(tx.user_get(token.user).await?) else {
        return Ok(None);
    };
    let groups = groups::load_group_ids(tx, user.id).await?;
    Ok(Some(identity(
        Principal::User,
        token.id,
        user,
        groups,
        TokenBinding::default(),
        token.expires_at,
    )))
}

fn filter_active(user: Option<User>) -> Option<User> {
    user.filter(|user| user.is_active)
}

/// Builds the gateway's identity of a caller. An agent of an administrator can access the
/// administrator's resources but has no administrator rights.
pub fn identity(
    agent: Principal,
    token_id: TokenId,
    user: User,
    groups: Vec<GroupId>,
    bound: TokenBinding,
    expires_at: Option<DateTime<Utc>>,
) -> AgentIdentity {
    let is_admin = user.is_admin && agent == Principal::User;
    let role = if is_admin { "admin" } else { "user" };
    AgentIdentity {
        token_id,
        agent,
        user: user.id,
        caller: Caller::on_behalf_of(user.id, user.handle, is_admin),
        groups,
        roles: vec![role.to_owned()],
        project: bound.project,
        task: bound.task,
        run: bound.run,
        job: bound.job,
        session: bound.session,
        origin: TokenOrigin::default(),
        expires_at,
    }
}
