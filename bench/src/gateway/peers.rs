//! Other gateways in front of the same fixture, under the same load. Start at [`start_peer`]. `cargo
//! xtask bench gateway --peers` installs them next to the build, below `peers`: `<slug>.installed`
//! contains the version, `<slug>.failed` the reason of a failed installation. Each runs as
//! documented, with one worker; rate limits are disabled. None is configured to write a durable
//! record of a call.

mod contextforge;
mod litellm;
mod mcp_proxy;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use tempfile::TempDir;
use tokio::net::TcpStream;

use self::contextforge::SessionMode;
use super::load;
use super::process::BenchProcess;
use super::subject::GatewaySubject;

/// Number of attempts, every 100 ms; the slowest peers migrate a database first.
const START_UP_LOOKS: u32 = 1800;
/// Bearer token of the peers, which live for one run, on loopback.
pub(crate) const SECRET: &str = "a-secret-of-one-benchmark-Qx7-01";

/// A gateway to compare with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PeerGateway {
    /// A Rust proxy from crates.io.
    McpProxy,
    /// A Python gateway, stateless by default.
    ContextForge,
    /// The same with sessions, which is faster.
    ContextForgeStateful,
    /// A Python model gateway that also serves tools.
    LiteLlm,
}

impl PeerGateway {
    pub(super) const ALL: [Self; 4] =
        [Self::McpProxy, Self::ContextForge, Self::ContextForgeStateful, Self::LiteLlm];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::McpProxy => "mcp-proxy",
            Self::ContextForge => "ContextForge",
            Self::ContextForgeStateful => "ContextForge with sessions",
            Self::LiteLlm => "LiteLLM",
        }
    }

    /// Base name of its files in the installation directory.
    const fn slug(self) -> &'static str {
        match self {
            Self::McpProxy => "mcp-proxy",
            Self::ContextForge | Self::ContextForgeStateful => "contextforge",
            Self::LiteLlm => "litellm",
        }
    }
}

/// Starts a peer in front of the fixture, and checks that it forwards a call.
pub(super) async fn start_peer(
    peer: PeerGateway,
    backend: &BenchProcess,
) -> anyhow::Result<GatewaySubject<'_>> {
    let (dir, version) = find_installation(peer)?;
    let environment = PeerEnvironment::new(dir)?;
    let upstream = backend.output.trim();
    let (program, target) = match peer {
        PeerGateway::McpProxy => mcp_proxy::start(&environment, upstream).await,
        PeerGateway::ContextForge => {
            contextforge::start(&environment, upstream, SessionMode::Stateless).await
        }
        PeerGateway::ContextForgeStateful => {
            contextforge::start(&environment, upstream, SessionMode::Stateful).await
        }
        PeerGateway::LiteLlm => litellm::start(&environment, upstream).await,
    }?;
    load::wait_until_forwarding(&target).await?;
    let name = format!("{} {version}", peer.name());
    Ok(GatewaySubject::in_front_of_fixture(backend, &name, target, program, environment.directory))
}

/// The installation directory of the peers, and the version of this one.
pub(crate) fn find_installation(peer: PeerGateway) -> anyhow::Result<(PathBuf, String)> {
    let program = std::env::current_exe()?;
    let dir = program.ancestors().nth(2).context("this program is not in a build")?.join("peers");
    let slug = peer.slug();
    match fs::read_to_string(dir.join(format!("{slug}.installed"))) {
        Ok(version) => Ok((dir, version.trim().to_owned())),
        Err(_) => match fs::read_to_string(dir.join(format!("{slug}.failed"))) {
            Ok(reason) => bail!("it could not be installed: {}", reason.trim()),
            Err(_) => bail!("it is not installed: run `cargo xtask bench gateway --peers`"),
        },
    }
}

/// Environment of a peer: its installation directory, its own data directory and its own port.
pub(crate) struct PeerEnvironment {
    dir: PathBuf,
    pub(crate) directory: TempDir,
    pub(crate) port: u16,
}

impl PeerEnvironment {
    pub(crate) fn new(dir: PathBuf) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("cynode-bench-").tempdir()?;
        // None of them can choose a free port.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Ok(Self { dir, directory, port })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A program of the peer with a clean environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.dir.join(program));
        command.current_dir(self.path()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path());
        command
    }

    /// Starts the peer and waits until it listens.
    pub(crate) async fn start_and_wait(
        &self,
        command: &mut Command,
    ) -> anyhow::Result<BenchProcess> {
        let log = fs::File::create(self.path().join("log"))?;
        let mut program =
            BenchProcess::start(command.stdout(log.try_clone()?).stderr(Stdio::from(log)))?;
        for _ in 0..START_UP_LOOKS {
            if TcpStream::connect(self.address()).await.is_ok() {
                return Ok(program);
            }
            if program.has_ended() {
                bail!("it ended: {}", self.last_log_line());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("it does not listen: {}", self.last_log_line())
    }

    /// The last line of its log.
    fn last_log_line(&self) -> String {
        let log = fs::read(self.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output").to_owned()
    }
}
