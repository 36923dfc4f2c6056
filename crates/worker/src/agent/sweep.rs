//! Removing what nobody needs any more: left-over trash, and workspaces of tasks long quiet.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_runtime::shutdown::Shutdown;

use super::{Context, blocking};
use crate::remove::remove_tree;

const EVERY: Duration = Duration::from_hours(1);

/// Sweeps now and every hour.
pub(super) async fn run(context: Arc<Context>, shutdown: Shutdown) {
    loop {
        let sweeping = Arc::clone(&context);
        let _ = blocking(move || sweep(&sweeping, SystemClock.now())).await;
        tokio::select! {
            () = shutdown.triggered() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

fn sweep(context: &Context, now: DateTime<Utc>) {
    for entry in fs::read_dir(context.sandbox.trash_dir()).into_iter().flatten().flatten() {
        let _ = remove_tree(&entry.path());
    }
    let workspaces = context.sandbox.workspaces_dir();
    for task in quiet(&workspaces, now, context.options.workspace_retention) {
        if !context.roster.uses(task) {
            tracing::info!(task.id = %task, "the workspace of task {task} is removed");
            let _ = remove_tree(&workspaces.join(task.to_string()));
            let _ = fs::remove_file(workspaces.join(format!(".{task}")));
        }
    }
}

/// Tasks whose workspace was last used longer ago than `retention`.
fn quiet(workspaces: &Path, now: DateTime<Utc>, retention: Duration) -> Vec<TaskId> {
    let mut quiet = Vec::new();
    for entry in fs::read_dir(workspaces).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let task = name.strip_prefix('.').and_then(|id| id.parse().ok());
        let used = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if let (Some(task), Some(used)) = (task, used) {
            let age = now.signed_duration_since(DateTime::<Utc>::from(used));
            if age.to_std().is_ok_and(|age| age > retention) {
                quiet.push(task);
            }
        }
    }
    quiet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_workspaces_unused_for_longer_than_the_retention_are_quiet() {
        let workspaces = tempfile::tempdir().unwrap();
        let task = TaskId::generate();
        fs::write(workspaces.path().join(format!(".{task}")), "").unwrap();
        let (hour, now) = (Duration::from_hours(1), SystemClock.now());

        assert_eq!(quiet(workspaces.path(), now, hour), []);
        assert_eq!(quiet(workspaces.path(), now + hour * 2, hour), [task]);
    }
}
