//! Starts PID 1 of a sandbox.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use cynode_image::ImageUse;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use cynode_wire::jobs::Stream;
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Gid, Uid, chown};

use super::disk::DiskWatch;
use super::output::OutputCapture;
use super::supervise::{JobSupervisor, SupervisorParts};
use crate::job_dir::JobDir;
use crate::spec::{Isolation, JobSpec};
use crate::stage_entry;

/// Starts the sandbox of the job in `dir`.
pub(super) fn spawn_sandbox(dir: &JobDir) -> Result<JobSupervisor, String> {
    let spec = dir.spec().map_err(|error| error.to_string())?;
    let image = lock_image(dir)?;
    let signals = block_signals().map_err(with_context("signals cannot be blocked"))?;
    chown_directories(dir, &spec)
        .map_err(with_context("the workspace cannot be given to the job"))?;
    create_cgroup(&spec)?;
    unshare_pid_namespace(spec.isolation)?;
    dir.mark_started().map_err(with_context("the start marker cannot be written"))?;
    start_init(dir, &spec, signals, image)
        .map_err(with_context("the sandbox process cannot be started"))
}

fn with_context<E: Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
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

/// Gives the job ownership of its writable directories.
pub(super) fn chown_directories(dir: &JobDir, spec: &JobSpec) -> nix::Result<()> {
    if spec.isolation == Isolation::UserNamespace {
        return Ok(());
    }
    let uid = spec.isolation.uid(spec.assignment.task_id);
    for path in [&spec.workspace, &dir.artifacts_dir()] {
        chown(path, Some(Uid::from_raw(uid)), Some(Gid::from_raw(uid)))?;
    }
    Ok(())
}

/// Creates the job's cgroup, if the node has one for it; PID 1 enters it.
pub(super) fn create_cgroup(spec: &JobSpec) -> Result<(), String> {
    let Some(cgroup) = &spec.cgroup else { return Ok(()) };
    cgroup
        .create(&spec.assignment.limits)
        .map_err(with_context("the job's cgroup cannot be created"))
}

/// Puts later children of this process in a new PID namespace.
pub(super) fn unshare_pid_namespace(isolation: Isolation) -> Result<(), String> {
    let denied = with_context("this system does not allow process namespaces");
    match isolation {
        Isolation::OwnUser => unshare(CloneFlags::CLONE_NEWPID).map_err(denied),
        Isolation::UserNamespace => {
            let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
            unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID).map_err(denied)?;
            map_ids(uid, gid).map_err(with_context("this system does not allow user namespaces"))
        }
    }
}

fn map_ids(uid: Uid, gid: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Keeps the node from evicting the job's image while this process lives.
fn lock_image(dir: &JobDir) -> Result<Option<ImageUse>, String> {
    let image = dir.image().map_err(with_context("the job's image is unknown"))?;
    let locked = image.map(|image| ImageUse::lock(&image.path)).transpose();
    locked.map_err(with_context("the job's image was removed"))
}

fn start_init(
    dir: &JobDir,
    spec: &JobSpec,
    signals: SignalFd,
    image: Option<ImageUse>,
) -> io::Result<JobSupervisor> {
    let limits = spec.assignment.limits;
    // PID 1 reports through its standard input: a descriptor that a child can inherit without `unsafe`.
    let (reports, reporter) = UnixStream::pair()?;
    let mut init = Command::new(stage_entry::SELF_EXE)
        .arg0(stage_entry::PROCESS_NAME)
        .arg(stage_entry::INIT)
        .arg(dir.path())
        .inherit_only(&Allowlist::none())
        .stdin(OwnedFd::from(reporter))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let missing = || io::Error::other("a pipe is missing");
    let stdout = OwnedFd::from(init.stdout.take().ok_or_else(missing)?);
    let stderr = OwnedFd::from(init.stderr.take().ok_or_else(missing)?);
    let keep = |pipe, stream| OutputCapture::new(pipe, &dir.stream(stream), limits.output_bytes);
    Ok(JobSupervisor::new(SupervisorParts {
        dir: dir.clone(),
        limits,
        outputs: [keep(stdout, Stream::Stdout)?, keep(stderr, Stream::Stderr)?],
        disk: DiskWatch::new(spec.workspace.clone(), dir.artifacts_dir(), limits.disk_mib),
        reports,
        init,
        signals,
        cgroup: spec.cgroup.clone(),
        _image: image,
    }))
}
