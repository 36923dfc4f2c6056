//! The benchmark's own program, and what it starts, in one directory.

use std::process::Command;

use anyhow::Result;

use crate::tool;

/// Asks for programs as a distributor ships them instead of as a newcomer builds them.
const DIST: &str = "--dist";

/// Builds `packages` and the benchmark; gives the command that runs `bench` with what is in `args`
/// for it.
pub fn build(packages: &[&str], bench: &str, args: &[String]) -> Result<Command> {
    let profile = profile(args);
    let mut build = tool::cargo(&["build", "--profile", profile, "-p", "cynode-bench"]);
    tool::must_succeed(build.args(packages.iter().flat_map(|package| ["-p", package])))?;
    let directory = tool::target_dir().join(profile);
    let mut command = Command::new(directory.join("cynode-bench"));
    command.current_dir(tool::root()).arg(bench).args(args.iter().filter(|arg| *arg != DIST));
    Ok(command)
}

fn profile(args: &[String]) -> &'static str {
    if args.iter().any(|arg| arg == DIST) { "dist" } else { "release" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_built_as_a_newcomer_builds_them_unless_told_otherwise() {
        assert_eq!(profile(&["--peers".to_owned()]), "release");
        assert_eq!(profile(&["--peers".to_owned(), "--dist".to_owned()]), "dist");
    }
}
