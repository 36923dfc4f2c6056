//! Starts and stops one child process.

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
use crate::role::{EXIT_INVALID_SETTINGS, SUPERVISOR_PID_VARIABLE};

/// How to start a child: the same executable in another role.
pub(crate) struct ChildSpec {
    /// Name for messages and file names.
    pub(crate) name: &'static str,
    pub(crate) executable: PathBuf,
    /// Builds the arguments at each start, because the address is known only after the first one.
    pub(crate) args: Box<dyn Fn() -> Vec<OsString> + Send>,
    /// Called each time the child has exited by itself.
    pub(crate) ended: Box<dyn Fn() + Send>,
    pub(crate) log: PathBuf,
}

impl ChildSpec {
    /// Starts the child in its own process group, so that Ctrl-C reaches only the supervisor, which stops children
    /// in order.
    pub(crate) fn spawn(&self) -> io::Result<Child> {
        let log = log::open_log(&self.log)?;
        Command::new(&self.executable)
            .args((self.args)())
            .inherit_only(&environment::inherited_variables(self.name))
            .env(SUPERVISOR_PID_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
    }
}

/// Sends SIGTERM, and SIGKILL at `kill_at`.
pub(crate) async fn terminate(mut child: Child, kill_at: Instant) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        // The process may have exited already.
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
    }
    if timeout_at(kill_at, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}

/// Whether a child exited because of invalid settings, so that a restart does not help.
pub(crate) fn is_invalid_settings(ended: &io::Result<ExitStatus>) -> bool {
    ended.as_ref().is_ok_and(|status| status.code() == Some(i32::from(EXIT_INVALID_SETTINGS)))
}

/// Describes how a child exited.
pub(crate) fn describe_exit(ended: io::Result<ExitStatus>) -> String {
    match ended {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was killed by signal {signal}"),
            (None, None) => "exited".to_owned(),
        },
        Err(error) => format!("cannot be waited for: {error}"),
    }
}
