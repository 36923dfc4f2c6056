//! Issuing and revoking agent tokens.

use chrono::Duration;
use cynode_domain::ids::TokenId;
use cynode_domain::policy::AgentType;
use cynode_store::{AgentToken, JobAgent, TokenBinding, TokenOrigin, Tx};
use cynode_wire::agents::{AgentTokenView, BindingView, IssueAgentToken, NewAgentTokenView};
use cynode_wire::page::{Page, PageQuery};
use secrecy::ExposeSecret;

use super::job_agent::register_agent;
use super::{AgentTokenError, AgentTokens, binding};
use crate::Caller;
use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::{tokens::OpaqueToken, tokens::TokenKind};

const MAX_NAME_CHARS: usize = 100;
const DEFAULT_SECONDS: u32 = 3600;
const MAX_SECONDS: u32 = 30 * 24 * 3600;

impl AgentTokens {
    /// Issues a token, for the caller or, as an administrator, for another user. Only this response
    /// contains its secret.
    pub async fn issue(
        &self,
        caller: &Caller,
        request: IssueAgentToken,
    ) -> Result<NewAgentTokenView, AgentTokenError> {
        self.issue_for_handoff(caller, request, TokenOrigin::default()).await
    }

    /// The same for a handoff. No API exposes this, so a token's origin can be trusted.
    pub async fn issue_for_handoff(
        &self,
        caller: &Caller,
        request: IssueAgentToken,
        origin: TokenOrigin,
    ) -> Result<NewAgentTokenView, AgentTokenError> {
        self.issue_as(caller, request, origin, None).await
    }

    /// The same for the agent of a job, which gets a role on its task. No API exposes this.
    pub async fn issue_for_job(
        &self,
        caller: &Caller,
        request: IssueAgentToken,
        agent: JobAgent,
    ) -> Result<NewAgentTokenView, AgentTokenError> {
        self.issue_as(caller, request, TokenOrigin::default(), Some(agent)).await
    }

    async fn issue_as(
        &self,
        caller: &Caller,
        request: IssueAgentToken,
        origin: TokenOrigin,
        agent: Option<JobAgent>,
    ) -> Result<NewAgentTokenView, AgentTokenError> {
        validate_issue_request(&request)?;
        let user = request.user_id.unwrap_or(caller.user);
        if user != caller.user && !caller.is_admin {
            return Err(AgentTokenError::NotAdmin);
        }
        let secret = OpaqueToken::generate(TokenKind::Agent(request.agent_type))
            .map_err(|error| AgentTokenError::Secret(Box::new(error)))?;
        let now = self.clock.now();
        let seconds = request.expires_in_seconds.unwrap_or(DEFAULT_SECONDS);
        let token = AgentToken {
            id: TokenId::generate(),
            hash: secret.hash(),
            agent: request.agent_type,
            user,
            binding: binding_from_view(request.binding),
            origin,
            job_agent: JobAgent::default(),
            profile_id: None,
            name: request.name.trim().to_owned(),
            created_by: caller.user,
            created_at: now,
            expires_at: now + Duration::seconds(i64::from(seconds)),
            revoked_at: None,
        };
        let token = self
            .store
            .write(move |tx| Box::pin(async move { insert_token(tx, token, agent).await }))
            .await?;
        let secret = secret.reveal().expose_secret().to_owned();
        Ok(NewAgentTokenView { token: agent_token_view(token), secret })
    }

    /// Lists tokens, newest first: the caller's own, or all for administrators.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<AgentTokenView>, AgentTokenError> {
        let request = PageRequest::<TokenId>::parse(query)?;
        let (user, before, fetch) = (caller.own(), request.before, request.fetch);
        let tokens = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, AgentTokenError>(tx.agent_token_list(user, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(tokens, |token| token.id.to_string(), agent_token_view))
    }

    /// Revokes a token whose work is done. New look-ups reject it; a cached identity may stay valid
    /// for one more second. The policy revision does not change, so no snapshot is reloaded.
    pub async fn end(&self, id: TokenId) -> Result<(), AgentTokenError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move { tx.agent_token_revoke(id, now).await.map(drop) })
            })
            .await
            .map_err(AgentTokenError::Store)
    }

    /// Revokes a token immediately and permanently.
    pub async fn revoke(&self, caller: &Caller, id: TokenId) -> Result<(), AgentTokenError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let token = tx.agent_token_get(id).await?;
                    if !token.is_some_and(|token| caller.may_see(token.user)) {
                        return Err(AgentTokenError::NotFound);
                    }
                    if tx.agent_token_revoke(id, now).await? {
                        tx.policy_bump_revision().await?;
                    }
                    Ok(())
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

fn validate_issue_request(request: &IssueAgentToken) -> Result<(), AgentTokenError> {
    let mut faults = vec![];
    let name = request.name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        faults.push(format!("name needs 1 to {MAX_NAME_CHARS} characters"));
    }
    if request.expires_in_seconds.is_some_and(|seconds| !(1..=MAX_SECONDS).contains(&seconds)) {
        faults.push(format!("expires_in_seconds is 1 to {MAX_SECONDS}, or absent"));
    }
    let bound = &request.binding;
    if request.agent_type == AgentType::Sandbox
        && (bound.task_id.is_none() || bound.job_id.is_none())
    {
        faults.push("a sandbox token needs task_id and job_id".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(AgentTokenError::Invalid(faults)) }
}

/// Persists a token with the binding that [`binding::resolve_binding`] validated and completed.
async fn insert_token(
    tx: &mut Tx,
    mut token: AgentToken,
    agent: Option<JobAgent>,
) -> Result<AgentToken, AgentTokenError> {
    let user = tx.user_get(token.user).await?.filter(|user| user.is_active);
    let user = user.ok_or_else(|| {
        AgentTokenError::Invalid(vec!["user_id is not an active user".to_owned()])
    })?;
    token.binding = binding::resolve_binding(tx, user.id, token.binding).await?;
    if let (Some(agent), Some(task), Some(job)) = (agent, token.binding.task, token.binding.job) {
        tx.job_expect_signs(job).await?;
        token.job_agent = register_agent(tx, task, job, agent, token.created_at).await?;
    }
    let profile = binding::resolve_profile(tx, user.id, &token).await?;
    token.profile_id = Some(profile);
    tx.agent_token_insert(&token).await?;
    Ok(token)
}

fn binding_from_view(view: BindingView) -> TokenBinding {
    TokenBinding {
        project: view.project_id,
        task: view.task_id,
        run: view.run_id,
        job: view.job_id,
        session: view.session_id,
    }
}

fn agent_token_view(token: AgentToken) -> AgentTokenView {
    let (bound, agent) = (token.binding, token.job_agent);
    let (profile, profile_revision) = agent.profile.unzip();
    AgentTokenView {
        id: token.id,
        agent_type: token.agent,
        name: token.name,
        user_id: token.user,
        binding: BindingView {
            project_id: bound.project,
            task_id: bound.task,
            run_id: bound.run,
            job_id: bound.job,
            session_id: bound.session,
        },
        profile_id: token.profile_id,
        agent_role: agent.role.map(|role| role.to_string()),
        work_unit_id: agent.work_unit,
        profile,
        profile_revision,
        created_by: token.created_by,
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
    }
}
