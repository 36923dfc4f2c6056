//! The listening socket for handoffs, opened before the process is confined.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use axum::Router;

use crate::options::HandoffAddress;

/// A listening socket.
#[derive(Debug)]
pub(crate) enum HandoffListener {
    Unix(UnixListener, PathBuf),
    Loopback(TcpListener),
}

impl HandoffListener {
    /// Opens the socket. Replaces a stale socket file, which a killed process leaves behind.
    pub(crate) fn open(address: &HandoffAddress) -> anyhow::Result<Self> {
        match address {
            HandoffAddress::Unix(path) => {
                let opened = bind_unix(path);
                let listener =
                    opened.with_context(|| format!("cannot listen on {}", path.display()))?;
                Ok(Self::Unix(listener, path.clone()))
            }
            HandoffAddress::Loopback(address) => {
                let listener = TcpListener::bind(address)
                    .with_context(|| format!("cannot listen on {address}"))?;
                listener.set_nonblocking(true)?;
                Ok(Self::Loopback(listener))
            }
        }
    }

    /// The address in the form of `pma.listen`.
    pub(crate) fn listen_address(&self) -> String {
        match self {
            Self::Unix(_, path) => format!("unix:{}", path.display()),
            Self::Loopback(listener) => {
                listener.local_addr().map(|address| address.to_string()).unwrap_or_default()
            }
        }
    }

    /// The directory of the socket file.
    pub(crate) fn socket_directory(&self) -> Option<PathBuf> {
        match self {
            Self::Unix(_, path) => path.parent().map(Path::to_owned),
            Self::Loopback(_) => None,
        }
    }

    /// Serves until `stop` returns and open requests have finished.
    pub(crate) async fn serve<F>(self, routes: Router, stop: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match self {
            Self::Unix(listener, path) => {
                let listener = tokio::net::UnixListener::from_std(listener)?;
                let _removed_at_the_end = SocketFileGuard(path);
                axum::serve(listener, routes).with_graceful_shutdown(stop).await
            }
            Self::Loopback(listener) => {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, routes).with_graceful_shutdown(stop).await
            }
        }
    }
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    remove_stale_socket(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn remove_stale_socket(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(()) };
    let is_stale = metadata.file_type().is_socket()
        && matches!(UnixStream::connect(path),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused);
    if is_stale { fs::remove_file(path) } else { Err(io::ErrorKind::AddrInUse.into()) }
}

/// Removes the socket file on drop.
#[derive(Debug)]
struct SocketFileGuard(PathBuf);

impl Drop for SocketFileGuard {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                socket = %self.0.display(),
                "socket file not removed"
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
        let address = HandoffAddress::Unix(path.clone());
        let first = HandoffListener::open(&address).unwrap();
        assert_eq!(first.listen_address(), format!("unix:{}", path.display()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let in_use = HandoffListener::open(&address).unwrap_err();
        drop(first);
        let second = HandoffListener::open(&address);

        assert!(format!("{in_use:#}").contains("cannot listen on"), "{in_use:#}");
        assert!(second.is_ok());
    }
}
