//! The supervisor of one job: starts its sandbox, bounds it, and writes down how it ended.
//!
//! It lives in a session of its own and holds the job's lock (its standard input) until it ends, so
//! it neither needs the node nor dies with it. It never has a second thread: the sandbox is made by
//! `unshare`, which a process with threads may not call.

mod disk;
pub(crate) mod host;
mod output;
mod spawn;
mod supervise;
mod sync;

use std::path::Path;
use std::process::ExitCode;

use chrono::{DateTime, Utc};
use cynode_domain::job::Ending;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::jobs::Truncated;
use nix::sys::stat::{Mode, umask};

use crate::job_dir::JobDir;
use crate::spec::Outcome;

/// Runs the job in `path` to its end. The outcome is in the directory, not in the exit code.
pub(crate) fn main(path: &Path) -> ExitCode {
    let dir = JobDir::at(path);
    // A leader of a group cannot make a session; it is apart from the node's group already then.
    let _ = nix::unistd::setsid();
    umask(Mode::from_bits_truncate(0o077));
    if dir.is_started() || dir.outcome().is_some() {
        return ExitCode::FAILURE;
    }
    let begun = sync::Begun::now();
    let mut outcome = run(&dir, SystemClock.now());
    if let Err(reason) = sync_files(&dir, &begun) {
        outcome.ending = Ending::Interrupted { reason };
    }
    match dir.set_outcome(&outcome) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Makes the job's files durable. The outcome is written afterwards, because the next step relies on both.
fn sync_files(dir: &JobDir, begun: &sync::Begun) -> Result<(), String> {
    if !dir.is_started() {
        return Ok(());
    }
    let spec = dir.spec().map_err(|error| error.to_string())?;
    sync::files(dir, &spec, begun)
        .map_err(|error| format!("what it wrote could not be made durable: {error}"))
}

fn run(dir: &JobDir, started_at: DateTime<Utc>) -> Outcome {
    let seen = spawn::sandbox(dir).map_or_else(not_started, supervise::Supervisor::run);
    Outcome {
        ending: seen.ending,
        truncated: seen.truncated,
        started_at,
        ended_at: SystemClock.now(),
        features: seen.features,
    }
}

/// What the supervisor saw of a job.
struct Seen {
    ending: Ending,
    truncated: Truncated,
    features: Vec<String>,
}

fn not_started(reason: String) -> Seen {
    Seen {
        ending: Ending::NotStarted { reason },
        truncated: Truncated::default(),
        features: vec![],
    }
}
