//! SIGKILL of a random process of `up`, or of `up` itself.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Deadline;
use crate::processes::{UpOptions, UpProcess};

/// Every so many kills, `up` itself is killed and started again.
const UP_EVERY: usize = 10;

/// Owns `up`, and kills it and its children.
pub(super) struct Killer {
    options: UpOptions,
    up: Option<UpProcess>,
    /// Kills so far.
    pub(super) kills: usize,
}

impl Killer {
    /// Starts `up`.
    pub(super) fn start(
        data: &Path,
        listen: SocketAddr,
        database_url: Option<&str>,
    ) -> anyhow::Result<Self> {
        let database_url = database_url.map(str::to_owned);
        let options = UpOptions {
            data_dir: data.to_owned(),
            listen: listen.to_string(),
            database_url,
            repository_path: None,
        };
        let up = Some(UpProcess::start_with(&options)?);
        Ok(Self { options, up, kills: 0 })
    }

    /// The running `up`.
    pub(super) fn up(&self) -> anyhow::Result<&UpProcess> {
        self.up.as_ref().context("`up` is not running")
    }

    /// Kills one process after the other, in turn, until the deadline.
    pub(super) async fn run(&mut self, every: Duration, deadline: &Deadline) -> anyhow::Result<()> {
        loop {
            deadline.pause(every).await;
            if deadline.is_over() {
                return Ok(());
            }
            self.kills += 1;
            if self.kills.is_multiple_of(UP_EVERY) {
                self.restart_up().await?;
            } else {
                kill_component(&self.options.data_dir, self.kills);
            }
        }
    }

    async fn restart_up(&mut self) -> anyhow::Result<()> {
        if let Some(up) = self.up.take() {
            up.kill()?;
        }
        let options = self.options.clone();
        let started = tokio::task::spawn_blocking(move || UpProcess::start_with(&options)).await?;
        self.up = Some(started.context("`up` does not start again after a kill")?);
        Ok(())
    }
}

/// Kills one component of `up`; there is none while it is being restarted.
fn kill_component(data: &Path, turn: usize) {
    let components = find_components(data);
    let Some(pid) = components.get(turn % components.len().max(1)) else { return };
    // It may have ended meanwhile.
    let _ = kill(*pid, Signal::SIGKILL);
}

/// The components of the `up` with this data directory, in the order of their command lines.
fn find_components(data: &Path) -> Vec<Pid> {
    let data = data.to_string_lossy().into_owned();
    let mut found: Vec<(String, Pid)> = processes()
        .filter(|(_, line)| line.contains("\0role\0") && line.contains(&data))
        .filter_map(|(path, line)| Some((line, pid_of(&path)?)))
        .collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.into_iter().map(|(_, pid)| pid).collect()
}

/// The directory in `/proc` and the command line of each process.
pub(super) fn processes() -> impl Iterator<Item = (PathBuf, String)> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let path = entry.path();
        let line = fs::read(path.join("cmdline")).ok()?;
        Some((path, String::from_utf8_lossy(&line).into_owned()))
    })
}

fn pid_of(path: &Path) -> Option<Pid> {
    path.file_name()?.to_str()?.parse().ok().map(Pid::from_raw)
}
