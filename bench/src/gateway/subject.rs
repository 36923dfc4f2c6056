//! What is measured: the fixture itself, and the gateway in front of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Target;
use super::load::{self, Load};
use super::process::{Program, beside_this};

const SLUG: &str = "fixture";
/// Times 50 ms.
const START_UP_LOOKS: u32 = 600;

/// Something that `echo` can be called through.
pub(super) struct Subject<'a> {
    pub(super) name: String,
    pub(super) target: Target,
    /// Whose CPU time and memory count, with those of its children.
    pub(super) process_id: u32,
    // What must live as long: the process, and the directory of its data.
    _program: Option<Program>,
    _directory: Option<TempDir>,
    _backend: &'a Program,
}

impl<'a> Subject<'a> {
    /// The fixture itself.
    pub(super) fn direct(backend: &'a Program) -> Self {
        let target = Target {
            address: address(backend),
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

    /// So many clients that call it.
    pub(super) const fn load(&self, clients: usize) -> Load<'_> {
        Load { target: &self.target, clients, process_id: self.process_id }
    }

    /// A program in front of the fixture.
    pub(super) fn before(
        backend: &'a Program,
        name: &str,
        target: Target,
        program: Program,
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
pub(super) fn address(backend: &Program) -> String {
    backend.said.trim().trim_start_matches("http://").trim_end_matches("/mcp").to_owned()
}

/// Where an orchestrator keeps its state.
pub(crate) enum Storage {
    /// In a file, as users have it.
    Sqlite,
    /// In a file that no disk has to keep: what is left is the work of the gateway itself.
    SqliteInMemory,
    /// On the server at this URL.
    Postgres(String),
    /// On the server of the tests, at this URL, which does not wait for its disk.
    PostgresOfTests(String),
}

impl Storage {
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

/// A new orchestrator, and what it takes to speak to it.
pub(crate) struct Orchestrator {
    pub(crate) program: Program,
    pub(crate) directory: TempDir,
    /// `host:port`.
    pub(crate) listens: String,
    /// The administrator's token.
    pub(crate) admin: String,
}

impl Orchestrator {
    /// Starts one on an empty database.
    pub(crate) async fn start(storage: &Storage) -> anyhow::Result<Self> {
        let directory = storage.directory()?;
        let mut command = Command::new(beside_this("cynode-orchestrator")?);
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(directory.path());
        if let Storage::Postgres(url) | Storage::PostgresOfTests(url) = storage {
            command.args(["--database-url", url]);
        }
        command.stdout(Stdio::null()).stderr(fs::File::create(directory.path().join("log"))?);
        let mut program = Program::start(&mut command)?;
        let listens = written(&mut program, &directory.path().join("orchestrator.addr")).await?;
        let admin = written(&mut program, &directory.path().join("admin.token")).await?;
        let listens = listens.trim_start_matches("http://").to_owned();
        Ok(Self { program, directory, listens, admin })
    }
}

/// The gateway of a new orchestrator, with the fixture installed.
pub(super) async fn gateway(backend: &Program, storage: Storage) -> anyhow::Result<Subject<'_>> {
    let Orchestrator { program, directory, listens, admin } = Orchestrator::start(&storage).await?;
    let server =
        json!({ "slug": SLUG, "transport": { "type": "http", "url": backend.said.trim() } });
    post(&format!("http://{listens}/v1/servers"), &admin, &server).await?;
    let wanted = json!({ "agent_type": "pm", "name": "bench", "expires_in_seconds": 86_400 });
    let issued = post(&format!("http://{listens}/v1/agent-tokens"), &admin, &wanted).await?;
    let token = issued["secret"].as_str().context("no token was issued")?.to_owned();
    let target = Target {
        address: listens,
        path: format!("/mcp/{SLUG}"),
        token: Some(token),
        tool: "echo".to_owned(),
    };
    load::passes_calls(&target).await?;
    Ok(Subject::before(backend, storage.name(), target, program, directory))
}

/// What a starting orchestrator writes to a file.
async fn written(program: &mut Program, file: &Path) -> anyhow::Result<String> {
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

/// Sends `body` with a token; the answer, if it is a good one.
pub(crate) async fn post(url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    send(Method::POST, url, token, body).await
}

/// The same, to write what is at `url`.
pub(crate) async fn put(url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    send(Method::PUT, url, token, body).await
}

async fn send(method: Method, url: &str, token: &str, body: &Value) -> anyhow::Result<Value> {
    let request = reqwest::Client::new().request(method, url).bearer_auth(token).json(body);
    let sent = request.send().await?;
    let status = sent.status();
    let text = sent.text().await?;
    if !status.is_success() {
        bail!("{url} answered {status}: {text}");
    }
    serde_json::from_str(&text).context("the answer is not JSON")
}
