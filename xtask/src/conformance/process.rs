//! Programs of this workspace that run during a check.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use crate::tool;

/// A child process, killed on drop.
#[derive(Debug)]
pub(crate) struct ChildProgram {
    child: Child,
    url: String,
}

impl ChildProgram {
    /// The fixture server on a free port.
    pub(crate) fn start_fixture() -> Result<Self> {
        let path = tool::target_dir().join("debug/cynode-mcp-fixture");
        let mut command = Command::new(path);
        command.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("the fixture does not start")?;
        let output = child.stdout.take().context("the fixture has no output")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).context("the fixture says no address")?;
        Ok(Self { child, url: url.trim().to_owned() })
    }

    /// Starts a program with a known address.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("{command:?} does not start"))?;
        Ok(Self { child, url: String::new() })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it has exited.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for ChildProgram {
    fn drop(&mut self) {
        // It may have exited already; no process of it may be left.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
