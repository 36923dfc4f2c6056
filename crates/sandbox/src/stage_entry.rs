//! Entry point of the sandbox stages: this executable runs as one of them instead of as a node.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use cynode_runtime::descriptors;

use crate::{confine, init, shim};

/// Supervises one job: `sandbox-shim <job directory>`.
pub(crate) const SHIM: &str = "sandbox-shim";
/// Supervises one interactive program: `sandbox-host <job directory>`.
pub(crate) const PROGRAM_SHIM: &str = "sandbox-host";
/// PID 1 of one sandbox: `sandbox-init <job directory>`.
pub(crate) const INIT: &str = "sandbox-init";
/// Confines itself and execs the command: `sandbox-exec <plan as JSON>`.
pub(crate) const EXEC: &str = "sandbox-exec";
/// Prints [`BUILD_DIGEST`]: `sandbox-build digest`.
pub(crate) const BUILD: &str = "sandbox-build";
/// Digest of the sources of the stages and of the documents they read. Two programs with the same one are interchangeable.
pub(crate) const BUILD_DIGEST: &str = env!("CYNODE_SANDBOX_BUILD_DIGEST");
/// Path for starting the next stage: the same file even after an upgrade replaced it on disk.
pub(crate) const SELF_EXE: &str = "/proc/self/exe";
/// `argv[0]` of the stages in a process list.
pub(crate) const PROCESS_NAME: &str = "cynode-sandbox";

/// Runs a sandbox stage if `args` (with the program's name first) request one.
///
/// Must be the first call in `main`: the stages need a process that never had a second thread, and no child may
/// inherit a descriptor.
pub fn run_stage_if_requested(args: &[OsString]) -> Option<ExitCode> {
    // At every stage: neither a job nor a server may hold a descriptor that its node or a stage inherited.
    descriptors::close_inherited_on_exec();
    let [_, stage, argument] = args else { return None };
    match stage.to_str()? {
        SHIM => Some(shim::main(Path::new(argument))),
        PROGRAM_SHIM => Some(shim::program_shim::main(Path::new(argument))),
        INIT => Some(init::main(Path::new(argument))),
        EXEC => Some(confine::main(&OsStr::new(argument).to_string_lossy())),
        BUILD => Some(print_build_digest()),
        _ => None,
    }
}

fn print_build_digest() -> ExitCode {
    match io::stdout().write_all(BUILD_DIGEST.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_arguments_start_no_sandbox_stage() {
        let plain = ["cynode-node", "--help"].map(OsString::from);
        let unknown = ["cynode-node", "sandbox-other", "x"].map(OsString::from);

        assert!(run_stage_if_requested(&plain).is_none());
        assert!(run_stage_if_requested(&unknown).is_none());
    }
}
