//! This program in the place of rustc and of the C compiler, to measure what each call costs.
//!
//! Cargo's own timings show waiting time, which depends on what else the machine does. CPU time
//! does not, and the kernel counts it for every child.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use nix::sys::resource::{UsageWho, getrusage};

use crate::tool;

/// Names the file that measurements are appended to; its presence asks for this role.
pub const LOG_VARIABLE: &str = "XTASK_COMPILER_LOG";

/// Does the compiler's work if this process was started in its place.
pub fn enter_if_asked() -> Option<ExitCode> {
    let log = std::env::var_os(LOG_VARIABLE)?;
    let args: Vec<OsString> = std::env::args_os().collect();
    Some(compile(Path::new(&log), &args).unwrap_or(ExitCode::FAILURE))
}

fn compile(log: &Path, args: &[OsString]) -> Option<ExitCode> {
    let called_as = Path::new(args.first()?).file_name()?.to_str()?.to_owned();
    let is_c_compiler = matches!(called_as.as_str(), "cc" | "c++");
    let (program, rest) = if is_c_compiler {
        (tool::in_path(&called_as)?.into_os_string(), &args[1..])
    } else {
        (args.get(1)?.clone(), args.get(2..)?)
    };
    let status = Command::new(program).args(rest).status().ok()?;
    record(log, &unit(is_c_compiler, rest));
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Some(ExitCode::from(code))
}

/// What this call compiles, such as `serde`, `serde (build script)` or `libsqlite3-sys (C)`.
fn unit(is_c_compiler: bool, args: &[OsString]) -> String {
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

/// Appends one line. A lost measurement is no reason to fail a build, so errors end here.
fn record(log: &Path, unit: &str) {
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
