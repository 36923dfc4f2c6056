//! Addresses, branches and commits of git repositories.

mod change_source;
mod commit_subject;
mod names;
mod project_repository;
mod push_order;
mod repository_url;
mod resource_name;
mod task_repository;

pub use change_source::ChangeSource;
pub use commit_subject::{CommitSubject, InvalidCommitSubject};
pub use names::{BranchName, CommitId, NameError, TaskKey};
pub use project_repository::{
    MAX_CREDENTIAL_NAME_CHARS, ProjectRepository, UseProjectRepository, credential_name_fault,
};
pub use push_order::PushOrder;
pub use repository_url::{RepositoryUrl, Transport, UrlError, UrlPolicy};
pub use task_repository::TaskRepository;
