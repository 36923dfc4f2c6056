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

/// A running `cynode up`; dropping it ends it.
pub(crate) struct Up {
    process: Child,
    /// From the start of the process to its word that everything is ready.
    pub(crate) ready_after: Duration,
    /// Where it listens.
    pub(crate) url: String,
    admin_token_file: PathBuf,
}

#[derive(Deserialize)]
struct Announced {
    url: String,
    admin_token_file: PathBuf,
}

impl Up {
    /// Starts it on a directory and waits until it is ready.
    pub(crate) fn start(data_dir: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(executable()?);
        command.args(["up", "--json", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let begun = Instant::now();
        let mut process = command.spawn().context("cynode cannot be started")?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let ready_after = begun.elapsed();
        let Ok(announced) = serde_json::from_str::<Announced>(&line) else {
            let ended = process.wait()?;
            bail!("`cynode up` ended with {ended} before it was ready");
        };
        let Announced { url, admin_token_file } = announced;
        Ok(Self { process, ready_after, url, admin_token_file })
    }

    /// A client with the administrator's token.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::new(&self.url, secret_file::read(&self.admin_token_file)?)?)
    }

    /// Stops it; how long that took.
    pub(crate) fn stop(mut self) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.ask_to_end();
        self.process.wait()?;
        Ok(begun.elapsed())
    }

    fn ask_to_end(&self) {
        if let Ok(pid) = i32::try_from(self.process.id()) {
            // It may have ended by itself; waiting shows that.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.ask_to_end();
            let _ = self.process.wait();
        }
    }
}

/// The `cynode` of the same build as this program.
fn executable() -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("cynode");
    if path.is_file() {
        Ok(path)
    } else {
        bail!("{} is missing: build it with `cargo build --release`", path.display())
    }
}
