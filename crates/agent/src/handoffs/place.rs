//! Chooses one of several worker nodes for a task.

use cynode_wire::handoff::{Handoff, PlaceAnswer, PlaceHandoff};

use crate::HandoffAgentError;
use crate::brain::decisions::PlaceJob;
use crate::session::HandoffSession;

/// The preference that names a worker node.
const PREFERENCE: &str = "agents.project_manager.placement.node";

/// Chooses a worker node.
pub(crate) async fn place(
    mut work: HandoffSession,
    handoff: &Handoff<PlaceHandoff>,
) -> Result<PlaceAnswer, HandoffAgentError> {
    let preferred = handoff.context.preferences.effective.get(PREFERENCE);
    let question = PlaceJob {
        candidates: handoff.body.candidates.clone(),
        preferred: preferred.and_then(|value| value.as_str()).map(str::to_owned),
    };
    let placed = work.decide(&question).await?;
    let (node_slug, reason) = (placed.node_slug, placed.reason);
    Ok(PlaceAnswer { node_slug, reason, decisions: work.decisions })
}
