//! Secrets in files that only their owner may read.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use crate::durable_file;

/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// No secret is larger; a larger file was named by mistake.
const MAX_BYTES: u64 = 64 * 1024;

/// Why a secret cannot be taken from a file.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// The file cannot be read.
    #[error("secret file {} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// Others than the owner may read or write the file.
    #[error(
        "secret file {} has mode {mode:04o}, so others can reach it; run: chmod 600 {}",
        path.display(), path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file holds nothing usable.
    #[error("secret file {} {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Writes a secret to a file that does not exist yet, readable by its owner only.
///
/// The file appears whole or not at all. An existing file stays as it is and gives
/// [`io::ErrorKind::AlreadyExists`]; see [`replace`].
pub fn write_new(path: impl AsRef<Path>, secret: &SecretString) -> io::Result<()> {
    durable_file::create(path, &line(secret))
}

/// Writes a secret to a file, in place of the one that may be there.
///
/// A reader sees the old secret or the new one, never a part.
pub fn replace(path: impl AsRef<Path>, secret: &SecretString) -> io::Result<()> {
    durable_file::replace(path, &line(secret))
}

/// Reads a secret, without the white space around it.
///
/// Refuses a file that others than its owner can reach.
pub fn read(path: impl AsRef<Path>) -> Result<SecretString, SecretFileError> {
    let path = path.as_ref();
    let unreadable = |cause| SecretFileError::Unreadable { path: path.to_owned(), cause };
    let unusable = |reason| SecretFileError::Unusable { path: path.to_owned(), reason };
    // The open file is asked, not the path, so that nobody can swap it in between.
    let file = fs::File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.permissions().mode() & 0o7777;
    if !metadata.is_file() {
        return Err(unusable("is not a regular file"));
    }
    if mode & OTHERS != 0 {
        let path = path.to_owned();
        return Err(SecretFileError::Exposed { path, mode });
    }
    if metadata.len() > MAX_BYTES {
        return Err(unusable("is too large to be a secret"));
    }
    let text = io::read_to_string(file).map_err(unreadable)?;
    match text.trim() {
        "" => Err(unusable("is empty")),
        secret => Ok(SecretString::from(secret)),
    }
}

fn line(secret: &SecretString) -> Vec<u8> {
    format!("{}\n", secret.expose_secret()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    #[test]
    fn a_written_secret_is_private_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.token");

        write_new(&path, &secret("s3cret")).unwrap();

        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        assert_eq!(read(&path).unwrap().expose_secret(), "s3cret");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn writing_a_new_secret_never_overwrites_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        write_new(&path, &secret("first")).unwrap();

        let refused = write_new(&path, &secret("second")).unwrap_err();

        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).unwrap().expose_secret(), "first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_replaced_secret_is_private_even_if_the_old_file_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();

        replace(&path, &secret("new")).unwrap();

        assert_eq!(read(&path).unwrap().expose_secret(), "new");
    }

    #[test]
    fn a_secret_file_that_others_can_reach_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for mode in [0o640, 0o604, 0o620, 0o666] {
            fs::write(&path, "s3cret").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = read(&path).unwrap_err();
            assert!(matches!(refused, SecretFileError::Exposed { .. }), "{refused}");
            assert!(refused.to_string().contains("chmod 600"), "{refused}");
        }
    }

    #[test]
    fn empty_missing_and_odd_secret_files_are_named_in_the_error() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty");
        write_new(&empty, &secret("  \n")).unwrap();
        for path in [empty, folder.path().join("missing"), folder.path().to_owned()] {
            let refused = read(&path).unwrap_err().to_string();
            assert!(refused.contains(&path.display().to_string()), "{refused}");
        }
    }
}
