//! `brain`: model calls and their cost, decisions, and replay of recorded decisions.

mod call;
mod decisions;
mod replay;

use clap::{Args, Subcommand};
use cynode_domain::model::InferenceOutcome;
use cynode_wire::inferences::{InferenceQuery, InferenceTotals, InferenceView, InferencesView};
use cynode_wire::page::PageQuery;

use self::call::ModelCallCommand;
use self::decisions::DecisionListArgs;
use self::replay::ReplayArgs;
use crate::{runs, task};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};

/// Inspect model calls and their cost, and the decisions of the project manager.
#[derive(Debug, Subcommand)]
pub enum BrainCommand {
    /// List model calls, newest first, with their total cost; or show one call.
    ///
    /// Example: `cynork brain calls --purpose plan`
    Calls(ModelCallListArgs),
    /// List decisions of the project manager, newest first: by rule, by model, or by fallback.
    ///
    /// Example: `cynork brain decisions --limit 10`
    Decisions(DecisionListArgs),
    /// Check recorded decisions against the prompts and schemas of this version, without calling a model.
    ///
    /// Example: `cynork brain replay ./cassettes`
    Replay(ReplayArgs),
}

/// Arguments of `brain calls`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ModelCallListArgs {
    #[command(subcommand)]
    one: Option<ModelCallCommand>,
    /// Only calls of this run, by run id, or by task for its newest run.
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only calls for this task, by name or id.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only calls for this purpose, such as chat or plan.
    #[arg(long)]
    purpose: Option<String>,
    #[command(flatten)]
    page: HistoryPageArgs,
}

pub(crate) async fn run(command: BrainCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        BrainCommand::Calls(args) => list_calls(args, app).await,
        BrainCommand::Decisions(args) => decisions::run(args, app).await,
        BrainCommand::Replay(args) => replay::run(args, app).await,
    }
}

async fn list_calls(args: ModelCallListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    if let Some(command) = args.one {
        return call::run(&command, app).await;
    }
    let run = match &args.run {
        Some(run) => Some(runs::resolve_id(app, run).await?),
        None => None,
    };
    let task = match &args.task {
        Some(task) => Some(task::resolve_id(app, task).await?),
        None => None,
    };
    let PageQuery { limit, cursor } = args.page.into_query();
    let query = InferenceQuery { run, task, purpose: args.purpose, limit, cursor };
    let view = app.session.call(async |client| client.inference_list(&query).await).await?;
    app.out.show(&view, render)?;
    history::print_next_page(view.calls.next_cursor.as_deref(), app);
    Ok(())
}

fn render(view: &InferencesView, ctx: RenderContext) -> String {
    let rows = view.calls.items.iter().map(|call| row(call, ctx));
    let header =
        ["WHEN", "PURPOSE", "BY", "MODEL", "OUTCOME", "IN", "OUT", "COST", "TOOK", "ERROR", "ID"];
    format!("{}\n{}", table::render_table(&header, rows, ctx), format_totals(&view.totals))
}

fn row(call: &InferenceView, ctx: RenderContext) -> Vec<String> {
    let count = |tokens: Option<i64>| tokens.map_or_else(|| "-".to_owned(), |n| n.to_string());
    vec![
        relative_time::format_relative(ctx.now, call.created_at),
        table::truncate(&call.purpose, 20),
        call.agent.map_or("user", |agent| agent.as_str()).to_owned(),
        model_id(call),
        call.outcome.to_string(),
        count(call.input_tokens),
        count(call.output_tokens),
        format_cost(call),
        format!("{} ms", call.latency_ms),
        table::truncate(call.error.as_deref().unwrap_or_default(), 40),
        call.id.to_string(),
    ]
}

/// The model id as `provider/model`.
fn model_id(call: &InferenceView) -> String {
    format!("{}/{}", call.provider, call.model)
}

/// Cost in USD: `?` if unknown, `-` if the call was never sent, `~` before an estimate.
fn format_cost(call: &InferenceView) -> String {
    let is_sent = !matches!(call.outcome, InferenceOutcome::Denied | InferenceOutcome::OverBudget);
    let unknown = if is_sent { "?" } else { "-" };
    let mark = if call.is_estimate { "~" } else { "" };
    call.cost_micro_usd
        .map_or_else(|| unknown.to_owned(), |cost| format!("{mark}{}", format_usd(cost)))
}

fn format_totals(totals: &InferenceTotals) -> String {
    let InferenceTotals { calls, input_tokens, output_tokens, cost_micro_usd, unpriced } = totals;
    let cost = format_usd(*cost_micro_usd);
    let word = if *calls == 1 { "call" } else { "calls" };
    let text = format!("{calls} {word}, {input_tokens} tokens in, {output_tokens} out, {cost} USD");
    if *unpriced == 0 {
        return text;
    }
    format!("{text}; {unpriced} without a known price, see the setting models.prices")
}

/// Formats micro-USD as USD.
fn format_usd(micro: i64) -> String {
    format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::{InferenceId, UserId};
    use cynode_domain::policy::Principal;
    use cynode_wire::page::Page;

    use super::*;

    pub(super) fn call(outcome: InferenceOutcome, cost: Option<i64>) -> InferenceView {
        let is_answered = outcome == InferenceOutcome::Success;
        InferenceView {
            id: InferenceId::from(uuid::Uuid::from_u128(7)),
            created_at: DateTime::UNIX_EPOCH,
            purpose: "plan".to_owned(),
            agent: is_answered.then_some(Principal::PM),
            user: UserId::generate(),
            project: None,
            task: None,
            run: None,
            thread: None,
            trace_id: "t".to_owned(),
            provider: "local".to_owned(),
            model: "tiny".to_owned(),
            prompt_hash: None,
            input_tokens: is_answered.then_some(120),
            output_tokens: is_answered.then_some(30),
            cost_micro_usd: cost,
            is_estimate: false,
            latency_ms: 840,
            first_ms: None,
            outcome,
            error: (!is_answered).then(|| "rule 1".to_owned()),
        }
    }

    #[test]
    fn calls_are_listed_with_their_cost_and_all_of_them_summed() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let items = vec![
            call(InferenceOutcome::Success, Some(1_250_000)),
            call(InferenceOutcome::Success, None),
            call(InferenceOutcome::Denied, None),
        ];
        let totals = InferenceTotals {
            calls: 3,
            input_tokens: 240,
            output_tokens: 60,
            cost_micro_usd: 1_250_000,
            unpriced: 1,
        };
        let view = InferencesView { calls: Page { items, next_cursor: None }, totals };

        insta::assert_snapshot!(render(&view, ctx));
    }

    #[test]
    fn an_estimated_cost_is_marked_as_one() {
        let counted = call(InferenceOutcome::Success, Some(5));
        let estimated = InferenceView { is_estimate: true, ..counted.clone() };

        assert_eq!((&*format_cost(&counted), &*format_cost(&estimated)), ("0.000005", "~0.000005"));
    }
}
