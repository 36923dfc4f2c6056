//! `agent canary`: starts canary runs, and waits for them.

use clap::Args;
use cynode_wire::agent_profiles::{CanaryStatus, NodeCanaryView, StartCanary};
use cynode_wire::tasks::TaskView;
use serde_json::json;

use super::view::render_canary;
use crate::task;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;

/// Arguments of `agent canary`.
#[derive(Debug, Args)]
pub struct AgentCanaryArgs {
    /// The profile, by name.
    profile: String,
    /// The worker node to try it on [default: every active node that can run profiles].
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Print the started tasks and return.
    #[arg(long)]
    no_wait: bool,
}

/// Exit code 1 unless every node passed.
pub(crate) async fn run(args: AgentCanaryArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let AgentCanaryArgs { profile, node, no_wait } = args;
    let body = StartCanary { node };
    let started =
        app.session.call(async |client| client.agent_canary_start(&profile, &body).await).await?;
    if no_wait {
        return app.out.show(&started, |started, _| {
            let names: Vec<_> = started.tasks.iter().map(|task| task.task_name.clone()).collect();
            names.join("\n")
        });
    }
    let mut closed = vec![];
    for task in &started.tasks {
        closed.push(task::wait_until_closed(task, app).await?);
    }
    let shown = app.session.read(async |client| client.agent_profile_get(&profile).await).await?;
    let outcomes: Vec<CanaryRunOutcome<'_>> =
        closed.iter().map(|task| CanaryRunOutcome::find(task, &shown.nodes)).collect();
    if app.out.format == Format::Json {
        let nodes: Vec<_> = outcomes.iter().map(CanaryRunOutcome::to_json).collect();
        app.out.print_json(&json!({ "revision": started.revision, "nodes": nodes }))?;
    } else {
        let ctx = app.out.render_context();
        for outcome in &outcomes {
            let lines = match outcome.node {
                Some(node) => render_canary(node, ctx),
                None => vec![outcome.describe_missing_report()],
            };
            app.out.data(format!("{}\n", lines.join("\n")))?;
        }
    }
    if outcomes.iter().all(CanaryRunOutcome::is_passed) {
        app.out.print_message(&format!("use it with `cynork task create --agent {profile} TEXT`"));
        return Ok(());
    }
    Err(CliFailure::NotCompleted)
}

/// A canary run that has ended.
struct CanaryRunOutcome<'a> {
    task: &'a TaskView,
    /// What its node reported; `None` if it reported nothing about this task.
    node: Option<&'a NodeCanaryView>,
}

impl<'a> CanaryRunOutcome<'a> {
    fn find(task: &'a TaskView, nodes: &'a [NodeCanaryView]) -> Self {
        Self { task, node: nodes.iter().find(|node| node.task_id == Some(task.id)) }
    }

    fn is_passed(&self) -> bool {
        self.node.is_some_and(|node| node.status == CanaryStatus::Passed)
    }

    fn to_json(&self) -> serde_json::Value {
        json!({ "task": self.task, "canary": self.node })
    }

    fn describe_missing_report(&self) -> String {
        let (task, node) = (&self.task.task_name, self.task.node.as_deref().unwrap_or("the node"));
        format!("{node}: no report; see `cynork task result {task}`")
    }
}
