//! Which node a job goes to: able, alive, where the workspace is, and with the most room.

use cynode_domain::ids::NodeId;
use cynode_domain::status::NodeStatus;
use cynode_store::{Job, JobStore, Node, NodeStore, Tx};

const BATCH: u32 = 100;

/// Gives every job without a node to the best one there is; what finds none waits.
pub(crate) async fn assign_open_jobs(tx: &mut Tx) -> Result<(), cynode_store::Error> {
    let jobs = tx.job_unassigned(BATCH).await?;
    if jobs.is_empty() {
        return Ok(());
    }
    let mut nodes = tx.node_list().await?;
    for job in jobs {
        if let Some(id) = pick(&job, &nodes) {
            tx.job_assign(job.asked.id, id).await?;
            for node in nodes.iter_mut().filter(|node| node.id == id) {
                node.open_jobs += 1;
            }
        }
    }
    Ok(())
}

/// The least loaded node that can take the job; the first by name among equals.
fn pick(job: &Job, nodes: &[Node]) -> Option<NodeId> {
    nodes
        .iter()
        .filter(|node| node.status == NodeStatus::Active && node.sandbox_supported)
        .filter(|node| job.asked.pinned_node.is_none_or(|pinned| pinned == node.id))
        .filter(|node| node.open_jobs < i64::from(node.max_concurrency))
        .min_by_key(|node| (node.open_jobs, &node.slug))
        .map(|node| node.id)
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{JobId, RunId, TaskId};
    use cynode_domain::status::JobStatus;
    use cynode_store::NewJob;
    use serde_json::Value;

    use super::*;

    fn node(slug: &str, open_jobs: i64) -> Node {
        Node {
            id: NodeId::generate(),
            slug: slug.to_owned(),
            status: NodeStatus::Active,
            token_hash: vec![],
            capabilities: Value::Null,
            sandbox_supported: true,
            max_concurrency: 4,
            open_jobs,
            last_seen_at: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    fn job(pinned_node: Option<NodeId>) -> Job {
        Job {
            asked: NewJob {
                id: JobId::generate(),
                task: TaskId::generate(),
                run: RunId::generate(),
                step_index: 0,
                attempt: 1,
                pinned_node,
                payload: Value::Null,
            },
            status: JobStatus::Queued,
            node: None,
            result: None,
            cancel_requested: false,
            acknowledged: false,
            created_at: chrono::DateTime::UNIX_EPOCH,
            started_at: None,
            ended_at: None,
        }
    }

    #[test]
    fn the_least_loaded_node_gets_the_job() {
        let nodes = [node("a", 3), node("b", 1), node("c", 1)];

        assert_eq!(pick(&job(None), &nodes), Some(nodes[1].id));
    }

    #[test]
    fn a_job_stays_where_its_workspace_is() {
        let nodes = [node("a", 0), node("b", 3)];

        assert_eq!(pick(&job(Some(nodes[1].id)), &nodes), Some(nodes[1].id));
    }

    #[test]
    fn nodes_that_are_full_away_or_without_sandbox_get_nothing() {
        let (full, mut away, mut open) = (node("a", 4), node("b", 0), node("c", 0));
        away.status = NodeStatus::Inactive;
        open.sandbox_supported = false;

        assert_eq!(pick(&job(None), &[full, away, open]), None);
    }
}
