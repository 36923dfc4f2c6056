//! An orchestrator of its own, with the fixture installed behind its gateway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::http::{self, Endpoint};
use super::process::Program;
use crate::tool;

const START_UP: Duration = Duration::from_secs(30);

/// The name under which the fixture is installed: `/mcp/fixture` shows its names unprefixed.
const SLUG: &str = "fixture";

/// A gateway in front of the fixture.
#[derive(Debug)]
pub(super) struct Gateway {
    endpoint: Endpoint,
    token: String,
    // Ends the orchestrator when the gateway is no longer needed.
    _program: Program,
}

impl Gateway {
    /// Starts an orchestrator on an empty data directory and installs the server at `fixture`.
    pub(super) fn start(fixture: &str) -> Result<Self> {
        let directory = tool::target_dir().join("conformance/gateway");
        if directory.exists() {
            fs::remove_dir_all(&directory).context("cannot empty the data directory")?;
        }
        fs::create_dir_all(&directory)?;
        let log = fs::File::create(directory.join("orchestrator.log"))?;
        let mut command = Command::new(tool::target_dir().join("debug/cynode-orchestrator"));
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(&directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let mut program = Program::start(&mut command)?;

        let address = wait_for(&mut program, &directory.join("orchestrator.addr"))?;
        let admin = wait_for(&mut program, &directory.join("admin.token"))?;
        let address = address.trim_start_matches("http://").parse().context("no address")?;
        let at = |path: &str| Endpoint { address, path: path.to_owned() };
        let transport = json!({ "type": "http", "url": fixture });
        http::post(&at("/v1/servers"), &admin, &json!({ "slug": SLUG, "transport": transport }))?;
        let wanted = json!({ "agent_type": "pm", "name": "conformance" });
        let issued = http::post(&at("/v1/agent-tokens"), &admin, &wanted)?;
        let token = issued["secret"].as_str().context("no secret was issued")?.to_owned();
        Ok(Self { endpoint: at(&format!("/mcp/{SLUG}")), token, _program: program })
    }

    /// The virtual server over the fixture.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The token of a project manager.
    pub(super) fn token(&self) -> &str {
        &self.token
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
