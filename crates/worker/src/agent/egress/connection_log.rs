//! Records connections of an agent to hosts, at the orchestrator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_domain::text::truncate_bytes;
use cynode_network::proxy::{ConnectionEvent, ConnectionLog, ConnectionNotRecorded};
use cynode_wire::nodes::{JobConnectionEvent, RecordConnection};
use tokio::time::{Instant, timeout};

use crate::agent::connection::OrchestratorCallError;
use crate::agent::{DaemonContext, sleep_after_failure};

/// How long the orchestrator may take to record a connection that an agent waits for.
const RECORD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of a connection is retried while the orchestrator is away.
const END_RETRY_LIMIT: Duration = Duration::from_mins(2);
/// Refused connections of one job that are recorded; later ones are in the node's log only.
const MAX_REFUSED: u32 = 100;
/// The most bytes of a host with its port: longer names are refused.
const MAX_TARGET_BYTES: usize = 300;

/// Records the connections of one job.
pub(super) struct JobConnectionLog {
    context: Arc<DaemonContext>,
    job: JobId,
    refused: AtomicU32,
}

impl JobConnectionLog {
    pub(super) fn new(context: Arc<DaemonContext>, job: JobId) -> Self {
        Self { context, job, refused: AtomicU32::new(0) }
    }

    async fn send(&self, record: &RecordConnection) -> Result<(), OrchestratorCallError> {
        let job = self.job;
        let call = |client: Client| async move { client.node_record_connection(job, record).await };
        self.context.connection.call(call).await
    }

    /// Fails at once: the agent can try again.
    async fn record_now(&self, record: &RecordConnection) -> Result<(), ConnectionNotRecorded> {
        match timeout(RECORD_TIMEOUT, self.send(record)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(job.id = %self.job, %error, "connection of an agent not recorded");
                Err(ConnectionNotRecorded)
            }
            Err(_) => Err(ConnectionNotRecorded),
        }
    }

    /// Retries: the connection was made, so its end is worth a record. The job may have ended by then.
    async fn record_end(&self, record: &RecordConnection) -> Result<(), ConnectionNotRecorded> {
        let deadline = Instant::now() + END_RETRY_LIMIT;
        let mut failures = 0;
        loop {
            match timeout(RECORD_TIMEOUT, self.send(record)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) if error.is_final() => return Err(ConnectionNotRecorded),
                Ok(Err(_)) | Err(_) if Instant::now() >= deadline => {
                    return Err(ConnectionNotRecorded);
                }
                Ok(Err(_)) | Err(_) => sleep_after_failure(&mut failures).await,
            }
        }
    }
}

#[async_trait]
impl ConnectionLog for JobConnectionLog {
    async fn record(
        &self,
        target: &str,
        event: &ConnectionEvent,
    ) -> Result<(), ConnectionNotRecorded> {
        let target = truncate_bytes(target, MAX_TARGET_BYTES);
        let record = RecordConnection { target: target.to_owned(), event: to_wire(event) };
        match event {
            ConnectionEvent::Opened { .. } => self.record_now(&record).await,
            ConnectionEvent::Closed { .. } => self.record_end(&record).await,
            ConnectionEvent::Refused { reason } => {
                tracing::info!(job.id = %self.job, target, reason, "connection of an agent refused");
                if self.refused.fetch_add(1, Ordering::Relaxed) < MAX_REFUSED {
                    self.record_now(&record).await
                } else {
                    Ok(())
                }
            }
        }
    }
}

fn to_wire(event: &ConnectionEvent) -> JobConnectionEvent {
    match event {
        ConnectionEvent::Opened { address } => JobConnectionEvent::Opened { address: *address },
        ConnectionEvent::Refused { reason } => {
            JobConnectionEvent::Refused { reason: reason.clone() }
        }
        ConnectionEvent::Closed { reason, sent, received, open_for } => {
            JobConnectionEvent::Closed {
                reason: reason.clone(),
                sent: *sent,
                received: *received,
                open_for_ms: u64::try_from(open_for.as_millis()).unwrap_or(u64::MAX),
            }
        }
    }
}

/// Logs the refused connections of a canary run, and lets none be made.
pub(super) struct UnrecordedConnections {
    pub(super) job: JobId,
}

#[async_trait]
impl ConnectionLog for UnrecordedConnections {
    async fn record(
        &self,
        target: &str,
        event: &ConnectionEvent,
    ) -> Result<(), ConnectionNotRecorded> {
        let ConnectionEvent::Refused { reason } = event else { return Err(ConnectionNotRecorded) };
        tracing::info!(job.id = %self.job, target, reason, "connection of a canary run refused");
        Ok(())
    }
}
