//! PID 1 of a sandbox: creates the namespaces, starts the command and reaps processes.
//!
//! When this process ends, the kernel kills every other process of the sandbox, so nothing that a job
//! starts can stay behind.

mod loopback;
mod memory;
mod reaper;
mod root;
mod socket_memory;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use cynode_domain::job::JobEnding;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, sethostname};

use crate::cgroup::Controller;
use crate::descriptor_passing::send_file;
use crate::job_dir::JobDir;
use crate::request::{BackendOptions, NamespaceOptions, SandboxNetwork, SandboxRequest};
use crate::sandbox_process::SandboxProcess;
use crate::spec::{ConfinementReport, DECLARED_ENV_VAR, ExecPlan, InitReport, ROOT_IS_BUILT};
use crate::stage_entry;

/// Runs the sandbox of the job in `path`.
pub(crate) fn main(path: &Path) -> ExitCode {
    let Ok(reporter) = InitReporter::from_stdin() else { return ExitCode::FAILURE };
    // The kernel's mount table contains canonical paths only.
    let ending = path
        .canonicalize()
        .map_err(|error| error.to_string())
        .and_then(|path| run_sandbox(&JobDir::open(&path), &reporter))
        .unwrap_or_else(|reason| JobEnding::NotStarted { reason });
    match reporter.send(&InitReport::Ended { ending }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_sandbox(dir: &JobDir, reporter: &InitReporter) -> Result<JobEnding, String> {
    prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(with_context("the supervisor cannot be watched"))?;
    prctl::set_dumpable(false).map_err(with_context("PID 1 cannot be hidden"))?;
    SandboxProcess::current()
        .and_then(|process| dir.set_process(process))
        .map_err(with_context("the sandbox process cannot be recorded"))?;
    let request = dir.request().map_err(with_context("the request cannot be read"))?;
    let BackendOptions::Namespaces(options) = &request.backend;
    if let Some(cgroup) = &options.cgroup {
        cgroup.enter().map_err(with_context("the job's cgroup cannot be entered"))?;
        // The job sees its cgroup as the root, and not the paths of the host.
        unshare(CloneFlags::CLONE_NEWCGROUP)
            .map_err(with_context("this system does not allow cgroup namespaces"))?;
    }
    let mut reaper = reaper::Reaper::new(request.limits, options)
        .map_err(with_context("signals cannot be blocked"))?;
    enter_namespaces()?;
    reaper.count_sockets();
    if let SandboxNetwork::Egress { port } = request.network {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        listener
            .and_then(|listener| reporter.send_listener(&listener))
            .map_err(with_context("the network cannot be set up"))?;
    }
    let plan = build_exec_plan(&request, options);
    umask(Mode::from_bits_truncate(0o022));
    // Started before the root is replaced: the program is the node's, and loads no library of an image.
    let command = CommandProcess::start(&plan)?;
    root::build_root(dir, &request, options)
        .map_err(|error| format!("the filesystem cannot be built: {error}"))?;
    let (command, mut features) = command.confine()?;
    features.splice(0..0, NAMESPACES.map(str::to_owned));
    if options.uid.is_none() {
        features.insert(0, "user_namespace".to_owned());
    }
    if let Some(cgroup) = &options.cgroup {
        features
            .extend(["cgroup_namespace"].into_iter().chain(cgroup.features()).map(str::to_owned));
    }
    reporter
        .send(&InitReport::Started { features })
        .map_err(with_context("the supervisor cannot be reached"))?;
    Ok(reaper.run(command, reporter.fd()))
}

const NAMESPACES: [&str; 5] =
    ["pid_namespace", "mount_namespace", "network_namespace", "ipc_namespace", "uts_namespace"];

fn enter_namespaces() -> Result<(), String> {
    let namespaces = CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    unshare(namespaces).map_err(with_context("this system does not allow namespaces"))?;
    sethostname("sandbox").map_err(with_context("the host name cannot be set"))?;
    loopback::bring_up_loopback().map_err(with_context("the loopback interface cannot be set up"))
}

fn with_context<E: Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

fn build_exec_plan(request: &SandboxRequest, options: &NamespaceOptions) -> ExecPlan {
    let mut limits = request.limits;
    if options.limits_by_cgroup(Controller::Pids) {
        // The limit of the user would count other jobs of the task too.
        limits.processes = u32::MAX;
    }
    ExecPlan {
        argv: request.argv.clone(),
        env: request.env.clone(),
        is_interactive: request.is_interactive(),
        limits,
        uid: options.uid,
    }
}

/// The process that becomes the command. It waits until the root of the job is built.
struct CommandProcess {
    pid: Pid,
    /// Closed when the process has executed the command.
    reports: UnixStream,
}

impl CommandProcess {
    /// Returns once the process has loaded its program, so that none of it comes from the root that is built next.
    fn start(plan: &ExecPlan) -> Result<Self, String> {
        let plan =
            serde_json::to_string(plan).map_err(with_context("the plan cannot be written"))?;
        let (mut reports, reporter) =
            UnixStream::pair().map_err(with_context("a socket cannot be made"))?;
        let child = Command::new(stage_entry::SELF_EXE)
            .arg0(stage_entry::PROCESS_NAME)
            .arg(stage_entry::EXEC)
            .arg(plan)
            .inherit_only(&Allowlist::none().names(&[DECLARED_ENV_VAR]))
            // The kernel moves a process with this directory along when the root is replaced.
            .current_dir("/")
            .stdin(OwnedFd::from(reporter))
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(with_context("the command's process cannot be started"))?;
        let pid = i32::try_from(child.id()).map_err(with_context("the process id is too large"))?;
        let mut message = [0];
        reports
            .read_exact(&mut message)
            .map_err(with_context("the command's process died before it was ready"))?;
        Ok(Self { pid: Pid::from_raw(pid), reports })
    }

    /// Lets the process continue; returns once it is confined and runs the command.
    fn confine(mut self) -> Result<(Pid, Vec<String>), String> {
        self.reports
            .write_all(&[ROOT_IS_BUILT])
            .map_err(with_context("the command's process cannot be reached"))?;
        let mut text = String::new();
        self.reports
            .read_to_string(&mut text)
            .map_err(with_context("the command's process sent no report"))?;
        match text.lines().next_back().map(serde_json::from_str) {
            Some(Ok(ConfinementReport::Enforced(features))) => Ok((self.pid, features)),
            Some(Ok(ConfinementReport::Failed(reason))) => Err(reason),
            Some(Err(_)) | None => {
                Err("the command's process died before it was confined".to_owned())
            }
        }
    }
}

/// Pipe or socket to the supervisor, inherited as standard input.
struct InitReporter(File);

impl InitReporter {
    fn from_stdin() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }

    fn send(&self, report: &InitReport) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }

    /// Passes a listener of this network namespace to the supervisor.
    fn send_listener(&self, listener: &TcpListener) -> io::Result<()> {
        let mut line = serde_json::to_vec(&InitReport::EgressListening)?;
        line.push(b'\n');
        send_file(self.fd(), &line, listener.as_fd())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
