//! `up`: start everything, keep it running, stop it in order.
//!
//! [`place`] is what lies in the data directory, [`keeper`] keeps one child running, [`ready`]
//! knows when work can be done, [`announce`] tells people and programs, [`link`] leaves a
//! `cynork` behind.
//!
//! Invariant: children end with this process, whatever ends it.

mod announce;
mod child;
mod environment;
mod fleet;
mod holder;
mod keeper;
mod link;
mod log;
mod place;
mod ready;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use cynode_runtime::config;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;

use crate::cli::UpArgs;
use announce::Announcement;
use fleet::Fleet;
use place::Place;

/// Exit code when another `up` is in the way, as in `cynork`.
const CONFLICT: u8 = 5;

/// Why `up` did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpError {
    /// Another `up` has the data directory.
    #[error("{} is already in use by another `cynode up`{}", .data_dir.display(), .holder)]
    InUse {
        /// The data directory.
        data_dir: PathBuf,
        /// Its process id and address in words, as far as they are known.
        holder: String,
    },
    /// The data directory cannot be prepared.
    #[error("cannot prepare {}: {cause}", .path.display())]
    Directory {
        /// What was touched last.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// A child ended again and again before everything was ready.
    #[error("the {role} cannot start: {words}\n  its log is {}", .log.display())]
    CannotStart {
        /// Which child.
        role: &'static str,
        /// What it said last.
        words: String,
        /// Where it said it.
        log: PathBuf,
    },
    /// The system refused something that is needed throughout.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Runs `up` to its end.
///
/// One thread only: the kernel ends children with the *thread* that started them.
pub(crate) fn start(args: UpArgs) -> ExitCode {
    let ended = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(UpError::from)
        .and_then(|runtime| runtime.block_on(Box::pin(run(args))));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::from(if matches!(error, UpError::InUse { .. }) { CONFLICT } else { 1 })
        }
    }
}

async fn run(args: UpArgs) -> Result<(), UpError> {
    let shutdown = Shutdown::on_signals(&Tasks::new())?;
    let place = Place::prepare(&config::data_dir(args.data_dir.clone()))?;
    let executable = std::env::current_exe()?;
    let mut fleet = Fleet::new(executable.clone(), &place, &args);
    let ended = tokio::select! {
        failed = serve(&mut fleet, &place, &args) => failed,
        () = shutdown.triggered() => Ok(()),
    };
    place.forget_announcement();
    if shutdown.is_triggered() {
        say("stopping …");
    }
    fleet.stop().await;
    ended
}

/// Starts everything, announces it, and goes on until something fails for good.
async fn serve(fleet: &mut Fleet, place: &Place, args: &UpArgs) -> Result<(), UpError> {
    fleet.start_orchestrator();
    let address = fleet.while_kept(ready::address(place.address_file())).await?;
    let url = ready::url_of(address);
    fleet.start_workers(address, &url);
    fleet.while_kept(ready::work_can_be_done(&url)).await?;
    let pma = fleet.pma_address();
    fleet.while_kept(ready::is_open(&pma)).await?;
    fleet.set_ready();
    let announcement = Announcement::make(place, &url, fleet.executable());
    announcement.publish(place)?;
    announcement.print(args.json)?;
    fleet.while_kept(std::future::pending()).await
}

/// A line of talk. Nobody is left to be told when that fails.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
