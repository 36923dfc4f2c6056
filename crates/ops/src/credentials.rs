//! Credentials for providers: a secret goes in, is sealed, and is opened for calls out alone.
//!
//! Start at [`Credentials::set`]; which one a call uses is decided in `pick`. Users keep their own,
//! administrators the installation's. The key is a file in the data directory, so a copy of the
//! database opens nothing.
//!
//! Invariant: no operation for people gives a secret back, and no error or log names one.

mod keys;
mod manage;
mod pick;
mod seal;
mod update;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use cynode_domain::ids::CredentialId;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::secret_file::SecretFileError;
use cynode_store::{Credential, Store};
use cynode_wire::credentials::CredentialView;
use secrecy::SecretString;

use crate::{BadCursor, Signals};
use keys::Keys;

/// What the record of changes calls a credential.
const CREDENTIAL: &str = "api_credential";

/// Why an operation on credentials was refused.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// There is no such credential, or the caller may not see it.
    #[error("there is no such credential")]
    NotFound,
    /// The owner has one of that name for that provider.
    #[error(
        "there is a credential \"{name}\" for {provider} already: rotate it, or remove it first"
    )]
    Exists {
        /// The provider.
        provider: String,
        /// The name.
        name: String,
    },
    /// Somebody else wrote it at the same time.
    #[error("the credential was changed by somebody else: look again")]
    Conflict,
    /// It is somebody else's.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The file with the key is gone while credentials need it.
    #[error(
        "the key file {} is missing, and {count} stored credentials cannot be opened without it: put it back, \
         or remove those credentials and set them again", path.display()
    )]
    KeyMissing {
        /// The file.
        path: PathBuf,
        /// How many credentials need it.
        count: usize,
    },
    /// The key that the credential was sealed with is not in the file.
    #[error(
        "credential {id} was sealed with key {key}, which the key file {} does not hold: put the right file \
         back, or remove the credential and set it again", path.display()
    )]
    KeyUnknown {
        /// The credential.
        id: CredentialId,
        /// The key.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// The stored secret does not open: it was changed, or moved from another row.
    #[error("credential {id} does not open with key {key}: remove it and set it again")]
    Unopenable {
        /// The credential.
        id: CredentialId,
        /// The key.
        key: String,
    },
    /// The file does not hold keys.
    #[error("the key file {} is damaged: put a copy of it back", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read by us alone.
    #[error(transparent)]
    SecretFile(#[from] SecretFileError),
    /// The file cannot be written.
    #[error("the key file {} cannot be written", path.display())]
    KeyFileUnwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// Nothing can be sealed here.
    #[error("nothing can be sealed: {0}")]
    Seal(String),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Credentials for providers. Cheap to clone.
#[derive(Clone)]
pub struct Credentials {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// The file with the keys; made when the first credential is set.
    key_file: Arc<PathBuf>,
    /// The keys as they were last read.
    keys: Arc<Mutex<Option<Arc<Keys>>>>,
    /// Held by whoever seals: a key must not go while something is being sealed with it.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl Credentials {
    /// Credentials kept in `store`, sealed with the key in `key_file`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, key_file: PathBuf) -> Self {
        Self {
            store,
            clock,
            signals,
            key_file: Arc::new(key_file),
            keys: Arc::default(),
            changing: Arc::default(),
        }
    }

    /// The secret of a row. The file is read again for a key that is not known: another process may
    /// have rotated it.
    fn open(&self, row: &Credential) -> Result<SecretString, CredentialError> {
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

    /// Reads the file and remembers its keys.
    fn read_keys(&self) -> Result<Option<Arc<Keys>>, CredentialError> {
        let keys = Keys::read(&self.key_file)?.map(Arc::new);
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&keys);
        Ok(keys)
    }
}

fn view(row: Credential) -> CredentialView {
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
