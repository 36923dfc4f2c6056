//! Criteria in prose are left: an analyst is asked for, where there is one.

use cynode_client::McpError;
use cynode_domain::policy::ErrorKind;
use cynode_wire::handoff::{
    DecidedBy, DecisionRecord, Handoff, VerifyAnswer, VerifyHandoff, VerifyOutcome,
};
use serde_json::json;

use crate::AgentError;
use crate::brain::hash;
use crate::work::Work;

/// The tool by which the orchestrator is asked for an analyst.
const ANALYST: &str = "pm.analyst.request";

/// Asks for an analyst.
pub(crate) async fn verify(
    mut work: Work,
    handoff: &Handoff<VerifyHandoff>,
) -> Result<VerifyAnswer, AgentError> {
    let body = &handoff.body;
    let Some(task) = &handoff.context.task else {
        let (tool, message) = (ANALYST.to_owned(), "the handoff names no task".to_owned());
        return Err(AgentError::Tool { tool, kind: ErrorKind::InvalidArguments, message });
    };
    let arguments = json!({ "task_id": task.id, "job_id": body.job_id });
    let outcome = match work.tools.call(ANALYST, &arguments).await {
        Ok(answer) => {
            let is_looking = answer.structured.is_some_and(|said| said["is_looking"] == true);
            VerifyOutcome::AnalystRequested { is_looking }
        }
        Err(McpError::Tool { kind, message }) if kind.may_pass() => {
            VerifyOutcome::Later { reason: message }
        }
        Err(McpError::Tool { message, .. }) => VerifyOutcome::Unchecked { reason: message },
        Err(error) => return Err(AgentError::of(ANALYST, error)),
    };
    let reason = match &outcome {
        VerifyOutcome::AnalystRequested { .. } => {
            format!("an analyst judges {} criteria in prose", body.criteria.len())
        }
        VerifyOutcome::Later { reason } => format!("put off: {reason}"),
        VerifyOutcome::Unchecked { reason } => format!("left unchecked: {reason}"),
    };
    let input_hash = hash(&["request_analyst", &json!(body).to_string()]);
    let purpose = "request_analyst".to_owned();
    let by = DecidedBy::Rule;
    work.decisions.push(DecisionRecord { purpose, by, reason, input_hash, model: None });
    Ok(VerifyAnswer { outcome, decisions: work.decisions })
}
