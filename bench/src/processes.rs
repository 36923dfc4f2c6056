//! A `cynode up` under measurement.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use cynode_client::Client;
use cynode_runtime::secret_file;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::Deserialize;

/// A running `cynode up`, stopped on drop.
pub(crate) struct UpProcess {
    process: Child,
    /// From the start of the process until it reports ready.
    pub(crate) ready_after: Duration,
    pub(crate) url: String,
    admin_token_file: PathBuf,
}

/// How `up` is started.
#[derive(Debug, Clone)]
pub(crate) struct UpOptions {
    pub(crate) data_dir: PathBuf,
    /// Listen address; port 0 selects a free port.
    pub(crate) listen: String,
    /// PostgreSQL URL; without it, the embedded database is used.
    pub(crate) database_url: Option<String>,
    /// A directory whose repositories tasks may use.
    pub(crate) repository_path: Option<PathBuf>,
}

#[derive(Deserialize)]
struct UpAnnouncement {
    url: String,
    admin_token_file: PathBuf,
}

impl UpProcess {
    /// Starts `up` on a data directory and waits until it is ready.
    pub(crate) fn start(data_dir: &Path) -> anyhow::Result<Self> {
        let (data_dir, listen) = (data_dir.to_owned(), "127.0.0.1:0".to_owned());
        Self::start_with(&UpOptions { data_dir, listen, database_url: None, repository_path: None })
    }

    /// Starts `up` with these options and waits until it is ready.
    pub(crate) fn start_with(options: &UpOptions) -> anyhow::Result<Self> {
        let mut command = Command::new(find_cynode_binary()?);
        command.args(["up", "--json", "--listen", &options.listen, "--data-dir"]);
        command.arg(&options.data_dir);
        if let Some(url) = &options.database_url {
            command.args(["--database-url", url]);
        }
        if let Some(path) = &options.repository_path {
            command.arg("--repository-path").arg(path);
        }
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begun = Instant::now();
        let mut process = command.spawn().context("cynode cannot be started")?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let ready_after = begun.elapsed();
        let Ok(announced) = serde_json::from_str::<UpAnnouncement>(&line) else {
            let ended = process.wait()?;
            bail!("`cynode up` ended with {ended} before it was ready");
        };
        let UpAnnouncement { url, admin_token_file } = announced;
        Ok(Self { process, ready_after, url, admin_token_file })
    }

    /// A client with the administrator's token.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::new(&self.url, secret_file::read(&self.admin_token_file)?)?)
    }

    /// Stops `up`; returns how long that took.
    pub(crate) fn stop(mut self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.send_sigterm();
        self.process.wait()?;
        Ok(begun.elapsed())
    }

    /// Kills `up` without warning; its components are left to themselves.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.process.kill()?;
        self.process.wait()?;
        Ok(())
    }

    fn send_sigterm(&self) {
        if let Ok(pid) = i32::try_from(self.process.id()) {
            // It may have exited already; waiting shows that.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }
}

impl Drop for UpProcess {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.send_sigterm();
            let _ = self.process.wait();
        }
    }
}

/// Path of the `cynode` binary of the same build.
pub(crate) fn find_cynode_binary() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("cynode");
    if path.is_file() {
        Ok(path)
    } else {
        bail!("{} is missing: build it with `cargo build --release`", path.display())
    }
}
