//! The supervisor of one job: starts its sandbox, enforces its limits and persists its outcome.
//!
//! It runs in its own session and holds the job's lock (its standard input) until it exits, so it
//! survives the node. It never has a second thread: the sandbox is created with `unshare`, which a
//! multi-threaded process may not call.

mod disk;
mod output;
pub(crate) mod program_shim;
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
use crate::spec::SandboxJobOutcome;

/// Runs the job in `path` to its end. The outcome is written to the directory, not to the exit code.
pub(crate) fn main(path: &Path) -> ExitCode {
    let dir = JobDir::open(path);
    // Fails for a group leader, which is already separate from the node's group.
    let _ = nix::unistd::setsid();
    umask(Mode::from_bits_truncate(0o077));
    if dir.is_started() || dir.outcome().is_some() {
        return ExitCode::FAILURE;
    }
    let begun = sync::JobStartTime::now();
    let mut outcome = run_job(&dir, SystemClock.now());
    dir.remove_cgroup();
    if let Err(reason) = sync_files(&dir, &begun) {
        outcome.ending = Ending::Interrupted { reason };
    }
    match dir.set_outcome(&outcome) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Syncs the job's files. The outcome is written afterwards, because the next step relies on both.
fn sync_files(dir: &JobDir, begun: &sync::JobStartTime) -> Result<(), String> {
    if !dir.is_started() {
        return Ok(());
    }
    let spec = dir.spec().map_err(|error| error.to_string())?;
    sync::sync_job_files(dir, &spec, begun)
        .map_err(|error| format!("its files could not be synced to disk: {error}"))
}

fn run_job(dir: &JobDir, started_at: DateTime<Utc>) -> SandboxJobOutcome {
    let seen =
        spawn::spawn_sandbox(dir).map_or_else(not_started_outcome, supervise::JobSupervisor::run);
    SandboxJobOutcome {
        ending: seen.ending,
        truncated: seen.truncated,
        started_at,
        ended_at: SystemClock.now(),
        features: seen.features,
    }
}

/// The supervisor's part of the outcome.
struct SupervisedOutcome {
    ending: Ending,
    truncated: Truncated,
    features: Vec<String>,
}

fn not_started_outcome(reason: String) -> SupervisedOutcome {
    SupervisedOutcome {
        ending: Ending::NotStarted { reason },
        truncated: Truncated::default(),
        features: vec![],
    }
}
