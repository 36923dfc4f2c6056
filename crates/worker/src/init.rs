//! PID 1 of a sandbox: makes the namespaces, starts the command, and outlives no one.
//!
//! When this process ends, the kernel ends every other process of the sandbox with it; that is how
//! nothing a job starts can stay behind.

mod loopback;
mod memory;
mod reap;
mod root;

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use cynode_domain::job::Ending;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, sethostname};

use crate::entry;
use crate::job_dir::JobDir;
use crate::sandbox_process::SandboxProcess;
use crate::spec::{Confined, DECLARED, ExecPlan, Isolation, JobSpec, Report, argv};

/// Runs the sandbox of the job in `path`.
pub(crate) fn main(path: &Path) -> ExitCode {
    let Ok(reporter) = Reporter::of_stdin() else { return ExitCode::FAILURE };
    // The kernel's list of mounts knows only paths without links.
    let ending = path
        .canonicalize()
        .map_err(|error| error.to_string())
        .and_then(|path| run(&JobDir::at(&path), &reporter))
        .unwrap_or_else(|reason| Ending::NotStarted { reason });
    match reporter.send(&Report::Ended { ending }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run(dir: &JobDir, reporter: &Reporter) -> Result<Ending, String> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(because("the supervisor cannot be watched"))?;
    prctl::set_dumpable(false).map_err(because("PID 1 cannot be hidden"))?;
    SandboxProcess::current()
        .and_then(|process| dir.set_process(process))
        .map_err(because("the sandbox process cannot be written down"))?;
    let spec = dir.spec().map_err(|error| error.to_string())?;
    let reaper =
        reap::Reaper::new(spec.assignment.limits).map_err(because("signals cannot be blocked"))?;
    let has_network = spec.interactive.as_ref().is_some_and(|program| program.network);
    enter_namespaces(has_network)?;
    let plan = plan(&spec);
    root::build(dir, &spec).map_err(|error| format!("the filesystem cannot be built: {error}"))?;
    let (command, mut features) = start(&plan)?;
    let namespaces = NAMESPACES.iter().filter(|name| !has_network || **name != NETWORK);
    features.splice(0..0, namespaces.map(|name| (*name).to_owned()));
    if spec.isolation == Isolation::UserNamespace {
        features.insert(0, "user_namespace".to_owned());
    }
    reporter
        .send(&Report::Started { features })
        .map_err(because("the supervisor does not listen"))?;
    Ok(reaper.run(command, reporter.fd()))
}

const NETWORK: &str = "network_namespace";
const NAMESPACES: [&str; 5] =
    ["pid_namespace", "mount_namespace", NETWORK, "ipc_namespace", "uts_namespace"];

fn enter_namespaces(has_network: bool) -> Result<(), String> {
    let mut namespaces =
        CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    namespaces.set(CloneFlags::CLONE_NEWNET, !has_network);
    unshare(namespaces).map_err(because("this system does not allow namespaces"))?;
    sethostname("sandbox").map_err(because("the host name cannot be set"))?;
    if has_network {
        return Ok(());
    }
    loopback::up().map_err(because("the loopback interface cannot be set up"))
}

fn because<E: Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

fn plan(spec: &JobSpec) -> ExecPlan {
    let job = &spec.assignment;
    let mut env = vec![
        ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
        ("HOME", root::WORKSPACE.to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    if spec.interactive.is_none() {
        env.extend([
            ("CYNODE_TASK_ID", job.task_id.to_string()),
            ("CYNODE_JOB_ID", job.job_id.to_string()),
            ("CYNODE_WORKSPACE_DIR", root::WORKSPACE.to_owned()),
            ("CYNODE_ARTIFACTS_DIR", root::ARTIFACTS.to_owned()),
        ]);
    }
    let program = spec.interactive.as_ref();
    ExecPlan {
        argv: program.map_or_else(|| argv(&job.action).1, |program| program.argv.clone()),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        is_interactive: program.is_some(),
        limits: job.limits,
        uid: match spec.isolation {
            Isolation::OwnUser => Some(spec.isolation.uid(job.task_id)),
            Isolation::UserNamespace => None,
        },
    }
}

/// Starts the command, and returns once it is confined and runs.
fn start(plan: &ExecPlan) -> Result<(Pid, Vec<String>), String> {
    let plan = serde_json::to_string(plan).map_err(because("the plan cannot be written"))?;
    let (mut answer, answerer) = io::pipe().map_err(because("a pipe cannot be made"))?;
    let child = Command::new(entry::SELF)
        .arg0(entry::PROCESS_NAME)
        .arg(entry::EXEC)
        .arg(plan)
        .inherit_only(&Allowlist::none().names(&[DECLARED]))
        .current_dir(root::WORKSPACE)
        .stdin(OwnedFd::from(answerer))
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(because("the command's process cannot be started"))?;
    let mut text = String::new();
    answer.read_to_string(&mut text).map_err(because("the command's process is silent"))?;
    let pid = i32::try_from(child.id()).map_err(because("the process id is too large"))?;
    match text.lines().next_back().map(serde_json::from_str) {
        Some(Ok(Confined::Enforced(features))) => Ok((Pid::from_raw(pid), features)),
        Some(Ok(Confined::Failed(reason))) => Err(reason),
        Some(Err(_)) | None => Err("the command's process died before it was confined".to_owned()),
    }
}

/// The way to the supervisor: a pipe that came as standard input.
struct Reporter(File);

impl Reporter {
    fn of_stdin() -> io::Result<Self> {
        Ok(Self(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }

    fn send(&self, report: &Report) -> io::Result<()> {
        let mut line = serde_json::to_vec(report)?;
        line.push(b'\n');
        (&self.0).write_all(&line)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
