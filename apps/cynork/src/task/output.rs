//! The output of a task while it runs: printed as it grows, beside the progress.

use cynode_wire::tasks::{LogQuery, TaskView};

use super::logs::Printed;
use crate::app::App;
use crate::failure::Failure;
use crate::progress::Progress;

/// What has been printed of a task's output.
#[derive(Debug, Default)]
pub(super) struct Output {
    stdout: Printed,
    stderr: Printed,
}

impl Output {
    /// Prints what the task wrote since the last call.
    pub(super) async fn print_new(
        &mut self,
        task: &TaskView,
        progress: &Progress,
        app: &mut App,
    ) -> Result<(), Failure> {
        let (id, query) = (task.id.to_string(), LogQuery::default());
        let logs = app.session.read(async |client| client.task_logs(&id, &query).await).await?;
        let (stdout, stderr) = if progress.is_animated() {
            (self.stdout.new_lines(&logs.stdout, false), self.stderr.new_lines(&logs.stderr, false))
        } else {
            (self.stdout.new_part(&logs.stdout, false), self.stderr.new_part(&logs.stderr, false))
        };
        if stdout.is_empty() && stderr.is_empty() {
            return Ok(());
        }
        progress.hidden_while(|| {
            app.out.tell(stderr);
            app.out.data(stdout)
        })
    }

    /// Prints the rest of the output of a task that has closed.
    pub(super) async fn finish(mut self, task: &TaskView, app: &mut App) -> Result<(), Failure> {
        let (id, query) = (task.id.to_string(), LogQuery::default());
        let logs = app.session.read(async |client| client.task_logs(&id, &query).await).await?;
        app.out.data(self.stdout.new_part(&logs.stdout, true))?;
        app.out.tell(self.stderr.new_part(&logs.stderr, true));
        Ok(())
    }
}
