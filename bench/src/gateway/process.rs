//! Processes under measurement, and what the kernel says they used.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

/// A process that ends with this value.
pub(super) struct Program {
    child: Child,
    /// What it said first.
    pub(super) said: String,
}

impl Program {
    /// Starts a program; `said` stays empty unless its output is read by [`Program::listen`].
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("{command:?} does not start"))?;
        Ok(Self { child, said: String::new() })
    }

    /// Starts a program and reads the first line of its output.
    fn listen(command: &mut Command) -> anyhow::Result<Self> {
        let mut program = Self::start(command.stdout(Stdio::piped()))?;
        let output = program.child.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut program.said)?;
        Ok(program)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing of it stays.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The fixture server, on a free port; it says its URL.
pub(super) fn fixture() -> anyhow::Result<Program> {
    let mut command = Command::new(beside_this("cynode-mcp-fixture")?);
    Program::listen(command.args(["--listen", "127.0.0.1:0"]))
}

/// A program of the same build as this one.
pub(super) fn beside_this(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.is_file() {
        bail!("{} is missing: run `cargo xtask bench gateway`", path.display());
    }
    Ok(path)
}

/// What a process used since it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) cpu: Duration,
    pub(super) rss_mib: f64,
}

impl Usage {
    pub(super) fn of(process: u32) -> anyhow::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("it has ended")?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let ticks = cpu_ticks(&stat).context("the kernel counts in another way")?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: u32 =
            kib.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        // A tick is a hundredth of a second on every Linux.
        Ok(Self { cpu: Duration::from_millis(ticks * 10), rss_mib: f64::from(kib) / 1024.0 })
    }
}

/// The ticks a process spent, for itself and in the kernel.
fn cpu_ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_behind_the_name_of_the_process() {
        let stat = "1 (a) b) S 0 1 1 0 -1 4194560 0 0 0 0 250 50 0 0 20 0 1 0";

        assert_eq!(cpu_ticks(stat), Some(300));
    }
}
