//! The keys that credentials are sealed with, in a file outside the database.
//!
//! The file has one line for each key, `id base64`, and the first one seals. After a rotation the key
//! before it stays there until the next one.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_runtime::secret_file::{self, SecretFileError};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use super::CredentialError;

/// The bytes of a key for AES-256.
const KEY_BYTES: usize = 32;

/// One key.
pub(super) struct Key {
    /// What rows name it by.
    pub(super) id: String,
    /// The key itself.
    pub(super) bytes: SecretSlice<u8>,
}

/// Every key of a file; the first one seals.
pub(super) struct Keys(Vec<Key>);

impl Keys {
    /// One new key.
    pub(super) fn generate() -> Result<Self, CredentialError> {
        Ok(Self(vec![Key::generate()?]))
    }

    /// These and a new one, which seals from now on.
    pub(super) fn with_new(&self) -> Result<Self, CredentialError> {
        let olds = self.0.iter().map(|key| Key { id: key.id.clone(), bytes: key.bytes.clone() });
        Ok(Self([Key::generate()?].into_iter().chain(olds).collect()))
    }

    /// The one that seals, and those that are still needed.
    pub(super) fn needed(mut self, is_needed: impl Fn(&str) -> bool) -> Self {
        let mut is_newest = true;
        self.0.retain(|key| std::mem::take(&mut is_newest) || is_needed(&key.id));
        self
    }

    /// The key that seals. A file without keys is refused when it is read.
    pub(super) fn newest(&self) -> Option<&Key> {
        self.0.first()
    }

    /// The key with this id.
    pub(super) fn find(&self, id: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.id == id)
    }

    /// The keys of a file; nothing if there is no such file.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CredentialError> {
        let text = match secret_file::read(path) {
            Err(SecretFileError::Unreadable { cause, .. })
                if cause.kind() == ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            read => read?,
        };
        let keys: Option<Vec<Key>> = text.expose_secret().lines().map(Key::parse).collect();
        match keys {
            Some(keys) => Ok(Some(Self(keys))),
            None => Err(CredentialError::KeyFile { path: path.to_owned() }),
        }
    }

    /// Writes a file that is not there yet; false if it is.
    pub(super) fn write_new(&self, path: &Path) -> Result<bool, CredentialError> {
        match secret_file::write_new(path, &self.text()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(cause) => Err(unwritable(path, cause)),
        }
    }

    /// Replaces a file. A reader sees the old keys or the new ones, never a part.
    pub(super) fn replace(&self, path: &Path) -> Result<(), CredentialError> {
        secret_file::replace(path, &self.text()).map_err(|cause| unwritable(path, cause))
    }

    fn text(&self) -> SecretString {
        let line = |key: &Key| {
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

impl Key {
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

fn unwritable(path: &Path, cause: std::io::Error) -> CredentialError {
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
        let keys = Keys::generate().unwrap().with_new().unwrap();

        assert!(keys.write_new(&path).unwrap());
        assert!(!Keys::generate().unwrap().write_new(&path).unwrap());

        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        let read = Keys::read(&path).unwrap().unwrap();
        let ids = |keys: &Keys| keys.0.iter().map(|key| key.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&read), ids(&keys));
        let bytes = |keys: &Keys| keys.newest().unwrap().bytes.expose_secret().to_vec();
        assert_eq!(bytes(&read), bytes(&keys));
        assert!(Keys::read(&folder.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn a_damaged_key_file_is_refused_without_showing_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.key");
        for text in ["one", "one c2hvcnQ=", "one not/base64!!"] {
            secret_file::replace(&path, &SecretString::from(text)).unwrap();

            let refused = Keys::read(&path).err().unwrap().to_string();

            assert!(refused.contains("credentials.key"), "{refused}");
            assert!(!refused.contains("c2hvcnQ"), "{refused}");
        }
    }
}
