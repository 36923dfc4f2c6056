//! Sealing of the logs, and the notes of heads: a pass every second.

use std::sync::atomic::Ordering;
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
/// Batches per pass: a large backlog of an upgrade does not keep heads from being noted.
const MAX_BATCHES: u32 = 50;
const RETENTION_INTERVAL: Duration = Duration::from_hours(1);

/// What a pass found.
#[derive(Debug, Default)]
pub(super) struct LogState {
    is_refused: bool,
    unsealable: usize,
}

impl LogState {
    pub(super) fn fault(&self) -> Option<String> {
        match self {
            Self { is_refused: true, .. } => {
                Some("newer records are not sealed: the chain was changed".to_owned())
            }
            Self { unsealable: 0, .. } => None,
            Self { unsealable, .. } => {
                Some(format!("{unsealable} newer records cannot be sealed: their ids were changed"))
            }
        }
    }
}

impl AuditLog {
    /// Seals the logs, notes heads and applies retention until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::join!(self.run_sealing(shutdown.clone()), self.run_retention(shutdown));
    }

    async fn run_sealing(&self, shutdown: Shutdown) {
        let (mut passes, mut has_failed) = (0_u32, false);
        while !shutdown.is_triggered() {
            let sealed = self.seal_logs().await;
            if let (Err(error), false) = (&sealed, has_failed) {
                let error = error as &dyn std::error::Error;
                warn!(error, "audit logs cannot be sealed, retrying");
            }
            has_failed = sealed.is_err();
            if passes.is_multiple_of(PASSES_PER_SAVE) {
                self.save_heads();
            }
            passes = passes.wrapping_add(1);
            tokio::select! {
                () = shutdown.triggered() => {}
                () = tokio::time::sleep(INTERVAL) => {}
            }
        }
    }

    /// Seals and notes what the last requests wrote, after they have ended.
    pub async fn close(&self) {
        if let Err(error) = self.seal_logs().await {
            let error = &error as &dyn std::error::Error;
            warn!(error, "audit logs cannot be sealed; the next start seals them");
        }
        self.save_heads();
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

    /// Seals new rows of the logs, and notes the heads of all chains.
    pub(super) async fn seal_logs(&self) -> Result<LogState, AuditError> {
        let known = self.lock_heads().heads();
        let (has_unsealed, chains) = self
            .store
            .read(|tx| {
                Box::pin(async move {
                    Ok::<_, AuditError>((tx.log_has_unsealed().await?, tx.chain_list().await?))
                })
            })
            .await?;
        self.note_heads(&known, &chains);
        let mut state = LogState::default();
        for _ in 0..if has_unsealed { MAX_BATCHES } else { 0 } {
            match self.seal_batch().await? {
                LogSealing::Sealed { head, rows, unsealable } => {
                    self.lock_heads().observe(head);
                    state.unsealable = unsealable;
                    if rows < SEAL_BATCH as usize {
                        break;
                    }
                }
                LogSealing::Refused => {
                    state.is_refused = true;
                    break;
                }
            }
        }
        if state.fault().is_some() && !self.is_fault_logged.swap(true, Ordering::Relaxed) {
            error!("the audit logs were modified outside CyNode: run `audit verify`");
        }
        Ok(state)
    }

    async fn seal_batch(&self) -> Result<LogSealing, AuditError> {
        let (keys, known) = (Arc::clone(&self.keys), self.lock_heads().get(LOG_CHAIN));
        self.store
            .write(move |tx| {
                Box::pin(async move { Ok(tx.log_seal(&keys, known.as_ref(), SEAL_BATCH).await?) })
            })
            .await
    }

    /// Notes heads that a trusted key signed, and that of the own chain. `known` was noted before `chains` were read.
    fn note_heads(&self, known: &[ChainPosition], chains: &[SignedHead]) {
        let own = self.lane.head();
        let mut heads = self.lock_heads();
        for position in chains.iter().filter_map(|head| trusted_position(head, &self.keys)) {
            let is_rewound = known.iter().any(|known| {
                known.chain == position.chain && known.seq >= position.seq && *known != position
            });
            if is_rewound {
                heads.report_rewound(&position);
            }
            heads.observe(position);
        }
        heads.observe(own);
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
