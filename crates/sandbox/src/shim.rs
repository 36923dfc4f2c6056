//! The supervisor of one job: starts its sandbox, enforces its limits and persists its outcome.
//!
//! It runs in its own session and holds the job's lock (its standard input) until it exits, so it
//! survives the node. It never has a second thread: the sandbox is created with `unshare`, which a
//! multi-threaded process may not call.

pub(crate) mod disk;
mod output;
pub(crate) mod program_shim;
mod supervise;
mod sync;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use chrono::{DateTime, Utc};
use cynode_domain::job::JobEnding;
use cynode_image::ImageUse;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::jobs::Truncated;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::{Mode, umask};

use crate::backend::{OutputStreams, SandboxBackend};
use crate::cache::CacheSlot;
use crate::job_dir::JobDir;
use crate::namespaces::NamespaceSandbox;
use crate::request::{BackendOptions, NamespaceOptions, RootFilesystem, SandboxRequest};
use crate::spec::SandboxJobOutcome;
use supervise::JobSupervisor;

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
    let outcome = match dir.request() {
        Ok(request) => run_and_sync(&dir, request, &begun),
        Err(error) => {
            let reason = format!("the request cannot be read: {error}");
            outcome_since(SystemClock.now(), not_started(reason))
        }
    };
    match dir.set_outcome(&outcome) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_and_sync(
    dir: &JobDir,
    mut request: SandboxRequest,
    begun: &sync::JobStartTime,
) -> SandboxJobOutcome {
    let started_at = SystemClock.now();
    let cache = acquire_cache(dir, &mut request);
    let supervised = cache.and_then(|_slot| match &request.backend {
        BackendOptions::Namespaces(_) => run_job::<NamespaceSandbox>(dir, &request),
    });
    let mut outcome = outcome_since(started_at, supervised.unwrap_or_else(not_started));
    dir.remove_cgroup();
    // The outcome is written afterwards, because the next step relies on both.
    if dir.is_started()
        && let Err(error) = sync::sync_job_files(dir, &request, begun)
    {
        let reason = format!("its files could not be synced to disk: {error}");
        outcome.ending = JobEnding::Interrupted { reason };
    }
    outcome
}

fn run_job<B: SandboxBackend>(
    dir: &JobDir,
    request: &SandboxRequest,
) -> Result<SupervisedOutcome, String> {
    let _image = lock_image(&request.root)?;
    let signals = block_signals().map_err(|error| format!("signals cannot be blocked: {error}"))?;
    let sandbox = B::start(dir, request, OutputStreams::Captured)?;
    let supervisor = JobSupervisor::new(dir, request, sandbox, signals)
        .map_err(|error| format!("the output cannot be stored: {error}"))?;
    Ok(supervisor.run())
}

/// Takes a cache for the job and records it in the request, for PID 1. A job that finds all of them in use has one of its own, which is
/// removed with its directory.
fn acquire_cache(dir: &JobDir, request: &mut SandboxRequest) -> Result<Option<CacheSlot>, String> {
    let BackendOptions::Namespaces(NamespaceOptions { uid, .. }) = &request.backend;
    let Some(cache) = &mut request.cache else { return Ok(None) };
    let with_context = |error: io::Error| format!("the cache cannot be used: {error}");
    let slot = CacheSlot::acquire(cache, dir, *uid).map_err(with_context)?;
    let path = match &slot {
        Some(slot) => slot.data(),
        None => dir.create_own_cache().map_err(with_context)?,
    };
    cache.directory = Some(path);
    dir.set_request(request).map_err(with_context)?;
    Ok(slot)
}

/// Keeps the node from evicting the job's image while this process lives.
fn lock_image(root: &RootFilesystem) -> Result<Option<ImageUse>, String> {
    match root {
        RootFilesystem::Host { .. } => Ok(None),
        RootFilesystem::Image { path } => ImageUse::lock(path)
            .map(Some)
            .map_err(|error| format!("the job's image was removed: {error}")),
    }
}

/// Routes the supervisor's signals to a file descriptor, so that one `poll` covers all events.
fn block_signals() -> nix::Result<SignalFd> {
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTERM);
    mask.add(Signal::SIGINT);
    mask.add(Signal::SIGHUP);
    mask.thread_block()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// The supervisor's part of the outcome.
struct SupervisedOutcome {
    ending: JobEnding,
    truncated: Truncated,
    features: Vec<String>,
}

fn not_started(reason: String) -> SupervisedOutcome {
    SupervisedOutcome {
        ending: JobEnding::NotStarted { reason },
        truncated: Truncated::default(),
        features: vec![],
    }
}

fn outcome_since(started_at: DateTime<Utc>, seen: SupervisedOutcome) -> SandboxJobOutcome {
    SandboxJobOutcome {
        ending: seen.ending,
        truncated: seen.truncated,
        started_at,
        ended_at: SystemClock.now(),
        features: seen.features,
    }
}
