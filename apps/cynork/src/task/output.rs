//! Prints the output of a task's jobs, next to its progress or alone.

use std::borrow::Cow;

use cynode_domain::plan::InputMode;
use cynode_wire::tasks::{LogQuery, LogsView, TaskView};

use super::transcript::render_transcript;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::CommandOutput;
use cynode_cli::progress::CommandProgress;
use cynode_cli::untrusted_stream::UntrustedStream;

/// Prints each part of a task's output once.
#[derive(Debug)]
pub(super) struct TaskOutputPrinter {
    stdout: (Printed, UntrustedStream),
    stderr: (Printed, UntrustedStream),
    /// Whether standard output is the transcript of an agent.
    is_transcript: bool,
}

impl TaskOutputPrinter {
    pub(super) fn new(out: CommandOutput, mode: InputMode) -> Self {
        Self {
            is_transcript: mode == InputMode::Agent,
            stdout: (Printed::default(), out.untrusted_stdout()),
            stderr: (Printed::default(), out.untrusted_stderr()),
        }
    }

    /// Prints the output since the last call.
    pub(super) async fn print_new(
        &mut self,
        task: &TaskView,
        progress: &CommandProgress,
        app: &mut CliContext,
    ) -> Result<(), CliFailure> {
        let logs = load_logs(task, app).await?;
        if !progress.is_animated() {
            return self.print_part(&logs, false);
        }
        let stdout = self.stdout.0.new_lines(&logs.stdout);
        let stderr = self.stderr.0.new_lines(&logs.stderr);
        if stdout.is_empty() && stderr.is_empty() {
            return Ok(());
        }
        progress.with_spinner_hidden(|| {
            self.stderr.1.write(stderr)?;
            self.stdout.1.write(&render(self.is_transcript, stdout))
        })
    }

    /// Prints the rest after the task has closed.
    pub(super) async fn finish(
        mut self,
        task: &TaskView,
        app: &mut CliContext,
    ) -> Result<(), CliFailure> {
        let logs = load_logs(task, app).await?;
        self.print_part(&logs, true)
    }

    /// Prints what `logs` holds beyond the output printed so far.
    pub(super) fn print_part(&mut self, logs: &LogsView, complete: bool) -> Result<(), CliFailure> {
        let stdout = if self.is_transcript && !complete {
            self.stdout.0.new_lines(&logs.stdout)
        } else {
            self.stdout.0.new_part(&logs.stdout, complete)
        };
        self.stdout.1.write(&render(self.is_transcript, stdout))?;
        self.stderr.1.write(self.stderr.0.new_part(&logs.stderr, complete))
    }
}

fn render(is_transcript: bool, text: &str) -> Cow<'_, str> {
    if is_transcript { render_transcript(text).into() } else { text.into() }
}

async fn load_logs(task: &TaskView, app: &mut CliContext) -> Result<LogsView, CliFailure> {
    let (id, query) = (task.id.to_string(), LogQuery::default());
    app.session.read(async |client| client.task_logs(&id, &query).await).await
}

/// How many bytes of a growing text are printed.
#[derive(Debug, Default)]
struct Printed {
    bytes: usize,
}

impl Printed {
    /// Returns the unprinted part. A replacement character at the end may be half a character, so it is held
    /// back until the text is `complete`.
    fn new_part<'a>(&mut self, text: &'a str, complete: bool) -> &'a str {
        let settled = if complete { text } else { text.trim_end_matches('\u{fffd}') };
        let part = settled.get(self.bytes..).unwrap_or_default();
        self.bytes += part.len();
        part
    }

    /// As [`Printed::new_part`], but only whole lines, because other output may be printed in between.
    fn new_lines<'a>(&mut self, text: &'a str) -> &'a str {
        let end = text.rfind('\n').map_or(0, |newline| newline + 1);
        self.new_part(text.get(..end).unwrap_or_default(), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followed_output_is_printed_once_and_whole() {
        let mut printed = Printed::default();

        assert_eq!(printed.new_part("one\n", false), "one\n");
        assert_eq!(printed.new_part("one\ntw\u{fffd}", false), "tw");
        assert_eq!(printed.new_part("one\ntwö", false), "ö");
        assert_eq!(printed.new_part("one\ntwö\u{fffd}", true), "\u{fffd}");
        assert_eq!(printed.new_part("one\ntwö\u{fffd}", true), "");
    }

    #[test]
    fn beside_a_spinner_only_whole_lines_are_printed_until_the_end() {
        let mut printed = Printed::default();

        assert_eq!(printed.new_lines("one\ntw"), "one\n");
        assert_eq!(printed.new_lines("one\ntwo"), "");
        assert_eq!(printed.new_lines("one\ntwo\nthr"), "two\n");
        assert_eq!(printed.new_part("one\ntwo\nthree", true), "three");
    }
}
