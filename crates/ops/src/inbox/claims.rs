//! The claim of a message: taken, renewed, released, and ended as processed, escalated or abandoned.

use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_execution::handoff::HandoffError;
use cynode_execution::tasks::task_event;
use cynode_resources::signals::Topic;
use cynode_store::{AttemptStarted, ClaimedReport, ReportClaim, Tx};
use serde_json::json;
use tokio::time::Instant;

use super::Inbox;

impl Inbox {
    /// Claims the next message of a task that is not in progress. Writes nothing if none waits.
    pub(super) async fn claim_next(
        &self,
        in_flight: &[TaskId],
    ) -> Result<Option<ClaimedReport>, cynode_store::Error> {
        let waits = self.store.read(|tx| Box::pin(async move { tx.report_has_pending().await }));
        if !waits.await? {
            return Ok(None);
        }
        let (lease_ms, now) = (millis(self.options.lease), self.clock.now());
        let in_flight = in_flight.to_vec();
        self.store
            .write(move |tx| {
                let in_flight = in_flight.clone();
                Box::pin(async move {
                    tx.report_close_ended(now).await?;
                    tx.report_claim(lease_ms, &in_flight).await
                })
            })
            .await
    }

    /// Renews the lease until it is lost.
    pub(super) async fn renew_lease(&self, claim: ReportClaim) -> Result<(), HandoffError> {
        let lease = self.options.lease;
        let (lease_ms, mut until) = (millis(lease), Instant::now() + lease);
        loop {
            tokio::time::sleep(lease / 3).await;
            let kept: Result<bool, cynode_store::Error> = self
                .store
                .write(move |tx| Box::pin(async move { tx.report_extend(claim, lease_ms).await }))
                .await;
            match kept {
                Ok(true) => until = Instant::now() + lease,
                Ok(false) => return Ok(()),
                // The lease outlasts a short database outage.
                Err(_) if Instant::now() < until => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) async fn release_claim(
        &self,
        claim: ReportClaim,
        pause: Duration,
        began: AttemptStarted,
    ) -> Result<(), HandoffError> {
        let pause_ms = millis(pause);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.report_release(claim, pause_ms, began).await?;
                    Ok(())
                })
            })
            .await
    }

    /// Marks the message as processed.
    pub(super) async fn mark_processed(&self, claim: ReportClaim) -> Result<(), HandoffError> {
        let now = self.clock.now();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.report_complete(claim, now).await?;
                    Ok::<_, HandoffError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }

    /// Marks a message as waiting for a person and appends an event.
    pub(super) async fn mark_needs_person(
        &self,
        claim: ReportClaim,
        task: TaskId,
        why: String,
    ) -> Result<(), HandoffError> {
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tx.task_lock(task).await?;
                    if let (true, Some(task)) = (tx.report_escalate(claim, &why).await?, task) {
                        let data = json!({ "message_id": claim.message, "reason": why });
                        tx.event_append(&task_event(&task, "agent.needs_person", data)).await?;
                    }
                    Ok::<_, HandoffError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }

    /// Abandons a message to a person and appends an event.
    pub(super) async fn abandon(
        &self,
        claim: ReportClaim,
        task: TaskId,
        why: String,
    ) -> Result<(), HandoffError> {
        let id = claim.message;
        tracing::warn!(message.id = %id, task.id = %task, reason = why, "message escalated to a person");
        self.store
            .write(move |tx| Box::pin(async move { abandon_in_tx(tx, claim, task, &why).await }))
            .await?;
        self.signals.send(Topic::Events);
        Ok(())
    }
}

async fn abandon_in_tx(
    tx: &mut Tx,
    claim: ReportClaim,
    task: TaskId,
    why: &str,
) -> Result<(), HandoffError> {
    let Some(task) = tx.task_lock(task).await? else { return Ok(()) };
    if tx.report_abandon(claim, why).await? {
        let data = json!({ "message_id": claim.message, "reason": why });
        tx.event_append(&task_event(&task, "agent.report_given_up", data)).await?;
    }
    Ok(())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
