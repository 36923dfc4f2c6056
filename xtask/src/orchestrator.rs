//! A private orchestrator from the existing build, for checks that need one.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::conformance::process::ChildProgram;
use crate::tool;

const START_UP: Duration = Duration::from_mins(3);

/// A running orchestrator, killed on drop.
#[derive(Debug)]
pub(crate) struct TestOrchestrator {
    directory: PathBuf,
    address: SocketAddr,
    _program: ChildProgram,
}

impl TestOrchestrator {
    /// Starts an orchestrator on an empty data directory with the text of a config file.
    pub(crate) fn start(directory: PathBuf, config: &str) -> Result<Self> {
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot empty the data directory")?;
        }
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("cynode.toml"), config)?;
        let mut command = Command::new(tool::target_dir().join("debug/cynode-orchestrator"));
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(&directory);
        Self::wait_until_started(directory, command)
    }

    /// Starts orchestrator, runner, node and project manager on an empty data directory.
    pub(crate) fn start_all(directory: PathBuf) -> Result<Self> {
        Self::start_all_with(directory, "")
    }

    /// The same with the text of a config file.
    pub(crate) fn start_all_with(directory: PathBuf, config: &str) -> Result<Self> {
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot empty the data directory")?;
        }
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("cynode.toml"), config)?;
        let mut command = Command::new(tool::target_dir().join("debug/cynode"));
        command.args(["up", "--json", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&directory);
        Self::wait_until_started(directory, command)
    }

    fn wait_until_started(directory: PathBuf, mut command: Command) -> Result<Self> {
        let log = fs::File::create(directory.join("orchestrator.log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut program = ChildProgram::start(&mut command)?;

        let address = wait_for_file(&mut program, &directory.join("orchestrator.addr"))?;
        wait_for_file(&mut program, &directory.join("admin.token"))?;
        let address = address.trim_start_matches("http://").parse().context("no address")?;
        Ok(Self { directory, address, _program: program })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The file with the administrator's token.
    pub(crate) fn token_file(&self) -> PathBuf {
        self.directory.join("admin.token")
    }

    /// Runs `cynork` as the administrator; returns its JSON output.
    pub(crate) fn run_cynork(&self, args: &[&str]) -> Result<Value> {
        let mut command = Command::new(tool::target_dir().join("debug/cynork"));
        command.args(["--output", "json", "--gateway-url"]).arg(format!("http://{}", self.address));
        command.arg("--token-file").arg(self.token_file()).args(args);
        // The environment of the user must not affect the result.
        command.env_remove("CYNORK_TOKEN").env("XDG_CONFIG_HOME", &self.directory);
        let output = command.stdin(Stdio::null()).output().context("cynork does not start")?;
        if !output.status.success() {
            bail!("cynork {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("cynork printed no JSON")
    }
}

/// Waits for a file that the orchestrator writes at start, and returns its content.
fn wait_for_file(program: &mut ChildProgram, file: &Path) -> Result<String> {
    let start = Instant::now();
    while start.elapsed() < START_UP {
        match fs::read_to_string(file) {
            Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
            _ if program.has_ended() => break,
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    let log: PathBuf = file.with_file_name("orchestrator.log");
    bail!("the orchestrator wrote no {}; see {}", file.display(), log.display())
}
