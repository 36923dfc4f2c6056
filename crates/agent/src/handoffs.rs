//! Handlers of handoffs, one file per kind; kinds that need a single decision are here.

mod analyse;
mod evidence_files;
mod place;
mod plan;
mod project;
mod replan;
mod report;
mod request;
mod schedule;
mod verify;

use cynode_domain::suspension::IF_INTERRUPTED_KEY;
use cynode_wire::handoff::{ContinueAnswer, ContinueRunHandoff, Handoff};

pub(crate) use analyse::analyse;
pub(crate) use place::place;
pub(crate) use plan::plan;
pub(crate) use replan::replan;
pub(crate) use report::agent_report;
pub(crate) use request::{classify, plan_work};
pub(crate) use schedule::scheduled_run;
pub(crate) use verify::verify;

use crate::HandoffAgentError;
use crate::brain::decisions::ContinueBlockedRun;
use crate::session::HandoffSession;

/// Decides how a blocked run continues.
pub(crate) async fn continue_run(
    mut work: HandoffSession,
    handoff: &Handoff<ContinueRunHandoff>,
) -> Result<ContinueAnswer, HandoffAgentError> {
    let preferred = handoff.context.preferences.effective.get(IF_INTERRUPTED_KEY);
    let body = &handoff.body;
    let decided = work
        .decide(&ContinueBlockedRun {
            node: body.node.clone(),
            situation: body.situation.clone(),
            attempts: body.attempts,
            suspension: body.suspension,
            continued: body.continued,
            may_repeat: body.may_repeat,
            if_interrupted: preferred.and_then(|word| word.as_str()?.parse().ok()),
        })
        .await?;
    let (with, reason) = (decided.with, decided.reason);
    Ok(ContinueAnswer { with, reason, decisions: work.decisions })
}

#[cfg(test)]
mod tests;
