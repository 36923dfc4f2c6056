//! `task update`: another name, or other acceptance criteria.

use clap::Args;
use cynode_domain::criteria::Criterion;
use cynode_wire::tasks::UpdateTask;

use super::{accept, view};
use crate::app::App;
use crate::failure::Failure;

/// What to change; the rest stays as it is.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub struct UpdateArgs {
    /// The task, by name or id.
    task: String,
    /// A new name.
    #[arg(long, value_name = "NAME", group = "change")]
    name: Option<String>,
    /// What must be true, in the place of all criteria so far: `exit:N`, `output:/regex/`, `file:path`,
    /// `check:command`, or prose; may be given again.
    #[arg(long, value_name = "CHECK", value_parser = accept::parse, group = "change")]
    accept: Vec<Criterion>,
    /// Demand nothing but exit code 0.
    #[arg(long, conflicts_with = "accept", group = "change")]
    clear_accept: bool,
}

/// Changes the task, if nobody else has in the meantime.
pub(crate) async fn run(args: UpdateArgs, app: &mut App) -> Result<(), Failure> {
    let task = args.task.clone();
    let seen = app.session.call(async |client| client.task_get(&task).await).await?;
    let body = UpdateTask { expected_updated_at: Some(seen.updated_at), ..body(args) };
    // The id, so that the name may change.
    let id = seen.id.to_string();
    let view = app.session.call(async |client| client.task_update(&id, &body).await).await?;
    app.out.show(&view, view::task)
}

fn body(args: UpdateArgs) -> UpdateTask {
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
    use crate::cli::Command;
    use crate::task::TaskCommand;

    fn parsed(args: &[&str]) -> Result<UpdateTask, clap::Error> {
        let cli = Cli::try_parse_from(["cynork", "task", "update", "build"].iter().chain(args))?;
        let Command::Task(TaskCommand::Update(args)) = cli.command else {
            unreachable!("the line says task update")
        };
        Ok(body(args))
    }

    #[test]
    fn criteria_are_replaced_cleared_or_left_alone() {
        let file = Criterion::FileExists { path: "a.txt".to_owned() };

        let replaced = parsed(&["--accept", "file:a.txt"]).unwrap();
        let cleared = parsed(&["--clear-accept"]).unwrap();
        let renamed = parsed(&["--name", "make"]).unwrap();

        assert_eq!(replaced.acceptance_criteria, Some(vec![file]));
        assert_eq!(cleared.acceptance_criteria, Some(vec![]));
        assert_eq!((renamed.acceptance_criteria, renamed.task_name), (None, Some("make".into())));
    }

    #[test]
    fn a_change_of_nothing_or_of_everything_at_once_is_refused() {
        assert_eq!(parsed(&[]).unwrap_err().exit_code(), 2);
        let both = ["--clear-accept", "--accept", "exit:0"];
        assert_eq!(parsed(&both).unwrap_err().exit_code(), 2);
    }
}
