//! The last stage before the command: this process gives up its powers and becomes the command.
//!
//! The order matters: limits and ids while there is the power to set them, then capabilities, then
//! `no_new_privs`, Landlock and the system call filter, which need none.

mod files;
mod syscalls;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
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

use crate::spec::{Confined, DECLARED, ExecPlan, STDIN};

const OPEN_FILES: u64 = 4096;

/// Becomes the command of `plan`; returns only if that is impossible.
pub(crate) fn main(plan: &str) -> ExitCode {
    let Ok(mut answer) = io::stdin().as_fd().try_clone_to_owned().map(File::from) else {
        return ExitCode::FAILURE;
    };
    let Err(reason) = run(plan, &mut answer);
    // Whoever does not hear this sees the end of this process all the same.
    let _ = say(&mut answer, &Confined::Failed(reason));
    ExitCode::FAILURE
}

fn run(plan: &str, answer: &mut File) -> Result<std::convert::Infallible, String> {
    let plan: ExecPlan = serde_json::from_str(plan).map_err(because("the plan is unreadable"))?;
    let features = confine(&plan)?;
    let [program, arguments @ ..] = plan.argv.as_slice() else {
        return Err("there is no command".to_owned());
    };
    let declared = if plan.is_interactive { declared()? } else { BTreeMap::new() };
    say(answer, &Confined::Enforced(features)).map_err(because("PID 1 does not listen"))?;
    // The answer's descriptor closes when this succeeds, which tells PID 1 that it did.
    let error = Command::new(program)
        .args(arguments)
        .inherit_only(&Allowlist::none())
        .envs(plan.env)
        .envs(declared)
        .exec();
    Err(format!("{program} cannot be started: {error}"))
}

/// The variables that were declared for the program.
fn declared() -> Result<BTreeMap<String, String>, String> {
    let declared = std::env::var_os(DECLARED).unwrap_or_default();
    serde_json::from_slice(declared.as_bytes()).map_err(because("the variables are unreadable"))
}

fn say(answer: &mut File, message: &Confined) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    answer.write_all(&line)
}

fn confine(plan: &ExecPlan) -> Result<Vec<String>, String> {
    let input = if plan.is_interactive { STDIN } else { "/dev/null" };
    let input = File::open(input).map_err(because("standard input cannot be opened"))?;
    dup2_stdin(input).map_err(because("standard input cannot be closed"))?;
    setsid().map_err(because("a session cannot be made"))?;
    // Of all processes of the machine, a job's is to go first when memory runs out.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    limit(&plan.limits).map_err(because("the limits cannot be set"))?;
    drop_powers(plan.uid)?;
    let mut features = vec!["rlimits", "no_capabilities", "no_new_privs"];
    if plan.uid.is_some() {
        features.push("own_user");
    }
    if files::restrict().map_err(because("Landlock failed"))? {
        features.push("landlock");
    }
    if syscalls::restrict().map_err(because("the system call filter failed"))? {
        features.push("seccomp");
    }
    SigSet::empty().thread_set_mask().map_err(because("signals cannot be unblocked"))?;
    Ok(features.into_iter().map(str::to_owned).collect())
}

fn because<E: Display>(what: &'static str) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

fn limit(limits: &Limits) -> nix::Result<()> {
    let set = |resource, value| setrlimit(resource, value, value);
    set(Resource::RLIMIT_CORE, 0)?;
    set(Resource::RLIMIT_NOFILE, OPEN_FILES.min(hard_limit(Resource::RLIMIT_NOFILE)))?;
    set(Resource::RLIMIT_FSIZE, u64::from(limits.disk_mib) << 20)?;
    let processes = u64::from(limits.processes).min(hard_limit(Resource::RLIMIT_NPROC));
    set(Resource::RLIMIT_NPROC, processes)
}

/// Nobody may go above this without the power to.
fn hard_limit(resource: Resource) -> u64 {
    nix::sys::resource::getrlimit(resource).map_or(u64::MAX, |(_, hard)| hard)
}

/// Without capabilities, without a way to get them back, and not as the host's root.
fn drop_powers(uid: Option<u32>) -> Result<(), String> {
    let failed = because("capabilities cannot be dropped");
    caps::clear(None, CapSet::Ambient)
        .and_then(|()| caps::clear(None, CapSet::Bounding))
        .map_err(failed)?;
    if let Some(uid) = uid {
        become_user(uid).map_err(because("the job's own user cannot be taken"))?;
    }
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::clear(None, set).map_err(because("capabilities cannot be dropped"))?;
    }
    prctl::set_no_new_privs().map_err(because("no_new_privs cannot be set"))
}

fn become_user(uid: u32) -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    // So that the command can open /dev/stdout and /dev/stderr, which are these pipes.
    fchown(io::stdout(), Some(user), Some(group))?;
    fchown(io::stderr(), Some(user), Some(group))?;
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)
}
