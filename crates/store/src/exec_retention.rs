//! Retention of commands that were executed in workspaces, and of their results.
//!
//! Rows are trimmed one by one in id order by every caller, so concurrent callers wait for each other without a
//! deadlock.

use cynode_domain::ids::{JobId, RunId};

use crate::{Error, Tx};
use cynode_sql::params;

/// The retention limits for the commands of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepExecs {
    /// Bytes of payload, output and results to keep, newest commands first.
    pub bytes: i64,
    /// Commands to keep regardless of size, newest first: their caller may be about to read them.
    pub last: u32,
}

/// Retention of commands executed in workspaces.
impl Tx {
    /// Deletes payload and results of ended jobs of a run at this step, up to an attempt. The rows and their
    /// final status are kept.
    pub async fn exec_delete_payloads(
        &mut self,
        run: RunId,
        step_index: u32,
        last_attempt: u32,
    ) -> Result<(), Error> {
        let sql = "SELECT id FROM jobs
                   WHERE run_id = $1 AND step_index = $2 AND attempt <= $3 AND closed
                   AND CAST(payload AS text) <> '{}'
                   AND NOT EXISTS (SELECT 1 FROM sandboxes s WHERE s.id = jobs.id) ORDER BY id";
        let rows = self.rows(sql, params![run, step_index, last_attempt]).await?;
        for row in rows {
            delete_payload(self, row.id("id")?).await?;
        }
        Ok(())
    }

    /// Deletes payload and results of the oldest ended jobs beyond the limits.
    pub async fn exec_trim(
        &mut self,
        run: RunId,
        step_index: u32,
        keep: KeepExecs,
    ) -> Result<(), Error> {
        measure_ended(self, run, step_index).await?;
        let sql = "SELECT id FROM (
                       SELECT j.id, row_number() OVER (ORDER BY j.ended_at DESC, j.id DESC) AS place,
                           sum(e.kept_bytes) OVER (ORDER BY j.ended_at DESC, j.id DESC) AS total
                       FROM jobs j JOIN sandbox_execs e ON e.job_id = j.id
                       WHERE j.run_id = $1 AND j.step_index = $2 AND e.kept_bytes > 0) q
                   WHERE q.total > CAST($3 AS bigint) AND q.place > $4 ORDER BY id";
        let rows = self.rows(sql, params![run, step_index, keep.bytes, keep.last]).await?;
        for row in rows {
            delete_payload(self, row.id("id")?).await?;
        }
        Ok(())
    }
}

/// Measures the size of commands that ended since the last call.
async fn measure_ended(tx: &mut Tx, run: RunId, step_index: u32) -> Result<(), Error> {
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

async fn delete_payload(tx: &mut Tx, id: JobId) -> Result<(), Error> {
    let sql = "UPDATE sandbox_execs SET kept_bytes = 0 WHERE job_id = $1";
    tx.execute(sql, params![id]).await?;
    tx.execute("DELETE FROM job_logs WHERE job_id = $1", params![id]).await?;
    let sql = "UPDATE jobs SET payload = $2, result = NULL WHERE id = $1";
    tx.execute(sql, params![id, &serde_json::json!({})]).await.map(drop)
}
