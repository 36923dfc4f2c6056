//! Places on this machine that speak HTTP.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long a server may take to listen.
const START_UP: Duration = Duration::from_mins(3);

/// A place on this machine.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
}

impl Endpoint {
    /// A free port, for a server that cannot choose one by itself.
    pub(crate) fn free(path: &str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("there is no free port")?;
        Ok(Self { address: listener.local_addr()?, path: path.to_owned() })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Waits until somebody listens.
    pub(crate) fn wait(&self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_UP {
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("nobody listens at {}", self.address)
    }
}
