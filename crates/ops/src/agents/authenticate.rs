//! Who presents a token to the gateway.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, TokenId};
use cynode_domain::policy::{AgentType, Principal};
use cynode_store::{AgentTokenStore, Binding, SessionStore, TokenOrigin, Tx, User, UserStore};

use super::{AgentError, AgentIdentity, AgentTokens, bind};
use crate::Caller;
use crate::groups;
use crate::tokens::{self, TokenKind};

impl AgentTokens {
    /// Who presents this agent token, or this API token of a person. The token's kind is what was
    /// stored with it; its prefix only says where to look.
    pub async fn authenticate(&self, token: &str) -> Result<AgentIdentity, AgentError> {
        let (hash, now) = (tokens::hash(token), self.clock.now());
        let kind = kind_of(token).ok_or(AgentError::BadToken)?;
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = match kind {
                        Principal::Agent(agent) => of_agent(tx, &hash, agent, now).await?,
                        Principal::User => of_user(tx, &hash, now).await?,
                    };
                    found.ok_or(AgentError::BadToken)
                })
            })
            .await
    }
}

fn kind_of(token: &str) -> Option<Principal> {
    let agents = AgentType::ALL.iter().map(|agent| Principal::Agent(*agent));
    agents.chain([Principal::User]).find(|principal| {
        let kind = match principal {
            Principal::Agent(agent) => TokenKind::Agent(*agent),
            Principal::User => TokenKind::Api,
        };
        token.starts_with(kind.prefix())
    })
}

async fn of_agent(
    tx: &mut Tx,
    hash: &[u8],
    agent: AgentType,
    now: DateTime<Utc>,
) -> Result<Option<AgentIdentity>, AgentError> {
    let Some(token) = tx.agent_token_by_hash(hash).await? else {
        return Ok(None);
    };
    if token.agent != agent || token.revoked_at.is_some() || token.expires_at <= now {
        return Ok(None);
    }
    let Some(user) = active(tx.user_get(token.user).await?) else {
        return Ok(None);
    };
    if !bind::is_consistent(tx, &token).await? {
        return Ok(None);
    }
    let end = Some(token.expires_at);
    let user = with_groups(tx, user).await?;
    let known = identity(Principal::Agent(agent), token.id, user, token.binding, end);
    Ok(Some(AgentIdentity { origin: token.origin, ..known }))
}

async fn of_user(
    tx: &mut Tx,
    hash: &[u8],
    now: DateTime<Utc>,
) -> Result<Option<AgentIdentity>, AgentError> {
    let token = tx.token_by_hash(hash).await?;
    let token = token
        .filter(|token| token.revoked_at.is_none())
        .filter(|token| token.expires_at.is_none_or(|end| end > now));
    let Some(token) = token else {
        return Ok(None);
    };
    let Some(user) = active(tx.user_get(token.user).await?) else {
        return Ok(None);
    };
    let user = with_groups(tx, user).await?;
    Ok(Some(identity(Principal::User, token.id, user, Binding::default(), token.expires_at)))
}

fn active(user: Option<User>) -> Option<User> {
    user.filter(|user| user.is_active)
}

/// A user and the user's groups, as of now.
pub(crate) async fn with_groups(
    tx: &mut Tx,
    user: User,
) -> Result<(User, Vec<GroupId>), cynode_store::Error> {
    let groups = groups::ids_of(tx, user.id).await?;
    Ok((user, groups))
}

/// What the gateway knows of a caller. An agent of an administrator has the administrator's things
/// and not the administrator's powers.
pub(crate) fn identity(
    agent: Principal,
    token_id: TokenId,
    (user, groups): (User, Vec<GroupId>),
    bound: Binding,
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
