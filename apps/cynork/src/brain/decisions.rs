//! `brain decisions`: decisions of the project manager.

use clap::Args;
use cynode_wire::decisions::{DecisionQuery, PastDecisionView};
use cynode_wire::page::{Page, PageQuery};

use crate::task;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};

/// Arguments of `brain decisions`.
#[derive(Debug, Args)]
pub struct DecisionListArgs {
    /// Only decisions about this task, by name or id.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    #[command(flatten)]
    page: HistoryPageArgs,
}

pub(super) async fn run(args: DecisionListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let task = match &args.task {
        Some(task) => Some(task::resolve_id(app, task).await?),
        None => None,
    };
    let PageQuery { limit, cursor } = args.page.into_query();
    let query = DecisionQuery { task, limit, cursor };
    let page = app.session.call(async |client| client.decision_list(&query).await).await?;
    app.out.show(&page, render)?;
    history::print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

fn render(page: &Page<PastDecisionView>, ctx: RenderContext) -> String {
    let header = ["WHEN", "WORK", "DECIDED", "BY", "MODEL", "TASK", "REASON"];
    table::render_table(&header, page.items.iter().map(|decision| row(decision, ctx)), ctx)
}

fn row(decision: &PastDecisionView, ctx: RenderContext) -> Vec<String> {
    vec![
        relative_time::format_relative(ctx.now, decision.created_at),
        decision.handoff.clone(),
        table::truncate(&decision.purpose, 24),
        decision.decided_by.clone(),
        table::truncate(decision.model.as_deref().unwrap_or("-"), 32),
        decision.task.map_or_else(|| "-".to_owned(), |task| task.to_string()),
        table::truncate(&decision.reason, 80),
    ]
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::{DecisionId, TaskId, UserId};

    use super::*;

    fn decision(by: &str, model: Option<&str>, task: Option<TaskId>) -> PastDecisionView {
        PastDecisionView {
            id: DecisionId::generate(),
            created_at: DateTime::UNIX_EPOCH,
            handoff: "plan".to_owned(),
            purpose: "plan".to_owned(),
            decided_by: by.to_owned(),
            reason: "2 steps, because the words name two commands".to_owned(),
            model: model.map(ToOwned::to_owned),
            input_hash: "00".to_owned(),
            user: UserId::generate(),
            project: None,
            task,
            run: None,
            thread: None,
            trace_id: "t".to_owned(),
        }
    }

    #[test]
    fn decisions_are_listed_with_who_made_them_and_why() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let task = "01a1dfd7-9639-70ba-b1da-20a63c3ebad6".parse().ok();
        let items = vec![decision("model", Some("local/tiny"), task), decision("rule", None, None)];

        insta::assert_snapshot!(render(&Page { items, next_cursor: None }, ctx));
    }
}
