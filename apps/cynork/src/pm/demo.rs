//! `pm demo`: a small git repository to try requests on, with scripts that take the place of an agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cynode_runtime::child_env::{Allowlist, ChildEnv};
use serde::Serialize;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// The files of the repository.
const FILES: [(&str, &str); 5] = [
    ("AGENTS.md", include_str!("demo/AGENTS.md")),
    ("settings.html", include_str!("demo/settings.html")),
    ("tests/run.sh", include_str!("demo/tests.sh")),
    (".cynode/demo/spec.sh", include_str!("demo/spec.sh")),
    (".cynode/demo/implementation.sh", include_str!("demo/implementation.sh")),
];
/// The work that the scripts of the repository carry out.
const WORK: &str = "Add a dark mode toggle to the settings page";

/// The repository that was created.
#[derive(Debug, Serialize)]
struct DemoRepository {
    path: PathBuf,
    /// Submits the work that the repository has scripts for.
    next: String,
}

pub(super) fn run(directory: &Path, app: &CliContext) -> Result<(), CliFailure> {
    create_demo_repository(directory)?;
    let path = directory.to_string_lossy();
    let path = shlex::try_quote(&path).unwrap_or_else(|_| "DIRECTORY".into());
    let next = format!("cynork pm submit '{WORK}' --repo {path} --agent demo-script --wait");
    let created = DemoRepository { path: directory.to_owned(), next };
    app.out.show(&created, |repository, _| {
        format!(
            "created {}, a git repository with a page and a test.\nIts scripts in .cynode/demo take the place of an agent: no model is needed, and none is called.\n\nnext: {}",
            repository.path.display(),
            repository.next
        )
    })
}

/// Creates the directory with a committed repository. Nothing that exists is changed, and a failure leaves no directory.
fn create_demo_repository(directory: &Path) -> Result<(), CliFailure> {
    create_repository_with(Path::new("git"), directory)
}

fn create_repository_with(git: &Path, directory: &Path) -> Result<(), CliFailure> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = format!("{} exists: name a new directory", directory.display());
            return Err(CliFailure::Conflict(text));
        }
        created => created?,
    }
    let Err(failure) = commit_files(git, directory) else { return Ok(()) };
    match fs::remove_dir_all(directory) {
        Ok(()) => Err(failure),
        Err(error) => Err(CliFailure::Internal(format!(
            "{failure}; {} is incomplete and cannot be removed: {error}",
            directory.display()
        ))),
    }
}

/// Writes the files and commits them.
fn commit_files(git: &Path, directory: &Path) -> Result<(), CliFailure> {
    for (name, content) in FILES {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    run_git(git, directory, &["init", "--quiet", "--initial-branch=main"])?;
    run_git(git, directory, &["add", "."])?;
    run_git(git, directory, &["commit", "--quiet", "--message=A page and its test"])
}

/// Runs git without the configuration of the user, so that no hook, template or signature takes part.
fn run_git(git: &Path, directory: &Path, args: &[&str]) -> Result<(), CliFailure> {
    let mut command = Command::new(git);
    command
        .inherit_only(&Allowlist::for_process().names(&["PATH"]))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=CyNode demo", "-c", "user.email=demo@example.invalid"])
        .args(args);
    let output = command
        .output()
        .map_err(|error| CliFailure::Internal(format!("git cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(CliFailure::Internal(format!("git {} failed: {}", args.join(" "), said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_of_git_leaves_no_directory() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("site");

        let failure = create_repository_with(Path::new("/bin/false"), &directory).unwrap_err();

        assert!(failure.to_string().contains("git init"), "{failure}");
        assert!(!directory.exists());
        create_demo_repository(&directory).unwrap();
    }

    #[test]
    fn the_repository_is_committed_and_nothing_that_exists_is_changed() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("site");

        create_demo_repository(&directory).unwrap();
        let log = Command::new("git")
            .inherit_only(&Allowlist::none().names(&["PATH"]))
            .arg("-C")
            .arg(&directory)
            .args(["status", "--porcelain", "--branch"])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&log.stdout), "## main\n");

        fs::write(directory.join("settings.html"), "mine").unwrap();
        let refused = create_demo_repository(&directory).unwrap_err().to_string();
        assert!(refused.contains("name a new directory"), "{refused}");
        assert_eq!(fs::read_to_string(directory.join("settings.html")).unwrap(), "mine");
    }
}
