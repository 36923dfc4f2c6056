//! How long it is kept what was run in workspaces, and what came of it.
//!
//! Commands are forgotten one by one in the order of their ids, whoever does it: two who forget at once
//! wait for each other, and never in a ring.

use async_trait::async_trait;
use cynode_domain::ids::{JobId, RunId};

use crate::param::params;
use crate::{Error, Tx};

/// How much of a run's commands is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepExecs {
    /// So many bytes of what was run, of output and of results, of the commands that ended last.
    pub bytes: i64,
    /// So many of the commands that ended last, however long they are: somebody may be about to read them.
    pub last: u32,
}

/// What was run in workspaces, and what came of it.
#[async_trait]
pub trait KeptExecStore {
    /// Forgets what was run and what came of it, for ended jobs of a run at this step up to an
    /// attempt. That they were there and how they ended in a word stays.
    async fn exec_forget(
        &mut self,
        run: RunId,
        step_index: u32,
        last_attempt: u32,
    ) -> Result<(), Error>;
    /// The same for those that ended first, where they are more than is kept.
    async fn exec_trim(
        &mut self,
        run: RunId,
        step_index: u32,
        keep: KeepExecs,
    ) -> Result<(), Error>;
}

#[async_trait]
impl KeptExecStore for Tx {
    async fn exec_forget(
        &mut self,
        run: RunId,
        step_index: u32,
        last_attempt: u32,
    ) -> Result<(), Error> {
        let sql = "SELECT id FROM jobs
                   WHERE run_id = $1 AND step_index = $2 AND attempt <= $3 AND closed
                   AND CAST(payload AS text) <> '{}' ORDER BY id";
        let rows = self.rows(sql, params![run, step_index, last_attempt]).await?;
        for row in rows {
            forget(self, row.id("id")?).await?;
        }
        Ok(())
    }

    async fn exec_trim(
        &mut self,
        run: RunId,
        step_index: u32,
        keep: KeepExecs,
    ) -> Result<(), Error> {
        weigh(self, run, step_index).await?;
        let sql = "SELECT id FROM (
                       SELECT j.id, row_number() OVER (ORDER BY j.ended_at DESC, j.id DESC) AS place,
                           sum(e.kept_bytes) OVER (ORDER BY j.ended_at DESC, j.id DESC) AS total
                       FROM jobs j JOIN sandbox_execs e ON e.job_id = j.id
                       WHERE j.run_id = $1 AND j.step_index = $2 AND e.kept_bytes > 0) q
                   WHERE q.total > CAST($3 AS bigint) AND q.place > $4 ORDER BY id";
        let rows = self.rows(sql, params![run, step_index, keep.bytes, keep.last]).await?;
        for row in rows {
            forget(self, row.id("id")?).await?;
        }
        Ok(())
    }
}

/// Counts what is kept of commands that have ended since that was done last, whoever ended them.
async fn weigh(tx: &mut Tx, run: RunId, step_index: u32) -> Result<(), Error> {
    let sql = "SELECT j.id FROM jobs j JOIN sandbox_execs e ON e.job_id = j.id
               WHERE j.run_id = $1 AND j.step_index = $2 AND j.closed AND e.kept_bytes IS NULL
               ORDER BY j.id";
    let rows = tx.rows(sql, params![run, step_index]).await?;
    for row in rows {
        let id: JobId = row.id("id")?;
        let sql = "UPDATE sandbox_execs SET kept_bytes =
                       (SELECT octet_length(CAST(j.payload AS text))
                            + coalesce(octet_length(CAST(j.result AS text)), 0)
                        FROM jobs j WHERE j.id = $1)
                       + (SELECT coalesce(sum(octet_length(l.data)), 0)
                          FROM job_logs l WHERE l.job_id = $1)
                   WHERE job_id = $1 AND kept_bytes IS NULL";
        tx.execute(sql, params![id]).await?;
    }
    Ok(())
}

async fn forget(tx: &mut Tx, id: JobId) -> Result<(), Error> {
    let sql = "UPDATE sandbox_execs SET kept_bytes = 0 WHERE job_id = $1";
    tx.execute(sql, params![id]).await?;
    tx.execute("DELETE FROM job_logs WHERE job_id = $1", params![id]).await?;
    let sql = "UPDATE jobs SET payload = $2, result = NULL WHERE id = $1";
    tx.execute(sql, params![id, &serde_json::json!({})]).await.map(drop)
}
