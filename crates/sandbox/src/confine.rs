//! The last stage before the command: this process drops its privileges and execs the command.
//!
//! The order matters: limits and ids while the process has the capabilities to set them, then the
//! capabilities, then `no_new_privs`, Landlock and the system call filter, which need none.

mod allowed_syscalls;
mod landlock_rules;
mod seccomp_filter;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use caps::CapSet;
use cynode_domain::job::Limits;
use cynode_runtime::child_env::{Allowlist, ChildEnv as _};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::SigSet;
use nix::unistd::{Gid, Uid, dup2_stdin, fchown, setgroups, setresgid, setresuid, setsid};

use crate::request::SANDBOX_WORKSPACE;
use crate::spec::{
    ConfinementReport, DECLARED_ENV_VAR, ExecPlan, ROOT_IS_BUILT, SANDBOX_STDIN, STAGE_IS_READY,
};

const OPEN_FILES: u64 = 4096;

/// Execs the command of `plan`; returns only on failure.
pub(crate) fn main(plan: &str) -> ExitCode {
    let Ok(mut init_channel) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
        return ExitCode::FAILURE;
    };
    let mut message = [0];
    let root = init_channel
        .write_all(&[STAGE_IS_READY])
        .and_then(|()| init_channel.read_exact(&mut message));
    // PID 1 ended, or could not build the root.
    if root.is_err() || message != [ROOT_IS_BUILT] {
        return ExitCode::FAILURE;
    }
    let Err(reason) = confine_and_exec(plan, &mut init_channel);
    // If the write fails, PID 1 still sees this process exit.
    let _ = write_report(&mut init_channel, &ConfinementReport::Failed(reason));
    ExitCode::FAILURE
}

fn confine_and_exec(
    plan: &str,
    init_channel: &mut File,
) -> Result<std::convert::Infallible, String> {
    let plan: ExecPlan =
        serde_json::from_str(plan).map_err(with_context("the plan is unreadable"))?;
    let features = confine(&plan)?;
    let [program, arguments @ ..] = plan.argv.as_slice() else {
        return Err("there is no command".to_owned());
    };
    let declared = if plan.is_interactive { read_declared_env()? } else { BTreeMap::new() };
    write_report(init_channel, &ConfinementReport::Enforced(features))
        .map_err(with_context("PID 1 cannot be reached"))?;
    // On success exec closes the report's descriptor, which signals PID 1.
    let error = Command::new(program)
        .args(arguments)
        .inherit_only(&Allowlist::none())
        .envs(plan.env)
        .envs(declared)
        .exec();
    Err(format!("{program} cannot be started: {error}"))
}

fn read_declared_env() -> Result<BTreeMap<String, String>, String> {
    let declared = std::env::var_os(DECLARED_ENV_VAR).unwrap_or_default();
    serde_json::from_slice(declared.as_bytes())
        .map_err(with_context("the declared environment variables are unreadable"))
}

fn write_report(init_channel: &mut File, message: &ConfinementReport) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    init_channel.write_all(&line)
}

fn confine(plan: &ExecPlan) -> Result<Vec<String>, String> {
    std::env::set_current_dir(SANDBOX_WORKSPACE)
        .map_err(with_context("the workspace cannot be entered"))?;
    let input = if plan.is_interactive { SANDBOX_STDIN } else { "/dev/null" };
    let input = File::open(input).map_err(with_context("standard input cannot be opened"))?;
    dup2_stdin(input).map_err(with_context("standard input cannot be replaced"))?;
    setsid().map_err(with_context("cannot start a session (setsid)"))?;
    // The OOM killer should prefer job processes.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    set_rlimits(&plan.limits).map_err(with_context("the limits cannot be set"))?;
    drop_privileges(plan.uid)?;
    let mut features = vec!["rlimits", "no_capabilities", "no_new_privs"];
    if plan.uid.is_some() {
        features.push("own_user");
    }
    if landlock_rules::restrict_files().map_err(with_context("Landlock failed"))? {
        features.push("landlock");
    }
    if seccomp_filter::restrict_syscalls().map_err(with_context("the system call filter failed"))? {
        features.push("seccomp");
    }
    SigSet::empty().thread_set_mask().map_err(with_context("signals cannot be unblocked"))?;
    Ok(features.into_iter().map(str::to_owned).collect())
}

fn with_context<E: Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

fn set_rlimits(limits: &Limits) -> nix::Result<()> {
    let set = |resource, value| setrlimit(resource, value, value);
    set(Resource::RLIMIT_CORE, 0)?;
    set(Resource::RLIMIT_NOFILE, OPEN_FILES.min(hard_limit(Resource::RLIMIT_NOFILE)))?;
    set(Resource::RLIMIT_FSIZE, u64::from(limits.disk_mib) << 20)?;
    let processes = u64::from(limits.processes).min(hard_limit(Resource::RLIMIT_NPROC));
    set(Resource::RLIMIT_NPROC, processes)
}

/// An unprivileged process cannot exceed this.
fn hard_limit(resource: Resource) -> u64 {
    nix::sys::resource::getrlimit(resource).map_or(u64::MAX, |(_, hard)| hard)
}

/// Drops all capabilities irrevocably and switches to the job's own user.
fn drop_privileges(uid: Option<u32>) -> Result<(), String> {
    let failed = with_context("capabilities cannot be dropped");
    caps::clear(None, CapSet::Ambient)
        .and_then(|()| caps::clear(None, CapSet::Bounding))
        .map_err(failed)?;
    if let Some(uid) = uid {
        become_user(uid).map_err(with_context("cannot switch to the job's user"))?;
    }
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set).map_err(with_context("capabilities cannot be dropped"))?;
    }
    prctl::set_no_new_privs().map_err(with_context("no_new_privs cannot be set"))
}

fn become_user(uid: u32) -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    // Lets the command open /dev/stdout and /dev/stderr, which are these pipes.
    fchown(io::stdout(), Some(user), Some(group))?;
    fchown(io::stderr(), Some(user), Some(group))?;
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}
