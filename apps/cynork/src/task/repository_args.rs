//! Flags for the repository that a task works on.

use std::path::Path;

use clap::{ArgGroup, Args};
use cynode_domain::git::{BranchName, RepositoryUrl, TaskRepository, UseProjectRepository};

use cynode_cli::failure::CliFailure;

/// The repository, and the branches.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("repository").args(["repo", "project_repo"])))]
pub(crate) struct TaskRepositoryArgs {
    /// The git repository to work on: a URL, user@host:path, or a path on the worker node. Its changes are collected
    /// after each step; see `cynork task diff`.
    #[arg(long, value_name = "URL|PATH")]
    repo: Option<String>,
    /// Work on the repository of the task's project; with =PROJECT, of another project that you own or that is shared with
    /// you.
    #[arg(long, value_name = "PROJECT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    project_repo: Option<String>,
    /// The branch to start from [default: that of the project, or the repository's default branch].
    #[arg(long, value_name = "BRANCH", requires = "repository")]
    base: Option<BranchName>,
    /// The branch for the changes [default: cynode/ and the name of the task].
    #[arg(long, value_name = "BRANCH", requires = "repository")]
    branch: Option<BranchName>,
    /// A task on the same repository to build on, by name or id: its newest changes are merged before the task starts;
    /// repeatable, up to 50.
    #[arg(long, value_name = "TASK", requires = "repository")]
    pub(super) on: Vec<String>,
    /// Start with conflict markers in the files where the tasks of --on conflict [default: the task fails].
    #[arg(long, requires = "on")]
    pub(super) mark_conflicts: bool,
}

impl TaskRepositoryArgs {
    pub(super) fn into_repository(self) -> Result<RepositoryArg, CliFailure> {
        match (self.repo, self.project_repo) {
            (Some(address), _) => {
                resolve_repository(address, self.base, self.branch).map(RepositoryArg::Named)
            }
            (None, Some(project)) => {
                Ok(RepositoryArg::OfProject(use_project(&project, self.base, self.branch)))
            }
            (None, None) => Ok(RepositoryArg::Absent),
        }
    }
}

/// The repository that a command line names.
pub(super) enum RepositoryArg {
    Absent,
    Named(TaskRepository),
    OfProject(UseProjectRepository),
}

impl RepositoryArg {
    /// The fields `repository` and `project_repository` of a request.
    pub(super) fn into_fields(self) -> (Option<TaskRepository>, Option<UseProjectRepository>) {
        match self {
            Self::Absent => (None, None),
            Self::Named(repository) => (Some(repository), None),
            Self::OfProject(wanted) => (None, Some(wanted)),
        }
    }
}

/// Selects the repository of a project; an empty name is the project of the work itself.
pub(crate) fn use_project(
    project: &str,
    base_branch: Option<BranchName>,
    branch: Option<BranchName>,
) -> UseProjectRepository {
    let project = (!project.is_empty()).then(|| project.to_owned());
    UseProjectRepository { project, base_branch, branch }
}

/// The repository at an address of the command line.
pub(crate) fn resolve_repository(
    address: String,
    base_branch: Option<BranchName>,
    branch: Option<BranchName>,
) -> Result<TaskRepository, CliFailure> {
    let url = RepositoryUrl::try_from(absolute_address(address)?)
        .map_err(|error| CliFailure::Invalid(format!("--repo: {error}")))?;
    Ok(TaskRepository { url, base_branch, branch, commit_subject: None, credential: None })
}

/// Makes a relative path absolute. The worker node has another working directory.
pub(crate) fn absolute_address(address: String) -> Result<String, CliFailure> {
    let is_path = address.starts_with('.') || !address.contains(':');
    if address.is_empty() || address.starts_with(['/', '-']) || !is_path {
        return Ok(address);
    }
    let path = Path::new(&address);
    let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
    let absolute = absolute
        .map_err(|error| CliFailure::Invalid(format!("--repo: cannot use {address}: {error}")))?;
    absolute.into_os_string().into_string().map_err(|path| {
        CliFailure::Invalid(format!("--repo: {} is not UTF-8", path.to_string_lossy()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(address: &str) -> Result<Option<TaskRepository>, CliFailure> {
        let repo = Some(address.to_owned());
        let args = TaskRepositoryArgs {
            repo,
            project_repo: None,
            base: None,
            branch: None,
            on: vec![],
            mark_conflicts: false,
        };
        args.into_repository().map(|repository| repository.into_fields().0)
    }

    #[test]
    fn a_relative_path_becomes_absolute_and_other_addresses_stay() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let url = |address| repository(address).unwrap().unwrap().url.to_string();

        assert_eq!(url("."), here.display().to_string());
        assert_eq!(url("src"), here.join("src").display().to_string());
        assert_eq!(url("./no:dir"), here.join("no:dir").display().to_string());
        for address in [
            "https://example.com/team/app.git",
            "http://localhost:3000/app",
            "ssh://git@example.com/app",
            "git@example.com:team/app",
            "/srv/app",
        ] {
            assert_eq!(url(address), address);
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_rejected_without_its_password() {
        for (address, reason) in [
            ("ftp://example.com/app", "use https://, ssh:// or user@host:path"),
            ("https://ada:s3cret@example.com/app", "contains a password"),
            ("https://example.com/", "has no path"),
            ("", "is empty"),
        ] {
            let failure = repository(address).unwrap_err();
            assert_eq!(failure.code(), 6, "{address}");
            let text = failure.to_string();
            assert!(text.starts_with("--repo: ") && text.contains(reason), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}
