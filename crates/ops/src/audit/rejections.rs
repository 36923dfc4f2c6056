//! Recording requests that were rejected before there was a call to record.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use cynode_store::{AccessChange, RuleStore};

use super::{AuditError, AuditLog};

/// What is rejected, as changes of access name it.
const REQUEST: &str = "mcp.request";

/// Requests that were rejected for one reason, in sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectionSummary {
    /// Why.
    pub reason: &'static str,
    /// How many, by the kind of peer: `agent`, `user` or `unknown`.
    pub peers: BTreeMap<&'static str, u64>,
    /// When the first of them came.
    pub first: DateTime<Utc>,
    /// When the last of them came.
    pub last: DateTime<Utc>,
}

impl RejectionSummary {
    /// How many, since when and by whom, in words.
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
    /// Records rejections, one row for each summary. When this returns, the rows are durable.
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
                            resource_type: REQUEST,
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
