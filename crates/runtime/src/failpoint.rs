//! Failpoints: places where a test makes a process abort or wait. Disabled in release builds.
//!
//! A test arms a failpoint with a file in the directory that [`DIRECTORY_VAR`] names. The first process
//! that reaches it renames the file, so that a failpoint fires once, even across restarts.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, process, thread};

use crate::env;

/// The environment variable with the directory of armed failpoints.
pub const DIRECTORY_VAR: &str = "CYNODE_FAILPOINTS";
/// File content that makes the process wait until the file is removed; any other content makes it
/// abort.
pub const WAIT: &str = "wait";
/// Extension of the file once a process has reached the failpoint.
pub const HIT: &str = "hit";

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Aborts or waits if the file `<point>@<subject>` exists. Waiting blocks the thread, as if the
/// process were stopped.
#[inline]
pub fn hit(point: &str, subject: &str) {
    if cfg!(debug_assertions)
        && let Some(directory) = directory()
    {
        fire(&directory.join(format!("{point}@{subject}")));
    }
}

fn directory() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| env::var(DIRECTORY_VAR).map(PathBuf::from)).as_deref()
}

fn fire(armed: &Path) {
    let taken = armed.with_added_extension(HIT);
    // Read before the rename: afterwards the test may remove it at any time.
    let wish = fs::read(armed);
    if fs::rename(armed, &taken).is_err() {
        return;
    }
    if wish.is_ok_and(|wish| wish == WAIT.as_bytes()) {
        while taken.exists() {
            thread::sleep(POLL_INTERVAL);
        }
        return;
    }
    tracing::error!(failpoint = %taken.display(), "failpoint hit, aborting");
    process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_is_not_armed_lets_everybody_pass() {
        let directory = tempfile::tempdir().unwrap();

        fire(&directory.path().join("saved@plan_steps"));

        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn who_comes_to_a_waiting_point_goes_on_when_its_file_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let armed = directory.path().join("saved@plan_steps");
        fs::write(&armed, WAIT).unwrap();

        thread::scope(|scope| {
            let passing = scope.spawn(|| fire(&armed));
            let taken = armed.with_added_extension(HIT);
            while !taken.exists() {
                thread::yield_now();
            }
            assert!(!passing.is_finished());
            fs::remove_file(taken).unwrap();
        });

        // The failpoint has fired and does not wait again.
        fire(&armed);
    }
}
