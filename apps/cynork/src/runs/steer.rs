//! `run pause|resume|answer|retry|fork`: what people do to runs.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use cynode_domain::question::Reply;
use cynode_wire::runs::{AnswerRun, ForkRun, RetryRun, RunDetail};

use super::view;
use crate::app::App;
use crate::failure::Failure;
use crate::task::input::{self, Purpose};

/// What to answer.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("reply").required(true).args(["yes", "no", "retry", "command", "script", "text"])))]
pub struct AnswerArgs {
    /// The run, or its task.
    run: String,
    /// Go on.
    #[arg(long)]
    yes: bool,
    /// Do not go on: the task fails, with the comment as its reason.
    #[arg(long)]
    no: bool,
    /// Try again what could not be done, such as judging a result.
    #[arg(long)]
    retry: bool,
    /// A shell command to run; give it again for each further step.
    #[arg(long, value_name = "CMD")]
    command: Vec<String>,
    /// A script to run; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// An answer in prose.
    #[arg(long)]
    text: Option<String>,
    /// Why, in words.
    #[arg(short = 'm', long, value_name = "TEXT")]
    comment: Option<String>,
}

/// What to retry.
#[derive(Debug, Args)]
pub struct RetryArgs {
    /// The run, or its task.
    run: String,
    /// The node to begin with, as it ran last [default: the one that failed, or the step that did].
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
}

/// What to go on from.
#[derive(Debug, Args)]
pub struct ForkArgs {
    /// The run, or its task.
    run: String,
    /// The row of its history to go on from.
    row: i64,
    /// A name for the new task; made from the old one's when absent.
    #[arg(long)]
    name: Option<String>,
    /// Two requests with the same key make one task.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(super) async fn pause(run: &str, app: &mut App) -> Result<(), Failure> {
    let found = app.session.call(async |client| client.run_pause(run).await).await?;
    app.out.show(&found, view::outcome)
}

pub(super) async fn resume(run: &str, app: &mut App) -> Result<(), Failure> {
    let found = app.session.call(async |client| client.run_resume(run).await).await?;
    app.out.show(&found, view::outcome)
}

pub(super) async fn answer(args: AnswerArgs, app: &mut App) -> Result<(), Failure> {
    let run = args.run.clone();
    let body = AnswerRun { comment: args.comment.clone(), reply: reply(args)? };
    let found = app.session.call(async |client| client.run_answer(&run, &body).await).await?;
    app.out.show(&found, view::outcome)
}

pub(super) async fn retry(args: RetryArgs, app: &mut App) -> Result<(), Failure> {
    let RetryArgs { run, from } = args;
    let body = RetryRun { node: from };
    let made = app.session.call(async |client| client.run_retry(&run, &body).await).await?;
    app.out.show(&made, view::outcome)?;
    advise(&made, app);
    Ok(())
}

pub(super) async fn fork(args: ForkArgs, app: &mut App) -> Result<(), Failure> {
    let ForkArgs { run, row, name, idempotency_key } = args;
    let body = ForkRun { sequence: row, task_name: name, idempotency_key };
    let made = app.session.call(async |client| client.run_fork(&run, &body).await).await?;
    app.out.show(&made, view::outcome)?;
    advise(&made, app);
    Ok(())
}

fn advise(made: &RunDetail, app: &App) {
    app.out.say(&format!("see it live with `cynork task watch {}`", made.run.task_name));
}

/// The command line's definition sees to it that exactly one kind of answer is given.
fn reply(args: AnswerArgs) -> Result<Reply, Failure> {
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
        return Ok(Reply::Script { text: input::read_text(path, Purpose::Script)? });
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
