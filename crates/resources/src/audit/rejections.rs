//! Records requests that were rejected before a call could be recorded.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use cynode_store::AccessChange;

use super::{AuditError, AuditLog};

/// The resource type of a rejection in the access changes.
const REJECTED_REQUEST: &str = "mcp.request";

/// Aggregated rejections with one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectionSummary {
    pub reason: &'static str,
    /// Counts by kind of peer: `agent`, `user` or `unknown`.
    pub peers: BTreeMap<&'static str, u64>,
    pub first: DateTime<Utc>,
    pub last: DateTime<Utc>,
}

impl RejectionSummary {
    fn describe(&self) -> String {
        let count: u64 = self.peers.values().fold(0, |sum, count| sum.saturating_add(*count));
        let peers: Vec<_> = self.peers.iter().map(|(peer, n)| format!("{peer} {n}")).collect();
        let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
        format!(
            "{count} rejected from {} to {} (by peer: {})",
            time(self.first),
            time(self.last),
            peers.join(", ")
        )
    }
}

impl AuditLog {
    /// Records one row for each summary. The rows are durable when this returns.
    pub async fn record_rejections(
        &self,
        summaries: Vec<RejectionSummary>,
    ) -> Result<(), AuditError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    for summary in &summaries {
                        let change = AccessChange {
                            by: None,
                            action: "gateway.reject",
                            resource_type: REJECTED_REQUEST,
                            resource: summary.reason.to_owned(),
                            allowed: false,
                            reason: Some(summary.describe()),
                            task: None,
                            at: now,
                        };
                        tx.access_change_append(&change).await?;
                    }
                    Ok(())
                })
            })
            .await
    }
}
