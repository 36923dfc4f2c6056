//! Sends every audit record to other systems: a file, syslog or an OTLP collector.
//!
//! A record is sent after it is durable in the database, so the stream delays no tool call. It is sent at least once:
//! the position of each chain is noted after the target accepted a batch. A receiver recognises a repeated record by its
//! chain and position.

mod target;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_domain::ids::ChainId;
use cynode_resources::audit::AuditLog;
use cynode_runtime::durable_file;
use cynode_runtime::shutdown::Shutdown;
use tracing::{info, warn};

pub(crate) use self::target::StreamTarget;

const INTERVAL: Duration = Duration::from_secs(1);
const BATCH: u32 = 500;
const POSITION_FILE: &str = "audit-stream.json";

/// The position of each chain that each target has received.
type Positions = BTreeMap<String, BTreeMap<ChainId, i64>>;

/// The stream to all targets.
pub(crate) struct AuditStream {
    audit: AuditLog,
    targets: Vec<StreamTarget>,
    path: PathBuf,
}

impl AuditStream {
    pub(crate) fn new(audit: AuditLog, targets: Vec<StreamTarget>, data_dir: &Path) -> Self {
        Self { audit, targets, path: data_dir.join(POSITION_FILE) }
    }

    /// Sends records until `shutdown`, and those that were written until then.
    pub(crate) async fn run(self, shutdown: Shutdown) {
        if self.targets.is_empty() {
            return;
        }
        let mut positions = self.load();
        let mut failing = vec![false; self.targets.len()];
        loop {
            let is_last = shutdown.is_triggered();
            for (target, has_failed) in self.targets.iter().zip(&mut failing) {
                let sent = self.send_new(target, &mut positions).await;
                match (&sent, *has_failed) {
                    (Err(error), false) => {
                        warn!(%target, error = format!("{error:#}"), "audit stream failed, retrying");
                    }
                    (Ok(()), true) => info!(%target, "audit stream resumed"),
                    _ => {}
                }
                *has_failed = sent.is_err();
            }
            if is_last {
                return;
            }
            tokio::select! {
                () = shutdown.triggered() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    /// Sends all records that the target has not received.
    async fn send_new(
        &self,
        target: &StreamTarget,
        positions: &mut Positions,
    ) -> anyhow::Result<()> {
        let name = target.to_string();
        for chain in self.audit.extended_chains() {
            loop {
                let seq = positions.get(&name).and_then(|known| known.get(&chain)).copied();
                let records = self.audit.export(chain, seq.unwrap_or(0) + 1, BATCH).await?;
                let Some(last) = records.last().map(|record| record.seq) else { break };
                target.send(&records).await?;
                positions.entry(name.clone()).or_default().insert(chain, last);
                durable_file::replace(&self.path, &serde_json::to_vec_pretty(positions)?)?;
                if records.len() < BATCH as usize {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Without readable positions all records are sent again.
    fn load(&self) -> Positions {
        let Ok(content) = std::fs::read(&self.path) else { return Positions::new() };
        serde_json::from_slice(&content).unwrap_or_else(|error| {
            warn!(%error, path = %self.path.display(), "audit stream starts from the first record");
            Positions::new()
        })
    }
}
