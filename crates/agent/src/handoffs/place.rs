//! Several nodes could take the work of a task: one is chosen.

use cynode_wire::handoff::{Handoff, PlaceAnswer, PlaceHandoff};

use crate::AgentError;
use crate::brain::decisions::PlaceJob;
use crate::work::Work;

/// The preference that names a node.
const PREFERENCE: &str = "agents.project_manager.placement.node";

/// Chooses a node.
pub(crate) async fn place(
    mut work: Work,
    handoff: &Handoff<PlaceHandoff>,
) -> Result<PlaceAnswer, AgentError> {
    let preferred = handoff.context.preferences.effective.get(PREFERENCE);
    let question = PlaceJob {
        candidates: handoff.body.candidates.clone(),
        preferred: preferred.and_then(|value| value.as_str()).map(str::to_owned),
    };
    let placed = work.think(&question).await?;
    let (node_slug, reason) = (placed.node_slug, placed.reason);
    Ok(PlaceAnswer { node_slug, reason, decisions: work.decisions })
}
