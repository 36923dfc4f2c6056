//! Builds the benchmark and the programs that it starts, in one directory.

use std::process::Command;

use anyhow::Result;

use crate::tool;

/// The flag that selects the distribution build instead of the release build.
const DIST: &str = "--dist";

/// Builds `packages` and the benchmark; returns the command that runs `bench` with its part of
/// `args`.
pub fn build_benchmark(packages: &[&str], bench: &str, args: &[String]) -> Result<Command> {
    let profile = select_profile(args);
    let mut build = tool::cargo_command(&["build", "--profile", profile, "-p", "cynode-bench"]);
    tool::run_or_fail(build.args(packages.iter().flat_map(|package| ["-p", package])))?;
    let directory = tool::target_dir().join(profile);
    let mut command = Command::new(directory.join("cynode-bench"));
    command.current_dir(tool::root()).arg(bench).args(args.iter().filter(|arg| *arg != DIST));
    Ok(command)
}

fn select_profile(args: &[String]) -> &'static str {
    if args.iter().any(|arg| arg == DIST) { "dist" } else { "release" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_built_as_a_newcomer_builds_them_unless_told_otherwise() {
        assert_eq!(select_profile(&["--peers".to_owned()]), "release");
        assert_eq!(select_profile(&["--peers".to_owned(), "--dist".to_owned()]), "dist");
    }
}
