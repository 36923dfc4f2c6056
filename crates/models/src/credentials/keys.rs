//! The encryption keys of credentials, in a file outside the database.
//!
//! One line per key, `id base64`; the first key seals. After a rotation the previous key stays in
//! the file until the next rotation.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_runtime::secret_file::{self, SecretFileError};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::CredentialError;

/// Key length of AES-256, in bytes.
const KEY_BYTES: usize = 32;

pub(super) struct CredentialKey {
    /// Stored in the rows that this key sealed.
    pub(super) id: String,
    pub(super) bytes: SecretSlice<u8>,
}

/// All keys of a file; the first one seals.
pub(super) struct CredentialKeySet(Vec<CredentialKey>);

impl CredentialKeySet {
    /// Generates a key set with one key.
    pub(super) fn generate() -> Result<Self, CredentialError> {
        Ok(Self(vec![CredentialKey::generate()?]))
    }

    /// Returns these keys preceded by a new one, which seals from now on.
    pub(super) fn with_new(&self) -> Result<Self, CredentialError> {
        let olds =
            self.0.iter().map(|key| CredentialKey { id: key.id.clone(), bytes: key.bytes.clone() });
        Ok(Self([CredentialKey::generate()?].into_iter().chain(olds).collect()))
    }

    /// Keeps the sealing key and every key for which `is_needed` holds.
    pub(super) fn retain_needed(mut self, is_needed: impl Fn(&str) -> bool) -> Self {
        let mut is_newest = true;
        self.0.retain(|key| std::mem::take(&mut is_newest) || is_needed(&key.id));
        self
    }

    /// Returns the sealing key. A file without keys is rejected when it is read.
    pub(super) fn newest(&self) -> Option<&CredentialKey> {
        self.0.first()
    }

    pub(super) fn find(&self, id: &str) -> Option<&CredentialKey> {
        self.0.iter().find(|key| key.id == id)
    }

    /// Reads the keys of a file; `None` if the file does not exist.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CredentialError> {
        let text = match secret_file::read(path) {
            Err(SecretFileError::Unreadable { cause, .. })
                if cause.kind() == ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            read => read?,
        };
        let keys: Option<Vec<CredentialKey>> =
            text.expose_secret().lines().map(CredentialKey::parse).collect();
        match keys {
            Some(keys) => Ok(Some(Self(keys))),
            None => Err(CredentialError::KeyFile { path: path.to_owned() }),
        }
    }

    /// Writes a new file; returns false if the file already exists.
    pub(super) fn write_new(&self, path: &Path) -> Result<bool, CredentialError> {
        match secret_file::write_new(path, &self.to_file_text()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(cause) => Err(key_file_unwritable(path, cause)),
        }
    }

    /// Replaces a file atomically: a reader sees the old keys or the new ones.
    pub(super) fn replace(&self, path: &Path) -> Result<(), CredentialError> {
        secret_file::replace(path, &self.to_file_text())
            .map_err(|cause| key_file_unwritable(path, cause))
    }

    fn to_file_text(&self) -> SecretString {
        let line = |key: &CredentialKey| {
            let encoded = Zeroizing::new(STANDARD.encode(key.bytes.expose_secret()));
            Zeroizing::new(format!("{} {}", key.id, *encoded))
        };
        let mut text = String::new();
        for key in &self.0 {
            let separator = if text.is_empty() { "" } else { "\n" };
            text.push_str(separator);
            text.push_str(&line(key));
        }
        text.into()
    }
}

impl CredentialKey {
    fn generate() -> Result<Self, CredentialError> {
        let mut bytes = Zeroizing::new(vec![0_u8; KEY_BYTES]);
        let mut id = [0_u8; 6];
        getrandom::fill(&mut bytes).map_err(|error| CredentialError::Seal(error.to_string()))?;
        getrandom::fill(&mut id).map_err(|error| CredentialError::Seal(error.to_string()))?;
        Ok(Self { id: hex::encode(id), bytes: SecretSlice::from(bytes.to_vec()) })
    }

    fn parse(line: &str) -> Option<Self> {
        let (id, encoded) = line.trim().split_once(' ')?;
        let bytes = Zeroizing::new(STANDARD.decode(encoded.trim()).ok()?);
        let is_good = !id.is_empty() && bytes.len() == KEY_BYTES;
        is_good.then(|| Self { id: id.to_owned(), bytes: SecretSlice::from(bytes.to_vec()) })
    }
}

fn key_file_unwritable(path: &Path, cause: std::io::Error) -> CredentialError {
    CredentialError::KeyFileUnwritable { path: PathBuf::from(path), cause }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_file_is_private_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.key");
        let keys = CredentialKeySet::generate().unwrap().with_new().unwrap();

        assert!(keys.write_new(&path).unwrap());
        assert!(!CredentialKeySet::generate().unwrap().write_new(&path).unwrap());

        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        let read = CredentialKeySet::read(&path).unwrap().unwrap();
        let ids =
            |keys: &CredentialKeySet| keys.0.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&read), ids(&keys));
        let bytes = |keys: &CredentialKeySet| keys.newest().unwrap().bytes.expose_secret().to_vec();
        assert_eq!(bytes(&read), bytes(&keys));
        assert!(CredentialKeySet::read(&folder.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn a_damaged_key_file_is_refused_without_showing_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.key");
        for text in ["one", "one c2hvcnQ=", "one not/base64!!"] {
            secret_file::replace(&path, &SecretString::from(text)).unwrap();

            let refused = CredentialKeySet::read(&path).err().unwrap().to_string();

            assert!(refused.contains("credentials.key"), "{refused}");
            assert!(!refused.contains("c2hvcnQ"), "{refused}");
        }
    }
}
