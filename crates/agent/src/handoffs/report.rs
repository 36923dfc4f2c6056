//! An agent reported: what follows is instructed, routed or left for a person.
//!
//! Start at [`agent_report`]; what is known of a report while it is dealt with is its [`Matter`]. Work
//! that was handed in is reviewed (`review`), and sent back at most as often as a unit may be; after that
//! it goes on with notes, or a person decides. What failed goes to whoever can mend it (`failed`).
//!
//! Invariant: dealing with a report twice tells nobody twice. An instruction carries the id of its report
//! as its key, and a unit that was decided on is not decided on again.

mod clarify;
mod failed;
mod matter;
mod review;

use cynode_domain::agent::InstructionKind;
use cynode_domain::report::Report;
use cynode_wire::handoff::{ActedAnswer, AgentReportHandoff, Handoff};

pub(super) use self::matter::Matter;
use crate::AgentError;
use crate::context::untrusted;
use crate::work::Work;

/// Does what follows from a report.
pub(crate) async fn agent_report(
    work: Work,
    handoff: &Handoff<AgentReportHandoff>,
) -> Result<ActedAnswer, AgentError> {
    let AgentReportHandoff { from, report, .. } = &handoff.body;
    let Some(mut matter) = Matter::of(work, handoff).await? else {
        let summary = format!("{from} reported outside of a task");
        return Ok(ActedAnswer { summary, tasks: vec![], needs_person: None, decisions: vec![] });
    };
    let summary = match matter.told_before() {
        Some(kind) => {
            // An agent that was told to wait waits for a person, also if this process was killed in between.
            if kind == InstructionKind::Pause {
                matter.needs_person = Some(format!("{from} was told to wait for a person"));
            }
            format!("{from} was told before")
        }
        None => matter.deal(report).await?,
    };
    let Matter { work, needs_person, .. } = matter;
    Ok(ActedAnswer { summary, tasks: vec![], needs_person, decisions: work.decisions })
}

impl Matter {
    async fn deal(&mut self, report: &Report) -> Result<String, AgentError> {
        let from = self.from.clone();
        match report {
            Report::WorkCompleted(done) => self.completed(done).await,
            Report::ReviewChangesRequested(review) => self.changes_requested(review).await,
            Report::ReviewApproved(review) => self.approved(review).await,
            Report::TestsPassed(tests) => {
                let closed = self.close("test", None).await?;
                Ok(format!("{} of {} tests passed{closed}", tests.passed, tests.total))
            }
            Report::TestsFailed(tests) => self.tests_failed(tests).await,
            Report::WorkBlocked(blocker) => self.failed(&from, &blocker.reason).await,
            Report::NeedsClarification(asked) => self.clarify(asked).await,
            Report::RequestHumanInput(asked) => {
                let question = untrusted::inline(&asked.question);
                self.needs_person = Some(question.clone());
                Ok(format!("a person must answer {from}: {question}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
