//! `up`: starts all components, supervises them, and stops them in order.
//!
//! [`data_dir`] is the data directory, [`child_supervisor`] supervises one child, [`ready`] waits for readiness, [`announce`]
//! publishes it, [`link`] installs a `cynork` link.
//!
//! Invariant: children end with this process, even if it is killed.

mod announce;
mod child;
mod child_processes;
mod child_supervisor;
mod data_dir;
mod environment;
mod link;
mod log;
mod ready;
mod runner_exit;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use cynode_runtime::config;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;

use crate::cli::CynodeUpArgs;
use announce::ReadyAnnouncement;
use child_processes::ChildProcesses;
use data_dir::LockedDataDir;

/// Exit code when another `up` holds the data directory, as in `cynork`.
const CONFLICT: u8 = 5;

/// Why `up` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpError {
    /// Another `up` holds the data directory.
    #[error("{} is already in use by another `cynode up`{}", .data_dir.display(), .holder)]
    InUse {
        data_dir: PathBuf,
        /// Process id and address of the other `up` in words, as far as known.
        holder: String,
    },
    #[error("cannot prepare {}: {cause}", .path.display())]
    Directory {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A child failed repeatedly before everything was ready.
    #[error("the {role} failed to start: {words}\n  log: {}", .log.display())]
    CannotStart {
        role: &'static str,
        /// The last lines of its log.
        words: String,
        log: PathBuf,
    },
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Runs `up` until it is stopped.
///
/// Uses one thread: the kernel ends children with the *thread* that started them.
pub(crate) fn start(args: CynodeUpArgs) -> ExitCode {
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(UpError::from)
        .and_then(|runtime| runtime.block_on(Box::pin(run(args))));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_message(&format!("error: {error}"));
            ExitCode::from(if matches!(error, UpError::InUse { .. }) { CONFLICT } else { 1 })
        }
    }
}

async fn run(args: CynodeUpArgs) -> Result<(), UpError> {
    let shutdown = Shutdown::on_signals(&BackgroundTasks::new())?;
    let data_dir = LockedDataDir::prepare(&config::data_dir(args.data_dir.clone()))?;
    let executable = std::env::current_exe()?;
    let mut children = ChildProcesses::new(executable.clone(), &data_dir, &args);
    let ended = tokio::select! {
        failed = run_components(&mut children, &data_dir, &args) => failed,
        () = shutdown.triggered() => Ok(()),
    };
    data_dir.remove_announcement();
    if shutdown.is_triggered() {
        print_message("stopping …");
    }
    children.stop().await;
    ended
}

/// Starts all components, announces readiness, and supervises until a child fails permanently.
async fn run_components(
    children: &mut ChildProcesses,
    data_dir: &LockedDataDir,
    args: &CynodeUpArgs,
) -> Result<(), UpError> {
    children.start_orchestrator();
    let address =
        children.while_supervised(ready::wait_for_address(data_dir.address_file())).await?;
    let url = ready::loopback_url(address);
    children.start_dependents(address, &url);
    children.while_supervised(ready::wait_until_ready(&url)).await?;
    let pma = children.pma_address();
    children.while_supervised(ready::wait_for_listener(&pma)).await?;
    children.set_ready();
    let announcement = ReadyAnnouncement::collect(data_dir, &url, children.executable());
    announcement.publish(data_dir)?;
    announcement.print(args.json)?;
    if let Some(warning) = cynode_orchestrator::exposure_warning(address) {
        print_message(&format!("warning: {warning}"));
    }
    children.while_supervised(std::future::pending()).await
}

/// Writes a message line to standard error; errors are ignored.
pub(crate) fn print_message(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
