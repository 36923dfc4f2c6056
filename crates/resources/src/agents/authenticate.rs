//! Authentication of gateway callers.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, TokenId};
use cynode_domain::policy::{AgentType, Principal};
use cynode_store::{ApiToken, JobAgent, TokenBinding, TokenOrigin, Tx, User};

use super::{AgentIdentity, AgentTokenError, AgentTokens, binding};
use crate::Caller;
use crate::accounts::tokens::record_use;
use crate::groups;
use crate::{tokens, tokens::TokenKind};

impl AgentTokens {
    /// Authenticates an agent token, or a user's API token. The stored row decides the kind; the prefix
    /// only selects the table to search.
    pub async fn authenticate(&self, token: &str) -> Result<AgentIdentity, AgentTokenError> {
        let (hash, now) = (tokens::hash_token(token), self.clock.now());
        let kind = principal_from_prefix(token).ok_or(AgentTokenError::BadToken)?;
        let (identity, api_token) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = match kind {
                        Principal::Agent(agent) => {
                            let identity = load_agent_identity(tx, &hash, agent, now).await?;
                            identity.map(|identity| (identity, None))
                        }
                        Principal::User => load_user_identity(tx, &hash, now).await?,
                    };
                    found.ok_or(AgentTokenError::BadToken)
                })
            })
            .await?;
        if let Some(token) = api_token {
            record_use(&self.store, &token, now).await;
        }
        if let Some(job) = identity.job {
            self.signs.record(job).await;
        }
        Ok(identity)
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
    let user = tx.user_get(token.user).await?;
    let Some(user) = user.filter(|user| user.is_active) else {
        return Ok(None);
    };
    if !binding::is_consistent(tx, &token).await? {
        return Ok(None);
    }
    let end = Some(token.expires_at);
    let groups = groups::load_group_ids(tx, user.id).await?;
    let known = identity(Principal::Agent(agent), token.id, user, groups, token.binding, end);
    Ok(Some(AgentIdentity {
        origin: token.origin,
        job_agent: token.job_agent,
        profile_id: token.profile_id,
        ..known
    }))
}

async fn load_user_identity(
    tx: &mut Tx,
    hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<(AgentIdentity, Option<ApiToken>)>, AgentTokenError> {
    let found = tx.token_with_user(hash).await?;
    let found = found.filter(|(token, user)| token.is_valid(now) && user.is_active);
    let Some((token, user)) = found else {
        return Ok(None);
    };
    let groups = groups::load_group_ids(tx, user.id).await?;
    let identity = identity(
        Principal::User,
        token.id,
        user,
        groups,
        TokenBinding::default(),
        token.expires_at,
    );
    Ok(Some((identity, Some(token))))
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
        job_agent: JobAgent::default(),
        profile_id: None,
        expires_at,
    }
}
