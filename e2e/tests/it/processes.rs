//! Processes of this machine, seen through `/proc`.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const POLL: Duration = Duration::from_millis(10);

/// Waits for something that another process does.
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
pub(crate) fn send(pid: i32, signal: Signal) {
    // It may have ended by itself just now.
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Whether a process lives; one that only waits to be reaped does not.
pub(crate) fn lives(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The processes whose command line satisfies `is_wanted`.
pub(crate) fn with_arguments(is_wanted: impl Fn(&[&str]) -> bool) -> Vec<i32> {
    let of_one = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let arguments: Vec<&str> = line.split('\0').collect();
        is_wanted(&arguments).then_some(pid)
    };
    all().into_iter().filter_map(of_one).collect()
}

/// The processes that mention `directory` on their command line or in their environment.
pub(crate) fn mentioning(directory: &Path) -> Vec<i32> {
    let wanted = directory.to_str().unwrap().as_bytes();
    let mentions = |pid: &i32| {
        ["cmdline", "environ"].iter().any(|file| {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            text.windows(wanted.len()).any(|part| part == wanted)
        })
    };
    all().into_iter().filter(mentions).collect()
}

/// The process that started a process.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the state and the parent come behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The processes that a process started, directly or through others.
pub(crate) fn descendants(ancestor: i32) -> Vec<i32> {
    let descends = |pid: &i32| {
        let line = std::iter::successors(parent(*pid), |pid| parent(*pid));
        line.take_while(|pid| *pid > 0).any(|pid| pid == ancestor)
    };
    all().into_iter().filter(descends).collect()
}

/// The environment of a process, as text; nothing of one that has ended or that may not be read.
pub(crate) fn environment(pid: i32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits, blocking, until nobody mentions `directory`; who still does.
pub(crate) fn left_after(directory: &Path, within: Duration) -> Vec<i32> {
    let begun = Instant::now();
    loop {
        let left = mentioning(directory);
        if left.is_empty() || begun.elapsed() > within {
            return left;
        }
        std::thread::sleep(POLL);
    }
}

fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
