//! Incarnations of a worker node: at most one live process per node name.
//!
//! The jobs and workspaces of a node are in the state directory of one process. A second process with the same name
//! has another directory or a copy, and would run the same jobs again. So a process starts its incarnation before
//! anything else, and is rejected while another process is live (ADR 28).

use cynode_domain::ids::NodeId;
use cynode_store::{NodeProcessRow, Tx};
use cynode_wire::nodes::Incarnation;

use super::{NODE_TIMEOUT_MS, NodeError, NodeService};
use cynode_resources::NodeCaller;
use cynode_resources::signals::Topic;

const MAX_PREDECESSORS: usize = 32;

impl NodeService {
    /// Starts the incarnation of a process that has the node's token.
    pub async fn start(&self, node: &NodeCaller, process: Incarnation) -> Result<(), NodeError> {
        validate_incarnation(&process)?;
        if process.id != node.incarnation {
            let fault = "the incarnation in the body differs from the one in the header".to_owned();
            return Err(NodeError::Invalid(vec![fault]));
        }
        let node = node.clone();
        self.store
            .write(move |tx| {
                Box::pin(
                    async move { start_incarnation(tx, node.node, &node.slug, &process).await },
                )
            })
            .await
    }

    /// Ends the incarnation: another process may start at once.
    pub async fn end_incarnation(&self, node: &NodeCaller) -> Result<(), NodeError> {
        let node = node.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.node_clear_process(node.node, node.incarnation).await?;
                    Ok::<_, NodeError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        Ok(())
    }
}

/// Validates the incarnation of a request.
pub(super) fn validate_incarnation(process: &Incarnation) -> Result<(), NodeError> {
    if process.succeeds.len() > MAX_PREDECESSORS {
        let fault = format!("incarnation.succeeds has more than {MAX_PREDECESSORS} entries");
        return Err(NodeError::Invalid(vec![fault]));
    }
    Ok(())
}

/// Starts an incarnation; the process adopts the jobs of its predecessors.
pub(super) async fn start_incarnation(
    tx: &mut Tx,
    node: NodeId,
    slug: &str,
    process: &Incarnation,
) -> Result<(), NodeError> {
    let current = tx.node_lock_process(node).await?;
    let current = current.ok_or_else(|| NodeError::NotFound(slug.to_owned()))?;
    if !may_start_incarnation(&current, process) {
        let silent_s = current.silent_ms.unwrap_or_default().max(0) / 1000;
        return Err(NodeError::NameInUse { slug: slug.to_owned(), silent_s });
    }
    tx.node_set_process(node, process.id).await?;
    for earlier in process.succeeds.iter().map(|id| Some(*id)).chain([None]) {
        tx.job_adopt(node, earlier, process.id).await?;
    }
    Ok(())
}

/// Whether the name is free for this process: no current is open, the process succeeds the holder and knows that it
/// has ended, or the holder has been silent for longer than `NODE_TIMEOUT_MS`.
fn may_start_incarnation(current: &NodeProcessRow, process: &Incarnation) -> bool {
    let Some(holder) = current.incarnation else { return true };
    holder == process.id
        || (process.predecessors_ended && process.succeeds.contains(&holder))
        || current.silent_ms.is_none_or(|silent| silent > NODE_TIMEOUT_MS)
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
        let current = NodeProcessRow { incarnation: Some(holder), silent_ms: Some(10) };

        assert!(may_start_incarnation(
            &current,
            &process(&[IncarnationId::generate(), holder], true)
        ));
        assert!(may_start_incarnation(
            &current,
            &Incarnation { id: holder, ..process(&[], false) }
        ));
        assert!(!may_start_incarnation(&current, &process(&[holder], false)));
        assert!(!may_start_incarnation(&current, &process(&[IncarnationId::generate()], true)));
        assert!(!may_start_incarnation(&current, &process(&[], true)));
    }

    #[test]
    fn a_name_whose_process_was_stopped_or_is_long_silent_is_free_for_every_process() {
        let holder = Some(IncarnationId::generate());
        let stranger = process(&[], false);
        let free = |current| may_start_incarnation(&current, &stranger);

        assert!(free(NodeProcessRow { incarnation: None, silent_ms: Some(0) }));
        assert!(free(NodeProcessRow { incarnation: holder, silent_ms: Some(NODE_TIMEOUT_MS + 1) }));
        assert!(!free(NodeProcessRow { incarnation: holder, silent_ms: Some(NODE_TIMEOUT_MS) }));
        // A clock that was set back is ignored.
        assert!(!free(NodeProcessRow { incarnation: holder, silent_ms: Some(-1) }));
    }
}
