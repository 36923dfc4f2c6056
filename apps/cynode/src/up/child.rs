//! One child process: how it is started and how it is ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use cynode_runtime::child_env::ChildEnv as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout_at};

use super::{environment, log};
use crate::role::{BAD_SETTING, SUPERVISED};

/// How to start a child: the same executable in another role.
pub(crate) struct Role {
    /// Its name in words and in file names.
    pub(crate) name: &'static str,
    /// What to run.
    pub(crate) executable: PathBuf,
    /// Its arguments; asked for at each start, because an address may be known only after the first.
    pub(crate) args: Box<dyn Fn() -> Vec<OsString> + Send>,
    /// Called each time it has ended by itself.
    pub(crate) ended: Box<dyn Fn() + Send>,
    /// Where it logs.
    pub(crate) log: PathBuf,
}

impl Role {
    /// Starts it, in a process group of its own: Ctrl-C is for the supervisor, which stops
    /// children in order.
    pub(crate) fn spawn(&self) -> io::Result<Child> {
        let log = log::open(&self.log)?;
        Command::new(&self.executable)
            .args((self.args)())
            .inherit_only(&environment::of_role(self.name))
            .env(SUPERVISED, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

/// Asks a child to end, and ends it at `kill_at` if it has not.
pub(crate) async fn end(mut child: Child, kill_at: Instant) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        // It may have ended by itself just now.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    if timeout_at(kill_at, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

/// Whether a child ended because it cannot use its settings, so that starting it again is in vain.
pub(crate) fn has_bad_setting(ended: &io::Result<ExitStatus>) -> bool {
    ended.as_ref().is_ok_and(|status| status.code() == Some(i32::from(BAD_SETTING)))
}

/// How a child ended, in words.
pub(crate) fn describe(ended: io::Result<ExitStatus>) -> String {
    match ended {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with exit code {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended".to_owned(),
        },
        Err(error) => format!("cannot be watched: {error}"),
    }
}
