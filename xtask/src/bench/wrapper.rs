//! This program as a wrapper of rustc and of the C compiler, to measure the CPU time of each call.
//! Cargo's own timings are wall time, which depends on the load of the machine. CPU time does not,
//! and the kernel counts it for every child.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use nix::sys::resource::{UsageWho, getrusage};

use crate::tool;

/// Names the file that measurements are appended to; its presence selects this role.
pub const LOG_VARIABLE: &str = "XTASK_COMPILER_LOG";

/// Runs the compiler if this process was started as its wrapper.
pub fn run_if_wrapper() -> Option<ExitCode> {
    let log = std::env::var_os(LOG_VARIABLE)?;
    let args: Vec<OsString> = std::env::args_os().collect();
    Some(compile_and_record(Path::new(&log), &args).unwrap_or(ExitCode::FAILURE))
}

fn compile_and_record(log: &Path, args: &[OsString]) -> Option<ExitCode> {
    let called_as = Path::new(args.first()?).file_name()?.to_str()?.to_owned();
    let is_c_compiler = matches!(called_as.as_str(), "cc" | "c++");
    let (program, rest) = if is_c_compiler {
        (tool::find_in_path(&called_as)?.into_os_string(), &args[1..])
    } else {
        (args.get(1)?.clone(), args.get(2..)?)
    };
    let status = Command::new(program).args(rest).status().ok()?;
    append_measurement(log, &compile_unit_name(is_c_compiler, rest));
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Some(ExitCode::from(code))
}

/// The unit that this call compiles, such as `serde`, `serde (build script)` or `libsqlite3-sys
/// (C)`.
fn compile_unit_name(is_c_compiler: bool, args: &[OsString]) -> String {
    let package = std::env::var_os("CARGO_PKG_NAME").unwrap_or_else(|| "cargo".into());
    let package = package.to_string_lossy();
    let is_build_script = args.iter().any(|arg| arg.to_string_lossy().starts_with("build_script_"));
    if is_c_compiler {
        format!("{package} (C)")
    } else if is_build_script {
        format!("{package} (build script)")
    } else {
        package.into_owned()
    }
}

/// Appends one line. A lost measurement must not fail the build, so errors are ignored.
fn append_measurement(log: &Path, unit: &str) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else {
        return;
    };
    let (user, system) = (usage.user_time(), usage.system_time());
    let micros = (user.tv_sec() + system.tv_sec()) * 1_000_000 + user.tv_usec() + system.tv_usec();
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(log) {
        // One write of one short line: lines of parallel compilers do not mix.
        let _lost = file.write_all(format!("{micros}\t{unit}\n").as_bytes());
    }
}
