//! The backend of Linux namespaces: PID 1 of each sandbox is a stage of this program.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use cynode_domain::job::{JobEnding, Limits};
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, chown};

use crate::backend::{OutputStreams, SandboxBackend, SandboxEvent};
use crate::cgroup::JobCgroup;
use crate::descriptor_passing::receive;
use crate::job_dir::JobDir;
use crate::request::{BackendOptions, NamespaceOptions, SandboxRequest};
use crate::spec::{DECLARED_ENV_VAR, InitReport};
use crate::stage_entry;

/// A sandbox whose PID 1 is a child of this process.
pub(crate) struct NamespaceSandbox {
    init: Child,
    /// Reports of PID 1, one JSON line each; the listener of the sandbox may be attached.
    reports: UnixStream,
    /// Report bytes not yet parsed as lines.
    report_buffer: Vec<u8>,
    cgroup: Option<JobCgroup>,
    limits: Limits,
}

impl SandboxBackend for NamespaceSandbox {
    fn start(
        dir: &JobDir,
        request: &SandboxRequest,
        streams: OutputStreams,
    ) -> Result<Self, String> {
        let BackendOptions::Namespaces(options) = &request.backend;
        chown_directories(request, options)
            .map_err(with_context("the workspace cannot be given to the job"))?;
        if let Some(cgroup) = &options.cgroup {
            cgroup
                .create(&request.limits)
                .map_err(with_context("the job's cgroup cannot be created"))?;
        }
        unshare_pid_namespace(options)?;
        dir.mark_started().map_err(with_context("the start marker cannot be written"))?;
        let (init, reports) = start_init(dir, streams)
            .map_err(with_context("the sandbox process cannot be started"))?;
        let (cgroup, limits) = (options.cgroup.clone(), request.limits);
        Ok(Self { init, reports, report_buffer: vec![], cgroup, limits })
    }

    fn take_outputs(&mut self) -> io::Result<[OwnedFd; 2]> {
        let missing = || io::Error::other("a pipe is missing");
        let stdout = OwnedFd::from(self.init.stdout.take().ok_or_else(missing)?);
        let stderr = OwnedFd::from(self.init.stderr.take().ok_or_else(missing)?);
        Ok([stdout, stderr])
    }

    fn events_fd(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }

    fn read_events(&mut self) -> Vec<SandboxEvent> {
        let mut chunk = [0; 4096];
        let mut events = vec![];
        match receive(self.reports.as_fd(), &mut chunk) {
            Ok((0, _)) | Err(_) => events.push(SandboxEvent::Closed),
            Ok((count, listener)) => {
                self.report_buffer.extend_from_slice(&chunk[..count]);
                events.extend(listener.map(SandboxEvent::EgressListening));
            }
        }
        while let Some(end) = self.report_buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.report_buffer.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(InitReport::Started { features }) => {
                    events.push(SandboxEvent::Started { features });
                }
                Ok(InitReport::Ended { ending }) => events.push(SandboxEvent::Ended(ending)),
                Ok(InitReport::EgressListening) | Err(_) => {}
            }
        }
        events
    }

    /// Sends SIGTERM to PID 1, which forwards it to every process of the sandbox.
    fn terminate(&mut self) {
        if let Ok(pid) = i32::try_from(self.init.id()) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }

    /// Kills PID 1; the kernel kills every other process of the sandbox with it.
    fn kill(&mut self) {
        let _ = self.init.kill();
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    fn find_reached_limit(&self) -> Option<String> {
        self.cgroup.as_ref()?.find_exceeded_process_limit(&self.limits)
    }

    fn finish(mut self, ending: Option<JobEnding>) -> JobEnding {
        let status = self.init.wait();
        let by_kernel = self
            .cgroup
            .as_ref()
            .and_then(|cgroup| cgroup.find_ending(ending.as_ref(), &self.limits));
        by_kernel.or(ending).unwrap_or_else(|| JobEnding::Interrupted {
            reason: match status {
                Ok(status) => format!("the sandbox died: {status}"),
                Err(error) => format!("the sandbox was lost: {error}"),
            },
        })
    }
}

fn with_context<E: Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

/// Gives the job ownership of its writable directories.
fn chown_directories(request: &SandboxRequest, options: &NamespaceOptions) -> nix::Result<()> {
    let Some(uid) = options.uid else { return Ok(()) };
    let cache = request.cache.as_ref().and_then(|cache| cache.directory.as_ref());
    for path in [&request.workspace, &request.artifacts].into_iter().chain(cache) {
        chown(path, Some(Uid::from_raw(uid)), Some(Gid::from_raw(uid)))?;
    }
    Ok(())
}

/// Puts later children of this process in a new PID namespace.
fn unshare_pid_namespace(options: &NamespaceOptions) -> Result<(), String> {
    let denied = with_context("this system does not allow process namespaces");
    if options.uid.is_some() {
        return unshare(CloneFlags::CLONE_NEWPID).map_err(denied);
    }
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID).map_err(denied)?;
    map_ids(uid, gid).map_err(with_context("this system does not allow user namespaces"))
}

fn map_ids(uid: Uid, gid: Gid) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

fn start_init(dir: &JobDir, streams: OutputStreams) -> io::Result<(Child, UnixStream)> {
    let output = || match streams {
        OutputStreams::Captured => Stdio::piped(),
        OutputStreams::Inherited => Stdio::inherit(),
    };
    // PID 1 reports through its standard input: a descriptor that a child can inherit without `unsafe`.
    let (reports, reporter) = UnixStream::pair()?;
    let init = Command::new(stage_entry::SELF_EXE)
        .arg0(stage_entry::PROCESS_NAME)
        .arg(stage_entry::INIT)
        .arg(dir.path())
        // Only the supervisor of an interactive program has it.
        .inherit_only(&Allowlist::none().names(&[DECLARED_ENV_VAR]))
        .stdin(OwnedFd::from(reporter))
        .stdout(output())
        .stderr(output())
        .spawn()?;
    Ok((init, reports))
}
