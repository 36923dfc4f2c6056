//! Reports audit records to the orchestrator, and learns trusted keys and revoked leases.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::ChainId;
use cynode_edge::{EdgeAuditLog, EdgeTrust};
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::capability_leases::{EdgeView, MAX_RECORDS, SyncEdge};

use super::commands::EdgeCommands;
use crate::agent::connection::OrchestratorCallError;
use crate::agent::{DaemonContext, run_blocking};

/// How soon the orchestrator gets a record, and the node a revocation.
const SYNC_INTERVAL: Duration = Duration::from_secs(2);

pub(super) struct EdgeSyncLoop {
    pub(super) context: Arc<DaemonContext>,
    pub(super) commands: EdgeCommands,
    pub(super) trust: Arc<EdgeTrust>,
    pub(super) log: EdgeAuditLog,
}

impl EdgeSyncLoop {
    /// Reports every few seconds, and at once while there is more; never returns.
    pub(super) async fn run(self) {
        let mut is_reachable = true;
        loop {
            match self.sync_once().await {
                Ok(is_complete) => {
                    is_reachable = true;
                    if !is_complete {
                        continue;
                    }
                }
                Err(error) => {
                    let is_news = std::mem::replace(&mut is_reachable, false);
                    if error.is_final() && is_news {
                        tracing::error!(%error, "orchestrator refused the report of this node");
                    } else {
                        tracing::debug!(%error, "report of audit records failed, retrying");
                    }
                }
            }
            tokio::time::sleep(SYNC_INTERVAL).await;
        }
    }

    /// Sends the oldest records. Returns whether all are stored.
    async fn sync_once(&self) -> Result<bool, OrchestratorCallError> {
        let log = self.log.clone();
        let report = run_blocking(move || log.next_report(MAX_RECORDS)).await;
        let report: SyncEdge = report.map_err(std::io::Error::other)??;
        let body = &report;
        let send = |client: cynode_client::Client| async move { client.node_sync_edge(body).await };
        let view = self.context.connection.call(send).await?;
        let is_complete = report.records.len() < MAX_RECORDS;
        self.apply(report.chain, view).await?;
        Ok(is_complete)
    }

    async fn apply(&self, chain: ChainId, view: EdgeView) -> Result<(), OrchestratorCallError> {
        let (trust, log) = (Arc::clone(&self.trust), self.log.clone());
        let revoked: Vec<_> = view.revoked.iter().map(|lease| lease.id).collect();
        let applied = run_blocking(move || {
            let updated = trust.update(&view, SystemClock.now());
            let recorded = match &view.refused {
                Some(reason) => log.abandon_chain(chain, reason),
                None => log.mark_stored(chain, view.stored_seq),
            };
            recorded.and(updated)
        });
        // Before an error of the disk is reported: what was revoked must end.
        let applied = applied.await.map_err(std::io::Error::other);
        self.commands.stop_revoked(&revoked).await;
        Ok(applied??)
    }
}
