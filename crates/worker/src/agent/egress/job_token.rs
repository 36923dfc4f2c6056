//! The token of a job, kept in memory.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;
use cynode_runtime::clock::{Clock as _, SystemClock};
use secrecy::SecretString;
use tokio::sync::Mutex;

use crate::agent::DaemonContext;
use crate::agent::connection::OrchestratorCallError;

/// A token that expires sooner is replaced.
const MARGIN: Duration = Duration::from_mins(5);

/// The token of one job; asks the orchestrator for it when it is needed.
pub(super) struct JobToken {
    context: Arc<DaemonContext>,
    job: JobId,
    current: Mutex<Option<IssuedToken>>,
}

#[derive(Clone)]
struct IssuedToken {
    secret: SecretString,
    expires_at: DateTime<Utc>,
}

impl JobToken {
    pub(super) fn new(context: Arc<DaemonContext>, job: JobId) -> Self {
        Self { context, job, current: Mutex::default() }
    }

    /// The current token, or a new one.
    pub(super) async fn get(&self) -> Result<SecretString, OrchestratorCallError> {
        let mut current = self.current.lock().await;
        let needed_until = SystemClock.now() + MARGIN;
        if let Some(token) = current.as_ref().filter(|token| token.expires_at > needed_until) {
            return Ok(token.secret.clone());
        }
        let job = self.job;
        let issue =
            move |client: cynode_client::Client| async move { client.node_agent_token(job).await };
        let issued = self.context.connection.call(issue).await?;
        let secret = SecretString::from(issued.secret);
        *current = Some(IssuedToken { secret: secret.clone(), expires_at: issued.expires_at });
        Ok(secret)
    }

    /// Drops the token after the orchestrator rejected it.
    pub(super) async fn discard(&self) {
        *self.current.lock().await = None;
    }
}
