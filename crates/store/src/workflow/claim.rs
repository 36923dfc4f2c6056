//! Claims of runs by runners: one statement on PostgreSQL for any number of runs.

use std::sync::LazyLock;

use cynode_domain::ids::{HolderId, LeaseId};
use cynode_domain::status::{RunStatus, TaskStatus};
use serde_json::json;
use uuid::Uuid;

use super::{Run, run};
use crate::quarantine::{not_quarantined, tables};
use crate::{Error, GraphVersionRange, Lease, NewEvent, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A runner's request for runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunClaim {
    pub holder: HolderId,
    /// The duration of each lease.
    pub lease_ms: u32,
    /// The versions of the graph that the runner supports.
    pub versions: GraphVersionRange,
    pub max: u32,
    /// The kind of the event for a started task.
    pub started_event: &'static str,
}

/// A run that was granted to a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrantedRun {
    /// The run before the grant.
    pub run: Run,
    pub lease: Lease,
}

impl GrantedRun {
    /// Whether the run was leased before, so that a checkpoint or effects may exist.
    pub fn is_resumed(&self) -> bool {
        self.lease.epoch > 1
    }
}

/// Runs without a live lease, whose task is open, and which wait for nothing. The index contains no waiting
/// run, so any number of these costs a claim nothing. A task is open while it is pending or running; with this
/// condition the server looks a task up by id, not among all open ones. The pause is also checked on the task,
/// because the task is the row that a claim locks. A run is skipped while its row or that of its task cannot be
/// decoded.
static CLAIMABLE: LazyLock<String> = LazyLock::new(|| {
    let (run, task) = (not_quarantined("runs", "r.id"), not_quarantined("tasks", "r.task_id"));
    format!(
        "r.runnable AND r.waits_for IS NULL AND o.status IN ('pending', 'running')
    AND o.paused_at IS NULL
    AND (r.not_before IS NULL OR r.not_before <= cynode_now())
    AND (r.graph_version IS NULL OR r.graph_version BETWEEN $1 AND $2)
    AND NOT EXISTS (SELECT 1 FROM task_workflow_leases l
        WHERE l.task_id = r.task_id AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now())
    AND NOT EXISTS (SELECT 1 FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id
        WHERE d.task_id = r.task_id AND t.status <> 'completed')
    AND {run} AND {task}"
    )
});

/// How often a claim retries because other runners were granted all runs that it picked.
const TRIES: usize = 32;

/// The most runs that one statement claims.
const LARGEST_BATCH: u32 = 64;

/// Returns the oldest claimable run; its task is locked.
pub(super) async fn next_claimable(
    tx: &mut Tx,
    versions: GraphVersionRange,
) -> Result<Option<Run>, Error> {
    // Every transaction locks tasks before leases, and leases before runs: a claim that locked the run first
    // would deadlock with a cancellation.
    let sql = format!(
        "SELECT r.* FROM runs r JOIN tasks o ON o.id = r.task_id WHERE {}
         ORDER BY r.id LIMIT 1 /*pg FOR NO KEY UPDATE OF o SKIP LOCKED */",
        *CLAIMABLE
    );
    loop {
        let params = params![versions.oldest, versions.newest];
        let found = match tx.one(&tables::RUNS, &sql, params, run).await {
            // The runner reads the task of the run, so it must be decodable.
            Ok(Some(run)) => tx.task_get(run.task).await.map(|_| Some(run)),
            outcome => outcome,
        };
        match found {
            Err(error) if error.is_unreadable() => tx.quarantine_now(error).await?,
            outcome => return outcome,
        }
    }
}

impl Tx {
    /// Whether there is a run for [`crate::Tx::run_next`]. Locks nothing.
    pub async fn run_has_next(&mut self) -> Result<bool, Error> {
        let versions = GraphVersionRange::ANY;
        let sql = format!(
            "SELECT r.id FROM runs r JOIN tasks o ON o.id = r.task_id WHERE {}
             ORDER BY r.id LIMIT 1",
            *CLAIMABLE
        );
        Ok(self.row(&sql, params![versions.oldest, versions.newest]).await?.is_some())
    }

    /// See [`crate::Store::run_claim`].
    pub(crate) async fn run_claim(&mut self, claim: &RunClaim) -> Result<Vec<GrantedRun>, Error> {
        if !self.is_sqlite() {
            return claim_in_batches(self, claim).await;
        }
        let mut granted = vec![];
        while granted.len() < usize::try_from(claim.max).unwrap_or(usize::MAX)
            && let Some(run) = next_claimable(self, claim.versions).await?
        {
            let Some(lease) =
                self.lease_grant(run.task, run.id, claim.holder, claim.lease_ms).await?
            else {
                break;
            };
            self.run_record_grant(&run, claim.versions, claim.started_event).await?;
            granted.push(GrantedRun { run, lease });
        }
        Ok(granted)
    }

    /// Records that a runner was granted a run, as [`crate::Store::run_claim`] does; `started` is the kind of the
    /// event that announces it.
    pub async fn run_record_grant(
        &mut self,
        run: &Run,
        versions: GraphVersionRange,
        started: &'static str,
    ) -> Result<(), Error> {
        if let Some(task) = self.task_get(run.task).await?
            && task.status == TaskStatus::Pending
        {
            self.task_set_status(run.task, TaskStatus::Running, None).await?;
            let event = NewEvent {
                kind: started,
                owner: Some(task.spec.created_by),
                project: Some(task.spec.project),
                task: Some(run.task),
                run: None,
                job: None,
                data: json!({ "run_id": run.id }),
            };
            self.event_append(&event).await?;
        }
        if run.status == RunStatus::Pending {
            self.run_set_status(run.id, RunStatus::Running).await?;
        }
        let sql = "UPDATE runs SET graph_version = coalesce(graph_version, $2),
                   put_down_reason = NULL, not_before = NULL WHERE id = $1";
        self.execute(sql, params![run.id, versions.newest]).await.map(drop)
    }
}

/// As the loop, usually in one round trip.
async fn claim_in_batches(tx: &mut Tx, claim: &RunClaim) -> Result<Vec<GrantedRun>, Error> {
    let mut granted = vec![];
    let mut remaining = claim.max;
    while remaining > 0 {
        let limit = batch_limit(remaining);
        let batch = claim_in_one_statement(tx, claim, limit).await?;
        let count = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        granted.extend(batch);
        if count < limit {
            break;
        }
        remaining = remaining.saturating_sub(count);
    }
    Ok(granted)
}

/// The limit of the next statement: a power of two, so that a connection prepares few statements and reuses their
/// plans. Planning a claim takes longer than executing it.
fn batch_limit(remaining: u32) -> u32 {
    1 << remaining.min(LARGEST_BATCH).ilog2()
}

/// Each part sees the rows as of before the statement; it takes changes of other parts from what they return.
async fn claim_in_one_statement(
    tx: &mut Tx,
    claim: &RunClaim,
    limit: u32,
) -> Result<Vec<GrantedRun>, Error> {
    // The limit is a literal: with a parameter the server plans each claim anew. Rows carry the id of their task,
    // so that they are appended at the end of the index.
    let claimable = &*CLAIMABLE;
    let sql = format!(
        "WITH picked AS MATERIALIZED (
            SELECT r.id, r.task_id, r.trace_id, r.status FROM runs r JOIN tasks o ON o.id = r.task_id
            WHERE {claimable} ORDER BY r.id LIMIT {limit} FOR NO KEY UPDATE OF o SKIP LOCKED
        ), granted AS (
            INSERT INTO task_workflow_leases AS l (id, task_id, run_id, lease_id, holder_id, epoch,
                expires_at, created_at, updated_at)
            SELECT p.task_id, p.task_id, p.id, gen_random_uuid(), $3, 1,
                cynode_after($4), cynode_now(), cynode_now() FROM picked p
            ON CONFLICT (task_id) DO UPDATE SET run_id = excluded.run_id,
                lease_id = excluded.lease_id, holder_id = excluded.holder_id, epoch = l.epoch + 1,
                expires_at = excluded.expires_at, updated_at = excluded.updated_at
            WHERE l.holder_id IS NULL OR l.expires_at <= cynode_now()
            RETURNING task_id, run_id, lease_id, epoch
        ), placed AS (
            INSERT INTO workflow_checkpoints AS c (id, task_id, run_id, state, last_node_id, edge,
                sequence, base_sequence, epoch, updated_at)
            SELECT task_id, task_id, run_id, '{{}}', '', '', 0, 0, epoch, cynode_now()
            FROM granted
            ON CONFLICT (task_id) DO UPDATE SET epoch = excluded.epoch, run_id = excluded.run_id,
                sequence = CASE WHEN c.run_id = excluded.run_id THEN c.sequence ELSE 0 END,
                base_sequence = CASE WHEN c.run_id = excluded.run_id
                    THEN c.base_sequence ELSE 0 END,
                state = CASE WHEN c.run_id = excluded.run_id THEN c.state ELSE excluded.state END
        ), begun AS (
            UPDATE tasks t SET status = 'running', updated_at = cynode_now(),
                started_at = coalesce(t.started_at, cynode_now())
            FROM granted g WHERE t.id = g.task_id AND t.status = 'pending'
            RETURNING t.id, t.created_by, t.project_id, g.run_id
        ), recorded AS (
            INSERT INTO events (kind, owner_id, project_id, task_id, data, occurred_at)
            SELECT $5, created_by, project_id, id, json_build_object('run_id', run_id), cynode_now()
            FROM begun
        ), driven AS (
            UPDATE runs r SET status = 'running', started_at = coalesce(r.started_at, cynode_now()),
                graph_version = coalesce(r.graph_version, $2), put_down_reason = NULL,
                not_before = NULL
            FROM granted g WHERE r.id = g.run_id
        )
        SELECT p.*, g.lease_id, g.epoch FROM picked p LEFT JOIN granted g ON g.run_id = p.id
        ORDER BY p.id"
    );
    let GraphVersionRange { oldest, newest } = claim.versions;
    let params = params![oldest, newest, claim.holder, claim.lease_ms, claim.started_event];
    let mut granted = vec![];
    // A run that was granted to another runner between the read of the leases and the lock on its task is
    // picked and not granted. Other runs may still be claimable, so the claim is retried.
    for _ in 0..TRIES {
        let picked = tx.rows(&sql, params).await?;
        for row in &picked {
            match tx.decode(&tables::RUNS, row, |row| grant(row, claim.holder)) {
                Ok(one) => granted.extend(one),
                Err(error) => {
                    tx.quarantine_now(error).await?;
                    let release = "UPDATE task_workflow_leases
                                   SET holder_id = NULL, expires_at = NULL WHERE task_id = $1";
                    tx.execute(release, params![row.get::<Uuid>("task_id")?]).await?;
                }
            }
        }
        if picked.is_empty() || !granted.is_empty() {
            break;
        }
    }
    Ok(granted)
}

/// The grant of a picked run, unless another runner has it.
fn grant(row: &Row, holder: HolderId) -> Result<Option<GrantedRun>, Error> {
    let Some(id) = row.id_opt::<LeaseId>("lease_id")? else { return Ok(None) };
    let run = run(row)?;
    let epoch = row.get("epoch")?;
    let lease =
        Lease { task: run.task, run: run.id, id, epoch, holder: Some(holder), is_live: true };
    Ok(Some(GrantedRun { run, lease }))
}
