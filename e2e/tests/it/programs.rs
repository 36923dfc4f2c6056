//! The binaries under test, and how they are called.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A binary of this build.
pub(crate) fn program(name: &str) -> PathBuf {
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

/// A call of a binary that knows nothing of whoever runs the tests: its home is `home`.
pub(crate) fn call(name: &str, home: &Path) -> Command {
    clean(Command::new(program(name)), home)
}

/// The same of a shell.
pub(crate) fn call_shell(home: &Path) -> Command {
    clean(Command::new("/bin/sh"), home)
}

fn clean(mut command: Command, home: &Path) -> Command {
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", home);
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// What a finished program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Said {
    /// Standard output as one JSON value, and nothing else.
    pub(crate) fn json(&self) -> serde_json::Value {
        let parsed = serde_json::from_str(&self.stdout);
        parsed.unwrap_or_else(|error| panic!("no JSON value: {error}\n{self:?}"))
    }

    /// Itself, if the program succeeded.
    pub(crate) fn fine(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

/// `cynork` against the `up` whose data is in `data_dir`, run to its end.
pub(crate) fn cynork<A: AsRef<OsStr>>(home: &Path, data_dir: &Path, args: &[A]) -> Said {
    let mut command = call("cynork", home);
    command.arg("--data-dir").arg(data_dir).args(args);
    Said::from(command.output().unwrap())
}
