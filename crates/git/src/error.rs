//! Errors of running git.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An operation that did not finish. No variant contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start {}: install git, or set its path", program.display())]
    Start {
        program: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("git {found} is too old: install git {minimum} or newer")]
    Version { found: String, minimum: &'static str },
    #[error("git {operation} took longer than {} seconds and was stopped; try again, or raise the time limit", limit.as_secs())]
    TimedOut { operation: &'static str, limit: Duration },
    #[error(
        "git {operation} exceeded the limit of {limit} {what}; raise the limit, or leave them out of the repository"
    )]
    LimitExceeded { operation: &'static str, what: &'static str, limit: u64 },
    #[error("git {operation} failed: {message}")]
    Failed { operation: &'static str, message: String },
    #[error(
        "{url} rejected the credential, or requires one: check the credential of the project ({message})"
    )]
    Authentication { url: String, message: String },
    #[error("{url} does not exist, or the credential cannot read it ({message})")]
    NotFound { url: String, message: String },
    #[error("{url} cannot be reached: check the address and the network of the node ({message})")]
    Unreachable { url: String, message: String },
    #[error(
        "{url} redirects to another address: use that address as the repository of the project"
    )]
    Redirected { url: String },
    #[error(
        "the credential does not fit {url}: https needs a user name and password, ssh a private key"
    )]
    CredentialMismatch { url: String },
    #[error(
        "{url} stores objects with {algorithm}, which is not supported: only sha1 repositories are"
    )]
    ObjectFormat { url: String, algorithm: &'static str },
    #[error("the mirror of {url} is in use by another process; try again")]
    MirrorBusy { url: String },
    #[error("the mirror of {url} does not exist on this node: update it first")]
    MirrorMissing { url: String },
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl GitError {
    /// A function that adds the action and the path to an error of the file system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { action, path: path.to_owned(), cause }
    }
}

/// Whether the message of a failed fetch or push says that the server, the credential or the network is the cause.
pub(crate) fn classify_remote_failure(url: &str, error: GitError) -> GitError {
    let GitError::Failed { operation, message } = error else {
        return error;
    };
    let has_any = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
    let url = url.to_owned();
    if has_any(&["redirect", "HTTP 301", "HTTP 302", "error: 301", "error: 302"]) {
        GitError::Redirected { url }
    } else if has_any(&[
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "Permission denied",
        "Host key verification failed",
        "error: 401",
        "error: 403",
    ]) {
        GitError::Authentication { url, message }
    } else if has_any(&[
        "not found",
        "does not appear to be a git repository",
        "does not exist",
        "error: 404",
    ]) {
        GitError::NotFound { url, message }
    } else if has_any(&[
        "Could not resolve",
        "Failed to connect",
        "Couldn't connect",
        "Connection refused",
        "Connection timed out",
        "Connection reset",
        "Operation too slow",
        "No route to host",
        "unable to access",
    ]) {
        GitError::Unreachable { url, message }
    } else {
        GitError::Failed { operation, message }
    }
}
