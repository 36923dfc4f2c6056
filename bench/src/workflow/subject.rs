//! A real orchestrator process over a database that syncs to disk.

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

/// Number of attempts, every 50 ms.
const START_UP_LOOKS: u32 = 600;
/// Tasks created concurrently.
const CREATORS: usize = 8;

/// An orchestrator under measurement, killed on drop.
pub(super) struct WorkflowSubject<'a> {
    pub(super) name: &'static str,
    process: Child,
    directory: TempDir,
    address: String,
    pub(super) server: Option<&'a MeasuredPostgres>,
}

/// A PostgreSQL under measurement.
pub(super) struct MeasuredPostgres {
    pub(super) url: String,
    /// The postmaster process.
    pub(super) process_id: u32,
    /// Stopped on drop.
    pub(super) server: Option<DurableServer>,
}

impl MeasuredPostgres {
    /// Starts a new server, or uses the one at `url`, which must run on this machine.
    pub(super) async fn start(url: Option<&str>) -> anyhow::Result<Self> {
        if let Some(url) = url {
            let process_id = super::usage::find_postmaster(url).await?;
            return Ok(Self { url: url.to_owned(), process_id, server: None });
        }
        let server = DurableServer::start()?;
        let (url, process_id) = (server.url(), server.process_id()?);
        Ok(Self { url, process_id, server: Some(server) })
    }
}

impl<'a> WorkflowSubject<'a> {
    /// Starts an orchestrator over a new database of `server`, or over SQLite.
    pub(super) async fn start(server: Option<&'a MeasuredPostgres>) -> anyhow::Result<Self> {
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
        subject.address = subject.wait_for_file("orchestrator.addr").await?;
        subject.wait_for_file("admin.token").await?;
        Ok(subject)
    }

    /// A client with this token of the data directory.
    pub(super) fn client(&self, token: &str) -> anyhow::Result<Client> {
        let token = secret_file::read(self.directory.path().join(token))?;
        Ok(Client::new(&self.url(), token)?)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn data_dir(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn database_url(&self) -> String {
        let file = self.directory.path().join("cynode.db");
        let embedded = || format!("sqlite:{}", file.display());
        self.server.map_or_else(embedded, |server| server.url.clone())
    }

    /// Creates tasks, whose runs wait from then on.
    pub(super) async fn create_tasks(&self, count: u32) -> anyhow::Result<Vec<TaskId>> {
        let client = self.client("admin.token")?;
        let body: CreateTask =
            serde_json::from_value(json!({ "input_mode": "commands", "commands": ["true"] }))?;
        let body = &body;
        let client = &client;
        let made = stream::iter(0..count).map(|number| async move {
            // Unique names: equal names would be numbered sequentially.
            let name = format!("bench-{}-{number}", TaskId::generate());
            let body = CreateTask { task_name: Some(name), ..body.clone() };
            let task = client.task_create(&body).await?;
            anyhow::Ok(task.id)
        });
        made.buffer_unordered(CREATORS).try_collect().await
    }

    /// Waits for a file that the orchestrator writes at start, and returns its content.
    async fn wait_for_file(&mut self, file: &str) -> anyhow::Result<String> {
        let path = self.directory.path().join(file);
        for _ in 0..START_UP_LOOKS {
            match fs::read_to_string(&path) {
                Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
                _ if self.process.try_wait()?.is_some() => break,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        bail!("the orchestrator wrote no {file}\n{}", read_log(self.directory.path()))
    }
}

fn read_log(directory: &Path) -> String {
    fs::read_to_string(directory.join("log")).unwrap_or_default()
}

impl Drop for WorkflowSubject<'_> {
    fn drop(&mut self) {
        // It may have exited already; no process of it may be left.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
