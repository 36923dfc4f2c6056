//! Resource usage from `/proc` and from the database.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use tokio_postgres::NoTls;

use super::subject::{MeasuredPostgres, WorkflowSubject};

/// Resource usage since the start, or between two moments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorkflowUsage {
    /// CPU time of this process, which is the runner.
    pub(super) runner: Duration,
    /// CPU time of the orchestrator.
    pub(super) orchestrator: Duration,
    /// CPU time of the database server and its children.
    pub(super) database: Duration,
    pub(super) commits: i64,
    pub(super) syncs: i64,
    pub(super) wal_bytes: i64,
}

impl WorkflowUsage {
    pub(super) async fn measure(subject: &WorkflowSubject<'_>) -> anyhow::Result<Self> {
        let mut usage = Self {
            runner: process_cpu_time(std::process::id())?,
            orchestrator: process_cpu_time(subject.process_id())?,
            ..Self::default()
        };
        if let Some(server) = subject.server {
            usage.database = process_tree_cpu_time(server.process_id);
            let counted = read_wal_counters(server).await?;
            (usage.commits, usage.syncs, usage.wal_bytes) = counted;
        }
        Ok(usage)
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self {
            runner: self.runner.saturating_sub(before.runner),
            orchestrator: self.orchestrator.saturating_sub(before.orchestrator),
            database: self.database.saturating_sub(before.database),
            commits: self.commits - before.commits,
            syncs: self.syncs - before.syncs,
            wal_bytes: self.wal_bytes - before.wal_bytes,
        }
    }

    /// Total CPU time.
    pub(super) fn cpu(self) -> Duration {
        self.runner + self.orchestrator + self.database
    }
}

/// Commits, syncs and write-ahead log bytes of a server so far.
async fn read_wal_counters(server: &MeasuredPostgres) -> anyhow::Result<(i64, i64, i64)> {
    let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
    // Other sessions report their statistics within a second of going idle.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let sql =
        "SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
        wal_sync, wal_bytes::bigint FROM pg_stat_wal";
    tokio::select! {
        row = client.query_one(sql, &[]) => {
            let row = row?;
            Ok((row.get(0), row.get(1), row.get(2)))
        }
        ended = connection => { ended?; anyhow::bail!("the connection ended") }
    }
}

/// The postmaster of the server at `url`, which runs on this machine.
pub(super) async fn find_postmaster(url: &str) -> anyhow::Result<u32> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let backend: i32 = tokio::select! {
        row = client.query_one("SELECT pg_backend_pid()", &[]) => row?.get(0),
        ended = connection => { ended?; anyhow::bail!("the connection ended") }
    };
    let stat = fs::read_to_string(format!("/proc/{backend}/stat"))
        .context("the server does not run on this machine")?;
    let (parent, _) = parent_and_ticks(&stat).context("the kernel counts in another way")?;
    Ok(parent)
}

/// CPU time of a process so far.
pub(super) fn process_cpu_time(process: u32) -> anyhow::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("it has ended")?;
    let (_, ticks) = parent_and_ticks(&stat).context("the kernel counts in another way")?;
    // A tick is a hundredth of a second on every Linux.
    Ok(Duration::from_millis(ticks * 10))
}

/// Resident memory of a process, in MiB.
pub(super) fn resident_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = kib.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u32>().ok());
    f64::from(kib.unwrap_or(0)) / 1024.0
}

/// CPU time of a process and its live children.
fn process_tree_cpu_time(process: u32) -> Duration {
    let Ok(all) = fs::read_dir("/proc") else {
        return Duration::ZERO;
    };
    let ticks = all.filter_map(|entry| {
        let entry = entry.ok()?;
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let (parent, ticks) =
            parent_and_ticks(&fs::read_to_string(entry.path().join("stat")).ok()?)?;
        (id == process || parent == process).then_some(ticks)
    });
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// The parent of a process, and its user and system time in ticks.
fn parent_and_ticks(stat: &str) -> Option<(u32, u64)> {
    // The name, in parentheses, may contain any character.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let user: u64 = fields.get(11)?.parse().ok()?;
    let system: u64 = fields.get(12)?.parse().ok()?;
    Some((fields.get(1)?.parse().ok()?, user + system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_and_time_are_read_behind_the_name_of_the_process() {
        let stat = "1 (a) b) S 7 1 1 0 -1 4194560 0 0 0 0 250 50 0 0 20 0 1 0";

        assert_eq!(parent_and_ticks(stat), Some((7, 300)));
    }
}
