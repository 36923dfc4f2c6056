//! The key that signs leases: a file of the orchestrator. Only its public key is in the database.
//!
//! The file is read for each lease, so that a rotation by any process of a data directory counts at once. Orchestrators with
//! data directories of their own have keys of their own; nodes trust all of them.

use std::io;
use std::path::Path;
use std::sync::Arc;

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
use uuid::Uuid;

use super::{CapabilityLeases, LeaseServiceError};

const KEY_FILE: &str = "lease.key";

impl CapabilityLeases {
    /// The service with the key in `data_dir`, which the first lease creates.
    pub fn new(store: Store, clock: SharedClock, audit: AuditLog, data_dir: &Path) -> Self {
        Self { store, clock, audit, key_file: Arc::new(data_dir.join(KEY_FILE)) }
    }

    /// Replaces the key. Leases of the old key are valid until they end.
    pub async fn rotate_key(&self, caller: &Caller) -> Result<LeaseKeyView, LeaseServiceError> {
        if !caller.is_admin {
            return Err(LeaseServiceError::NotAdmin);
        }
        let (_, owner) = self.load_key_file()?;
        let (new, seed) = generate()?;
        // Trusted before it signs.
        let view = self.register_key(&new, owner).await?;
        let text = file_text(&seed, owner);
        secret_file::replace(self.key_file.as_path(), &text).map_err(LeaseServiceError::Key)?;
        self.retire_others(&new, owner).await?;
        tracing::info!(key.id = %view.id, "key of capability leases rotated");
        Ok(view)
    }

    /// The key that signs leases, trusted by nodes from their next report on.
    pub(super) async fn signing_key(&self) -> Result<LeaseKey, LeaseServiceError> {
        let (key, owner) = self.load_key_file()?;
        self.register_key(&key, owner).await?;
        // A process that was killed while it replaced the key may have left the old one.
        self.retire_others(&key, owner).await?;
        Ok(key)
    }

    /// The key, and the id of the data directory, which is the same for all its keys. Created if there is none.
    fn load_key_file(&self) -> Result<(LeaseKey, Uuid), LeaseServiceError> {
        let path = self.key_file.as_path();
        if !path.exists() {
            let (_, seed) = generate()?;
            match secret_file::write_new(path, &file_text(&seed, Uuid::now_v7())) {
                // Another process created it first; use that one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                written => written.map_err(LeaseServiceError::Key)?,
            }
        }
        let stored = secret_file::read(path).map_err(io::Error::other);
        let stored = stored.map_err(LeaseServiceError::Key)?;
        let parsed = stored.expose_secret().trim().split_once(' ').and_then(|(seed, owner)| {
            let key = LeaseKey::from_seed(&STANDARD.decode(seed).ok()?).ok()?;
            Some((key, owner.parse().ok()?))
        });
        parsed.ok_or_else(|| {
            let reason = format!(
                "{} has no key of leases; delete it to begin with a new one, which ends all leases",
                path.display()
            );
            LeaseServiceError::Key(io::Error::new(io::ErrorKind::InvalidData, reason))
        })
    }

    async fn retire_others(&self, key: &LeaseKey, owner: Uuid) -> Result<(), LeaseServiceError> {
        let (kept, now) = (key.public_key().id().0, self.clock.now());
        let retire = self.store.write(move |tx| {
            Box::pin(async move { tx.lease_key_retire_others(owner, &kept, now).await })
        });
        Ok(retire.await?)
    }

    async fn register_key(
        &self,
        key: &LeaseKey,
        owner: Uuid,
    ) -> Result<LeaseKeyView, LeaseServiceError> {
        let public = key.public_key();
        let (id, public_key, created_at) = (public.id().0, public.to_string(), self.clock.now());
        let (id_row, key_row) = (id.clone(), public_key.clone());
        let row = TrustedLeaseKey { id: id_row, public_key: key_row, owner, created_at };
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

/// The content of the file: the seed of the key in base64, and the id of the data directory.
fn file_text(seed: &SecretString, owner: Uuid) -> SecretString {
    format!("{} {owner}", seed.expose_secret()).into()
}

fn generate() -> Result<(LeaseKey, SecretString), LeaseServiceError> {
    let failed = |error| LeaseServiceError::Key(io::Error::other(error));
    let (key, seed) = LeaseKey::generate().map_err(failed)?;
    Ok((key, STANDARD.encode(seed).into()))
}
