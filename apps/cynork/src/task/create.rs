//! `task create`: creates a task, and waits for it with `--wait`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use cynode_domain::job::Limits;
use cynode_domain::node_labels::parse_label;
use cynode_domain::plan::InputMode;
use cynode_wire::tasks::{CreateTask, ResultView, TaskView};
use serde_json::Value;

use super::input::{self, InputPurpose};
use super::limit_args::TaskLimitArgs;
use super::repository_args::TaskRepositoryArgs;
use super::{view, wait};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::Verbosity;

const EXAMPLES: &str = "\
Examples:
  cynork task create --command 'echo hello' --wait
  cynork task create --script build.sh --attach src.tar --expect report.txt --timeout 10m
  cynork task create --commands-file steps.txt --accept 'output:/all tests passed/'
  cynork task create 'Fix the flaky login test' --name fix-login
  cynork task create --agent sba 'Sort the words in attachments/words.txt' --attach words.txt --wait
  cynork task create --agent sba 'Fix the typos in README.md' --repo https://example.com/team/app.git";

/// Arguments of `task create`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("work").required(true).args(
    ["words", "prompt", "task_file", "script", "command", "commands_file"])))]
pub struct TaskCreateArgs {
    /// The task in prose.
    #[arg(value_name = "TEXT")]
    words: Option<String>,
    /// The task in prose, same as TEXT.
    #[arg(short, long, visible_alias = "task", value_name = "TEXT")]
    prompt: Option<String>,
    /// A file with the task in prose; `-` is standard input.
    #[arg(short = 'f', long, value_name = "FILE")]
    task_file: Option<PathBuf>,
    /// The agent that carries the task out in a sandbox: `sba` is the built-in one, `cynork agent profiles` lists others.
    #[arg(long = "agent", id = "agent_name", value_name = "AGENT",
        conflicts_with_all = ["script", "command", "commands_file"])]
    agent: Option<String>,
    /// A script to run; its `#!` line selects the interpreter.
    #[arg(short, long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// A shell command to run; repeat it for further steps.
    #[arg(long, value_name = "CMD")]
    command: Vec<String>,
    /// A file with one command per line.
    #[arg(long, value_name = "FILE")]
    commands_file: Option<PathBuf>,
    /// A file to place in the workspace under attachments/; repeatable, up to 16.
    #[arg(short, long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    #[command(flatten)]
    repository: TaskRepositoryArgs,
    #[command(flatten)]
    placement: TaskPlacementArgs,
    #[command(flatten)]
    bounds: TaskLimitArgs,
    /// Wait until the task closes: progress goes to standard error, the task's output to standard output. Exit
    /// code 1 if it did not complete, 9 if it completed unverified.
    #[arg(short, long)]
    wait: bool,
}

/// Name, project, dependencies and placement.
#[derive(Debug, Args)]
struct TaskPlacementArgs {
    /// A name [default: derived from the task].
    #[arg(long)]
    name: Option<String>,
    /// The project, by slug or id [default: your default project].
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
    /// The profile of the project that its agents work in [default: the default one].
    #[arg(long)]
    profile: Option<String>,
    /// A task that must complete first, by name or id; repeatable.
    #[arg(long, value_name = "TASK")]
    depends_on: Vec<String>,
    /// The worker node to run the task on [default: chosen by the project manager].
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// A label that the worker node must have, such as zone=eu or arch=aarch64; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label, conflicts_with = "node")]
    node_label: Vec<(String, String)>,
    /// The image to run in, by the name that worker nodes know [default: host, the system of the node].
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
    /// Idempotency key: requests with the same key create one task.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(crate) async fn run(args: TaskCreateArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let wait = args.wait;
    let body = build_request(args)?;
    let task = app.session.call(async |client| client.task_create(&body).await).await?;
    if wait {
        return wait::wait_and_print(&task, app).await;
    }
    print_task(&task, app).await
}

pub(super) async fn print_task(task: &TaskView, app: &mut CliContext) -> Result<(), CliFailure> {
    if app.out.verbosity == Verbosity::Quiet && app.out.format == Format::Table {
        return app.out.data(format!("{}\n", task.id));
    }
    if app.out.format == Format::Json {
        print_json_result(task, app).await?;
    } else {
        app.out.show(task, view::task)?;
    }
    app.out.print_message(&format!("follow it with `cynork task watch {}`", task.task_name));
    Ok(())
}

/// Prints a task and its result as one JSON object, with the same fields whether or not the command waited.
pub(super) async fn print_json_result(
    task: &TaskView,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let id = task.id.to_string();
    let result = app.session.read(async |client| client.task_result(&id).await).await?;
    app.out.print_json(&merge_result(task, &result).map_err(std::io::Error::from)?)
}

fn merge_result(task: &TaskView, result: &ResultView) -> serde_json::Result<Value> {
    let mut whole = serde_json::to_value(task)?;
    if let (Value::Object(whole), Value::Object(result)) =
        (&mut whole, serde_json::to_value(result)?)
    {
        for (name, value) in result {
            // Fields of both, such as the status, are those of the task as printed.
            whole.entry(name).or_insert(value);
        }
    }
    Ok(whole)
}

/// Builds the request; all validation happens here, before anything is sent.
fn build_request(args: TaskCreateArgs) -> Result<CreateTask, CliFailure> {
    let attachments = input::read_attachments(&args.attach)?;
    let (input_mode, prompt, commands) = read_work(&args)?;
    let TaskCreateArgs { placement, mut repository, bounds, agent, .. } = args;
    let builds_on = std::mem::take(&mut repository.on);
    let mark_conflicts = repository.mark_conflicts;
    let (repository, project_repository) = repository.into_repository()?.into_fields();
    let mut task = CreateTask {
        input_mode,
        prompt,
        commands,
        task_name: placement.name,
        project: placement.project,
        profile: placement.profile,
        acceptance_criteria: vec![],
        step_criteria: vec![],
        expected_outputs: vec![],
        depends_on: placement.depends_on,
        attachments,
        mark_conflicts,
        repository,
        project_repository,
        builds_on,
        limits: Limits::default(),
        retry_interrupted: false,
        max_attempts: None,
        approve_plan: false,
        answer_within_s: None,
        node: placement.node,
        node_labels: placement.node_label.into_iter().collect(),
        image: placement.image,
        agent,
        model_hint: None,
        idempotency_key: placement.idempotency_key,
    };
    bounds.apply(&mut task)?;
    Ok(task)
}

/// Reads the input; the argument group guarantees exactly one kind.
fn read_work(args: &TaskCreateArgs) -> Result<(InputMode, String, Vec<String>), CliFailure> {
    let text = String::new();
    if let Some(path) = &args.script {
        return Ok((InputMode::Script, input::read_text(path, InputPurpose::Script)?, vec![]));
    }
    if let Some(path) = &args.commands_file {
        return Ok((InputMode::Commands, text, input::read_commands(path)?));
    }
    if !args.command.is_empty() {
        if args.command.iter().any(|line| line.trim().is_empty()) {
            return Err(CliFailure::Invalid("a command is empty".to_owned()));
        }
        let bytes: usize = args.command.iter().map(String::len).sum();
        InputPurpose::CommandsFile.check_size(bytes as u64, "--command")?;
        return Ok((InputMode::Commands, text, args.command.clone()));
    }
    let prompt = match (args.words.as_ref().or(args.prompt.as_ref()), &args.task_file) {
        (Some(prompt), _) => prompt.clone(),
        (None, Some(path)) => input::read_text(path, InputPurpose::TaskFile)?,
        (None, None) => text,
    };
    if prompt.trim().is_empty() {
        return Err(CliFailure::Invalid("the prompt is empty".to_owned()));
    }
    InputPurpose::TaskFile.check_size(prompt.len() as u64, "--prompt")?;
    let mode = if args.agent.is_some() { InputMode::Agent } else { InputMode::Prompt };
    Ok((mode, prompt, vec![]))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::Cli;
    use crate::cli::CynorkCommand;
    use crate::task::TaskCommand;

    fn parse_args(args: &[&str]) -> Result<TaskCreateArgs, clap::Error> {
        let line = ["cynork", "task", "create"].iter().chain(args);
        let cli = Cli::try_parse_from(line)?;
        if let CynorkCommand::Task(TaskCommand::Create(args)) = cli.command {
            return Ok(*args);
        }
        unreachable!("the line says task create")
    }

    #[test]
    fn exactly_one_kind_of_work_must_be_given() {
        assert_eq!(parse_args(&[]).unwrap_err().exit_code(), 2);
        assert_eq!(parse_args(&["-p", "x", "--command", "y"]).unwrap_err().exit_code(), 2);
        assert_eq!(parse_args(&["x", "--command", "y"]).unwrap_err().exit_code(), 2);
        assert_eq!(parse_args(&["x", "-p", "y"]).unwrap_err().exit_code(), 2);
        assert!(parse_args(&["--task", "x"]).is_ok());
        assert!(parse_args(&["--command", "x", "--command", "y"]).is_ok());
    }

    #[test]
    fn words_without_a_flag_are_the_prompt() {
        let bare = build_request(parse_args(&["tidy the loft", "--wait"]).unwrap()).unwrap();
        let flagged = build_request(parse_args(&["-p", "tidy the loft"]).unwrap()).unwrap();

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

        let body = build_request(parse_args(&line).unwrap()).unwrap();

        insta::assert_json_snapshot!(body);
    }

    #[test]
    fn a_task_names_the_image_that_it_runs_in() {
        let of = |line: &[&str]| build_request(parse_args(line).unwrap()).unwrap().image;

        assert_eq!(of(&["--command", "true", "--image", "python"]).as_deref(), Some("python"));
        assert_eq!(of(&["--command", "true"]), None);
    }

    #[test]
    fn every_kind_of_work_may_have_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("work.sh");
        std::fs::write(&file, "make\n").unwrap();
        let file = file.to_str().unwrap();
        let address = ["--repo", "git@example.com:app", "--base", "main", "--branch", "fix/typo"];
        for work in [
            &["fix it"][..],
            &["--agent", "sba", "fix it"],
            &["--command", "make"],
            &["--commands-file", file],
            &["--script", file],
        ] {
            let args = parse_args(&[work, &address[..]].concat()).unwrap();
            let repository = build_request(args).unwrap().repository;

            let expected = serde_json::json!({
                "url": "git@example.com:app", "base_branch": "main", "branch": "fix/typo",
            });
            assert_eq!(serde_json::json!(repository), expected, "{work:?}");
        }
    }

    #[test]
    fn a_task_uses_the_repository_of_its_project_or_of_another_one() {
        let of = |options: &[&str]| {
            let args = [&["--command", "x", "--project", "shop"], options].concat();
            build_request(parse_args(&args).unwrap()).unwrap()
        };

        let own = of(&["--project-repo"]);
        assert_eq!((own.repository, own.project.as_deref()), (None, Some("shop")));
        assert_eq!(serde_json::json!(own.project_repository), serde_json::json!({}));
        let other = of(&["--project-repo=site", "--base", "next", "--on", "one"]);
        let expected = serde_json::json!({ "project": "site", "base_branch": "next" });
        assert_eq!(serde_json::json!(other.project_repository), expected);
        assert!(of(&[]).project_repository.is_none());
        let both = ["--command", "x", "--project-repo", "--repo", "/srv/app"];
        assert_eq!(parse_args(&both).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_task_names_the_tasks_that_it_builds_on_and_how_conflicts_are_treated() {
        let of = |options: &[&str]| {
            let args = [&["--command", "x", "--repo", "/srv/app"], options].concat();
            let body = build_request(parse_args(&args).unwrap()).unwrap();
            (body.builds_on, body.mark_conflicts)
        };

        assert_eq!(of(&[]), (vec![], false));
        let both = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(of(&["--on", "one", "--on", "two"]), (both, false));
        assert_eq!(of(&["--on", "one", "--mark-conflicts"]), (vec!["one".to_owned()], true));
        for line in [
            &["--command", "x", "--on", "one"][..],
            &["--command", "x", "--repo", "/srv/app", "--mark-conflicts"],
        ] {
            assert_eq!(parse_args(line).unwrap_err().exit_code(), 2, "{line:?}");
        }
    }

    #[test]
    fn branches_need_a_repository_and_a_name_that_git_accepts() {
        for line in [
            &["--command", "x", "--branch", "b"][..],
            &["--command", "x", "--base", "main"],
            &["--command", "x", "--repo", "/srv/app", "--branch", "a..b"],
        ] {
            assert_eq!(parse_args(line).unwrap_err().exit_code(), 2, "{line:?}");
        }
    }

    #[test]
    fn bounds_out_of_range_are_refused_before_anything_is_sent() {
        let refusal =
            build_request(parse_args(&["--command", "x", "--timeout", "5h"]).unwrap()).unwrap_err();

        assert_eq!(refusal.code(), 6);
        assert_eq!(refusal.to_string(), "--timeout, in seconds, is 18000; allowed is 1 to 10800");
        assert_eq!(
            parse_args(&["--command", "x", "--max-attempts", "11"]).unwrap_err().exit_code(),
            2
        );
    }

    #[test]
    fn an_empty_prompt_is_refused() {
        assert_eq!(build_request(parse_args(&["-p", "  "]).unwrap()).unwrap_err().code(), 6);
        assert_eq!(build_request(parse_args(&["--command", ""]).unwrap()).unwrap_err().code(), 6);
    }
}
