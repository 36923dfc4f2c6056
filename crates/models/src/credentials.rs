//! Provider credentials, sealed at rest and opened only for outgoing provider calls.
//!
//! Start at [`CredentialManager::set`]; `select` selects the credential of a call. Users manage their own
//! credentials, administrators those of the installation. The encryption key is a file in the data
//! directory, so a copy of the database alone decrypts nothing.
//!
//! Invariant: no operation returns a secret to a user, and no error or log message contains one.

mod git_lease;
mod keys;
mod manage;
mod seal;
mod select;
mod server_secrets;
mod update;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::CredentialId;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::secret_file::SecretFileError;
use cynode_store::{Credential, Store};
use cynode_wire::credentials::CredentialView;
use secrecy::SecretString;

use cynode_resources::{PageError, Signals};
use keys::CredentialKeySet;

/// Resource type in the change log.
const CREDENTIAL: &str = "api_credential";

#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// Also returned if the caller may not see the credential.
    #[error("credential not found")]
    NotFound,
    #[error("credential \"{name}\" for {provider} already exists; rotate it, or remove it first")]
    Exists { provider: String, name: String },
    /// Lost an optimistic-concurrency race.
    #[error("the credential was changed concurrently; reload it and try again")]
    Conflict,
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("{0}")]
    Invalid(String),
    /// The key file is gone while stored credentials need it.
    #[error(
        "the key file {} is missing, and {count} stored credentials cannot be decrypted without it: put it back, \
         or remove those credentials and set them again", path.display()
    )]
    KeyMissing { path: PathBuf, count: usize },
    /// The key that sealed the credential is not in the key file.
    #[error(
        "credential {id} was sealed with key {key}, which is not in the key file {}: restore the right \
         file, or remove the credential and set it again", path.display()
    )]
    KeyUnknown { id: CredentialId, key: String, path: PathBuf },
    /// Decryption failed: the sealed bytes were changed, or copied from another row.
    #[error("credential {id} cannot be decrypted with key {key}; remove it and set it again")]
    Unopenable { id: CredentialId, key: String },
    #[error("the key file {} is damaged; restore it from a backup", path.display())]
    KeyFile { path: PathBuf },
    #[error(transparent)]
    SecretFile(#[from] SecretFileError),
    #[error("the key file {} cannot be written", path.display())]
    KeyFileUnwritable {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("the secret cannot be encrypted: {0}")]
    Seal(String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for CredentialError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound => Classification::new(ErrorClass::NotFound, self),
            Self::Exists { .. } | Self::Conflict => Classification::new(ErrorClass::Conflict, self),
            Self::Forbidden(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            // The detail says how to fix the key.
            Self::KeyMissing { .. }
            | Self::KeyUnknown { .. }
            | Self::Unopenable { .. }
            | Self::KeyFile { .. }
            | Self::SecretFile(_)
            | Self::KeyFileUnwritable { .. } => Classification::new(ErrorClass::Outage, self),
            Self::Seal(_) => Classification::internal(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Manages provider credentials. Cheap to clone.
#[derive(Clone)]
pub struct CredentialManager {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// Created when the first credential is set.
    key_file: Arc<PathBuf>,
    /// Keys as last read from `key_file`.
    keys: Arc<Mutex<Option<Arc<CredentialKeySet>>>>,
    /// Held while sealing, so that no key is dropped while a secret is sealed with it.
    sealing_lock: Arc<tokio::sync::Mutex<()>>,
}

impl CredentialManager {
    /// Creates the manager for credentials persisted in `store`, sealed with the keys in
    /// `key_file`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, key_file: PathBuf) -> Self {
        Self {
            store,
            clock,
            signals,
            key_file: Arc::new(key_file),
            keys: Arc::default(),
            sealing_lock: Arc::default(),
        }
    }

    /// Decrypts the secret of a row. Rereads the key file if the key is not cached, because another
    /// process may have rotated it.
    fn decrypt(&self, row: &Credential) -> Result<SecretString, CredentialError> {
        let cached = self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(key) = cached.as_ref().and_then(|keys| keys.find(&row.key)) {
            return seal::open(key, row);
        }
        let path = || self.key_file.to_path_buf();
        let keys = self.read_keys()?;
        let keys = keys.ok_or_else(|| CredentialError::KeyMissing { path: path(), count: 1 })?;
        let unknown =
            || CredentialError::KeyUnknown { id: row.id, key: row.key.clone(), path: path() };
        seal::open(keys.find(&row.key).ok_or_else(unknown)?, row)
    }

    /// Reads the key file and caches its keys.
    fn read_keys(&self) -> Result<Option<Arc<CredentialKeySet>>, CredentialError> {
        let keys = CredentialKeySet::read(&self.key_file)?.map(Arc::new);
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&keys);
        Ok(keys)
    }
}

fn credential_view(row: Credential) -> CredentialView {
    CredentialView {
        id: row.id,
        owner_type: row.owner,
        owner_id: row.owner_id,
        provider: row.provider,
        name: row.name,
        credential_type: row.kind,
        key_id: row.key,
        is_active: row.is_active,
        expires_at: row.expires_at,
        version: row.version,
        updated_by: row.updated_by,
        updated_at: row.updated_at,
    }
}
