//! `run pause|resume|answer|retry|fork`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use cynode_domain::question::Reply;
use cynode_wire::runs::{AnswerRun, ForkRun, RetryRun, RunDetail};

use super::view;
use crate::task::input::{self, InputPurpose};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Arguments of `run answer`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("reply").required(true).args(["yes", "no", "retry", "command", "script", "text"])))]
pub struct AnswerArgs {
    /// The run, or its task.
    run: String,
    /// Approve.
    #[arg(long)]
    yes: bool,
    /// Decline: the task fails with the comment as its reason.
    #[arg(long)]
    no: bool,
    /// Retry the failed operation, such as judging a result.
    #[arg(long)]
    retry: bool,
    /// A shell command to run; repeat it for further steps.
    #[arg(long, value_name = "CMD")]
    command: Vec<String>,
    /// A script to run; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// An answer in prose.
    #[arg(long)]
    text: Option<String>,
    /// A comment.
    #[arg(short = 'm', long, value_name = "TEXT")]
    comment: Option<String>,
}

/// Arguments of `run retry`.
#[derive(Debug, Args)]
pub struct RunRetryArgs {
    /// The run, or its task.
    run: String,
    /// The workflow node to start from [default: the failed node or step].
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
}

/// Arguments of `run fork`.
#[derive(Debug, Args)]
pub struct RunForkArgs {
    /// The run, or its task.
    run: String,
    /// The history row to fork at.
    row: i64,
    /// A name for the new task [default: derived from the old name].
    #[arg(long)]
    name: Option<String>,
    /// Idempotency key: requests with the same key create one task.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(super) async fn pause(run: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    let found = app.session.call(async |client| client.run_pause(run).await).await?;
    app.out.show(&found, view::render_outcome)
}

pub(super) async fn resume(run: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    let found = app.session.call(async |client| client.run_resume(run).await).await?;
    app.out.show(&found, view::render_outcome)
}

pub(super) async fn answer(args: AnswerArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let run = args.run.clone();
    let body = AnswerRun { comment: args.comment.clone(), reply: build_reply(args)? };
    let found = app.session.call(async |client| client.run_answer(&run, &body).await).await?;
    app.out.show(&found, view::render_outcome)
}

pub(super) async fn retry(args: RunRetryArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let RunRetryArgs { run, from } = args;
    let body = RetryRun { node: from };
    let made = app.session.call(async |client| client.run_retry(&run, &body).await).await?;
    app.out.show(&made, view::render_outcome)?;
    print_watch_hint(&made, app);
    Ok(())
}

pub(super) async fn fork(args: RunForkArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let RunForkArgs { run, row, name, idempotency_key } = args;
    let body = ForkRun { sequence: row, task_name: name, idempotency_key };
    let made = app.session.call(async |client| client.run_fork(&run, &body).await).await?;
    app.out.show(&made, view::render_outcome)?;
    print_watch_hint(&made, app);
    Ok(())
}

fn print_watch_hint(made: &RunDetail, app: &CliContext) {
    app.out.print_message(&format!("follow it with `cynork task watch {}`", made.run.task_name));
}

/// Converts the flags to a reply; the argument group guarantees exactly one kind.
fn build_reply(args: AnswerArgs) -> Result<Reply, CliFailure> {
    if args.yes {
        return Ok(Reply::Yes {});
    }
    if args.retry {
        return Ok(Reply::Retry {});
    }
    if !args.command.is_empty() {
        return Ok(Reply::Commands { lines: args.command });
    }
    if let Some(path) = &args.script {
        return Ok(Reply::Script { text: input::read_text(path, InputPurpose::Script)? });
    }
    match args.text {
        Some(text) => Ok(Reply::Text { text }),
        None => Ok(Reply::No {}),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::Cli;

    #[test]
    fn an_answer_is_of_one_kind() {
        let parse = |args: &[&str]| {
            let line = ["cynork", "run", "answer", "build"].iter().chain(args);
            Cli::try_parse_from(line).is_ok()
        };

        assert!(parse(&["--yes"]) && parse(&["--no", "-m", "too costly"]));
        assert!(parse(&["--command", "make", "--command", "make test"]));
        assert!(!parse(&[]) && !parse(&["--yes", "--no"]));
    }
}
