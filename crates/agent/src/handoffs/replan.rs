//! A step was not accepted: another command is planned for its next attempt, or it is said why none is.

use cynode_wire::handoff::{Handoff, ReplanAnswer, ReplanHandoff, ReplanOutcome};

use crate::AgentError;
use crate::brain::decisions::ReplanStep;
use crate::work::Work;

/// Plans a step anew.
pub(crate) async fn replan(
    mut work: Work,
    handoff: &Handoff<ReplanHandoff>,
) -> Result<ReplanAnswer, AgentError> {
    let (task, body) = (handoff.context.task.as_ref(), &handoff.body);
    let replanned = work
        .think(&ReplanStep {
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
    // The record also says why no model was asked.
    let reason = work.decisions.last().map_or(replanned.reason, |record| record.reason.clone());
    let outcome = if replanned.command.trim().is_empty() {
        ReplanOutcome::Kept {}
    } else {
        ReplanOutcome::Replanned { command: replanned.command }
    };
    Ok(ReplanAnswer { outcome, reason, decisions: work.decisions })
}
