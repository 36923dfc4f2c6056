//! `task create`: hand in work, and wait for it if asked to.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use cynode_domain::job::Limits;
use cynode_domain::plan::InputMode;
use cynode_wire::tasks::{CreateTask, ResultView, TaskView};
use serde_json::Value;

use super::bounds::Bounds;
use super::input::{self, Purpose};
use super::{view, wait};
use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Talk;

const EXAMPLES: &str = "\
Examples:
  cynork task create --command 'echo hello' --wait
  cynork task create --script build.sh --attach src.tar --expect report.txt --timeout 10m
  cynork task create --commands-file steps.txt --accept 'output:/all tests passed/'
  cynork task create 'Fix the flaky login test' --name fix-login";

/// What the work is, and its bounds.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("work").required(true).args(
    ["words", "prompt", "task_file", "script", "command", "commands_file"])))]
pub struct CreateArgs {
    /// The work, in prose.
    #[arg(value_name = "TEXT")]
    words: Option<String>,
    /// The work, in prose: the same as TEXT without a flag.
    #[arg(short, long, visible_alias = "task", value_name = "TEXT")]
    prompt: Option<String>,
    /// A file that holds the work in prose; `-` is standard input.
    #[arg(short = 'f', long, value_name = "FILE")]
    task_file: Option<PathBuf>,
    /// A script to run; its `#!` line decides the interpreter.
    #[arg(short, long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// A shell command to run; give it again for each further step.
    #[arg(long, value_name = "CMD")]
    command: Vec<String>,
    /// A file with one command a line.
    #[arg(long, value_name = "FILE")]
    commands_file: Option<PathBuf>,
    /// A file to place in the workspace under attachments/; up to 16.
    #[arg(short, long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    bounds: Bounds,
    /// Wait until the task closes: progress on standard error, its output on standard output,
    /// exit code 1 if it did not complete, 9 if it completed unverified.
    #[arg(short, long)]
    wait: bool,
}

/// Where the task belongs and what it waits for.
#[derive(Debug, Args)]
struct Place {
    /// A name; made from the work when absent.
    #[arg(long)]
    name: Option<String>,
    /// The project, by slug or id; your default one when absent.
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
    /// A task that must complete first, by name or id; may be given again.
    #[arg(long, value_name = "TASK")]
    depends_on: Vec<String>,
    /// The worker node that all of it runs on; when absent, the project manager chooses where several
    /// could.
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Two requests with the same key make one task.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

/// Creates the task.
pub(crate) async fn run(args: CreateArgs, app: &mut App) -> Result<(), Failure> {
    let wait = args.wait;
    let body = body(args)?;
    let task = app.session.call(async |client| client.task_create(&body).await).await?;
    if wait {
        return wait::to_the_end(&task, app).await;
    }
    show(&task, app).await
}

async fn show(task: &TaskView, app: &mut App) -> Result<(), Failure> {
    if app.out.talk == Talk::Quiet && app.out.format == Format::Table {
        return app.out.data(format!("{}\n", task.id));
    }
    if app.out.format == Format::Json {
        show_json(task, app).await?;
    } else {
        app.out.show(task, view::task)?;
    }
    app.out.say(&format!("see it live with `cynork task watch {}`", task.task_name));
    Ok(())
}

/// Prints a task and its result as one JSON object, which has the same fields whether or not the
/// command waited for the task.
pub(super) async fn show_json(task: &TaskView, app: &mut App) -> Result<(), Failure> {
    let id = task.id.to_string();
    let result = app.session.read(async |client| client.task_result(&id).await).await?;
    app.out.json(&with_result(task, &result).map_err(std::io::Error::from)?)
}

fn with_result(task: &TaskView, result: &ResultView) -> serde_json::Result<Value> {
    let mut whole = serde_json::to_value(task)?;
    if let (Value::Object(whole), Value::Object(result)) =
        (&mut whole, serde_json::to_value(result)?)
    {
        for (name, value) in result {
            // What both tell, such as the status, is that of the task as it was printed.
            whole.entry(name).or_insert(value);
        }
    }
    Ok(whole)
}

/// Everything that can be wrong is found here, before anything is sent.
fn body(args: CreateArgs) -> Result<CreateTask, Failure> {
    let attachments = input::read_attachments(&args.attach)?;
    let (input_mode, prompt, commands) = work(&args)?;
    let CreateArgs { place, bounds, .. } = args;
    let mut task = CreateTask {
        input_mode,
        prompt,
        commands,
        task_name: place.name,
        project: place.project,
        acceptance_criteria: vec![],
        step_criteria: vec![],
        expected_outputs: vec![],
        depends_on: place.depends_on,
        attachments,
        limits: Limits::default(),
        retry_interrupted: false,
        max_attempts: None,
        approve_plan: false,
        answer_within_s: None,
        node: place.node,
        idempotency_key: place.idempotency_key,
    };
    bounds.apply(&mut task)?;
    Ok(task)
}

/// The command line's definition sees to it that exactly one kind of work is given.
fn work(args: &CreateArgs) -> Result<(InputMode, String, Vec<String>), Failure> {
    let text = String::new();
    if let Some(path) = &args.script {
        return Ok((InputMode::Script, input::read_text(path, Purpose::Script)?, vec![]));
    }
    if let Some(path) = &args.commands_file {
        return Ok((InputMode::Commands, text, input::read_commands(path)?));
    }
    if !args.command.is_empty() {
        if args.command.iter().any(|line| line.trim().is_empty()) {
            return Err(Failure::Invalid("a command is empty".to_owned()));
        }
        let bytes: usize = args.command.iter().map(String::len).sum();
        Purpose::CommandsFile.check_size(bytes as u64, "--command")?;
        return Ok((InputMode::Commands, text, args.command.clone()));
    }
    let prompt = match (args.words.as_ref().or(args.prompt.as_ref()), &args.task_file) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(path)) => input::read_text(path, Purpose::TaskFile)?,
        (None, None) => text,
    };
    if prompt.trim().is_empty() {
        return Err(Failure::Invalid("the prompt is empty".to_owned()));
    }
    Purpose::TaskFile.check_size(prompt.len() as u64, "--prompt")?;
    Ok((InputMode::Prompt, prompt, vec![]))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::Cli;
    use crate::cli::Command;
    use crate::task::TaskCommand;

    fn parsed(args: &[&str]) -> Result<CreateArgs, clap::Error> {
        let line = ["cynork", "task", "create"].iter().chain(args);
        let cli = Cli::try_parse_from(line)?;
        if let Command::Task(TaskCommand::Create(args)) = cli.command {
            return Ok(*args);
        }
        unreachable!("the line says task create")
    }

    #[test]
    fn exactly_one_kind_of_work_must_be_given() {
        assert_eq!(parsed(&[]).unwrap_err().exit_code(), 2);
        assert_eq!(parsed(&["-p", "x", "--command", "y"]).unwrap_err().exit_code(), 2);
        assert_eq!(parsed(&["x", "--command", "y"]).unwrap_err().exit_code(), 2);
        assert_eq!(parsed(&["x", "-p", "y"]).unwrap_err().exit_code(), 2);
        assert!(parsed(&["--task", "x"]).is_ok());
        assert!(parsed(&["--command", "x", "--command", "y"]).is_ok());
    }

    #[test]
    fn words_without_a_flag_are_the_prompt() {
        let bare = body(parsed(&["tidy the loft", "--wait"]).unwrap()).unwrap();
        let flagged = body(parsed(&["-p", "tidy the loft"]).unwrap()).unwrap();

        assert_eq!((bare.input_mode, bare.prompt.as_str()), (InputMode::Prompt, "tidy the loft"));
        assert_eq!(bare.prompt, flagged.prompt);
    }

    #[test]
    fn a_command_line_becomes_the_request_it_describes() {
        let line = [
            "--command",
            "make",
            "--command",
            "make test",
            "--name",
            "build",
            "--accept",
            "exit:0",
            "--accept-step",
            "1:it is small",
            "--expect",
            "report.txt",
            "--timeout",
            "90s",
            "--memory-mib",
            "64",
            "--max-processes",
            "16",
            "--disk-mib",
            "8",
            "--output-bytes",
            "4096",
            "--max-attempts",
            "3",
            "--retry-interrupted",
            "--depends-on",
            "setup",
            "--idempotency-key",
            "k1",
        ];

        let body = body(parsed(&line).unwrap()).unwrap();

        insta::assert_json_snapshot!(body);
    }

    #[test]
    fn bounds_out_of_range_are_refused_before_anything_is_sent() {
        let refusal = body(parsed(&["--command", "x", "--timeout", "5h"]).unwrap()).unwrap_err();

        assert_eq!(refusal.code(), 6);
        assert_eq!(refusal.to_string(), "--timeout, in seconds, is 18000; allowed is 1 to 10800");
        assert_eq!(parsed(&["--command", "x", "--max-attempts", "11"]).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn an_empty_prompt_is_refused() {
        assert_eq!(body(parsed(&["-p", "  "]).unwrap()).unwrap_err().code(), 6);
        assert_eq!(body(parsed(&["--command", ""]).unwrap()).unwrap_err().code(), 6);
    }
}
