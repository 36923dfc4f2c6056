//! Listeners on a TCP port or a unix socket.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use axum::Router;
use tokio::net::{TcpListener, UnixListener, UnixStream};

use super::HealthError;

#[derive(Debug)]
pub struct HealthListener {
    address: String,
    socket: ListenerSocket,
}

#[derive(Debug)]
enum ListenerSocket {
    Tcp(TcpListener),
    Unix(UnixListener, HealthSocketGuard),
}

impl HealthListener {
    /// Opens `host:port` or `unix:/path`. Port 0 selects a free port; see [`Self::address`].
    ///
    /// Replaces a stale socket file of a killed process, on which connections are refused.
    pub async fn bind(listen: &str) -> Result<Self, HealthError> {
        let refused = |cause| HealthError::Bind { listen: listen.to_owned(), cause };
        if let Some(path) = listen.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            let socket = bind_unix(Path::new(path)).await.map_err(refused)?;
            let address = listen.to_owned();
            return Ok(Self { address, socket });
        }
        if !is_host_and_port(listen) {
            let listen = listen.to_owned();
            return Err(HealthError::BadAddress { listen });
        }
        let tcp = TcpListener::bind(listen).await.map_err(refused)?;
        Ok(Self {
            address: tcp.local_addr().map_err(refused)?.to_string(),
            socket: ListenerSocket::Tcp(tcp),
        })
    }

    /// The bound address, with the actual port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Serves `routes` until `stop` resolves and open requests are finished.
    pub async fn run<F>(self, routes: Router, stop: F) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match self.socket {
            ListenerSocket::Tcp(tcp) => axum::serve(tcp, routes).with_graceful_shutdown(stop).await,
            ListenerSocket::Unix(unix, _removed_at_the_end) => {
                axum::serve(unix, routes).with_graceful_shutdown(stop).await
            }
        }
    }
}

/// Removes the socket file when the listener ends.
#[derive(Debug)]
struct HealthSocketGuard(PathBuf);

impl Drop for HealthSocketGuard {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                path = %self.0.display(),
                "socket file already removed"
            );
        }
    }
}

async fn bind_unix(path: &Path) -> io::Result<ListenerSocket> {
    ensure_socket_path_free(path).await?;
    let listener = UnixListener::bind(path)?;
    let file = HealthSocketGuard(path.to_owned());
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(ListenerSocket::Unix(listener, file))
}

async fn ensure_socket_path_free(path: &Path) -> io::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let is_stale = metadata.file_type().is_socket()
        && matches!(UnixStream::connect(path).await,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused);
    if is_stale {
        return fs::remove_file(path);
    }
    Err(io::Error::from(io::ErrorKind::AddrInUse))
}

fn is_host_and_port(listen: &str) -> bool {
    listen
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}
