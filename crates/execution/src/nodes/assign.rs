//! Job assignment: a job goes to an active node with sandbox support and free capacity, least loaded first.
//!
//! All jobs of a task share a workspace, so only the first job has a choice; later jobs go to the same node.
//! If several nodes are eligible, the project manager chooses (`place.rs`) and the job stays unassigned meanwhile.
//! If it does not answer in time, the rule here decides.
//!
//! Users take turns: the user with the fewest jobs on nodes is next. While there are other users, the jobs of one user leave
//! a quarter of all slots free, at least one, so that long jobs of one user do not keep others waiting.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{JobId, NodeId};
use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job::Limits;
use cynode_domain::node_labels::{MACHINE_LABELS, NodeLabels};
use cynode_domain::status::NodeStatus;
use cynode_store::{Job, Node, Tx, WaitingUser};
use cynode_wire::git::{BUILDS_ON_FEATURE, REPOSITORIES_FEATURE};
use cynode_wire::nodes::AGENTS_FEATURE;
use serde::Deserialize as _;
use serde_json::Value;

use super::NODE_TIMEOUT_MS;
use super::admission::{AgentAdmissions, list_assignable};
use super::placement::{NodeChoice, record_placement};
use crate::handoff::PLACEMENT_TIMEOUT;

/// The most jobs of one user per pass.
pub(super) const BATCH: u32 = 100;
/// How long a job stays unassigned while the project manager chooses its node.
const PLACEMENT_DEADLINE_MS: u32 = 2_000;
const _: () = assert!(PLACEMENT_TIMEOUT.as_millis() == PLACEMENT_DEADLINE_MS as u128);

/// The first poll of a runner takes longer than this, whatever its clock says: the run of a younger job is not suspended.
const MIN_QUEUED_TIME: TimeDelta = TimeDelta::milliseconds(150);

/// Settings of one assignment pass.
#[derive(Debug, Clone, Copy)]
pub struct AssignmentPass {
    /// Whether the project manager chooses where several nodes are eligible.
    pub asks_manager: bool,
    pub now: DateTime<Utc>,
}

/// Result of one assignment pass.
#[derive(Debug, Default)]
pub struct AssignmentOutcome {
    /// Jobs whose node the project manager chooses; the caller asks after the commit.
    pub awaiting_placement: Vec<JobId>,
    /// Whether a job was assigned, so that its node must be notified.
    pub has_assignments: bool,
    /// Whether a job was closed, so that its run must be notified.
    pub has_closed_jobs: bool,
    /// Whether a run that was suspended until its job has a node can be claimed again.
    pub has_resumed_runs: bool,
}

impl AssignmentPass {
    /// Assigns every unassigned job to its best node; a job without an eligible node stays queued.
    pub async fn assign(self, tx: &mut Tx) -> Result<AssignmentOutcome, cynode_store::Error> {
        let users = tx.job_list_waiting_users().await?;
        if users.is_empty() {
            return Ok(AssignmentOutcome::default());
        }
        let mut nodes = tx.node_list().await?;
        let free = free_slots(&nodes);
        if free == 0 {
            return Ok(AssignmentOutcome::default());
        }
        // More than fit: some are pinned to nodes that fill up during this pass.
        let limit = free.saturating_mul(2).min(BATCH);
        let (mut turns, mut assigned) = (vec![], AssignmentOutcome::default());
        let mut admissions = AgentAdmissions::default();
        for user in users {
            let found = list_assignable(tx, user.id, limit, &nodes, &mut admissions).await?;
            assigned.has_closed_jobs |= found.has_closed;
            turns.push(UserTurn::new(&user, found.jobs, &nodes));
        }
        while let Some((mut job, turn)) = next_turn(&mut turns) {
            if eligible_nodes(&job, &nodes, &admissions).next().is_none() {
                continue;
            }
            let was_awaited = job.placement_deadline.is_some();
            pin_to_task_node(tx, &mut job).await?;
            let has_choice = job.spec.pinned_node.is_none()
                && eligible_nodes(&job, &nodes, &admissions).count() > 1;
            if has_choice && self.asks_manager && !was_awaited {
                tx.job_defer_assignment(job.spec.id, PLACEMENT_DEADLINE_MS).await?;
                assigned.awaiting_placement.push(job.spec.id);
                turns[turn].running += 1;
                continue;
            }
            let Some(node) = best_node(&job, &nodes, &admissions).cloned() else { continue };
            assigned.has_resumed_runs |= assign_job(tx, &job, node.id, self.now).await?;
            assigned.has_assignments = true;
            if was_awaited && has_choice {
                let late = NodeChoice::fallback("the project manager did not answer in time");
                record_placement(tx, &job, &node, &late, self.now).await?;
            } else {
                let rule = assignment_rule(&job, &nodes, &admissions);
                tx.job_record_placement(job.spec.id, rule).await?;
            }
            turns[turn].running += 1;
            for taken in nodes.iter_mut().filter(|other| other.id == node.id) {
                taken.open_jobs += 1;
            }
        }
        Ok(assigned)
    }
}

/// Assigns a job to a node. Returns whether its run may have been suspended meanwhile, and can be claimed again.
pub(super) async fn assign_job(
    tx: &mut Tx,
    job: &Job,
    node: NodeId,
    now: DateTime<Utc>,
) -> Result<bool, cynode_store::Error> {
    tx.job_assign(job.spec.id, node).await?;
    let may_be_suspended = now - job.created_at >= MIN_QUEUED_TIME;
    if may_be_suspended {
        tx.run_end_suspension(job.spec.run).await?;
    }
    Ok(may_be_suspended)
}

/// The jobs of a user that wait for a slot.
struct UserTurn {
    /// Jobs of the user on nodes, or whose node is being chosen.
    running: i64,
    /// The most that may be there.
    share: i64,
    /// Oldest first.
    jobs: VecDeque<Job>,
}

impl UserTurn {
    fn new(user: &WaitingUser, jobs: Vec<Job>, nodes: &[Node]) -> Self {
        let usable = nodes.iter().filter(|node| accepts_jobs(node));
        let slots: i64 = usable.map(|node| i64::from(node.max_concurrency)).sum();
        let left = if user.has_others { (slots / 4).max(1) } else { 0 };
        Self { running: user.running, share: (slots - left).max(1), jobs: jobs.into() }
    }
}

fn free_slots(nodes: &[Node]) -> u32 {
    let free = |node: &Node| (i64::from(node.max_concurrency) - node.open_jobs).max(0);
    let free: i64 = nodes.iter().filter(|node| accepts_jobs(node)).map(free).sum();
    u32::try_from(free).unwrap_or(u32::MAX)
}

/// The next job of the user with the fewest jobs on nodes, and the position of that user.
fn next_turn(turns: &mut [UserTurn]) -> Option<(Job, usize)> {
    let waiting = turns.iter_mut().enumerate();
    let waiting = waiting.filter(|(_, turn)| turn.running < turn.share && !turn.jobs.is_empty());
    let (index, turn) =
        waiting.min_by_key(|(_, turn)| (turn.running, turn.jobs.front().map(|job| job.spec.id)))?;
    turn.jobs.pop_front().map(|job| (job, index))
}

/// Names the rule that assigned a job without the project manager.
fn assignment_rule(job: &Job, nodes: &[Node], admissions: &AgentAdmissions) -> &'static str {
    if job.spec.pinned_node.is_some() {
        return "rule: the job is pinned to this node";
    }
    match eligible_nodes(job, nodes, admissions).count() {
        0 | 1 => "rule: the only eligible node",
        _ => "rule: the least loaded eligible node",
    }
}

/// Pins an unpinned job to the node that has its task's workspace, if there is one.
async fn pin_to_task_node(tx: &mut Tx, job: &mut Job) -> Result<(), cynode_store::Error> {
    if job.spec.pinned_node.is_some() {
        return Ok(());
    }
    if let Some(node) = tx.task_node(job.spec.task).await? {
        // Persisted, so that the job does not block others while that node accepts no jobs.
        tx.task_pin_jobs(job.spec.task, node).await?;
        job.spec.pinned_node = Some(node);
    }
    Ok(())
}

/// Unassigns queued jobs from nodes that stopped polling. A task of which no job has started has no workspace,
/// so it may run on any node again unless its options name one.
pub async fn unassign_silent_jobs(tx: &mut Tx) -> Result<(), cynode_store::Error> {
    let tasks: HashSet<_> = tx.job_unassign_silent(NODE_TIMEOUT_MS).await?.into_iter().collect();
    for id in tasks {
        // An unreadable task row hides the node it requires, so the pin stays.
        let task = match tx.task_get(id).await {
            Err(error) if error.is_unreadable() => continue,
            found => found?,
        };
        let Some(task) = task else { continue };
        if task.spec.options.node.is_none() {
            tx.task_unpin_jobs(id).await?;
        }
    }
    Ok(())
}

/// The nodes that are eligible for a job now.
pub(super) fn eligible_nodes<'a>(
    job: &Job,
    nodes: &'a [Node],
    admissions: &AgentAdmissions,
) -> impl Iterator<Item = &'a Node> {
    let has_slot = |node: &&Node| node.open_jobs < i64::from(node.max_concurrency);
    suitable_nodes(job, nodes, admissions).filter(has_slot)
}

/// The active nodes that could run a job if they had a free slot.
pub(super) fn suitable_nodes<'a>(
    job: &Job,
    nodes: &'a [Node],
    admissions: &AgentAdmissions,
) -> impl Iterator<Item = &'a Node> {
    let pinned = job.spec.pinned_node;
    let is_agent = job.spec.payload["action"]["kind"] == "agent";
    let has_repository = !job.spec.payload["repository"].is_null();
    let builds_on = !job.spec.payload["repository"]["builds_on"].is_null();
    let image = job.spec.payload["image"].as_str().unwrap_or(HOST_IMAGE).to_owned();
    let labels = read_labels(&job.spec.payload["node_labels"]);
    let memory_mib = job.spec.payload["limits"]["memory_mib"].as_u64().unwrap_or_default();
    nodes
        .iter()
        .filter(|node| accepts_jobs(node))
        .filter(move |node| !is_agent || has_feature(node, AGENTS_FEATURE))
        .filter(move |node| !has_repository || has_feature(node, REPOSITORIES_FEATURE))
        .filter(move |node| !builds_on || has_feature(node, BUILDS_ON_FEATURE))
        .filter(move |node| has_image(node, &image))
        .filter(|node| admissions.admits(job, node))
        // The node that has the workspace of a task keeps its jobs, whatever its labels are by now.
        .filter(move |node| match pinned {
            Some(pinned) => pinned == node.id,
            None => has_labels(node, &labels) && has_memory(node, memory_mib),
        })
}

/// Whether the node supports what some jobs need. Nodes of older versions cannot read the jobs of agents, and would run
/// those of repositories without one.
pub fn has_feature(node: &Node, name: &str) -> bool {
    let features = node.capabilities["sandbox"]["features"].as_array();
    features.is_some_and(|features| features.iter().any(|feature| feature == name))
}

/// Whether a node can run jobs in an image. Nodes of older versions have `host` only.
pub fn has_image(node: &Node, image: &str) -> bool {
    let names = node.capabilities["images"].as_array();
    image == HOST_IMAGE || names.is_some_and(|names| names.iter().any(|name| name == image))
}

/// Whether a node has all labels that a task demands.
pub fn has_labels(node: &Node, demanded: &NodeLabels) -> bool {
    let of_machine = |key: &str| MACHINE_LABELS.contains(&key);
    let value = |key: &str| {
        let labels =
            if of_machine(key) { &node.capabilities } else { &node.capabilities["labels"] };
        labels[key].as_str()
    };
    demanded.iter().all(|(key, wanted)| value(key) == Some(wanted))
}

fn read_labels(labels: &Value) -> NodeLabels {
    NodeLabels::deserialize(labels).unwrap_or_default()
}

/// Whether the machine has as much memory as a job demands, or its memory is unknown. The default limit is no demand: most
/// jobs need less.
pub fn has_memory(node: &Node, memory_mib: u64) -> bool {
    let there = node.capabilities["memory_mib"].as_u64().filter(|there| *there > 0);
    memory_mib <= u64::from(Limits::default().memory_mib)
        || there.is_none_or(|there| memory_mib <= there)
}

fn accepts_jobs(node: &Node) -> bool {
    node.status == NodeStatus::Active && node.sandbox_supported && !is_disk_short(node)
}

/// Whether the disk of a node had too little room when it last polled.
pub fn is_disk_short(node: &Node) -> bool {
    node.machine_load.as_ref().is_some_and(|load| load["is_disk_short"] == true)
}

/// What makes one node better than another: the part of its slots that is in use, then the memory that is available, then
/// the name.
fn load_order(node: &Node) -> (i64, Reverse<u64>, &str) {
    let slots = i64::from(node.max_concurrency).max(1);
    let memory = node.machine_load.as_ref().and_then(|it| it["available_memory_mib"].as_u64());
    (node.open_jobs * 1000 / slots, Reverse(memory.unwrap_or_default()), &node.slug)
}

/// The least loaded eligible node.
pub(super) fn best_node<'a>(
    job: &Job,
    nodes: &'a [Node],
    admissions: &AgentAdmissions,
) -> Option<&'a Node> {
    eligible_nodes(job, nodes, admissions).min_by(|a, b| load_order(a).cmp(&load_order(b)))
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{RunId, TaskId, UserId};
    use cynode_domain::status::JobStatus;
    use cynode_store::NewJob;

    use super::*;

    fn node(slug: &str, open_jobs: i64) -> Node {
        Node {
            id: NodeId::generate(),
            slug: slug.to_owned(),
            status: NodeStatus::Active,
            token_hash: vec![],
            public_key: None,
            is_key_revoked: false,
            capabilities: Value::Null,
            sandbox_supported: true,
            max_concurrency: 4,
            machine_load: None,
            open_jobs,
            incarnation: None,
            last_seen_at: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
        }
    }

    fn job(pinned_node: Option<NodeId>) -> Job {
        Job {
            spec: NewJob {
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
            stop_ending: None,
            acknowledged: false,
            placement_deadline: None,
            created_at: chrono::DateTime::UNIX_EPOCH,
            started_at: None,
            ended_at: None,
        }
    }

    fn pick_node(job: &Job, nodes: &[Node]) -> Option<NodeId> {
        best_node(job, nodes, &AgentAdmissions::default()).map(|node| node.id)
    }

    #[test]
    fn the_least_loaded_node_gets_the_job() {
        let nodes = [node("a", 3), node("b", 1), node("c", 1)];

        assert_eq!(pick_node(&job(None), &nodes), Some(nodes[1].id));
    }

    #[test]
    fn the_used_part_of_the_slots_counts_first_then_memory_and_a_full_disk_excludes() {
        let with_load = |node: Node, free_disk_mib: u64, available_memory_mib: u64| {
            let is_disk_short = free_disk_mib < 512;
            let load = serde_json::json!({ "free_disk_mib": free_disk_mib,
                "available_memory_mib": available_memory_mib, "is_disk_short": is_disk_short });
            Node { machine_load: Some(load), ..node }
        };
        let large = Node { max_concurrency: 16, ..node("large", 2) };
        let nodes = [node("small", 1), large];
        assert_eq!(pick_node(&job(None), &nodes), Some(nodes[1].id), "2 of 16 is less than 1 of 4");

        let nodes = [
            with_load(node("a", 1), 9_000, 100),
            with_load(node("b", 1), 9_000, 5_000),
            with_load(node("c", 0), 511, 9_000),
        ];
        assert_eq!(pick_node(&job(None), &nodes), Some(nodes[1].id));
        assert_eq!(pick_node(&job(Some(nodes[2].id)), &nodes), None, "nor a pinned job");
        let same = [node("b", 1), node("a", 1)];
        assert_eq!(pick_node(&job(None), &same), Some(same[1].id), "then the name");
    }

    fn turn(running: i64, has_others: bool, jobs: usize, slots: &[i64]) -> UserTurn {
        let user = WaitingUser { id: UserId::generate(), running, has_others };
        let nodes: Vec<_> = slots.iter().map(|open| node("n", *open)).collect();
        UserTurn::new(&user, (0..jobs).map(|_| job(None)).collect(), &nodes)
    }

    #[test]
    fn users_take_turns_and_leave_a_quarter_of_the_slots_to_others() {
        // Two nodes with four slots each.
        let mut turns = [turn(0, true, 9, &[0, 0]), turn(2, true, 2, &[0, 0])];
        let mut order = vec![];
        while let Some((_, user)) = next_turn(&mut turns) {
            turns[user].running += 1;
            order.push(user);
        }

        assert_eq!(order, [0, 0, 0, 1, 0, 1, 0, 0]);
        assert_eq!(turns[0].running, 6, "two of eight slots stay free");
    }

    #[test]
    fn a_single_user_and_a_single_slot_are_used_in_full() {
        let drain = |mut turn: UserTurn| {
            let turns = std::slice::from_mut(&mut turn);
            while next_turn(turns).is_some() {
                turns[0].running += 1;
            }
            turn.running
        };

        assert_eq!(drain(turn(0, false, 9, &[0])), 4);
        assert_eq!(drain(turn(0, true, 9, &[0])), 3);
        assert_eq!(drain(turn(0, true, 9, &[])), 1, "no node: the job waits for one");
    }

    #[test]
    fn a_job_stays_where_its_workspace_is() {
        let nodes = [node("a", 0), node("b", 3)];

        assert_eq!(pick_node(&job(Some(nodes[1].id)), &nodes), Some(nodes[1].id));
    }

    #[test]
    fn a_job_with_a_repository_goes_to_a_node_that_works_on_repositories() {
        let (plain, mut able) = (node("a", 0), node("b", 3));
        let features = ["landlock", REPOSITORIES_FEATURE];
        able.capabilities = serde_json::json!({ "sandbox": { "features": features } });
        let mut of_repository = job(None);
        of_repository.spec.payload = serde_json::json!({ "repository": { "url": "/srv/app" } });
        let mut pinned = of_repository.clone();
        pinned.spec.pinned_node = Some(plain.id);
        let nodes = [plain, able];

        assert_eq!(pick_node(&of_repository, &nodes), Some(nodes[1].id));
        assert_eq!(pick_node(&pinned, &nodes), None);
        assert_eq!(pick_node(&job(None), &nodes), Some(nodes[0].id));
    }

    #[test]
    fn a_job_goes_to_a_machine_with_the_labels_and_the_memory_that_it_demands() {
        let (mut small, mut large) = (node("a", 0), node("b", 3));
        small.capabilities = serde_json::json!({ "arch": "x86_64", "memory_mib": 1024 });
        large.capabilities = serde_json::json!({
            "arch": "aarch64", "memory_mib": 9000, "labels": { "zone": "eu", "arch": "forged" },
        });
        let nodes = [small, large];
        let pick = |payload: Value| {
            let mut demanding = job(None);
            demanding.spec.payload = payload;
            pick_node(&demanding, &nodes)
        };
        let labelled = |labels: Value| pick(serde_json::json!({ "node_labels": labels }));
        let sized = |mib: u32| pick(serde_json::json!({ "limits": { "memory_mib": mib } }));
        let (first, second) = (Some(nodes[0].id), Some(nodes[1].id));

        assert_eq!(labelled(serde_json::json!({ "zone": "eu" })), second);
        assert_eq!(labelled(serde_json::json!({ "zone": "eu", "arch": "aarch64" })), second);
        assert_eq!(labelled(serde_json::json!({ "arch": "x86_64" })), first);
        assert_eq!(labelled(serde_json::json!({ "arch": "forged" })), None);
        assert_eq!(labelled(serde_json::json!({ "zone": "us" })), None);
        assert_eq!(sized(8192), second);
        assert_eq!(sized(9001), None);
        assert_eq!(sized(Limits::default().memory_mib), first, "the default is no demand");
        let mut pinned = job(Some(nodes[0].id));
        pinned.spec.payload = serde_json::json!({ "node_labels": { "zone": "eu" } });
        assert_eq!(pick_node(&pinned, &nodes), first, "its workspace is there");
    }

    #[test]
    fn nodes_that_are_full_away_or_without_sandbox_get_nothing() {
        let (full, mut away, mut open) = (node("a", 4), node("b", 0), node("c", 0));
        away.status = NodeStatus::Inactive;
        open.sandbox_supported = false;

        assert_eq!(pick_node(&job(None), &[full, away, open]), None);
    }
}
