//! Requests an analyst for criteria in prose.

use cynode_client::McpClientError;
use cynode_domain::policy::ErrorKind;
use cynode_wire::handoff::{
    DecidedBy, DecisionRecord, Handoff, VerifyAnswer, VerifyHandoff, VerifyOutcome,
};
use cynode_wire::tool_calls::{PmAnalystRequest, ToolCall as _};
use serde_json::json;

use crate::HandoffAgentError;
use crate::brain::hash_parts;
use crate::session::HandoffSession;

/// Requests an analyst.
pub(crate) async fn verify(
    mut work: HandoffSession,
    handoff: &Handoff<VerifyHandoff>,
) -> Result<VerifyAnswer, HandoffAgentError> {
    let body = &handoff.body;
    let Some(task) = &handoff.context.task else {
        let (tool, message) =
            (PmAnalystRequest::NAME.to_owned(), "the handoff has no task".to_owned());
        return Err(HandoffAgentError::Tool { tool, kind: ErrorKind::InvalidArguments, message });
    };
    let call = PmAnalystRequest { job_id: body.job_id, task_id: Some(task.id) };
    let outcome = match work.tools.call(PmAnalystRequest::NAME, &json!(call)).await {
        Ok(answer) => {
            let is_looking = answer.structured.is_some_and(|said| said["is_looking"] == true);
            VerifyOutcome::AnalystRequested { is_looking }
        }
        Err(McpClientError::ToolFailed { kind, message }) if kind.is_retryable() => {
            VerifyOutcome::Later { reason: message }
        }
        Err(McpClientError::ToolFailed { message, .. }) => {
            VerifyOutcome::Unchecked { reason: message }
        }
        Err(error) => return Err(HandoffAgentError::from_mcp(PmAnalystRequest::NAME, error)),
    };
    let reason = match &outcome {
        VerifyOutcome::AnalystRequested { .. } => {
            format!("requested an analyst for {} criteria in prose", body.criteria.len())
        }
        VerifyOutcome::Later { reason } => format!("deferred: {reason}"),
        VerifyOutcome::Unchecked { reason } => format!("left unchecked: {reason}"),
    };
    let input_hash = hash_parts(&["request_analyst", &json!(body).to_string()]);
    let purpose = "request_analyst".to_owned();
    let by = DecidedBy::Rule;
    work.decisions.push(DecisionRecord { purpose, by, reason, input_hash, model: None });
    Ok(VerifyAnswer { outcome, decisions: work.decisions })
}
