//! The output of jobs, in chunks.

use cynode_domain::ids::JobId;

use crate::{Error, Tx};
use cynode_sql::params;

impl Tx {
    /// Appends a chunk of output at its offset. A chunk that does not continue the stored output is ignored.
    /// Returns the stored length.
    pub async fn log_append(
        &mut self,
        job: JobId,
        stream: &str,
        offset: i64,
        data: &[u8],
    ) -> Result<i64, Error> {
        let sql = "SELECT coalesce(max(start_offset + length(data)), 0) AS stored FROM job_logs
                   WHERE job_id = $1 AND stream = $2";
        let row = self.row(sql, params![job, stream]).await?;
        let stored: i64 = row.map_or(Ok(0), |row| row.get("stored"))?;
        if stored != offset || data.is_empty() {
            return Ok(stored);
        }
        let sql = "INSERT INTO job_logs (job_id, stream, start_offset, data)
                   VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        let added = self.execute(sql, params![job, stream, offset, data]).await?;
        let length = i64::try_from(data.len()).unwrap_or(i64::MAX);
        Ok(if added == 1 { offset + length } else { stored })
    }

    /// Reads the whole stored output of a stream.
    pub async fn log_read(&mut self, job: JobId, stream: &str) -> Result<Vec<u8>, Error> {
        let sql = "SELECT data FROM job_logs WHERE job_id = $1 AND stream = $2
                   ORDER BY start_offset";
        let mut all = vec![];
        for row in self.rows(sql, params![job, stream]).await? {
            all.extend(row.get::<Vec<u8>>("data")?);
        }
        Ok(all)
    }
}
