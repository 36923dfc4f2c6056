//! The socket on which work is handed over, opened before the process is confined.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use axum::Router;

use crate::options::Address;

/// An open socket that nobody is served on yet.
#[derive(Debug)]
pub(crate) enum Door {
    Unix(UnixListener, PathBuf),
    Loopback(TcpListener),
}

impl Door {
    /// Opens the socket. A socket file that nobody answers on is what a killed process left, and is
    /// replaced.
    pub(crate) fn open(address: &Address) -> anyhow::Result<Self> {
        match address {
            Address::Unix(path) => {
                let opened = open_unix(path);
                let listener =
                    opened.with_context(|| format!("cannot listen on {}", path.display()))?;
                Ok(Self::Unix(listener, path.clone()))
            }
            Address::Loopback(address) => {
                let listener = TcpListener::bind(address)
                    .with_context(|| format!("cannot listen on {address}"))?;
                listener.set_nonblocking(true)?;
                Ok(Self::Loopback(listener))
            }
        }
    }

    /// Where work is handed over, as the orchestrator is told.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Unix(_, path) => format!("unix:{}", path.display()),
            Self::Loopback(listener) => {
                listener.local_addr().map(|address| address.to_string()).unwrap_or_default()
            }
        }
    }

    /// The directory of the socket file.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        match self {
            Self::Unix(_, path) => path.parent().map(Path::to_owned),
            Self::Loopback(_) => None,
        }
    }

    /// Serves until `stop` returns and open requests are answered.
    pub(crate) async fn serve<F>(self, routes: Router, stop: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match self {
            Self::Unix(listener, path) => {
                let listener = tokio::net::UnixListener::from_std(listener)?;
                let _removed_at_the_end = SocketFile(path);
                axum::serve(listener, routes).with_graceful_shutdown(stop).await
            }
            Self::Loopback(listener) => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, routes).with_graceful_shutdown(stop).await
            }
        }
    }
}

fn open_unix(path: &Path) -> io::Result<UnixListener> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    remove_stale(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn remove_stale(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let is_stale = metadata.file_type().is_socket()
        && matches!(UnixStream::connect(path),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused);
    if is_stale { fs::remove_file(path) } else { Err(io::ErrorKind::AddrInUse.into()) }
}

/// Removes the socket file when nobody is served any more.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "socket {} stays",
                self.0.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_its_owners_and_a_stale_one_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run/pma/pm.sock");
        let address = Address::Unix(path.clone());
        let first = Door::open(&address).unwrap();
        assert_eq!(first.address(), format!("unix:{}", path.display()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let in_use = Door::open(&address).unwrap_err();
        drop(first);
        let second = Door::open(&address);

        assert!(format!("{in_use:#}").contains("cannot listen on"), "{in_use:#}");
        assert!(second.is_ok());
    }
}
