//! Has the step's result judged, however long the analyst takes. What follows from the verdict is
//! decided by the graph's edges.

use cynode_domain::ids::JobId;
use cynode_domain::verdict::Verdict;
use cynode_wire::workflow::VerificationView;

use super::Control;
use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::RunState;

/// Has the step's result judged.
#[derive(Debug)]
pub struct VerifyStepResult(pub Control);

/// What is to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The job that ended.
    pub job_id: JobId,
    /// Artifact paths the step owed.
    pub expected_outputs: Vec<String>,
    /// Whether the task's acceptance criteria apply.
    pub is_last_step: bool,
}

impl Node for VerifyStepResult {
    const NAME: &'static str = "verify_step_result";
    type Input = Verification;
    type Output = Verdict;

    async fn run(&self, cx: &mut NodeCx<'_>, input: Verification) -> Result<Verdict, NodeError> {
        let (key, life) = (format!("verify/{}", input.job_id), cx.life());
        cx.effect(&key, async {
            loop {
                let VerificationView { verdict, waiting_for } = self.0.verify(&input).await?;
                if let Some(verdict) = verdict {
                    return Ok(verdict);
                }
                life.waits_for(waiting_for.as_deref().unwrap_or("a verdict"));
            }
        })
        .await
    }
}

impl On<RunState> for VerifyStepResult {
    fn input(state: &RunState) -> Result<Verification, NodeError> {
        let result = state.last_result.as_ref();
        let result = result.ok_or_else(|| NodeError::Denied("no result to verify".to_owned()))?;
        let step = state.current_step();
        Ok(Verification {
            job_id: result.job_id,
            expected_outputs: step.map(|s| s.expected_outputs.clone()).unwrap_or_default(),
            is_last_step: state.is_at_last_step(),
        })
    }

    fn apply(state: &mut RunState, verdict: Verdict) {
        state.verification = Some(verdict.into());
    }
}
