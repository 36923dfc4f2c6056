//! Prints the output of a running task next to its progress.

use cynode_wire::tasks::{LogQuery, TaskView};

use super::logs::Printed;
use crate::app::CliContext;
use crate::failure::CliFailure;
use crate::progress::CommandProgress;

/// How much of a task's output is printed.
#[derive(Debug, Default)]
pub(super) struct TaskOutputPrinter {
    stdout: Printed,
    stderr: Printed,
}

impl TaskOutputPrinter {
    /// Prints the output since the last call.
    pub(super) async fn print_new(
        &mut self,
        task: &TaskView,
        progress: &CommandProgress,
        app: &mut CliContext,
    ) -> Result<(), CliFailure> {
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
        progress.with_spinner_hidden(|| {
            app.out.tell(stderr);
            app.out.data(stdout)
        })
    }

    /// Prints the rest after the task has closed.
    pub(super) async fn finish(
        mut self,
        task: &TaskView,
        app: &mut CliContext,
    ) -> Result<(), CliFailure> {
        let (id, query) = (task.id.to_string(), LogQuery::default());
        let logs = app.session.read(async |client| client.task_logs(&id, &query).await).await?;
        app.out.data(self.stdout.new_part(&logs.stdout, true))?;
        app.out.tell(self.stderr.new_part(&logs.stderr, true));
        Ok(())
    }
}
