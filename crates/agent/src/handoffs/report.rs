//! Acts on an agent's report: instructs, routes or escalates.
//!
//! Start at [`agent_report`]; [`ReportContext`] is the processing state of a report. Submitted work is reviewed (`review`)
//! and sent back up to the revision limit; after that it continues with notes, or a person decides. Failures go
//! to the role that can fix them (`handle_failure`).
//!
//! Invariant: processing is idempotent. An instruction carries the id of its report as idempotency key, and a
//! decided unit is not decided again.

mod clarify;
mod failure;
mod report_context;
mod review;

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::AgentReport;
use cynode_wire::handoff::{ActedAnswer, AgentReportHandoff, Handoff};

pub(super) use self::report_context::ReportContext;
use crate::HandoffAgentError;
use crate::context::untrusted;
use crate::session::HandoffSession;

/// Acts on a report.
pub(crate) async fn agent_report(
    work: HandoffSession,
    handoff: &Handoff<AgentReportHandoff>,
) -> Result<ActedAnswer, HandoffAgentError> {
    let AgentReportHandoff { from, report, .. } = &handoff.body;
    let Some(mut matter) = ReportContext::load(work, handoff).await? else {
        let summary = format!("{from} reported outside of a task");
        return Ok(ActedAnswer { summary, tasks: vec![], needs_person: None, decisions: vec![] });
    };
    let summary = match matter.previous_instruction() {
        Some(kind) => {
            // A paused agent waits for a person, even if this process was killed meanwhile.
            if kind == InstructionKind::Pause {
                matter.needs_person = Some(format!("{from} is paused until a person decides"));
            }
            format!("{from} was instructed before")
        }
        None => matter.process_report(report).await?,
    };
    let ReportContext { work, needs_person, .. } = matter;
    Ok(ActedAnswer { summary, tasks: vec![], needs_person, decisions: work.decisions })
}

impl ReportContext {
    async fn process_report(&mut self, report: &AgentReport) -> Result<String, HandoffAgentError> {
        let from = self.from.clone();
        match report {
            AgentReport::WorkCompleted(done) => self.review_completed_work(done).await,
            AgentReport::ReviewChangesRequested(review) => {
                self.handle_changes_requested(review).await
            }
            AgentReport::ReviewApproved(review) => self.handle_approval(review).await,
            AgentReport::TestsPassed(tests) => {
                let closed = self.approve_submitted("test", None).await?;
                Ok(format!("{} of {} tests passed{closed}", tests.passed, tests.total))
            }
            AgentReport::TestsFailed(tests) => self.handle_failed_tests(tests).await,
            AgentReport::WorkBlocked(blocker) => self.handle_failure(&from, &blocker.reason).await,
            AgentReport::NeedsClarification(inquiry) => self.answer_question(inquiry).await,
            AgentReport::RequestHumanInput(inquiry) => {
                let question = untrusted::inline(&inquiry.question);
                self.needs_person = Some(question.clone());
                Ok(format!("a person must answer {from}: {question}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
