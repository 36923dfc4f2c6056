//! `task result`: what came of a task, job by job.

use super::{view, wait};
use crate::app::App;
use crate::failure::Failure;

/// Shows the result, waiting for it if asked to.
pub(crate) async fn run(task: &str, wait: bool, app: &mut App) -> Result<(), Failure> {
    let closed = if wait {
        let view = app.session.call(async |client| client.task_get(task).await).await?;
        Some(if view.closed { view } else { wait::with_progress(&view, None, app).await? })
    } else {
        None
    };
    let result = app.session.call(async |client| client.task_result(task).await).await?;
    app.out.show(&result, view::result)?;
    closed.as_ref().map_or(Ok(()), wait::judge)
}
