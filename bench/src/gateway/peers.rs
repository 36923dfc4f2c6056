//! Gateways of others in front of the same fixture, under the same load.
//!
//! Start at [`start`]. `cargo xtask bench gateway --peers` installs them beside the build, below
//! `peers`: `<slug>.installed` holds the version, `<slug>.failed` why there is none. Each runs as its
//! documents say, with one worker; what keeps it from being called this often, such as a limit of
//! calls a minute, is switched off. None is set up to keep a durable record of a call.

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

use self::contextforge::Mode;
use super::load;
use super::process::Program;
use super::subject::Subject;

/// Times 100 ms; the slowest peers migrate a database first.
const START_UP_LOOKS: u32 = 1800;
/// What a bearer is checked against; the peers live for one run, on loopback.
pub(crate) const SECRET: &str = "a-secret-of-one-benchmark-Qx7-01";

/// A gateway to compare with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Peer {
    /// A Rust proxy from crates.io.
    McpProxy,
    /// A Python gateway, stateless as it comes.
    ContextForge,
    /// The same with sessions, which it does faster.
    ContextForgeStateful,
    /// A Python gateway to models that serves tools too.
    LiteLlm,
}

impl Peer {
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

    /// What its files are called where it is installed.
    const fn slug(self) -> &'static str {
        match self {
            Self::McpProxy => "mcp-proxy",
            Self::ContextForge | Self::ContextForgeStateful => "contextforge",
            Self::LiteLlm => "litellm",
        }
    }
}

/// Starts a peer in front of the fixture, and sees that it passes a call on.
pub(super) async fn start(peer: Peer, backend: &Program) -> anyhow::Result<Subject<'_>> {
    let (place, version) = installed(peer)?;
    let seat = Seat::new(place)?;
    let upstream = backend.said.trim();
    let (program, target) = match peer {
        Peer::McpProxy => mcp_proxy::start(&seat, upstream).await,
        Peer::ContextForge => contextforge::start(&seat, upstream, Mode::Stateless).await,
        Peer::ContextForgeStateful => contextforge::start(&seat, upstream, Mode::Stateful).await,
        Peer::LiteLlm => litellm::start(&seat, upstream).await,
    }?;
    load::passes_calls(&target).await?;
    let name = format!("{} {version}", peer.name());
    Ok(Subject::before(backend, &name, target, program, seat.directory))
}

/// Where peers are, and the version of this one.
pub(crate) fn installed(peer: Peer) -> anyhow::Result<(PathBuf, String)> {
    let program = std::env::current_exe()?;
    let place = program.ancestors().nth(2).context("this program is not in a build")?.join("peers");
    let slug = peer.slug();
    match fs::read_to_string(place.join(format!("{slug}.installed"))) {
        Ok(version) => Ok((place, version.trim().to_owned())),
        Err(_) => match fs::read_to_string(place.join(format!("{slug}.failed"))) {
            Ok(reason) => bail!("it could not be installed: {}", reason.trim()),
            Err(_) => bail!("it is not installed: run `cargo xtask bench gateway --peers`"),
        },
    }
}

/// What a peer is started with: where it is installed, a directory and a port of its own.
pub(crate) struct Seat {
    place: PathBuf,
    pub(crate) directory: TempDir,
    pub(crate) port: u16,
}

impl Seat {
    pub(crate) fn new(place: PathBuf) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("cynode-bench-").tempdir()?;
        // None of them takes a free port by itself.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        Ok(Self { place, directory, port })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A program of the peer with an environment of its own.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.place.join(program));
        command.current_dir(self.path()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path());
        command
    }

    /// Runs the peer until it listens.
    pub(crate) async fn run(&self, command: &mut Command) -> anyhow::Result<Program> {
        let log = fs::File::create(self.path().join("log"))?;
        let mut program =
            Program::start(command.stdout(log.try_clone()?).stderr(Stdio::from(log)))?;
        for _ in 0..START_UP_LOOKS {
            if TcpStream::connect(self.address()).await.is_ok() {
                return Ok(program);
            }
            if program.has_ended() {
                bail!("it ended: {}", self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bail!("it does not listen: {}", self.last_words())
    }

    /// The last line that it logged.
    fn last_words(&self) -> String {
        let log = fs::read(self.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    }
}
