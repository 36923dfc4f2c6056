//! Processes that a program leaves behind.
//!
//! A process that starts a session of its own is not in the process group of its program. This process adopts such
//! orphans, so they are found below it.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::Instant;

/// Pause between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The most processes that are named.
const MAX_NAMES: usize = 5;

/// Makes this process the parent of orphans below it.
pub(super) fn adopt_orphans() {
    if let Err(error) = prctl::set_child_subreaper(true) {
        tracing::warn!(%error, "orphans are not adopted");
    }
}

/// Waits until no process is left below this one, and kills those that are. Returns the names of the killed ones.
pub(super) async fn end_remaining(patience: Duration) -> Vec<String> {
    let deadline = Instant::now() + patience;
    loop {
        let remaining = list_descendants();
        if remaining.is_empty() {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            for process in &remaining {
                // It may have ended meanwhile.
                let _ = kill(process.pid, Signal::SIGKILL);
            }
            return remaining.into_iter().take(MAX_NAMES).map(|process| process.name).collect();
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessEntry {
    pid: Pid,
    parent: i32,
    name: String,
    has_ended: bool,
}

/// The running processes below this one.
fn list_descendants() -> Vec<ProcessEntry> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse::<i32>().ok());
    let stats = pids.filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    let all: HashMap<i32, ProcessEntry> = stats
        .filter_map(|stat| read_stat(&stat))
        .map(|entry| (entry.pid.as_raw(), entry))
        .collect();
    let own = Pid::this().as_raw();
    let is_below = |entry: &ProcessEntry| {
        let mut parent = entry.parent;
        // A bound, because the table changes while it is read.
        for _ in 0..all.len() {
            match all.get(&parent) {
                _ if parent == own => return true,
                Some(above) => parent = above.parent,
                None => return false,
            }
        }
        false
    };
    all.values().filter(|entry| !entry.has_ended && is_below(entry)).cloned().collect()
}

/// Reads `pid (name) state parent …`; a name may contain anything.
fn read_stat(stat: &str) -> Option<ProcessEntry> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    Some(ProcessEntry {
        pid: Pid::from_raw(pid.parse().ok()?),
        parent,
        name: name.to_owned(),
        has_ended,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let entry = read_stat("7 (a) S (b)) Z 3 1 1").unwrap();

        assert_eq!((entry.pid.as_raw(), entry.parent, entry.has_ended), (7, 3, true));
        assert_eq!(entry.name, "a) S (b)");
    }
}
