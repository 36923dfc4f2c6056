//! Programs of this workspace that run while something is judged.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use crate::tool;

/// A program that ends with this value.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    url: String,
}

impl Program {
    /// The fixture server on a free port.
    pub(crate) fn fixture() -> Result<Self> {
        let path = tool::target_dir().join("debug/cynode-mcp-fixture");
        let mut command = Command::new(path);
        command.args(["--listen", "127.0.0.1:0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("the fixture does not start")?;
        let output = child.stdout.take().context("the fixture has no output")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).context("the fixture says no address")?;
        Ok(Self { child, url: url.trim().to_owned() })
    }

    /// A program whose address is known otherwise.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("{command:?} does not start"))?;
        Ok(Self { child, url: String::new() })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing of it stays.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
