//! Why an image cannot be used.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an image cannot be read, verified or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("there is no image at {}: it is neither an OCI layout directory nor an archive", .0.display())]
    NotFound(PathBuf),
    #[error("{what} is not what its digest promises: expected {expected}, found {found}")]
    Digest { what: String, expected: String, found: String },
    #[error("{what} is invalid: {reason}")]
    Invalid { what: String, reason: String },
    #[error("{0}")]
    Unsupported(String),
    #[error("the image has no variant for {wanted}; it has: {found}")]
    Platform { wanted: String, found: String },
    #[error("{what} exceeds the limit of {limit}")]
    Limit { what: String, limit: u64 },
    /// An entry of a layer that no honest tool writes.
    #[error("the entry \"{path}\" of a layer is rejected: {reason}")]
    Entry { path: String, reason: String },
    #[error("the registry {host} {reason}")]
    Registry { host: String, reason: String },
    #[error(
        "the images that jobs use leave {free} of {limit} bytes for images; this one needs {needed}: \
         wait for those jobs, or raise node.image_storage_gib"
    )]
    StorageFull { needed: u64, free: u64, limit: u64 },
    #[error("unpacking was canceled because the node stops")]
    Canceled,
    #[error("{} cannot be read or written", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl ImageError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }

    pub(crate) fn entry(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        let path = path.as_ref().display().to_string();
        Self::Entry { path: path.chars().take(200).collect(), reason: reason.into() }
    }

    pub(crate) fn invalid(what: impl Into<String>, reason: impl fmt::Display) -> Self {
        let (what, reason) = (what.into(), format!("{reason}"));
        Self::Invalid { what, reason }
    }

    /// The error with its causes, in one line.
    pub fn describe(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}
