//! Plans another command for the next attempt of a rejected step, or explains why there is none.

use cynode_wire::handoff::{Handoff, ReplanAnswer, ReplanHandoff, ReplanOutcome};

use crate::HandoffAgentError;
use crate::brain::decisions::ReplanRejectedStep;
use crate::session::HandoffSession;

/// Plans another command for a step.
pub(crate) async fn replan(
    mut work: HandoffSession,
    handoff: &Handoff<ReplanHandoff>,
) -> Result<ReplanAnswer, HandoffAgentError> {
    let (task, body) = (handoff.context.task.as_ref(), &handoff.body);
    let replanned = work
        .decide(&ReplanRejectedStep {
            request: body.request.clone(),
            tried: body.tried.clone(),
            findings: body.findings.clone(),
            ending: body.evidence.ending.clone(),
            output: [body.evidence.stdout.clone(), body.evidence.stderr.clone()],
            files: body.evidence.artifacts.clone(),
            expected_outputs: body.expected_outputs.clone(),
            workspace: task.map(|task| task.workspace.clone()).unwrap_or_default(),
        })
        .await?;
    // The record also contains the reason of a fallback.
    let reason = work.decisions.last().map_or(replanned.reason, |record| record.reason.clone());
    let outcome = if replanned.command.trim().is_empty() {
        ReplanOutcome::Kept {}
    } else {
        ReplanOutcome::Replanned { command: replanned.command }
    };
    Ok(ReplanAnswer { outcome, reason, decisions: work.decisions })
}
