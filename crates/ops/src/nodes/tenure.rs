//! Which process works under a node's name: at most one at a time.
//!
//! A node's jobs and workspaces lie in the state directory of one process. A second process with the
//! same name has another directory or a copy, and would run the same jobs again. So a process begins
//! before it does anything else, and is rejected while another one lives (ADR 28).

use cynode_domain::ids::NodeId;
use cynode_store::{JobStore, NodeStore, NodeTenure, Tx};
use cynode_wire::nodes::Incarnation;

use super::{NODE_SILENCE_MS, NodeError, Nodes};
use crate::NodeCaller;
use crate::signals::Topic;

const MAX_PREDECESSORS: usize = 32;

impl Nodes {
    /// A process that has the node's token begins to work under its name.
    pub async fn start(&self, node: &NodeCaller, process: Incarnation) -> Result<(), NodeError> {
        check(&process)?;
        if process.id != node.incarnation {
            let fault = "the incarnation of the body is not that of the header".to_owned();
            return Err(NodeError::Invalid(vec![fault]));
        }
        let node = node.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move { begin(tx, (node.node, &node.slug), &process).await })
            })
            .await
    }

    /// The process has stopped: another one may begin at once.
    pub async fn stop(&self, node: &NodeCaller) -> Result<(), NodeError> {
        let node = node.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.node_end(node.node, node.incarnation).await?;
                    Ok::<_, NodeError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        Ok(())
    }
}

/// Validates the incarnation of a request.
pub(super) fn check(process: &Incarnation) -> Result<(), NodeError> {
    if process.succeeds.len() > MAX_PREDECESSORS {
        let fault = format!("incarnation.succeeds has more than {MAX_PREDECESSORS} entries");
        return Err(NodeError::Invalid(vec![fault]));
    }
    Ok(())
}

/// Lets a process work under a node's name, with the jobs of its predecessors.
pub(super) async fn begin(
    tx: &mut Tx,
    (node, slug): (NodeId, &str),
    process: &Incarnation,
) -> Result<(), NodeError> {
    let tenure = tx.node_lock_tenure(node).await?;
    let tenure = tenure.ok_or_else(|| NodeError::NotFound(slug.to_owned()))?;
    if !may_begin(&tenure, process) {
        let silent_s = tenure.silent_ms.unwrap_or_default().max(0) / 1000;
        return Err(NodeError::NameInUse { slug: slug.to_owned(), silent_s });
    }
    tx.node_begin(node, process.id).await?;
    for earlier in process.succeeds.iter().map(|id| Some(*id)).chain([None]) {
        tx.job_adopt(node, earlier, process.id).await?;
    }
    Ok(())
}

/// Whether the name is free, or free for this process: it follows the one that has it and knows that
/// this one has ended, or this one has been silent for so long that it counts as gone.
fn may_begin(tenure: &NodeTenure, process: &Incarnation) -> bool {
    let Some(holder) = tenure.incarnation else { return true };
    holder == process.id
        || (process.predecessors_ended && process.succeeds.contains(&holder))
        || tenure.silent_ms.is_none_or(|silent| silent > NODE_SILENCE_MS)
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::IncarnationId;

    use super::*;

    fn process(succeeds: &[IncarnationId], predecessors_ended: bool) -> Incarnation {
        let succeeds = succeeds.to_vec();
        Incarnation { id: IncarnationId::generate(), succeeds, predecessors_ended }
    }

    #[test]
    fn a_name_in_use_is_free_only_for_a_successor_that_saw_the_end() {
        let holder = IncarnationId::generate();
        let tenure = NodeTenure { incarnation: Some(holder), silent_ms: Some(10) };

        assert!(may_begin(&tenure, &process(&[IncarnationId::generate(), holder], true)));
        assert!(may_begin(&tenure, &Incarnation { id: holder, ..process(&[], false) }));
        assert!(!may_begin(&tenure, &process(&[holder], false)));
        assert!(!may_begin(&tenure, &process(&[IncarnationId::generate()], true)));
        assert!(!may_begin(&tenure, &process(&[], true)));
    }

    #[test]
    fn a_name_whose_process_was_stopped_or_is_long_silent_is_free_for_every_process() {
        let holder = Some(IncarnationId::generate());
        let stranger = process(&[], false);
        let free = |tenure| may_begin(&tenure, &stranger);

        assert!(free(NodeTenure { incarnation: None, silent_ms: Some(0) }));
        assert!(free(NodeTenure { incarnation: holder, silent_ms: Some(NODE_SILENCE_MS + 1) }));
        assert!(!free(NodeTenure { incarnation: holder, silent_ms: Some(NODE_SILENCE_MS) }));
        // A clock that was set back says nothing.
        assert!(!free(NodeTenure { incarnation: holder, silent_ms: Some(-1) }));
    }
}
