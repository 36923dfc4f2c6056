//! Sealing of the logs, and the notes of heads: a pass every second.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_store::{AuditKeys, ChainPosition, LOG_CHAIN, LogSealing, SignedHead, SignedPosition};
use tracing::{error, info, warn};

use super::signing::HeadFile;
use super::{AuditError, AuditLog};

const INTERVAL: Duration = Duration::from_secs(1);
/// Passes between two writes of the head file, which is synced to the disk.
const PASSES_PER_SAVE: u32 = 5;
/// Rows of each log per transaction.
const SEAL_BATCH: u32 = 200;
const RETENTION_INTERVAL: Duration = Duration::from_hours(1);

impl AuditLog {
    /// Seals the logs, notes heads and applies retention until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::join!(self.run_sealing(shutdown.clone()), self.run_retention(shutdown));
    }

    async fn run_sealing(&self, shutdown: Shutdown) {
        let (mut passes, mut has_failed) = (0_u32, false);
        loop {
            let is_last = shutdown.is_triggered();
            let sealed = self.seal_logs().await;
            if let (Err(error), false) = (&sealed, has_failed) {
                warn!(
                    error = error as &dyn std::error::Error,
                    "audit logs cannot be sealed, retrying"
                );
            }
            has_failed = sealed.is_err();
            if is_last || passes.is_multiple_of(PASSES_PER_SAVE) {
                self.save_heads();
            }
            if is_last {
                return;
            }
            passes = passes.wrapping_add(1);
            tokio::select! {
                () = shutdown.triggered() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    async fn run_retention(&self, shutdown: Shutdown) {
        loop {
            match self.apply_retention().await {
                Ok(0) => {}
                Ok(removed) => info!(removed, "expired audit records deleted"),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "audit retention failed");
                }
            }
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(RETENTION_INTERVAL) => {}
            }
        }
    }

    /// Seals all rows of the logs, and notes the heads of all chains. Returns whether the chain of the logs can be
    /// extended.
    pub(super) async fn seal_logs(&self) -> Result<bool, AuditError> {
        let (has_unsealed, chains) = self
            .store
            .read(|tx| {
                Box::pin(async move {
                    Ok::<_, AuditError>((tx.log_has_unsealed().await?, tx.chain_list().await?))
                })
            })
            .await?;
        self.observe(&chains);
        let mut is_whole = true;
        while has_unsealed && is_whole {
            let (keys, known) = (Arc::clone(&self.keys), self.lock_heads().get(LOG_CHAIN));
            let sealing = self
                .store
                .write(move |tx| {
                    Box::pin(async move {
                        let sealing = tx.log_seal(&keys, known.as_ref(), SEAL_BATCH).await?;
                        Ok::<_, AuditError>(sealing)
                    })
                })
                .await?;
            match sealing {
                LogSealing::Sealed(_, 0) => break,
                LogSealing::Sealed(head, _) => self.lock_heads().observe(head),
                LogSealing::Refused => is_whole = false,
            }
        }
        if !is_whole && !self.is_refusal_logged.swap(true, std::sync::atomic::Ordering::Relaxed) {
            error!(
                "the audit logs were modified outside CyNode and are no longer sealed: run `audit verify`"
            );
        }
        Ok(is_whole)
    }

    /// Notes heads that a trusted key signed.
    pub(super) fn observe(&self, chains: &[SignedHead]) {
        let mut heads = self.lock_heads();
        chains
            .iter()
            .filter_map(|head| trusted_position(head, &self.keys))
            .for_each(|head| heads.observe(head));
    }

    fn save_heads(&self) {
        if let Err(error) = self.lock_heads().save() {
            warn!(
                error = &error as &dyn std::error::Error,
                "the heads of the audit chains cannot be noted"
            );
        }
    }

    pub(super) fn lock_heads(&self) -> MutexGuard<'_, HeadFile> {
        // No code panics while holding the lock.
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn trusted_position((head, signature): &SignedHead, keys: &AuditKeys) -> Option<ChainPosition> {
    let signed = SignedPosition { position: head.position(), signature: signature.clone() };
    signed.is_signed(cynode_store::SignedClaim::Head, keys).then_some(signed.position)
}
