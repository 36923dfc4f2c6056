//! The binaries under test, and how to run them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A binary of this build.
pub(crate) fn binary_path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // target/<profile>/deps/it-…
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join(name);
    assert!(
        path.is_file(),
        "{} is missing: `cargo xtask test` builds the binaries before it runs the tests",
        path.display()
    );
    path
}

/// A call of a binary, isolated from the user who runs the tests: its home is `home`.
pub(crate) fn call(name: &str, home: &Path) -> Command {
    isolate_environment(Command::new(binary_path(name)), home)
}

/// The same for a shell.
pub(crate) fn isolated_shell(home: &Path) -> Command {
    isolate_environment(Command::new("/bin/sh"), home)
}

fn isolate_environment(mut command: Command, home: &Path) -> Command {
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home);
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// The output of a finished program.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl ProgramOutput {
    /// Standard output as one JSON value, and nothing else.
    pub(crate) fn json(&self) -> serde_json::Value {
        let parsed = serde_json::from_str(&self.stdout);
        parsed.unwrap_or_else(|error| panic!("no JSON value: {error}\n{self:?}"))
    }

    /// Returns itself if the program succeeded, panics otherwise.
    pub(crate) fn expect_success(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

/// Runs `cynork` to its end against the `up` with this data directory.
pub(crate) fn run_cynork<A: AsRef<OsStr>>(
    home: &Path,
    data_dir: &Path,
    args: &[A],
) -> ProgramOutput {
    let mut command = call("cynork", home);
    command.arg("--data-dir").arg(data_dir).args(args);
    ProgramOutput::from(command.output().unwrap())
}
