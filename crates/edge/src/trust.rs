//! What a node knows from the orchestrator: trusted keys and revoked leases. Kept in a file, for a node that starts while the
//! orchestrator cannot be reached.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use cynode_domain::ids::CapabilityLeaseId;
use cynode_lease::{LeaseClaims, LeaseError, LeasePublicKey, VerifiedLease, verify};
use cynode_runtime::durable_file;
use cynode_wire::capability_leases::EdgeView;
use serde::{Deserialize, Serialize};

/// Why a lease is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedLease {
    #[error(transparent)]
    Invalid(#[from] LeaseError),
    #[error("the lease is for another worker node")]
    OtherNode,
    #[error("the lease was revoked")]
    Revoked,
}

/// The trusted keys and revoked leases.
#[derive(Debug)]
pub struct EdgeTrust {
    path: PathBuf,
    /// The public key of this node, in base64.
    node_key: String,
    known: Mutex<KnownTrust>,
}

#[derive(Debug, Default)]
struct KnownTrust {
    state: TrustState,
    /// Whether the file has the same.
    is_stored: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct TrustState {
    keys: Vec<LeasePublicKey>,
    /// Until when each revoked lease would have been valid.
    revoked: BTreeMap<CapabilityLeaseId, DateTime<Utc>>,
}

impl EdgeTrust {
    /// Reads the file. One that is missing or damaged trusts nothing, until the orchestrator was asked.
    pub fn open(path: &Path, node_key: String) -> Self {
        let stored = std::fs::read(path).ok();
        let known = stored.and_then(|stored| match serde_json::from_slice(&stored) {
            Ok(known) => Some(known),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "trusted keys of leases cannot be read");
                None
            }
        });
        let state = known.unwrap_or_default();
        let known = Mutex::new(KnownTrust { state, is_stored: false });
        Self { path: path.to_owned(), node_key, known }
    }

    /// Replaces what is known with what the orchestrator sent.
    pub fn update(&self, view: &EdgeView, now: DateTime<Utc>) -> io::Result<()> {
        let keys = view.keys.iter().filter_map(|key| LeasePublicKey::parse(key).ok()).collect();
        let mut known = self.lock();
        let mut new = TrustState { keys, revoked: known.state.revoked.clone() };
        new.revoked.extend(view.revoked.iter().map(|lease| (lease.id, lease.expires_at)));
        new.revoked.retain(|_, end| *end > now);
        if new != known.state || !known.is_stored {
            // A revocation counts at once, also if it cannot be stored; then the next update tries again.
            *known = KnownTrust { state: new, is_stored: false };
            let text = serde_json::to_vec(&known.state).map_err(io::Error::other)?;
            durable_file::replace(&self.path, &text)?;
            known.is_stored = true;
        }
        Ok(())
    }

    /// Verifies a lease for this node.
    pub fn verify(&self, lease: &str, now: DateTime<Utc>) -> Result<VerifiedLease, RefusedLease> {
        let known = self.lock();
        let verified = verify(lease, &known.state.keys, now)?;
        if verified.claims().node_key != self.node_key {
            return Err(RefusedLease::OtherNode);
        }
        if known.state.revoked.contains_key(&verified.claims().id) {
            return Err(RefusedLease::Revoked);
        }
        Ok(verified)
    }

    /// Whether a lease that was verified has neither ended nor been revoked since.
    pub fn is_current(&self, claims: &LeaseClaims, now: DateTime<Utc>) -> bool {
        claims.expires_at > now && !self.lock().state.revoked.contains_key(&claims.id)
    }

    fn lock(&self) -> MutexGuard<'_, KnownTrust> {
        // No code panics while holding the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
