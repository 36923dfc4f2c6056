//! Repositories of tasks: checked out before a job starts, and collected after it ended.
//!
//! Start at [`prepare_checkout`] and [`collect_changes`]. Git runs outside the sandbox only on repositories that no job
//! can write; see [`cynode_git`]. What a job wrote is read inside a sandbox, and arrives as a bundle that is checked
//! before it is used.

mod access;
mod collect;
mod collected;
mod prepare;
mod push;
mod remove;
mod sources;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cynode_domain::git::{NameError, TaskKey};
use cynode_domain::ids::TaskId;
use cynode_git::{BrokerOptions, GitBroker, GitError, SharedResolver};

pub use access::RepositoryAccess;
pub(super) use collect::collect_changes;
pub(super) use prepare::prepare_checkout;
pub(super) use push::{remove_push, run_push};
pub(super) use remove::{collect_garbage, remove_checkout};

/// Where git is looked for, in this order.
const GIT_PROGRAMS: [&str; 2] = ["/usr/bin/git", "/usr/local/bin/git"];
/// The directory of the broker below the state directory.
const STATE_DIR: &str = "git";

/// The broker of a node, and what tasks may use it for.
#[derive(Debug)]
pub(super) struct Repositories {
    broker: GitBroker,
    access: RepositoryAccess,
}

impl Repositories {
    /// Opens the broker. `None`, with a line in the log, if this machine has no usable git.
    pub(super) async fn open(state_dir: &Path, access: RepositoryAccess) -> Option<Self> {
        let program = GIT_PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file());
        let Some(program) = program else {
            tracing::info!("git is not installed: tasks with a repository go to other nodes");
            return None;
        };
        match Self::open_with(&program, state_dir, access).await {
            Ok(repositories) => Some(repositories),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "git cannot be used: tasks with a repository go to other nodes"
                );
                None
            }
        }
    }

    /// Allows other repositories from now on.
    pub(super) fn replace_access(&self, access: &RepositoryAccess) {
        self.access.replace(access);
    }

    async fn open_with(
        program: &Path,
        state_dir: &Path,
        access: RepositoryAccess,
    ) -> Result<Self, GitError> {
        let mut options = BrokerOptions::new(state_dir.join(STATE_DIR), program);
        let access = access.without_paths_below(state_dir);
        options.network.resolver = SharedResolver::new(Arc::new(access.clone()));
        Ok(Self { broker: GitBroker::open(options).await?, access })
    }
}

/// The key of a task in the refs of a mirror.
fn task_key(task: TaskId) -> Result<TaskKey, NameError> {
    task.to_string().parse()
}
