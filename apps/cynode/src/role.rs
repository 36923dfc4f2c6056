//! Runs one component until it is asked to stop.

use std::io::{self, Write as _};
use std::process::ExitCode;

use cynode_runtime::config::ConfigErrors;
use cynode_runtime::env;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, getppid};

use crate::cli::ComponentRole;

/// Environment variable with the process id of the supervising `up`; the component ends with it.
pub(crate) const SUPERVISOR_PID_VARIABLE: &str = "CYNODE_SUPERVISED";

/// Exit code for invalid settings, the same as that of `clap`. A restart does not help.
pub(crate) const EXIT_INVALID_SETTINGS: u8 = 2;

/// Runs a component; an error is the last line on standard error.
pub(crate) fn start(role: ComponentRole) -> ExitCode {
    if matches!(role, ComponentRole::Orchestrator(_)) {
        // An existing data directory may be readable by others; the database must not be.
        umask(Mode::from_bits_truncate(0o077));
    }
    let ended = set_parent_death_signal(&role).map_err(anyhow::Error::from).and_then(|()| {
        // It confines itself before its first thread starts, so it creates its own runtime.
        let role = match role {
            ComponentRole::Pma(cli) => return cynode_pma::start(*cli),
            role @ (ComponentRole::Orchestrator(_)
            | ComponentRole::Runner(_)
            | ComponentRole::Node(_)
            | ComponentRole::Sba(_)) => role,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(Box::pin(run(role)))
    });
    ended.unwrap_or_else(|error| {
        // Without standard error there is no reader.
        let _ = writeln!(io::stderr(), "error: {error:#}");
        if error.is::<ConfigErrors>() {
            return ExitCode::from(EXIT_INVALID_SETTINGS);
        }
        ExitCode::FAILURE
    })
}

async fn run(role: ComponentRole) -> anyhow::Result<ExitCode> {
    let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
    match role {
        ComponentRole::Orchestrator(cli) => {
            Box::pin(cynode_orchestrator::run(*cli, shutdown)).await
        }
        ComponentRole::Runner(cli) => Box::pin(cynode_runner::run(*cli, shutdown)).await,
        ComponentRole::Node(cli) => Box::pin(cynode_node::run(*cli, shutdown)).await,
        ComponentRole::Sba(cli) => Box::pin(cynode_sba::run(*cli, shutdown)).await,
        ComponentRole::Pma(_) => Ok(ExitCode::FAILURE),
    }
}

/// Asks the kernel for a signal when the supervisor ends. The supervisor may have ended before that, so the
/// parent is checked afterwards.
fn set_parent_death_signal(role: &ComponentRole) -> io::Result<()> {
    let Some(supervisor) = env::var(SUPERVISOR_PID_VARIABLE).and_then(|pid| pid.parse().ok())
    else {
        return Ok(());
    };
    prctl::set_pdeathsig(supervisor_death_signal(role))?;
    if getppid() == Pid::from_raw(supervisor) {
        Ok(())
    } else {
        Err(io::Error::other("the `cynode up` that started this process has ended"))
    }
}

/// The signal for a component when `up` has ended. SIGTERM would make a node stop its jobs; a killed node leaves
/// each job to the job's own supervisor, and the node of the next `up` adopts it.
fn supervisor_death_signal(role: &ComponentRole) -> Signal {
    match role {
        ComponentRole::Node(_) => Signal::SIGKILL,
        ComponentRole::Orchestrator(_)
        | ComponentRole::Runner(_)
        | ComponentRole::Pma(_)
        | ComponentRole::Sba(_) => Signal::SIGTERM,
    }
}
