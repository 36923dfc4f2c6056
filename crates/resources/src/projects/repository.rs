//! The repository of a project: who sets it, and the tasks that ask for it.

use cynode_domain::git::{
    BranchName, ProjectRepository, RepositoryUrl, TaskRepository, UseProjectRepository,
    credential_name_fault,
};
use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::Tx;

use super::{DEFAULT_ALIAS, ProjectError, find_shared};
use crate::Caller;
use crate::secrets::RedactSecrets as _;

/// The fields of a request that set the repository; absent ones stay as they are, and empty ones are removed.
#[derive(Debug, Default)]
pub(super) struct RepositoryChange {
    pub(super) url: Option<String>,
    pub(super) default_branch: Option<String>,
    pub(super) credential: Option<String>,
}

impl RepositoryChange {
    /// The repository after the change.
    pub(super) fn apply(
        self,
        current: Option<ProjectRepository>,
    ) -> Result<Option<ProjectRepository>, ProjectError> {
        let invalid = |fault: String| ProjectError::Invalid(vec![fault]);
        let mut repository = match self.url.redact_secrets() {
            Some(url) if url.is_empty() => None,
            Some(url) if current.as_ref().is_some_and(|it| it.url.as_str() == url) => current,
            // Branch and credential were those of the repository before.
            Some(url) => Some(ProjectRepository {
                url: RepositoryUrl::try_from(url)
                    .map_err(|error| invalid(format!("repository_url: {error}")))?,
                default_branch: None,
                credential: None,
            }),
            None => current,
        };
        if let Some(branch) = self.default_branch {
            let set = for_repository(&mut repository, &branch, "default branch")?;
            if let Some(repository) = set {
                repository.default_branch = (!branch.is_empty())
                    .then(|| branch.parse::<BranchName>())
                    .transpose()
                    .map_err(|error| invalid(format!("default_branch: {error}")))?;
            }
        }
        if let Some(name) = self.credential {
            let set = for_repository(&mut repository, &name, "credential")?;
            if let Some(fault) = credential_name_fault(&name).filter(|_| !name.is_empty()) {
                return Err(invalid(fault));
            }
            if let Some(repository) = set {
                repository.credential = (!name.is_empty()).then_some(name);
            }
        }
        Ok(repository)
    }
}

/// The repository that a value is for; without one, only an empty value is accepted.
fn for_repository<'r>(
    repository: &'r mut Option<ProjectRepository>,
    value: &str,
    what: &str,
) -> Result<Option<&'r mut ProjectRepository>, ProjectError> {
    if repository.is_none() && !value.is_empty() {
        let fault = format!(
            "a {what} needs a repository: set it with `cynork project update PROJECT --repo URL`"
        );
        return Err(ProjectError::Invalid(vec![fault]));
    }
    Ok(repository.as_mut())
}

/// The repository of a project for a task that asks for it. Members of the group that a project is shared with may use it.
/// Whose credential is used does not change: it is one of the user of the task.
pub async fn find_task_repository(
    tx: &mut Tx,
    caller: &Caller,
    task_project: Option<&str>,
    wanted: UseProjectRepository,
) -> Result<TaskRepository, ProjectError> {
    let name = wanted.project.as_deref().or(task_project).unwrap_or(DEFAULT_ALIAS);
    let project = NameOrId::<ProjectId>::from(name);
    let found = match find_shared(tx, caller, &project).await {
        // The default project is created on first use.
        Err(ProjectError::NotFound(_)) if name.eq_ignore_ascii_case(DEFAULT_ALIAS) => None,
        found => Some(found?),
    };
    let slug = found.as_ref().map_or(DEFAULT_ALIAS, |project| &project.slug).to_owned();
    let repository = found.and_then(|project| project.repository);
    Ok(repository.ok_or(ProjectError::NoRepository(slug))?.for_task(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(url: &str, branch: &str, credential: &str) -> RepositoryChange {
        let given = |text: &str| (text != "-").then(|| text.to_owned());
        RepositoryChange {
            url: given(url),
            default_branch: given(branch),
            credential: given(credential),
        }
    }

    #[test]
    fn what_is_absent_stays_and_what_is_empty_is_removed() {
        let set = change("https://git.example.com/a", "main", "deploy").apply(None).unwrap();
        let kept = change("-", "next", "-").apply(set.clone()).unwrap().unwrap();

        assert_eq!(kept.credential.as_deref(), Some("deploy"));
        assert_eq!(kept.default_branch, Some("next".parse().unwrap()));
        let without = change("-", "", "").apply(set.clone()).unwrap().unwrap();
        assert_eq!((without.default_branch, without.credential), (None, None));
        assert_eq!(change("", "-", "-").apply(set.clone()).unwrap(), None);
        assert_eq!(change("", "", "").apply(None).unwrap(), None);
        let moved = change("https://elsewhere.example/a", "-", "-").apply(set).unwrap().unwrap();
        assert_eq!(moved.credential, None, "the credential was for another repository");
    }

    #[test]
    fn what_is_no_repository_is_rejected_with_the_reason() {
        for (url, branch, credential, reason) in [
            ("ext::sh", "-", "-", "uses the transport"),
            ("https://ada:s3cret@example.com/app", "-", "-", "contains a password"),
            ("https://example.com/app", "a..b", "-", "is not a branch name"),
            ("https://example.com/app", "-", "two words", "is the name of one"),
            ("-", "main", "-", "a default branch needs a repository"),
            ("", "-", "deploy", "a credential needs a repository"),
        ] {
            let error = change(url, branch, credential).apply(None).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("s3cret"), "{error}");
        }
    }
}
