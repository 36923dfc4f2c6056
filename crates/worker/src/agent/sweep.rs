//! Removes leftover trash and the workspaces of closed tasks.
//!
//! Only the orchestrator knows whether a task is closed: a task may be paused or wait for a person for
//! weeks, and then resume with its files.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_runtime::shutdown::Shutdown;
use cynode_sandbox::remove::remove_tree;
use cynode_wire::nodes::AskWorkspaces;

use super::connection::OrchestratorCallError;
use super::repository::{collect_garbage, remove_checkout};
use super::{DaemonContext, run_blocking};

const SWEEP_INTERVAL: Duration = Duration::from_hours(1);
/// Retry interval after a failed request to the orchestrator.
const RETRY_INTERVAL: Duration = Duration::from_mins(1);
/// Tasks per request.
const PAGE: usize = 1000;

/// Sweeps now and every hour.
pub(super) async fn run_sweeps(context: Arc<DaemonContext>, shutdown: Shutdown) {
    loop {
        let swept = tokio::select! {
            () = shutdown.triggered() => return,
            swept = sweep_once(&context) => swept,
        };
        let pause = match swept {
            Ok(()) => SWEEP_INTERVAL,
            Err(error) => {
                tracing::debug!(%error, "workspace sweep skipped");
                RETRY_INTERVAL
            }
        };
        tokio::select! {
            () = shutdown.triggered() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn sweep_once(context: &Arc<DaemonContext>) -> Result<(), OrchestratorCallError> {
    let (trash, workspaces) = (context.sandbox.trash_dir(), context.sandbox.workspaces_dir());
    let sandbox = context.sandbox.clone();
    let emptied = run_blocking(move || {
        if let Err(error) = sandbox.evict_caches() {
            tracing::warn!(error = &error as &dyn std::error::Error, "caches not evicted");
        }
        for entry in fs::read_dir(trash).into_iter().flatten().flatten() {
            let _ = remove_tree(&entry.path());
        }
        list_workspace_tasks(&workspaces)
    });
    let tasks = emptied.await.unwrap_or_default();
    let kept_s = context.options.workspace_retention.as_secs();
    let closed_for_s = u32::try_from(kept_s).unwrap_or(u32::MAX);
    for page in tasks.chunks(PAGE) {
        let body = &AskWorkspaces { tasks: page.to_vec(), closed_for_s };
        let ask = |client: cynode_client::Client| async move { client.node_workspaces(body).await };
        for task in context.connection.call(ask).await?.removable {
            remove_checkout(context, task, &context.sandbox.workspace(task)).await;
            let context = Arc::clone(context);
            let _ = run_blocking(move || remove_workspace(&context, task)).await;
        }
    }
    collect_garbage(context).await;
    Ok(())
}

fn remove_workspace(context: &DaemonContext, task: TaskId) {
    let workspaces = context.sandbox.workspaces_dir();
    let trash = context.sandbox.trash_dir().join(format!("workspace-{task}"));
    let retired = context
        .jobs
        .with_unused_workspace(task, || fs::rename(workspaces.join(task.to_string()), &trash));
    match retired {
        Some(Ok(())) => {
            tracing::info!(task.id = %task, "workspace removed");
            let _ = remove_tree(&trash);
        }
        Some(Err(error)) => {
            tracing::warn!(
                task.id = %task, error = &error as &dyn std::error::Error,
                "workspace cannot be removed"
            );
        }
        None => {}
    }
    // Earlier versions left a file beside each workspace.
    let _ = fs::remove_file(workspaces.join(format!(".{task}")));
}

/// Lists the tasks that have a workspace on this node.
fn list_workspace_tasks(workspaces: &Path) -> Vec<TaskId> {
    let entries = fs::read_dir(workspaces).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
