//! `task logs`: the output of a task's jobs, once or following.

use std::time::Duration;

use clap::{Args, ValueEnum};
use cynode_client::Client;
use cynode_wire::tasks::{LogQuery, LogsView};
use tokio::time::sleep;

use crate::app::CliContext;
use crate::cli::Format;
use crate::failure::CliFailure;

/// Poll interval of `--follow`.
pub(super) const POLL: Duration = Duration::from_millis(300);

/// Arguments of `task logs`.
#[derive(Debug, Args)]
pub struct TaskLogsArgs {
    /// The task, by name or id.
    task: String,
    /// The stream; standard error is printed to standard error.
    #[arg(long, value_enum, default_value_t = Streams::All)]
    stream: Streams,
    /// Follow the output until the task closes.
    #[arg(short = 'F', long)]
    follow: bool,
}

/// Streams to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Streams {
    /// Standard output only.
    Stdout,
    /// Standard error only.
    Stderr,
    /// Both.
    All,
}

pub(crate) async fn run(args: TaskLogsArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let stream = match args.stream {
        Streams::Stdout => "stdout",
        Streams::Stderr => "stderr",
        Streams::All => "all",
    };
    let query = LogQuery { stream: Some(stream.to_owned()) };
    let task = args.task.as_str();
    let (mut stdout, mut stderr) = (Printed::default(), Printed::default());
    loop {
        // Checked before the output is read, so that the last output is not missed.
        let closed = !args.follow
            || app.session.read(async |client| client.task_get(task).await).await?.closed;
        let read = async |client: &Client| client.task_logs(task, &query).await;
        let logs = if args.follow {
            app.session.read(read).await?
        } else {
            app.session.call(read).await?
        };
        if app.out.format == Format::Table {
            app.out.data(stdout.new_part(&logs.stdout, closed))?;
            app.out.tell(stderr.new_part(&logs.stderr, closed));
        }
        if closed {
            return finish(&logs, app);
        }
        sleep(POLL).await;
    }
}

fn finish(logs: &LogsView, app: &CliContext) -> Result<(), CliFailure> {
    match app.out.format {
        Format::Json => app.out.print_json(logs),
        Format::Table => Ok(()),
    }
}

/// How many bytes of a growing text are printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    bytes: usize,
}

impl Printed {
    /// Returns the unprinted part. A replacement character at the end may be half a character, so it is held
    /// back until the text is `complete`.
    pub(super) fn new_part<'a>(&mut self, text: &'a str, complete: bool) -> &'a str {
        let settled = if complete { text } else { text.trim_end_matches('\u{fffd}') };
        let part = settled.get(self.bytes..).unwrap_or_default();
        self.bytes += part.len();
        part
    }

    /// As [`Printed::new_part`], but only whole lines, because other output may be printed in between.
    pub(super) fn new_lines<'a>(&mut self, text: &'a str, complete: bool) -> &'a str {
        if complete {
            return self.new_part(text, complete);
        }
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

        assert_eq!(printed.new_lines("one\ntw", false), "one\n");
        assert_eq!(printed.new_lines("one\ntwo", false), "");
        assert_eq!(printed.new_lines("one\ntwo\nthr", false), "two\n");
        assert_eq!(printed.new_lines("one\ntwo\nthree", true), "three");
    }
}
