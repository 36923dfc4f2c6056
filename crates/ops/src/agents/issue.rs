//! Issuing and revoking agent tokens.

use chrono::Duration;
use cynode_domain::ids::TokenId;
use cynode_domain::policy::AgentType;
use cynode_store::{
    AgentToken, AgentTokenStore, Binding, SettingStore, TokenOrigin, Tx, UserStore,
};
use cynode_wire::agents::{AgentTokenView, BindingView, IssueAgentToken, NewAgentTokenView};
use cynode_wire::page::{Page, PageQuery};
use secrecy::ExposeSecret;

use super::{AgentError, AgentTokens, bind};
use crate::Caller;
use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::tokens::{Token, TokenKind};

const MAX_NAME_CHARS: usize = 100;
const DEFAULT_SECONDS: u32 = 3600;
const MAX_SECONDS: u32 = 30 * 24 * 3600;

impl AgentTokens {
    /// Issues a token; the answer is the only place its secret is shown. For oneself, or as an
    /// administrator for others.
    pub async fn issue(
        &self,
        caller: &Caller,
        request: IssueAgentToken,
    ) -> Result<NewAgentTokenView, AgentError> {
        self.issue_for(caller, request, TokenOrigin::default()).await
    }

    /// The same for work that is handed over. Nobody can ask for that through an API, so what a token
    /// says of where it comes from is true.
    pub(crate) async fn issue_for(
        &self,
        caller: &Caller,
        request: IssueAgentToken,
        origin: TokenOrigin,
    ) -> Result<NewAgentTokenView, AgentError> {
        check(&request)?;
        let user = request.user_id.unwrap_or(caller.user);
        if user != caller.user && !caller.is_admin {
            return Err(AgentError::NotAdmin);
        }
        let secret = Token::generate(TokenKind::Agent(request.agent_type))
            .map_err(|error| AgentError::Secret(Box::new(error)))?;
        let now = self.clock.now();
        let seconds = request.expires_in_seconds.unwrap_or(DEFAULT_SECONDS);
        let token = AgentToken {
            id: TokenId::generate(),
            hash: secret.hash(),
            agent: request.agent_type,
            user,
            binding: binding(request.binding),
            origin,
            name: request.name.trim().to_owned(),
            created_by: caller.user,
            created_at: now,
            expires_at: now + Duration::seconds(i64::from(seconds)),
            revoked_at: None,
        };
        let token =
            self.store.write(move |tx| Box::pin(async move { insert(tx, token).await })).await?;
        let secret = secret.reveal().expose_secret().to_owned();
        Ok(NewAgentTokenView { token: view(token), secret })
    }

    /// A page of tokens, newest first: the caller's own, or everybody's for administrators.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<AgentTokenView>, AgentError> {
        let request = PageRequest::<TokenId>::check(query)?;
        let (user, before, fetch) = (caller.own(), request.before, request.fetch);
        let tokens = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, AgentError>(tx.agent_token_list(user, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(tokens, |token| token.id.to_string(), view))
    }

    /// Ends a token whose work is done. It is refused wherever it is looked up from now on; who looked
    /// it up a moment ago may believe it for a second more. Nothing else has changed, so nobody is told
    /// to read anew what calls are decided by.
    pub(crate) async fn end(&self, id: TokenId) -> Result<(), AgentError> {
        let now = self.clock.now();
        self.store
            .write_alone(move |tx| {
                Box::pin(async move { tx.agent_token_revoke(id, now).await.map(drop) })
            })
            .await
            .map_err(AgentError::Store)
    }

    /// Revokes a token, at once and for good.
    pub async fn revoke(&self, caller: &Caller, id: TokenId) -> Result<(), AgentError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let token = tx.agent_token_get(id).await?;
                    if !token.is_some_and(|token| caller.may_see(token.user)) {
                        return Err(AgentError::NotFound);
                    }
                    if tx.agent_token_revoke(id, now).await? {
                        tx.policy_touch().await?;
                    }
                    Ok(())
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

fn check(request: &IssueAgentToken) -> Result<(), AgentError> {
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
    if faults.is_empty() { Ok(()) } else { Err(AgentError::Invalid(faults)) }
}

/// Stores a token with the binding that [`bind::resolve`] has checked and completed.
async fn insert(tx: &mut Tx, mut token: AgentToken) -> Result<AgentToken, AgentError> {
    let user = tx.user_get(token.user).await?.filter(|user| user.is_active);
    let user =
        user.ok_or_else(|| AgentError::Invalid(vec!["user_id names no active user".to_owned()]))?;
    token.binding = bind::resolve(tx, user.id, token.binding).await?;
    tx.agent_token_insert(&token).await?;
    Ok(token)
}

fn binding(view: BindingView) -> Binding {
    Binding {
        project: view.project_id,
        task: view.task_id,
        run: view.run_id,
        job: view.job_id,
        session: view.session_id,
    }
}

fn view(token: AgentToken) -> AgentTokenView {
    let bound = token.binding;
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
        created_by: token.created_by,
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
    }
}
