//! What the tests need from the machine: nextest, the `PostgreSQL` server programs and Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::tool;

/// The server programs that the test harness starts a private `PostgreSQL` with.
const POSTGRES_PROGRAMS: &[&str] = &["initdb", "postgres"];

/// Where Debian and its kin keep them, one directory for each version.
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";

const POSTGRES_HELP: &str = "the tests need the PostgreSQL server programs initdb and postgres \
(15 or newer), in PATH or under /usr/lib/postgresql. Install them with your system's package \
manager, such as `sudo apt-get install postgresql` (Debian, Ubuntu), `sudo dnf install \
postgresql-server` (Fedora) or `brew install postgresql`, then run this again";

/// What drives the browser that looks at the console, and the browser.
const BROWSER_PROGRAMS: &[&str] = &["chromedriver", "chromium"];

const BROWSER_HELP: &str = "the tests need Chromium and its driver, as the programs chromium and \
chromedriver in PATH. Install them with your system's package manager, such as `sudo apt-get install \
chromium chromium-driver` (Debian) or `sudo dnf install chromium chromedriver` (Fedora), then run this \
again";

/// `cargo nextest`, installed under the target directory if the machine has none.
pub fn nextest() -> Result<Command> {
    let own = tool::target_dir().join("tools");
    let own_binary = own.join("bin/cargo-nextest");
    if tool::in_path("cargo-nextest").is_some() {
        return Ok(tool::cargo(&["nextest"]));
    }
    if !own_binary.is_file() {
        let mut install = tool::cargo(&["install", "cargo-nextest", "--locked", "--root"]);
        tool::must_fetch(install.arg(&own))?;
    }
    let mut command = Command::new(own_binary);
    command.current_dir(tool::root()).arg("nextest");
    Ok(command)
}

/// Makes sure that the `PostgreSQL` server programs are there; installs them if that is possible.
pub fn postgres() -> Result<PathBuf> {
    if let Some(directory) = postgres_directory() {
        return Ok(directory);
    }
    install_if_possible(&["postgresql"])?;
    match postgres_directory() {
        Some(directory) => Ok(directory),
        None => bail!(POSTGRES_HELP),
    }
}

/// Makes sure that a browser and its driver are there; installs them if that is possible.
pub fn browser() -> Result<PathBuf> {
    if !has_browser() {
        install_if_possible(&["chromium", "chromium-driver"])?;
    }
    match tool::in_path(BROWSER_PROGRAMS[0]) {
        Some(driver) if has_browser() => Ok(driver),
        _ => bail!(BROWSER_HELP),
    }
}

fn has_browser() -> bool {
    BROWSER_PROGRAMS.iter().all(|program| tool::in_path(program).is_some())
}

/// Installs packages of Debian and its kin, where this process may.
fn install_if_possible(packages: &[&str]) -> Result<()> {
    if !nix::unistd::geteuid().is_root() || tool::in_path("apt-get").is_none() {
        return Ok(());
    }
    tool::must_fetch(Command::new("apt-get").arg("update"))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args(["install", "-y"]);
    tool::must_fetch(install.args(packages))
}

fn postgres_directory() -> Option<PathBuf> {
    let in_path = tool::in_path(POSTGRES_PROGRAMS[0])
        .and_then(|program| program.parent().map(Path::to_path_buf));
    in_path
        .filter(|directory| has_postgres(directory))
        .or_else(|| newest_version(Path::new(POSTGRES_VERSIONS)))
}

fn newest_version(versions: &Path) -> Option<PathBuf> {
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    std::fs::read_dir(versions)
        .ok()?
        .flatten()
        .filter_map(|entry| Some((version(&entry.path())?, entry.path().join("bin"))))
        .filter(|(_, directory)| has_postgres(directory))
        .max()
        .map(|(_, directory)| directory)
}

fn has_postgres(directory: &Path) -> bool {
    POSTGRES_PROGRAMS.iter().all(|program| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_complete_postgres_is_taken() {
        let versions = tempfile::tempdir().unwrap();
        for (version, programs) in [("9", 2), ("15", 2), ("16", 1), ("old", 2)] {
            let bin = versions.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            for program in &POSTGRES_PROGRAMS[..programs] {
                fs::write(bin.join(program), "").unwrap();
            }
        }

        assert_eq!(newest_version(versions.path()), Some(versions.path().join("15/bin")));
    }

    #[test]
    fn a_machine_without_postgres_has_no_version() {
        assert_eq!(newest_version(Path::new("/nonexistent")), None);
    }
}
