//! `task update`: changes name or acceptance criteria.

use clap::Args;
use cynode_domain::criteria::Criterion;
use cynode_wire::tasks::UpdateTask;

use super::{accept, view};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Arguments of `task update`; omitted fields do not change.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub struct TaskUpdateArgs {
    /// The task, by name or id.
    task: String,
    /// The new name.
    #[arg(long, value_name = "NAME", group = "change")]
    name: Option<String>,
    /// Acceptance criterion, replacing all current ones: `exit:N`, `output:/regex/`, `file:path`, `check:command`,
    /// or prose; repeatable.
    #[arg(long, value_name = "CHECK", value_parser = accept::parse, group = "change")]
    accept: Vec<Criterion>,
    /// Remove all acceptance criteria; only exit code 0 is required.
    #[arg(long, conflicts_with = "accept", group = "change")]
    clear_accept: bool,
}

/// Updates the task, unless it was changed concurrently.
pub(crate) async fn run(args: TaskUpdateArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let task = args.task.clone();
    let seen = app.session.call(async |client| client.task_get(&task).await).await?;
    let body = UpdateTask { expected_updated_at: Some(seen.updated_at), ..build_request(args) };
    // By id, because the name may change.
    let id = seen.id.to_string();
    let view = app.session.call(async |client| client.task_update(&id, &body).await).await?;
    app.out.show(&view, view::task)
}

fn build_request(args: TaskUpdateArgs) -> UpdateTask {
    let says_criteria = args.clear_accept || !args.accept.is_empty();
    UpdateTask {
        task_name: args.name,
        acceptance_criteria: says_criteria.then_some(args.accept),
        expected_updated_at: None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::Cli;
    use crate::cli::CynorkCommand;
    use crate::task::TaskCommand;

    fn parse_args(args: &[&str]) -> Result<UpdateTask, clap::Error> {
        let cli = Cli::try_parse_from(["cynork", "task", "update", "build"].iter().chain(args))?;
        let CynorkCommand::Task(TaskCommand::Update(args)) = cli.command else {
            unreachable!("the line says task update")
        };
        Ok(build_request(args))
    }

    #[test]
    fn criteria_are_replaced_cleared_or_left_alone() {
        let file = Criterion::FileExists { path: "a.txt".to_owned() };

        let replaced = parse_args(&["--accept", "file:a.txt"]).unwrap();
        let cleared = parse_args(&["--clear-accept"]).unwrap();
        let renamed = parse_args(&["--name", "make"]).unwrap();

        assert_eq!(replaced.acceptance_criteria, Some(vec![file]));
        assert_eq!(cleared.acceptance_criteria, Some(vec![]));
        assert_eq!((renamed.acceptance_criteria, renamed.task_name), (None, Some("make".into())));
    }

    #[test]
    fn a_change_of_nothing_or_of_everything_at_once_is_refused() {
        assert_eq!(parse_args(&[]).unwrap_err().exit_code(), 2);
        let both = ["--clear-accept", "--accept", "exit:0"];
        assert_eq!(parse_args(&both).unwrap_err().exit_code(), 2);
    }
}
