//! A real orchestrator process over a database that waits for its disk.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_runtime::secret_file;
use cynode_testkit::DurableServer;
use cynode_wire::tasks::CreateTask;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use tempfile::TempDir;

/// Times 50 ms.
const START_UP_LOOKS: u32 = 600;
/// Tasks that are created at the same time.
const CREATORS: usize = 8;

/// An orchestrator under measurement; it ends with this value.
pub(super) struct Subject<'a> {
    pub(super) name: &'static str,
    process: Child,
    directory: TempDir,
    address: String,
    pub(super) server: Option<&'a Database>,
}

/// A PostgreSQL under measurement.
pub(super) struct Database {
    pub(super) url: String,
    /// The server's first process, whose children all others are.
    pub(super) process_id: u32,
    /// It ends with this value.
    pub(super) server: Option<DurableServer>,
}

impl Database {
    /// A new server, or the one at `url` if it runs on this machine.
    pub(super) async fn start(url: Option<&str>) -> anyhow::Result<Self> {
        if let Some(url) = url {
            let process_id = super::usage::server_of(url).await?;
            return Ok(Self { url: url.to_owned(), process_id, server: None });
        }
        let server = DurableServer::start()?;
        let (url, process_id) = (server.url(), server.process_id()?);
        Ok(Self { url, process_id, server: Some(server) })
    }
}

impl<'a> Subject<'a> {
    /// Starts one over a new database of `server`, or over SQLite.
    pub(super) async fn start(server: Option<&'a Database>) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("cynode-bench-").tempdir()?;
        let program = std::env::current_exe()?.with_file_name("cynode-orchestrator");
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(directory.path());
        if let Some(server) = server {
            command.args(["--database-url", &server.url]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(directory.path().join("log"))?);
        let process = command.spawn().context("run `cargo xtask bench workflow`")?;
        let name = if server.is_some() { "PostgreSQL" } else { "SQLite" };
        let mut subject = Self { name, process, directory, address: String::new(), server };
        subject.address = subject.written("orchestrator.addr").await?;
        subject.written("admin.token").await?;
        Ok(subject)
    }

    /// A client with this token of the data directory.
    pub(super) fn client(&self, token: &str) -> anyhow::Result<Client> {
        let token = secret_file::read(self.directory.path().join(token))?;
        Ok(Client::new(&self.url(), token)?)
    }

    /// Where it is reached.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its data directory.
    pub(super) fn data_dir(&self) -> &Path {
        self.directory.path()
    }

    /// The orchestrator's process.
    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// The URL of its database.
    pub(super) fn database_url(&self) -> String {
        let file = self.directory.path().join("cynode.db");
        let embedded = || format!("sqlite:{}", file.display());
        self.server.map_or_else(embedded, |server| server.url.clone())
    }

    /// Creates tasks, whose runs wait from then on.
    pub(super) async fn create(&self, count: u32) -> anyhow::Result<Vec<TaskId>> {
        let client = self.client("admin.token")?;
        let body: CreateTask =
            serde_json::from_value(json!({ "input_mode": "commands", "commands": ["true"] }))?;
        let body = &body;
        let client = &client;
        let made = stream::iter(0..count).map(|number| async move {
            // Its own name: many tasks of one name are numbered one after the other.
            let name = format!("bench-{}-{number}", TaskId::generate());
            let body = CreateTask { task_name: Some(name), ..body.clone() };
            let task = client.task_create(&body).await?;
            anyhow::Ok(task.id)
        });
        made.buffer_unordered(CREATORS).try_collect().await
    }

    /// What a starting orchestrator writes to a file.
    async fn written(&mut self, file: &str) -> anyhow::Result<String> {
        let path = self.directory.path().join(file);
        for _ in 0..START_UP_LOOKS {
            match fs::read_to_string(&path) {
                Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
                _ if self.process.try_wait()?.is_some() => break,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        bail!("the orchestrator wrote no {file}\n{}", log(self.directory.path()))
    }
}

fn log(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap_or_default()
}

impl Drop for Subject<'_> {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
