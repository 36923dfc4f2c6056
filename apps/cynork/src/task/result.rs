//! `task result`: the result of a task, job by job.

use super::{view, wait};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Prints the result; with `wait`, after the task has closed.
pub(crate) async fn run(task: &str, wait: bool, app: &mut CliContext) -> Result<(), CliFailure> {
    let closed = if wait {
        let view = app.session.call(async |client| client.task_get(task).await).await?;
        Some(if view.closed { view } else { wait::wait_with_progress(&view, None, app).await? })
    } else {
        None
    };
    let result = app.session.call(async |client| client.task_result(task).await).await?;
    app.out.show(&result, view::render_result)?;
    closed.as_ref().map_or(Ok(()), wait::check_outcome)
}
