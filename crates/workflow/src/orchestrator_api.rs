//! The orchestrator as seen by a runner: one connection for every call.
//!
//! [`cynode_client::Client`] implements it; tests use a fake. No call is retried here: [`RunnerCallError`]
//! classifies the failure, and [`crate::run_handle`] decides how long to retry. How to add a call is
//! described in [`cynode_wire::runner_calls`].

use async_trait::async_trait;
use cynode_client::{Client, ClientError, EncodedRequest, FullResponse, decode_response};
use cynode_wire::runner_calls::RunnerRequest;

use crate::engine::{JournalError, WorkflowNodeError};

/// Why a call failed, by how the runner must react.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunnerCallError {
    /// The lease epoch is stale: stop at once.
    #[error("{0}")]
    Fenced(String),
    /// The orchestrator is unreachable or overloaded: retry later.
    #[error("{0}")]
    Unavailable(String),
    /// The response cannot be parsed by this version.
    #[error("{0}")]
    Unreadable(String),
    /// Permanent rejection.
    #[error("{0}")]
    Refused(String),
}

/// A connection to the orchestrator: sends any request of [`cynode_wire::runner_calls`].
#[async_trait]
pub trait OrchestratorConnection: Send + Sync + 'static {
    /// Address of the orchestrator, for messages.
    fn base_url(&self) -> &str;

    async fn send(&self, request: &EncodedRequest) -> Result<FullResponse, ClientError>;
}

impl dyn OrchestratorConnection {
    /// Sends a request once.
    pub async fn call<R: RunnerRequest>(
        &self,
        request: &R,
    ) -> Result<R::Response, RunnerCallError> {
        let response = self.send(&EncodedRequest::new(request)?).await;
        Ok(decode_response::<R>(response, self.base_url())?)
    }
}

#[async_trait]
impl OrchestratorConnection for Client {
    fn base_url(&self) -> &str {
        self.base_url()
    }

    async fn send(&self, request: &EncodedRequest) -> Result<FullResponse, ClientError> {
        self.workflow_send(request).await
    }
}

impl From<ClientError> for RunnerCallError {
    fn from(error: ClientError) -> Self {
        let text = error.to_string();
        match &error {
            ClientError::Refused(problem) if problem.status == 409 => Self::Fenced(text),
            error if error.is_transient() => Self::Unavailable(text),
            // The orchestrator is down, and another server answers at its address.
            ClientError::NotAnOrchestrator { .. } => Self::Unavailable(text),
            ClientError::InvalidResponse { .. } => Self::Unreadable(text),
            ClientError::Refused(_)
            | ClientError::Unreachable { .. }
            | ClientError::InvalidAddress { .. } => Self::Refused(text),
        }
    }
}

impl From<RunnerCallError> for WorkflowNodeError {
    fn from(error: RunnerCallError) -> Self {
        match error {
            RunnerCallError::Fenced(_) => Self::LeaseLost,
            RunnerCallError::Unavailable(reason) => Self::Transient(reason),
            RunnerCallError::Unreadable(reason) => Self::BadOutput(reason),
            RunnerCallError::Refused(reason) => Self::Denied(reason),
        }
    }
}

impl From<RunnerCallError> for JournalError {
    fn from(error: RunnerCallError) -> Self {
        match error {
            RunnerCallError::Fenced(_) => Self::LeaseLost,
            RunnerCallError::Unavailable(reason)
            | RunnerCallError::Unreadable(reason)
            | RunnerCallError::Refused(reason) => Self::Rejected(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use cynode_wire::problem::Problem;

    use super::*;

    fn refusal(status: u16) -> RunnerCallError {
        RunnerCallError::from(ClientError::Refused(Box::new(Problem {
            kind: String::new(),
            title: String::new(),
            status,
            detail: "because".to_owned(),
            instance: None,
            errors: vec![],
        })))
    }

    #[test]
    fn a_conflict_is_a_lost_lease_and_an_overload_is_waited_for() {
        assert_eq!(WorkflowNodeError::from(refusal(409)), WorkflowNodeError::LeaseLost);
        assert_eq!(
            WorkflowNodeError::from(refusal(503)),
            WorkflowNodeError::Transient("because".to_owned())
        );
        assert_eq!(
            WorkflowNodeError::from(refusal(429)),
            WorkflowNodeError::Transient("because".to_owned())
        );
    }

    #[test]
    fn any_other_refusal_is_final() {
        assert_eq!(
            WorkflowNodeError::from(refusal(404)),
            WorkflowNodeError::Denied("because".to_owned())
        );
        assert_eq!(JournalError::from(refusal(413)), JournalError::Rejected("because".to_owned()));
    }
}
