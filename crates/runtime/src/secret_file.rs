//! Secrets in files that only the owner can read.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use crate::durable_file;

/// The permission bits of group and others.
const GROUP_AND_OTHERS: u32 = 0o077;

/// A larger file was given by mistake.
const MAX_BYTES: u64 = 64 * 1024;

/// Errors of reading a secret file.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    #[error("secret file {} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Group or others can access the file.
    #[error(
        "secret file {} has mode {mode:04o}, so other users can access it; run: chmod 600 {}",
        path.display(), path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("secret file {} {reason}", path.display())]
    Unusable { path: PathBuf, reason: &'static str },
}

/// Atomically creates a file with a secret, with mode 0600.
///
/// Fails with [`io::ErrorKind::AlreadyExists`] if the file exists; see [`replace`].
pub fn write_new(path: impl AsRef<Path>, secret: &SecretString) -> io::Result<()> {
    durable_file::create(path, &to_line(secret))
}

/// Atomically creates or replaces a file with a secret, with mode 0600.
pub fn replace(path: impl AsRef<Path>, secret: &SecretString) -> io::Result<()> {
    durable_file::replace(path, &to_line(secret))
}

/// Reads a secret and trims white space.
///
/// Rejects a file that group or others can access.
pub fn read(path: impl AsRef<Path>) -> Result<SecretString, SecretFileError> {
    let path = path.as_ref();
    let unreadable = |cause| SecretFileError::Unreadable { path: path.to_owned(), cause };
    let unusable = |reason| SecretFileError::Unusable { path: path.to_owned(), reason };
    // Checks the open file, not the path, to avoid a race.
    let file = fs::File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.permissions().mode() & 0o7777;
    if !metadata.is_file() {
        return Err(unusable("is not a regular file"));
    }
    if mode & GROUP_AND_OTHERS != 0 {
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

fn to_line(secret: &SecretString) -> Vec<u8> {
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
