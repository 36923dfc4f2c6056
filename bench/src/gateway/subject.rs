//! The subjects: the fixture itself, and the gateway in front of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::McpTarget;
use super::load::{self, McpLoad};
use super::process::{BenchProcess, find_binary};

const SLUG: &str = "fixture";
/// Number of attempts, every 50 ms.
const START_UP_LOOKS: u32 = 600;

/// An endpoint that reaches `echo`.
pub(super) struct GatewaySubject<'a> {
    pub(super) name: String,
    pub(super) target: McpTarget,
    /// The process whose CPU time and memory count, including its children.
    pub(super) process_id: u32,
    // Kept alive for as long as the subject: the process, and its data directory.
    _program: Option<BenchProcess>,
    _directory: Option<TempDir>,
    _backend: &'a BenchProcess,
}

impl<'a> GatewaySubject<'a> {
    /// The fixture itself.
    pub(super) fn direct(backend: &'a BenchProcess) -> Self {
        let target = McpTarget {
            address: fixture_address(backend),
            path: "/mcp".to_owned(),
            token: None,
            tool: "echo".to_owned(),
        };
        Self {
            name: "direct".to_owned(),
            target,
            process_id: backend.id(),
            _program: None,
            _directory: None,
            _backend: backend,
        }
    }

    /// A load of this many clients on the subject.
    pub(super) const fn load(&self, clients: usize) -> McpLoad<'_> {
        McpLoad { target: &self.target, clients, process_id: self.process_id }
    }

    /// A program in front of the fixture.
    pub(super) fn in_front_of_fixture(
        backend: &'a BenchProcess,
        name: &str,
        target: McpTarget,
        program: BenchProcess,
        directory: TempDir,
    ) -> Self {
        Self {
            name: name.to_owned(),
            target,
            process_id: program.id(),
            _program: Some(program),
            _directory: Some(directory),
            _backend: backend,
        }
    }
}

/// `host:port` of the fixture.
pub(super) fn fixture_address(backend: &BenchProcess) -> String {
    backend.output.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
}

/// The database of an orchestrator.
pub(crate) enum DatabaseKind {
    /// In a file: the default.
    Sqlite,
    /// In a file on a memory file system, which shows the cost of the gateway alone.
    SqliteInMemory,
    /// On the server at this URL.
    Postgres(String),
    /// On the tests' server, at this URL, which runs without fsync.
    PostgresOfTests(String),
}

impl DatabaseKind {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "gateway, SQLite",
            Self::SqliteInMemory => "gateway, SQLite in memory",
            Self::Postgres(_) => "gateway, PostgreSQL",
            Self::PostgresOfTests(_) => "gateway, PostgreSQL without fsync",
        }
    }

    fn directory(&self) -> std::io::Result<TempDir> {
        let place = match self {
            Self::SqliteInMemory => PathBuf::from("/dev/shm"),
            Self::Sqlite | Self::Postgres(_) | Self::PostgresOfTests(_) => std::env::temp_dir(),
        };
        tempfile::Builder::new().prefix("cynode-bench-").tempdir_in(place)
    }
}

/// A new orchestrator with its credentials.
pub(crate) struct BenchOrchestrator {
    pub(crate) program: BenchProcess,
    pub(crate) directory: TempDir,
    /// `host:port`.
    pub(crate) address: String,
    /// The administrator's token.
    pub(crate) admin_token: String,
}

impl BenchOrchestrator {
    /// Starts an orchestrator on an empty database.
    pub(crate) async fn start(storage: &DatabaseKind) -> anyhow::Result<Self> {
        let directory = storage.directory()?;
        let mut command = Command::new(find_binary("cynode-orchestrator")?);
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(directory.path());
        if let DatabaseKind::Postgres(url) | DatabaseKind::PostgresOfTests(url) = storage {
            command.args(["--database-url", url]);
        }
        command.stdout(Stdio::null()).stderr(fs::File::create(directory.path().join("log"))?);
        let mut program = BenchProcess::start(&mut command)?;
        let listens =
            wait_for_file(&mut program, &directory.path().join("orchestrator.addr")).await?;
        let admin = wait_for_file(&mut program, &directory.path().join("admin.token")).await?;
        let listens = listens.trim_start_matches("http://").to_owned();
        Ok(Self { program, directory, address: listens, admin_token: admin })
    }
}

/// The gateway of a new orchestrator, with the fixture installed.
pub(super) async fn start_gateway(
    backend: &BenchProcess,
    storage: DatabaseKind,
) -> anyhow::Result<GatewaySubject<'_>> {
    let BenchOrchestrator { program, directory, address: listens, admin_token: admin } =
        BenchOrchestrator::start(&storage).await?;
    let server =
        json!({ "slug": SLUG, "transport": { "type": "http", "url": backend.output.trim() } });
    post(&format!("http://{listens}/v1/servers"), &admin, &server).await?;
    let wanted = json!({ "agent_type": "pm", "name": "bench", "expires_in_seconds": 86_400 });
    let issued = post(&format!("http://{listens}/v1/agent-tokens"), &admin, &wanted).await?;
    let token = issued["secret"].as_str().context("no token was issued")?.to_owned();
    let target = McpTarget {
        address: listens,
        path: format!("/mcp/{SLUG}"),
        token: Some(token),
        tool: "echo".to_owned(),
    };
    load::wait_until_forwarding(&target).await?;
    Ok(GatewaySubject::in_front_of_fixture(backend, storage.name(), target, program, directory))
}

/// Waits for a file that the orchestrator writes at start, and returns its content.
async fn wait_for_file(program: &mut BenchProcess, file: &Path) -> anyhow::Result<String> {
    for _ in 0..START_UP_LOOKS {
        match fs::read_to_string(file) {
            Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
            _ if program.has_ended() => break,
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    let log = fs::read_to_string(file.with_file_name("log")).unwrap_or_default();
    bail!("the orchestrator wrote no {}\n{log}", file.display())
}

/// Sends `body` with a token; returns the response if its status is a success.
pub(crate) async fn post(url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    send_json(Method::POST, url, token, body).await
}

/// The same with `PUT`.
pub(crate) async fn put_json(url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    send_json(Method::PUT, url, token, body).await
}

async fn send_json(method: Method, url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    let request = reqwest::Client::new().request(method, url).bearer_auth(token).json(body);
    let sent = request.send().await?;
    let status = sent.status();
    let text = sent.text().await?;
    if !status.is_success() {
        bail!("{url} answered {status}: {text}");
    }
    serde_json::from_str(&text).context("the answer is not JSON")
}
