//! `inbox`: messages and questions that need a person's answer.

use clap::{Args, Subcommand};
use cynode_domain::agent::InstructionKind;
use cynode_domain::ids::MessageId;
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use cynode_wire::page::MAX_LIMIT;
use cynode_wire::requests::RequestView;
use cynode_wire::runs::{RunQuery, RunView};
use serde::Serialize;

use crate::pm;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// List messages of agents, questions of runs and decisions of requests, and answer them.
#[derive(Debug, Subcommand)]
pub enum InboxCommand {
    /// List open messages and questions, oldest first.
    List {
        /// Only those about this task, by name or id.
        #[arg(long)]
        task: Option<String>,
    },
    /// Answer a message of an agent; the agent receives the answer as an instruction.
    ///
    /// Answer questions of runs with `cynork run answer`.
    Answer(AnswerArgs),
}

/// Arguments of `inbox answer`.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The message id.
    message: MessageId,
    /// The answer.
    text: String,
    /// The instruction: continue, pause, revise, abort, `expand_scope` or `reduce_scope`.
    #[arg(long = "as", value_name = "KIND", default_value = "continue")]
    kind: InstructionKind,
}

/// Everything that waits for the caller's answer.
#[derive(Serialize)]
struct Waiting {
    messages: Vec<InboxItem>,
    runs: Vec<RunView>,
    requests: Vec<RequestView>,
}

pub(crate) async fn run(command: InboxCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        InboxCommand::List { task } => {
            let messages = messages(app, task.clone()).await?;
            let runs = asking_runs(app, task.clone()).await?;
            let mut requests = pm::waiting_requests(app).await?;
            if let Some(task) = task {
                requests.retain(|request| request.name == task || request.id.to_string() == task);
            }
            app.out.show(&Waiting { messages, runs, requests }, render)
        }
        InboxCommand::Answer(AnswerArgs { message, text, kind }) => {
            let body = AnswerMessage { text, instruction: Some(kind) };
            let call =
                async |client: &cynode_client::Client| client.inbox_answer(message, &body).await;
            let item = app.session.call(call).await?;
            let line = format!("answer sent to {} of {}", item.message.sender, item.task_name);
            app.out.show(&item, |_, _| line.clone())
        }
    }
}

async fn messages(
    app: &mut CliContext,
    task: Option<String>,
) -> Result<Vec<InboxItem>, CliFailure> {
    let mut query = InboxQuery { limit: Some(MAX_LIMIT), cursor: None, task };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.inbox_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn asking_runs(
    app: &mut CliContext,
    task: Option<String>,
) -> Result<Vec<RunView>, CliFailure> {
    let state = Some("needs_answer".to_owned());
    let mut query = RunQuery { limit: Some(MAX_LIMIT), task, state, ..RunQuery::default() };
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.run_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn render(waiting: &Waiting, ctx: RenderContext) -> String {
    if waiting.messages.is_empty() && waiting.runs.is_empty() && waiting.requests.is_empty() {
        return "nothing is waiting for you".to_owned();
    }
    let message = |item: &InboxItem| {
        let message = &item.message;
        let reason = message.needs_person.as_ref().or(message.given_up.as_ref());
        vec![
            item.task_name.clone(),
            message.sender.clone(),
            table::truncate(&message.content, 60),
            table::truncate(reason.map_or("", String::as_str), 60),
            relative_time::format_relative(ctx.now, message.created_at),
            format!("cynork inbox answer {} TEXT", message.id),
        ]
    };
    let run = |run: &RunView| {
        vec![
            run.task_name.clone(),
            "run".to_owned(),
            table::truncate(run.waits_for.as_deref().unwrap_or_default(), 60),
            "the run asks a question".to_owned(),
            relative_time::format_relative(ctx.now, run.created_at),
            format!("cynork run show {0}; cynork run answer {0}", run.task_name),
        ]
    };
    let request = |request: &RequestView| pm::render_waiting_row(request, ctx);
    let rows = waiting.messages.iter().map(message).chain(waiting.runs.iter().map(run));
    let rows = rows.chain(waiting.requests.iter().map(request));
    table::render_table(&["TASK", "FROM", "QUESTION", "REASON", "SINCE", "ANSWER WITH"], rows, ctx)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_listed_with_the_command_that_answers_it() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let item = json!({
            "task_name": "wash", "id": "0193a4b2-0000-7000-8000-000000000001",
            "task_id": "0193a4b2-0000-7000-8000-000000000002", "sender": "developer",
            "recipient": "pm", "kind": "help", "type": "human", "component": null,
            "work_unit_id": null, "content": "which colour?", "payload": {},
            "created_at": "1970-01-01T00:00:00Z", "delivered_at": null, "acknowledged_at": null,
            "processed_at": null, "needs_person": "developer requests a person",
        });
        let messages = vec![serde_json::from_value(item).unwrap()];

        let shown = render(&Waiting { messages, runs: vec![], requests: vec![] }, ctx);

        for part in [
            "wash",
            "developer",
            "which colour?",
            "requests a person",
            "cynork inbox answer 0193a4b2-0000-7000-8000-000000000001 TEXT",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let nothing = render(&Waiting { messages: vec![], runs: vec![], requests: vec![] }, ctx);
        assert_eq!(nothing, "nothing is waiting for you");
    }
}
