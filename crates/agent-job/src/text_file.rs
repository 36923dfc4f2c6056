//! Bounded reads and safe writes of text files.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use crate::workspace::WorkspacePath;

/// The bytes that decide whether a file is binary.
const BINARY_PROBE_BYTES: usize = 8 << 10;
/// The mode of new files.
const NEW_FILE_MODE: u32 = 0o644;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{0} does not exist")]
    NotFound(String),
    #[error("{0} is a directory; use list_files")]
    IsDirectory(String),
    #[error("{0} is not a regular file")]
    NotRegular(String),
    #[error("{path} is binary ({bytes} bytes); inspect it with run_command")]
    Binary { path: String, bytes: u64 },
    #[error("{0} is not UTF-8; change it with run_command")]
    NotUtf8(String),
    #[error("{path} has {bytes} bytes, more than the limit of {limit}; use run_command")]
    TooLarge { path: String, bytes: u64, limit: u64 },
    #[error("{path}: {cause}")]
    Io { path: String, cause: io::Error },
}

impl FileError {
    pub fn io(path: &WorkspacePath) -> impl FnOnce(io::Error) -> Self {
        let path = path.relative().to_owned();
        move |cause| {
            if cause.kind() == io::ErrorKind::NotFound {
                return Self::NotFound(path);
            }
            Self::Io { path, cause }
        }
    }
}

/// Opens a regular file; returns it with its size.
pub fn open_regular(path: &WorkspacePath) -> Result<(File, u64), FileError> {
    // Checked before the file is opened: opening a pipe would wait for its other end.
    let metadata = fs::symlink_metadata(path.absolute()).map_err(FileError::io(path))?;
    if metadata.is_dir() {
        return Err(FileError::IsDirectory(path.relative().to_owned()));
    }
    if !metadata.is_file() {
        return Err(FileError::NotRegular(path.relative().to_owned()));
    }
    let file = File::open(path.absolute()).map_err(FileError::io(path))?;
    Ok((file, metadata.len()))
}

/// Reads a whole text file of at most `limit` bytes.
pub fn read_text(path: &WorkspacePath, limit: u64) -> Result<String, FileError> {
    let (file, bytes) = open_regular(path)?;
    if bytes > limit {
        return Err(FileError::TooLarge { path: path.relative().to_owned(), bytes, limit });
    }
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).map_err(FileError::io(path))?;
    if is_binary(&content) {
        return Err(FileError::Binary { path: path.relative().to_owned(), bytes });
    }
    String::from_utf8(content).map_err(|_| FileError::NotUtf8(path.relative().to_owned()))
}

/// Whether content is binary: its first bytes contain NUL.
pub fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(BINARY_PROBE_BYTES)].contains(&0)
}

/// Atomically creates or replaces a file, with its directories. Keeps the mode of an existing file.
pub fn write_text(path: &WorkspacePath, content: &str) -> Result<(), FileError> {
    let mode = match fs::symlink_metadata(path.absolute()) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(FileError::IsDirectory(path.relative().to_owned()));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(FileError::NotRegular(path.relative().to_owned()));
        }
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => NEW_FILE_MODE,
    };
    let Some(parent) = path.absolute().parent() else {
        return Err(FileError::IsDirectory(path.relative().to_owned()));
    };
    let write = || {
        fs::create_dir_all(parent)?;
        let mut file = tempfile::NamedTempFile::new_in(parent)?;
        file.write_all(content.as_bytes())?;
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        file.persist(path.absolute())?;
        Ok(())
    };
    write().map_err(FileError::io(path))
}
