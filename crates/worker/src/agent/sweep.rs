//! Removing what is not needed any more: left-over trash, and workspaces of closed tasks.
//!
//! Only the orchestrator knows whether a task is closed, so it is asked: a task may be paused or wait for
//! a person for weeks, and goes on with its files then.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::nodes::AskWorkspaces;

use super::link::LinkError;
use super::{Context, blocking};
use crate::remove::remove_tree;

const EVERY: Duration = Duration::from_hours(1);
/// How soon the orchestrator is asked again if it did not answer.
const AGAIN: Duration = Duration::from_mins(1);
/// About how many tasks the orchestrator is asked at once.
const PAGE: usize = 1000;

/// Sweeps now and every hour.
pub(super) async fn run(context: Arc<Context>, shutdown: Shutdown) {
    loop {
        let swept = tokio::select! {
            () = shutdown.triggered() => return,
            swept = sweep(&context) => swept,
        };
        let pause = match swept {
            Ok(()) => EVERY,
            Err(error) => {
                tracing::debug!(
                    "workspaces are kept, because the orchestrator was not asked: {error}"
                );
                AGAIN
            }
        };
        tokio::select! {
            () = shutdown.triggered() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn sweep(context: &Arc<Context>) -> Result<(), LinkError> {
    let (trash, workspaces) = (context.sandbox.trash_dir(), context.sandbox.workspaces_dir());
    let emptied = blocking(move || {
        for entry in fs::read_dir(trash).into_iter().flatten().flatten() {
            let _ = remove_tree(&entry.path());
        }
        tasks_in(&workspaces)
    });
    let tasks = emptied.await.unwrap_or_default();
    let kept_s = context.options.workspace_retention.as_secs();
    let closed_for_s = u32::try_from(kept_s).unwrap_or(u32::MAX);
    for page in tasks.chunks(PAGE) {
        let body = &AskWorkspaces { tasks: page.to_vec(), closed_for_s };
        let ask = |client: cynode_client::Client| async move { client.node_workspaces(body).await };
        for task in context.link.call(ask).await?.removable {
            let context = Arc::clone(context);
            let _ = blocking(move || remove_workspace(&context, task)).await;
        }
    }
    Ok(())
}

fn remove_workspace(context: &Context, task: TaskId) {
    let workspaces = context.sandbox.workspaces_dir();
    let trash = context.sandbox.trash_dir().join(format!("workspace-{task}"));
    let retired =
        context.roster.unless_used(task, || fs::rename(workspaces.join(task.to_string()), &trash));
    match retired {
        Some(Ok(())) => {
            tracing::info!(task.id = %task, "workspace of closed task {task} removed");
            let _ = remove_tree(&trash);
        }
        Some(Err(error)) => {
            tracing::warn!(
                task.id = %task, error = &error as &dyn std::error::Error,
                "the workspace of closed task {task} cannot be removed"
            );
        }
        None => {}
    }
    // Earlier versions left a file beside each workspace.
    let _ = fs::remove_file(workspaces.join(format!(".{task}")));
}

/// The tasks that have a workspace here.
fn tasks_in(workspaces: &Path) -> Vec<TaskId> {
    let entries = fs::read_dir(workspaces).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
