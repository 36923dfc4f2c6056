//! `task logs`: the output of a task's jobs, once or following.

use std::time::Duration;

use clap::{Args, ValueEnum};
use cynode_client::Client;
use cynode_wire::tasks::{LogQuery, LogsView};
use tokio::time::sleep;

use super::output::TaskOutputPrinter;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;

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
    let mut printer = None;
    loop {
        // Read before the output, so that the last output of a closed task is not missed.
        let get = async |client: &Client| client.task_get(task).await;
        let view =
            if args.follow { app.session.read(get).await? } else { app.session.call(get).await? };
        let closed = !args.follow || view.closed;
        let read = async |client: &Client| client.task_logs(task, &query).await;
        let logs = if args.follow {
            app.session.read(read).await?
        } else {
            app.session.call(read).await?
        };
        if app.out.format == Format::Table {
            let mode = view.input_mode;
            let printer = printer.get_or_insert_with(|| TaskOutputPrinter::new(app.out, mode));
            printer.print_part(&logs, closed)?;
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
