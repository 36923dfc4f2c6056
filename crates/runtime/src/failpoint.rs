//! Points at which a test lets a process die or wait. Release builds have none.
//!
//! A test arms a point with a file in the directory that [`DIRECTORY`] names. The first process
//! that comes by takes the file, so that a point acts once, whoever restarts the process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, process, thread};

use crate::env;

/// The environment variable with the directory of armed points.
pub const DIRECTORY: &str = "CYNODE_FAILPOINTS";
/// What the file of a point says at which a process waits until its file is removed. It dies at
/// every other.
pub const WAIT: &str = "wait";
/// What the name of a point's file ends with from the moment that a process has come by.
pub const HIT: &str = "hit";

const LOOK: Duration = Duration::from_millis(5);

/// Dies or waits here if the file `<point>@<subject>` is there. A waiting process lets nothing else
/// happen on this thread, as if it were stopped.
#[inline]
pub fn hit(point: &str, subject: &str) {
    if cfg!(debug_assertions)
        && let Some(directory) = directory()
    {
        act(&directory.join(format!("{point}@{subject}")));
    }
}

fn directory() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| env::var(DIRECTORY).map(PathBuf::from)).as_deref()
}

fn act(armed: &Path) {
    let taken = armed.with_added_extension(HIT);
    // Read before it is taken: from then on the test may remove it at any moment.
    let wish = fs::read(armed);
    if fs::rename(armed, &taken).is_err() {
        return;
    }
    if wish.is_ok_and(|wish| wish == WAIT.as_bytes()) {
        while taken.exists() {
            thread::sleep(LOOK);
        }
        return;
    }
    tracing::error!("this process dies at {}, as its test asked", taken.display());
    process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_is_not_armed_lets_everybody_pass() {
        let directory = tempfile::tempdir().unwrap();

        act(&directory.path().join("saved@plan_steps"));

        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn who_comes_to_a_waiting_point_goes_on_when_its_file_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let armed = directory.path().join("saved@plan_steps");
        fs::write(&armed, WAIT).unwrap();

        thread::scope(|scope| {
            let passing = scope.spawn(|| act(&armed));
            let taken = armed.with_added_extension(HIT);
            while !taken.exists() {
                thread::yield_now();
            }
            assert!(!passing.is_finished());
            fs::remove_file(taken).unwrap();
        });

        // The second one finds nothing to wait for.
        act(&armed);
    }
}
