//! Processes of this machine, read from `/proc`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const POLL: Duration = Duration::from_millis(10);

/// Polls for an effect of another process.
pub(crate) async fn eventually<T>(
    what: &str,
    within: Duration,
    mut look: impl FnMut() -> Option<T>,
) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < within, "{what} did not happen within {within:?}");
        tokio::time::sleep(POLL).await;
    }
}

/// Sends a signal to a process that a test started.
pub(crate) fn send_signal(pid: i32, signal: Signal) {
    // It may have exited just now.
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Whether a process is alive; a zombie is not.
pub(crate) fn is_alive(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The processes whose command line satisfies `is_wanted`.
pub(crate) fn find_by_arguments(is_wanted: impl Fn(&[&str]) -> bool) -> Vec<i32> {
    let of_one = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let arguments: Vec<&str> = line.split('\0').collect();
        is_wanted(&arguments).then_some(pid)
    };
    list_processes().into_iter().filter_map(of_one).collect()
}

/// The processes that mention `directory` on their command line or in their environment.
pub(crate) fn find_mentioning(directory: &Path) -> Vec<i32> {
    let needle = directory.to_str().unwrap().as_bytes();
    let mentions = |pid: &i32| {
        ["cmdline", "environ"].iter().any(|file| {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            text.windows(needle.len()).any(|part| part == needle)
        })
    };
    list_processes().into_iter().filter(mentions).collect()
}

/// The mounts of any process, this one included, whose description mentions `text`; each with the id of the process.
pub(crate) fn find_with_mounts_of(text: &str) -> Vec<String> {
    let of_one = |pid: i32| {
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
        let lines = mounts.lines().filter(|line| line.contains(text));
        lines.map(|line| format!("{pid}: {line}")).collect::<Vec<_>>()
    };
    list_processes().into_iter().flat_map(of_one).collect()
}

/// The parent of a process.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain any character; the state and the parent follow it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The descendants of a process.
pub(crate) fn find_descendants(ancestor: i32) -> Vec<i32> {
    let descends = |pid: &i32| {
        let line = std::iter::successors(parent(*pid), |pid| parent(*pid));
        line.take_while(|pid| *pid > 0).any(|pid| pid == ancestor)
    };
    list_processes().into_iter().filter(descends).collect()
}

/// The environment of a process, as text; `None` if it has exited or is not readable.
pub(crate) fn environment(pid: i32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Blocks until no process mentions `directory`; returns the processes that still do.
pub(crate) fn wait_until_none_left(directory: &Path, within: Duration) -> Vec<i32> {
    let begun = Instant::now();
    loop {
        let left = find_mentioning(directory);
        if left.is_empty() || begun.elapsed() > within {
            return left;
        }
        std::thread::sleep(POLL);
    }
}

fn list_processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
