//! Runs other programs from the root of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The packages whose binaries a release and the end-to-end tests need.
pub const BINARY_PACKAGES: &[&str] =
    &["cynode", "cynork", "cynode-orchestrator", "cynode-runner", "cynode-node", "cynode-stages"];

/// Attempts of a download.
const FETCHES: usize = 3;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The directory cargo builds into.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// `cargo <args>`, from the root of the repository.
pub fn cargo_command(args: &[&str]) -> Command {
    // Cargo sets `CARGO` to itself for its children, so the same toolchain is used throughout.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root()).args(args);
    command
}

/// Builds every program, test and example of the workspace, as `cargo nextest run --workspace` needs them. A selection of
/// packages would have other features, for which their dependencies are compiled again.
pub fn build_for_tests() -> Result<()> {
    run_or_fail(&mut cargo_command(&["build", "--workspace", "--bins", "--tests", "--examples"]))
}

/// The arguments `-p <package>` for every binary package.
pub fn binary_package_args() -> Vec<&'static str> {
    BINARY_PACKAGES.iter().flat_map(|p| ["-p", p]).collect()
}

/// Runs a command with its output shown; returns whether it succeeded.
pub fn run_and_check(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("cannot run {}", name(command)))?;
    Ok(status.success())
}

/// Runs a command with its output shown; fails if it fails.
pub fn run_or_fail(command: &mut Command) -> Result<()> {
    if run_and_check(command)? {
        return Ok(());
    }
    bail!("{} failed", name(command))
}

/// Runs a command that downloads something, up to three times, so that one failure of a registry is
/// not fatal.
pub fn download_with_retries(command: &mut Command) -> Result<()> {
    for _ in 1..FETCHES {
        if run_and_check(command)? {
            return Ok(());
        }
    }
    run_or_fail(command)
}

/// Runs a command and returns its standard output.
pub fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", name(command)))?;
    if !output.status.success() {
        bail!("{} failed", name(command));
    }
    String::from_utf8(output.stdout).context("its output is not UTF-8")
}

/// Path of `program` in the directories of `PATH`.
pub fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

fn name(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().take(4).map(|a| a.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_fetched_at_first_is_tried_again_twice() {
        let dir = tempfile::tempdir().unwrap();
        let fetch = |fails: usize| {
            let script = format!("echo >> tries; test $(wc -l < tries) -gt {fails}");
            let mut command = Command::new("sh");
            download_with_retries(command.current_dir(dir.path()).args(["-c", &script]))
        };
        let forget = || std::fs::remove_file(dir.path().join("tries")).unwrap();

        assert!(fetch(2).is_ok());
        forget();
        assert!(fetch(3).is_err());
    }
}
