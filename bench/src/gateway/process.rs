//! Measured processes, and their resource usage from `/proc`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A child process, killed on drop.
pub(crate) struct BenchProcess {
    child: Child,
    /// The first line of its output.
    pub(crate) output: String,
}

impl BenchProcess {
    /// Starts a program; `said` is empty unless [`BenchProcess::start_and_read_line`] reads its output.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("{command:?} does not start"))?;
        Ok(Self { child, output: String::new() })
    }

    /// Starts a program and reads the first line of its output.
    fn start_and_read_line(command: &mut Command) -> anyhow::Result<Self> {
        let mut program = Self::start(command.stdout(Stdio::piped()))?;
        let output = program.child.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut program.output)?;
        Ok(program)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for BenchProcess {
    fn drop(&mut self) {
        // It may have exited already; no process of it may be left.
        let workers = find_descendants(self.child.id()).unwrap_or_default();
        let _ = self.child.kill();
        let _ = self.child.wait();
        for worker in workers.into_iter().filter_map(|id| i32::try_from(id).ok()) {
            let _ = kill(Pid::from_raw(worker), Signal::SIGKILL);
        }
    }
}

/// The fixture server, on a free port; it prints its URL.
pub(crate) fn start_fixture() -> anyhow::Result<BenchProcess> {
    let mut command = Command::new(find_binary("cynode-mcp-fixture")?);
    BenchProcess::start_and_read_line(command.args(["--listen", "127.0.0.1:0"]))
}

/// Path of a program of the same build.
pub(crate) fn find_binary(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.is_file() {
        bail!("{} is missing: run `cargo xtask bench gateway`", path.display());
    }
    Ok(path)
}

/// Resource usage of a process and its descendants since their start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessTreeUsage {
    pub(crate) cpu: Duration,
    pub(crate) rss_mib: f64,
}

impl ProcessTreeUsage {
    pub(crate) fn measure_tree(process: u32) -> anyhow::Result<Self> {
        let mut all = Self::measure_process(process)?;
        for child in find_descendants(process)? {
            // Processes that exited meanwhile are ignored.
            let Ok(used) = Self::measure_process(child) else { continue };
            all.cpu += used.cpu;
            all.rss_mib += used.rss_mib;
        }
        Ok(all)
    }

    fn measure_process(process: u32) -> anyhow::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("it has ended")?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let ticks = parse_cpu_ticks(&stat).context("the kernel counts in another way")?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: u32 =
            kib.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        // A tick is a hundredth of a second on every Linux.
        Ok(Self { cpu: Duration::from_millis(ticks * 10), rss_mib: f64::from(kib) / 1024.0 })
    }
}

/// All descendants of `process`.
fn find_descendants(process: u32) -> std::io::Result<Vec<u32>> {
    let mut parents = vec![];
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        parents.extend(parse_parent(&stat).map(|parent| (id, parent)));
    }
    let mut found = vec![process];
    let mut seen = 0;
    while let Some(&one) = found.get(seen) {
        let children = parents.iter().filter(|(_, parent)| *parent == one);
        found.extend(children.map(|(id, _)| *id));
        seen += 1;
    }
    Ok(found.split_off(1))
}

fn parse_parent(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(1)?.parse().ok()
}

/// User and system time of a process, in ticks.
fn parse_cpu_ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may contain any character.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn cpu_time_is_read_behind_the_name_of_the_process() {
        let stat = "1 (a) b) S 0 1 1 0 -1 4194560 0 0 0 0 250 50 0 0 20 0 1 0";

        assert_eq!(parse_cpu_ticks(stat), Some(300));
        assert_eq!(parse_parent(stat), Some(0));
    }

    #[test]
    fn what_a_measured_process_started_is_counted_and_ends_with_it() {
        let (mut until_all_ended, held_by_both) = std::io::pipe().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo $!; wait"]).stderr(held_by_both);
        let shell = BenchProcess::start_and_read_line(&mut command).unwrap();
        // The command has the write end as well.
        drop(command);
        let sleeper: u32 = shell.output.trim().parse().unwrap();

        assert_eq!(find_descendants(shell.id()).unwrap(), [sleeper]);
        let both = ProcessTreeUsage::measure_tree(shell.id()).unwrap();
        assert!(both.rss_mib > ProcessTreeUsage::measure_process(sleeper).unwrap().rss_mib);

        drop(shell);
        assert_eq!(until_all_ended.read(&mut [0]).unwrap(), 0);
    }
}
