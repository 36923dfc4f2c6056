//! One of the processes: a role run until it is asked to stop.

use std::io::{self, Write as _};
use std::process::ExitCode;

use cynode_runtime::config::Faults;
use cynode_runtime::env;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, getppid};

use crate::cli::Role;

/// The process id of the `up` that started this process and with which it wants to end.
pub(crate) const SUPERVISED: &str = "CYNODE_SUPERVISED";

/// How a role ends that cannot use its settings; also what `clap` ends with. Starting it again changes
/// nothing.
pub(crate) const BAD_SETTING: u8 = 2;

/// Runs a role; what went wrong is the last line on standard error.
pub(crate) fn start(role: Role) -> ExitCode {
    if matches!(role, Role::Orchestrator(_)) {
        // A data directory that existed before may be open to others; the database never is.
        umask(Mode::from_bits_truncate(0o077));
    }
    let ended = end_with_supervisor(&role).map_err(anyhow::Error::from).and_then(|()| {
        // It confines itself before its first thread starts, so it makes its own runtime.
        let role = match role {
            Role::Pma(cli) => return cynode_pma::start(*cli),
            role @ (Role::Orchestrator(_) | Role::Runner(_) | Role::Node(_)) => role,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(Box::pin(run(role)))
    });
    ended.unwrap_or_else(|error| {
        // With standard error gone there is nobody left to be told.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        if error.is::<Faults>() {
            return ExitCode::from(BAD_SETTING);
        }
        ExitCode::FAILURE
    })
}

async fn run(role: Role) -> anyhow::Result<ExitCode> {
    let shutdown = Shutdown::on_signals(&Tasks::new())?;
    match role {
        Role::Orchestrator(cli) => Box::pin(cynode_orchestrator::run(*cli, shutdown)).await,
        Role::Runner(cli) => Box::pin(cynode_runner::run(*cli, shutdown)).await,
        Role::Node(cli) => Box::pin(cynode_node::run(*cli, shutdown)).await,
        Role::Pma(_) => Ok(ExitCode::FAILURE),
    }
}

/// Asks the kernel for a signal when the supervisor ends, however it ends. It may have ended before the
/// kernel was asked, so the parent is looked at afterwards.
fn end_with_supervisor(role: &Role) -> io::Result<()> {
    let Some(supervisor) = env::var(SUPERVISED).and_then(|pid| pid.parse().ok()) else {
        return Ok(());
    };
    prctl::set_pdeathsig(signal_at_supervisor_end(role))?;
    if getppid() == Pid::from_raw(supervisor) {
        Ok(())
    } else {
        Err(io::Error::other("the `cynode up` that started this process has ended"))
    }
}

/// The signal that a role gets when `up` has ended. SIGTERM would make a node end its jobs. A node that is
/// killed leaves each job to its own supervisor, and the node of the next `up` adopts it.
fn signal_at_supervisor_end(role: &Role) -> Signal {
    match role {
        Role::Node(_) => Signal::SIGKILL,
        Role::Orchestrator(_) | Role::Runner(_) | Role::Pma(_) => Signal::SIGTERM,
    }
}
