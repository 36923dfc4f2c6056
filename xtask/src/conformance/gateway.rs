//! An orchestrator of its own, with the fixture installed behind its gateway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::http::Endpoint;
use super::process::Program;
use crate::tool;

const START_UP: Duration = Duration::from_secs(30);

/// The name under which the fixture is installed: `/mcp/fixture` shows its names unprefixed.
const SLUG: &str = "fixture";

/// A gateway in front of the fixture.
#[derive(Debug)]
pub(super) struct Gateway {
    directory: PathBuf,
    address: std::net::SocketAddr,
    token: String,
    // Ends the orchestrator when the gateway is no longer needed.
    _program: Program,
}

impl Gateway {
    /// Starts an orchestrator on an empty data directory and installs the server at `fixture`.
    /// Servers that are processes may read `exposed`.
    pub(super) fn start(fixture: &str, exposed: &[PathBuf]) -> Result<Self> {
        let directory = tool::target_dir().join("conformance/gateway");
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot empty the data directory")?;
        }
        fs::create_dir_all(&directory)?;
        let exposed: Vec<_> = exposed.iter().map(|path| path.to_string_lossy()).collect();
        // A list of strings is written alike in JSON and TOML.
        let config = format!("[gateway]\nexpose = {}\n", json!(exposed));
        fs::write(directory.join("cynode.toml"), config)?;
        let log = fs::File::create(directory.join("orchestrator.log"))?;
        let mut command = Command::new(tool::target_dir().join("debug/cynode-orchestrator"));
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(&directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut program = Program::start(&mut command)?;

        let address = wait_for(&mut program, &directory.join("orchestrator.addr"))?;
        wait_for(&mut program, &directory.join("admin.token"))?;
        let address = address.trim_start_matches("http://").parse().context("no address")?;
        let mut gateway = Self { directory, address, token: String::new(), _program: program };
        gateway.cynork(&["servers", "add-http", SLUG, fixture])?;
        let issued = gateway.cynork(&["agent-token", "issue", "conformance", "--agent", "pm"])?;
        let secret = issued["secret"].as_str().context("no secret was issued")?;
        secret.clone_into(&mut gateway.token);
        Ok(gateway)
    }

    /// The virtual server over the fixture.
    pub(super) fn of_fixture(&self) -> Endpoint {
        Endpoint { address: self.address, path: format!("/mcp/{SLUG}") }
    }

    /// The endpoint with the tools of all servers.
    pub(super) fn of_everything(&self) -> Endpoint {
        Endpoint { address: self.address, path: "/mcp".to_owned() }
    }

    /// The token of a project manager.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// What the administrator's `cynork` says.
    pub(super) fn cynork(&self, args: &[&str]) -> Result<Value> {
        let mut command = Command::new(tool::target_dir().join("debug/cynork"));
        command.args(["--output", "json", "--gateway-url"]).arg(format!("http://{}", self.address));
        command.arg("--token-file").arg(self.directory.join("admin.token")).args(args);
        // Nothing of the user's own set-up has a say here.
        command.env_remove("CYNORK_TOKEN").env("XDG_CONFIG_HOME", &self.directory);
        let output = command.stdin(Stdio::null()).output().context("cynork does not start")?;
        if !output.status.success() {
            bail!("cynork {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        serde_json::from_slice(&output.stdout).context("cynork printed no JSON")
    }
}

/// The content of a file that a starting orchestrator writes.
fn wait_for(program: &mut Program, file: &Path) -> Result<String> {
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
