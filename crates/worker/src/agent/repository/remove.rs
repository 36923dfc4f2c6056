//! Removes what the broker keeps for tasks that are closed.

use std::path::Path;
use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_git::RetentionPolicy;

use super::super::DaemonContext;
use super::task_key;

/// Mirrors of all repositories together.
const MAX_MIRROR_BYTES: u64 = 50 << 30;
/// Mirrors that no task used for this long are removed.
const MAX_IDLE: Duration = Duration::from_hours(30 * 24);

/// Forgets the checkout of a workspace that is removed, and the commits of its task.
pub(in crate::agent) async fn remove_checkout(
    context: &DaemonContext,
    task: TaskId,
    workspace: &Path,
) {
    let Some(repositories) = &context.repositories else { return };
    let broker = &repositories.broker;
    let removed = async {
        let Ok(key) = task_key(task) else { return Ok(()) };
        let Some((url, _)) = broker.find_checkout(workspace) else {
            return broker.remove_leftover_refs(&key).await;
        };
        if let Ok(url) = url.try_into()
            && let Ok(mirror) = broker.find_mirror(&url)
        {
            broker.remove_refs(&mirror, &key).await?;
        }
        broker.forget_checkout(workspace).await
    };
    if let Err(error) = removed.await {
        tracing::warn!(
            task.id = %task, error = &error as &dyn std::error::Error,
            "commits of a closed task not removed"
        );
    }
}

/// Evicts mirrors that are not used, and removes leftovers of killed operations.
pub(in crate::agent) async fn collect_garbage(context: &DaemonContext) {
    let Some(repositories) = &context.repositories else { return };
    let policy = RetentionPolicy { max_total_bytes: MAX_MIRROR_BYTES, max_idle: MAX_IDLE };
    if let Err(error) = repositories.broker.collect_garbage(&policy).await {
        tracing::warn!(error = &error as &dyn std::error::Error, "mirrors not collected");
    }
}
