//! What the next attempt at a unit learns from the checkpoints of those before it.

use cynode_store::AgentCheckpoint;

use crate::snapshot::{RequestSnapshot, is_done};

/// The most characters of a checkpoint in a prompt.
const MAX_CHECKPOINT_CHARS: usize = 6_000;

/// The newest of these checkpoints that an attempt at the unit left since the last accepted one.
pub(super) fn newest_checkpoint<'a>(
    snapshot: &RequestSnapshot,
    unit: &str,
    checkpoints: &'a [AgentCheckpoint],
) -> Option<&'a AgentCheckpoint> {
    let attempts: Vec<_> = snapshot.attempts_at(unit).collect();
    let open = attempts.iter().rev().take_while(|attempt| !is_done(attempt));
    let mut children = open.map(|attempt| attempt.attempt.child);
    children.find_map(|child| checkpoints.iter().find(|saved| saved.task == child))
}

/// A checkpoint as text: what is done, what is open, and where its agent worked.
pub(super) fn render_checkpoint(saved: &AgentCheckpoint) -> String {
    let done = saved.completed_items.iter().map(|item| format!("[x] {item}"));
    let open = saved.pending_items.iter().map(|item| format!("[ ] {item}"));
    let files = saved.active_files.iter().map(|file| format!("file: {file}"));
    let mut lines = vec![saved.summary.clone()];
    lines.extend(done.chain(open).chain(files));
    lines.extend(saved.notes.clone());
    lines.join("\n").chars().take(MAX_CHECKPOINT_CHARS).collect()
}
