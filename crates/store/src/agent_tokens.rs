//! Agent tokens. Only SHA-256 hashes of tokens are stored.

use chrono::{DateTime, Utc};
pub use cynode_domain::agent::{JobAgent, TokenBinding};
use cynode_domain::ids::{JobId, ProfileId, ScheduleRunId, ThreadId, TokenId, TraceId, UserId};
use cynode_domain::policy::AgentType;
use cynode_domain::verification::VerificationKey;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The work a token was issued for, as stated by its issuer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenOrigin {
    pub schedule_run: Option<ScheduleRunId>,
    /// The chat thread.
    pub thread: Option<ThreadId>,
    /// Correlates the work across the logs of all processes.
    pub trace: Option<TraceId>,
    /// The verification for which the token may write findings.
    pub verification: Option<VerificationKey>,
}

/// A token of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToken {
    pub id: TokenId,
    pub hash: Vec<u8>,
    /// The kind of agent that holds it.
    pub agent: AgentType,
    /// The user on whose behalf the agent acts.
    pub user: UserId,
    pub binding: TokenBinding,
    pub origin: TokenOrigin,
    pub job_agent: JobAgent,
    /// What the agent may use. `None` for a token of an earlier version without a project: it has no profile's data.
    pub profile_id: Option<ProfileId>,
    /// A label.
    pub name: String,
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
    pub revoked_at: Option<DateTime<Utc>>,
}

/// Agent tokens, looked up by the hash of the presented token.
impl Tx {
    pub async fn agent_token_insert(&mut self, token: &AgentToken) -> Result<(), Error> {
        let sql =
            "INSERT INTO agent_tokens (id, token_hash, agent_type, user_id, project_id, task_id,
                   run_id, job_id, session_id, name, created_by, created_at, expires_at, revoked_at,
                   schedule_run_id, thread_id, trace_id, verification, role, work_unit_id, profile,
                   profile_revision, profile_id)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                   $17, $18, $19, $20, $21, $22, $23)";
        let (bound, agent) = (&token.binding, &token.job_agent);
        let params = params![
            token.id,
            token.hash.clone(),
            token.agent,
            token.user,
            bound.project,
            bound.task,
            bound.run,
            bound.job,
            bound.session,
            &token.name,
            token.created_by,
            token.created_at,
            token.expires_at,
            token.revoked_at,
            token.origin.schedule_run,
            token.origin.thread,
            token.origin.trace,
            token.origin.verification.map(|key| key.to_string()),
            agent.role.as_ref().map(ToString::to_string),
            agent.work_unit.clone(),
            agent.profile.as_ref().map(|(name, _)| name.clone()),
            agent.profile.as_ref().map(|(_, revision)| i64::from(*revision)),
            token.profile_id,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn agent_token_by_hash(&mut self, hash: &[u8]) -> Result<Option<AgentToken>, Error> {
        let sql = "SELECT * FROM agent_tokens WHERE token_hash = $1";
        self.one(&tables::AGENT_TOKENS, sql, params![hash], token).await
    }

    pub async fn agent_token_get(&mut self, id: TokenId) -> Result<Option<AgentToken>, Error> {
        let sql = "SELECT * FROM agent_tokens WHERE id = $1";
        self.one(&tables::AGENT_TOKENS, sql, params![id], token).await
    }

    /// Lists a page of tokens, newest first, older than `before`; of one user, or of all.
    pub async fn agent_token_list(
        &mut self,
        user: Option<UserId>,
        before: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<AgentToken>, Error> {
        let sql = "SELECT * FROM agent_tokens
                   WHERE ($1 /*pg ::uuid */ IS NULL OR user_id = $1)
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2)
                   ORDER BY id DESC LIMIT $3";
        self.page(&tables::AGENT_TOKENS, sql, params![user, before, limit], token).await
    }

    /// Revokes a token; returns false if it does not exist or is already revoked.
    pub async fn agent_token_revoke(
        &mut self,
        id: TokenId,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
        Ok(self.execute(sql, params![id, at]).await? == 1)
    }

    /// Revokes every token bound to a job. Returns how many.
    pub async fn agent_token_revoke_job(&mut self, job: JobId) -> Result<u64, Error> {
        let sql = "UPDATE agent_tokens SET revoked_at = cynode_now()
                   WHERE job_id = $1 AND revoked_at IS NULL";
        self.execute(sql, params![job]).await
    }

    /// Deletes tokens that expired before this time. Returns how many.
    pub async fn agent_token_delete_expired(
        &mut self,
        ended_before: DateTime<Utc>,
    ) -> Result<u64, Error> {
        let sql = "DELETE FROM agent_tokens WHERE expires_at < $1";
        self.execute(sql, params![ended_before]).await
    }
}

pub(crate) fn token(row: &Row) -> Result<AgentToken, Error> {
    let profile = match row.get::<Option<String>>("profile")? {
        Some(name) => Some((name, row.count("profile_revision")?)),
        None => None,
    };
    Ok(AgentToken {
        id: row.id("id")?,
        hash: row.get("token_hash")?,
        agent: row.keyword("agent_type")?,
        user: row.id("user_id")?,
        binding: TokenBinding {
            project: row.id_opt("project_id")?,
            task: row.id_opt("task_id")?,
            run: row.id_opt("run_id")?,
            job: row.id_opt("job_id")?,
            session: row.id_opt("session_id")?,
        },
        origin: TokenOrigin {
            schedule_run: row.id_opt("schedule_run_id")?,
            thread: row.id_opt("thread_id")?,
            trace: row.id_opt("trace_id")?,
            verification: row.keyword_opt("verification")?,
        },
        job_agent: JobAgent {
            role: row.keyword_opt("role")?,
            work_unit: row.get("work_unit_id")?,
            profile,
        },
        profile_id: row.id_opt("profile_id")?,
        name: row.get("name")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
