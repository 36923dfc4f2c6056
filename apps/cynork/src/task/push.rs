//! `task push`: pushes the newest changes of a task to a branch of its repository.

use clap::Args;
use cynode_domain::git::{BranchName, CommitId};
use cynode_wire::git::PushTask;

use super::create::print_task;
use super::wait;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Arguments of `task push`.
#[derive(Debug, Args)]
pub struct TaskPushArgs {
    /// The task whose changes are pushed, by name or id.
    task: String,
    /// The branch to push to [default: the branch of the task].
    #[arg(long, value_name = "BRANCH")]
    branch: Option<BranchName>,
    /// Replace the history of the branch, if it is at this commit.
    #[arg(long, value_name = "COMMIT")]
    replace: Option<CommitId>,
    /// Ask for approval before the push: `cynork inbox` shows the question.
    #[arg(long)]
    approve: bool,
    /// Wait until the branch is pushed. Exit code 1 if it was not.
    #[arg(short, long)]
    wait: bool,
}

pub(crate) async fn run(args: TaskPushArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let TaskPushArgs { task, branch, replace, approve, wait } = args;
    let body = PushTask {
        branch,
        replaces: replace,
        approve_plan: approve,
        task_name: None,
        idempotency_key: None,
    };
    let pushing = app.session.call(async |client| client.task_push(&task, &body).await).await?;
    if wait {
        return wait::wait_and_print(&pushing, app).await;
    }
    print_task(&pushing, app).await
}
