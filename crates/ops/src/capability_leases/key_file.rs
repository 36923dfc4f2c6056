//! The key that signs leases: a file of the orchestrator. Only its public key is in the database.
//!
//! The file is read for each lease, so that a rotation by any process of a data directory counts at once. Orchestrators with
//! data directories of their own have keys of their own; nodes trust all of them.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use cynode_lease::{LeaseKey, LeasePublicKey, MAX_LIFETIME};
use cynode_resources::Caller;
use cynode_resources::audit::AuditLog;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::secret_file;
use cynode_store::{Store, TrustedLeaseKey, Tx};
use cynode_wire::capability_leases::LeaseKeyView;
use secrecy::{ExposeSecret as _, SecretString};
use std::path::Path;
use std::sync::Arc;

use super::{CapabilityLeases, LeaseServiceError};

const KEY_FILE: &str = "lease.key";

impl CapabilityLeases {
    /// Opens the service with the key in `data_dir`, which is created if it does not exist.
    pub async fn open(
        store: Store,
        clock: SharedClock,
        audit: AuditLog,
        data_dir: &Path,
    ) -> Result<Self, LeaseServiceError> {
        let key_file = Arc::new(data_dir.join(KEY_FILE));
        if !key_file.exists() {
            let (_, seed) = generate()?;
            match secret_file::write_new(key_file.as_path(), &seed) {
                // Another process created it first; use that one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                written => written.map_err(LeaseServiceError::Key)?,
            }
        }
        let leases = Self { store, clock, audit, key_file };
        let key = leases.load_key()?;
        leases.register_key(&key).await?;
        Ok(leases)
    }

    /// Replaces the key. Leases of the old key are valid until they end.
    pub async fn rotate_key(&self, caller: &Caller) -> Result<LeaseKeyView, LeaseServiceError> {
        if !caller.is_admin {
            return Err(LeaseServiceError::NotAdmin);
        }
        let old = self.load_key()?;
        let (new, seed) = generate()?;
        // Trusted before it signs.
        let view = self.register_key(&new).await?;
        secret_file::replace(self.key_file.as_path(), &seed).map_err(LeaseServiceError::Key)?;
        let (old, now) = (old.public_key().id().0, self.clock.now());
        let retire = self
            .store
            .write(move |tx| Box::pin(async move { tx.lease_key_retire(&old, now).await }));
        retire.await?;
        tracing::info!(key.id = %view.id, "key of capability leases rotated");
        Ok(view)
    }

    pub(super) fn load_key(&self) -> Result<LeaseKey, LeaseServiceError> {
        let path = self.key_file.as_path();
        let stored = secret_file::read(path).map_err(io::Error::other);
        let stored = stored.map_err(LeaseServiceError::Key)?;
        let seed = STANDARD.decode(stored.expose_secret().trim()).unwrap_or_default();
        LeaseKey::from_seed(&seed).map_err(|error| {
            let reason = format!("{}: {error}", path.display());
            LeaseServiceError::Key(io::Error::new(io::ErrorKind::InvalidData, reason))
        })
    }

    async fn register_key(&self, key: &LeaseKey) -> Result<LeaseKeyView, LeaseServiceError> {
        let public = key.public_key();
        let (id, public_key, created_at) = (public.id().0, public.to_string(), self.clock.now());
        let row = TrustedLeaseKey { id: id.clone(), public_key: public_key.clone(), created_at };
        let insert =
            self.store.write(move |tx| Box::pin(async move { tx.lease_key_insert(&row).await }));
        insert.await?;
        Ok(LeaseKeyView { id, public_key, created_at })
    }

    /// The public keys whose leases may still be valid.
    pub(super) async fn trusted_keys(
        &self,
        tx: &mut Tx,
    ) -> Result<Vec<LeasePublicKey>, cynode_store::Error> {
        let longest = TimeDelta::from_std(MAX_LIFETIME).unwrap_or_default();
        let keys = tx.lease_key_list(self.clock.now() - longest).await?;
        Ok(keys.iter().filter_map(|key| LeasePublicKey::parse(&key.public_key).ok()).collect())
    }
}

fn generate() -> Result<(LeaseKey, SecretString), LeaseServiceError> {
    let failed = |error| LeaseServiceError::Key(io::Error::other(error));
    let (key, seed) = LeaseKey::generate().map_err(failed)?;
    Ok((key, STANDARD.encode(seed).into()))
}
