//! The door through which this executable becomes a part of a sandbox instead of a node.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use crate::{confine, init, shim};

/// Supervises one job: `sandbox-shim <job directory>`.
pub(crate) const SHIM: &str = "sandbox-shim";
/// Supervises one interactive program: `sandbox-host <job directory>`.
pub(crate) const HOST: &str = "sandbox-host";
/// PID 1 of one sandbox: `sandbox-init <job directory>`.
pub(crate) const INIT: &str = "sandbox-init";
/// The process that becomes the command: `sandbox-exec <plan as JSON>`.
pub(crate) const EXEC: &str = "sandbox-exec";
/// How the next stage is started: still the same file when an upgrade has replaced it on disk.
pub(crate) const SELF: &str = "/proc/self/exe";
/// What the stages call themselves in a process list.
pub(crate) const PROCESS_NAME: &str = "cynode-sandbox";

/// Runs a stage of a sandbox if `args` (with the program's name first) ask for one.
///
/// Must be the first call of `main`: the stages need a process that never had a second thread.
pub fn enter_if_asked(args: &[OsString]) -> Option<ExitCode> {
    let [_, stage, argument] = args else { return None };
    match stage.to_str()? {
        SHIM => Some(shim::main(Path::new(argument))),
        HOST => Some(shim::host::main(Path::new(argument))),
        INIT => Some(init::main(Path::new(argument))),
        EXEC => Some(confine::main(&OsStr::new(argument).to_string_lossy())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_arguments_start_no_sandbox_stage() {
        let plain = ["cynode-node", "--help"].map(OsString::from);
        let unknown = ["cynode-node", "sandbox-other", "x"].map(OsString::from);

        assert!(enter_if_asked(&plain).is_none());
        assert!(enter_if_asked(&unknown).is_none());
    }
}
