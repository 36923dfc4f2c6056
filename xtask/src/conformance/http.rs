//! HTTP endpoints on this machine.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long a server may take to listen.
const START_UP: Duration = Duration::from_mins(3);

/// An endpoint on this machine.
#[derive(Debug, Clone)]
pub(crate) struct LocalEndpoint {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
}

impl LocalEndpoint {
    /// A free port, for a server that cannot choose one.
    pub(crate) fn with_free_port(path: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
        Ok(Self { address: listener.local_addr()?, path: path.to_owned() })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Waits until a server listens.
    pub(crate) fn wait_until_listening(&self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_UP {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("no server listens at {}", self.address)
    }
}
