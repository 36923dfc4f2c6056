//! Which node a job goes to: able, alive, where the workspace is, and with the most room.
//!
//! All jobs of a task share a workspace, so only the first of them has a choice; the others follow it.
//! Where several nodes could take it, the project manager chooses (`place.rs`); meanwhile the job is
//! left alone. What it does not say in time is decided here.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;
use cynode_domain::status::NodeStatus;
use cynode_store::{Job, JobStore, Node, NodeStore, PlacementStore, TaskStore, Tx};

use super::NODE_SILENCE_MS;
use super::place::{Choice, record};
use crate::handoff::PLACE_WITHIN;

const BATCH: u32 = 100;
/// How long a job is left alone while somebody is asked where it belongs.
const PLACE_MS: u32 = 2_000;
const _: () = assert!(PLACE_WITHIN.as_millis() == PLACE_MS as u128);

/// How jobs are given to nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placing {
    /// Whether somebody is asked where several nodes could take a job.
    pub(crate) is_asked: bool,
    /// The time, for records.
    pub(crate) now: DateTime<Utc>,
}

/// What came of giving jobs to nodes.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    /// Jobs about whose place somebody is to be asked, once this is committed.
    pub(crate) asked: Vec<JobId>,
    /// Whether a node was given a job, and is to be told.
    pub(crate) has_news: bool,
}

impl Placing {
    /// Gives every job without a node to the best one there is; what finds none waits.
    pub(crate) async fn assign(self, tx: &mut Tx) -> Result<Assigned, cynode_store::Error> {
        let jobs = tx.job_unassigned(BATCH).await?;
        if jobs.is_empty() {
            return Ok(Assigned::default());
        }
        let mut nodes = tx.node_list().await?;
        let mut assigned = Assigned::default();
        for mut job in jobs {
            if able(&job, &nodes).next().is_none() {
                continue;
            }
            let was_awaited = job.place_until.is_some();
            follow(tx, &mut job).await?;
            let has_choice = job.asked.pinned_node.is_none() && able(&job, &nodes).count() > 1;
            if has_choice && self.is_asked && !was_awaited {
                tx.job_await_placement(job.asked.id, PLACE_MS).await?;
                assigned.asked.push(job.asked.id);
                continue;
            }
            let Some(node) = best(&job, &nodes).cloned() else { continue };
            tx.job_assign(job.asked.id, node.id).await?;
            assigned.has_news = true;
            if was_awaited && has_choice {
                let late = Choice::fallback("the project manager did not say in time");
                record(tx, &job, &node, &late, self.now).await?;
            } else {
                tx.job_record_placement(job.asked.id, rule_of(&job, &nodes)).await?;
            }
            for taken in nodes.iter_mut().filter(|other| other.id == node.id) {
                taken.open_jobs += 1;
            }
        }
        Ok(assigned)
    }
}

/// The rule by which a job goes to its node where nobody is asked.
fn rule_of(job: &Job, nodes: &[Node]) -> &'static str {
    if job.asked.pinned_node.is_some() {
        return "rule: the job is bound to this node";
    }
    match able(job, nodes).count() {
        0 | 1 => "rule: the only node that could take it",
        _ => "rule: the least loaded node that could take it",
    }
}

/// Pins a job that is pinned nowhere to the node that its task has, if it has one.
async fn follow(tx: &mut Tx, job: &mut Job) -> Result<(), cynode_store::Error> {
    if job.asked.pinned_node.is_some() {
        return Ok(());
    }
    if let Some(node) = tx.task_node(job.asked.task).await? {
        // It is on record, so that it is in nobody's way while that node takes nothing.
        tx.task_gather(job.asked.task, node).await?;
        job.asked.pinned_node = Some(node);
    }
    Ok(())
}

/// Takes what has not begun away from nodes that are not there. A task of which nothing has begun has
/// no workspace: it may go anywhere again, unless it is for one node.
pub(crate) async fn take_back(tx: &mut Tx) -> Result<(), cynode_store::Error> {
    let tasks: HashSet<_> = tx.job_unassign_silent(NODE_SILENCE_MS).await?.into_iter().collect();
    for id in tasks {
        // Where the task wants to run is not known while its row cannot be read: it stays where it is.
        let task = match tx.task_get(id).await {
            Err(error) if error.is_unreadable() => continue,
            found => found?,
        };
        let Some(task) = task else { continue };
        if task.asked.options.node.is_none() {
            tx.task_scatter(id).await?;
        }
    }
    Ok(())
}

/// The nodes that can take a job now.
pub(super) fn able<'a>(job: &Job, nodes: &'a [Node]) -> impl Iterator<Item = &'a Node> {
    let pinned = job.asked.pinned_node;
    nodes
        .iter()
        .filter(|node| node.status == NodeStatus::Active && node.sandbox_supported)
        .filter(move |node| pinned.is_none_or(|pinned| pinned == node.id))
        .filter(|node| node.open_jobs < i64::from(node.max_concurrency))
}

/// The least loaded node that can take the job; the first by name among equals.
pub(super) fn best<'a>(job: &Job, nodes: &'a [Node]) -> Option<&'a Node> {
    able(job, nodes).min_by_key(|node| (node.open_jobs, &node.slug))
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{NodeId, RunId, TaskId};
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
            incarnation: None,
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
            incarnation: None,
            result: None,
            cancel_requested: false,
            acknowledged: false,
            place_until: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
            started_at: None,
            ended_at: None,
        }
    }

    fn pick(job: &Job, nodes: &[Node]) -> Option<NodeId> {
        best(job, nodes).map(|node| node.id)
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
