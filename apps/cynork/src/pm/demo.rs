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
struct DemoProject {
    path: PathBuf,
    /// Submits the work that the repository has scripts for.
    next: String,
}

pub(super) fn run(directory: &Path, app: &CliContext) -> Result<(), CliFailure> {
    create_project(directory)?;
    let path = directory.to_string_lossy();
    let path = shlex::try_quote(&path).unwrap_or_else(|_| "DIRECTORY".into());
    let next = format!("cynork pm submit '{WORK}' --repo {path} --agent demo-script --wait");
    let created = DemoProject { path: directory.to_owned(), next };
    app.out.show(&created, |project, _| {
        format!(
            "created {}, a git repository with a page and a test.\nIts scripts in .cynode/demo take the place of an agent: no model is needed, and none is called.\n\nnext: {}",
            project.path.display(),
            project.next
        )
    })
}

/// Writes the files and commits them. Nothing that exists is changed.
fn create_project(directory: &Path) -> Result<(), CliFailure> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = format!("{} exists: name a new directory", directory.display());
            return Err(CliFailure::Conflict(text));
        }
        created => created?,
    }
    for (name, content) in FILES {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    run_git(directory, &["init", "--quiet", "--initial-branch=main"])?;
    run_git(directory, &["add", "."])?;
    run_git(directory, &["commit", "--quiet", "--message=A page and its test"])
}

/// Runs git without the configuration of the user, so that no hook, template or signature takes part.
fn run_git(directory: &Path, args: &[&str]) -> Result<(), CliFailure> {
    let mut git = Command::new("git");
    git.inherit_only(&Allowlist::for_process().names(&["PATH"]))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=CyNode demo", "-c", "user.email=demo@example.invalid"])
        .args(args);
    let output = git
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
    fn the_project_is_committed_and_nothing_that_exists_is_changed() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("site");

        create_project(&directory).unwrap();
        let log = Command::new("git")
            .inherit_only(&Allowlist::none().names(&["PATH"]))
            .arg("-C")
            .arg(&directory)
            .args(["status", "--porcelain", "--branch"])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&log.stdout), "## main\n");

        fs::write(directory.join("settings.html"), "mine").unwrap();
        let refused = create_project(&directory).unwrap_err().to_string();
        assert!(refused.contains("name a new directory"), "{refused}");
        assert_eq!(fs::read_to_string(directory.join("settings.html")).unwrap(), "mine");
    }
}
