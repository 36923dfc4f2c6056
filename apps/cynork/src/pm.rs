//! `pm`: submit work in your own words, follow it, answer its questions, and get a branch.

mod follow;
mod render;
mod submit;

use clap::{Args, Subcommand};
use cynode_domain::question::Reply;
use cynode_domain::work_kind::{WorkKind, WorkScope};
use cynode_wire::page::MAX_LIMIT;
use cynode_wire::requests::{AnswerRequest, OverrideRequest, RequestQuery, RequestView};

pub(crate) use self::render::render_waiting_row;
use self::submit::SubmitArgs;
use crate::app::CliContext;
use crate::failure::CliFailure;
use crate::task::diff::{self, TaskDiffArgs};

/// Submit work, follow it, and decide what it asks.
#[derive(Debug, Subcommand)]
pub enum PmCommand {
    /// Submit work: a sentence, a file, an issue. It ends in a branch with verified requirements.
    #[command(after_help = submit::EXAMPLES)]
    Submit(Box<SubmitArgs>),
    /// List requests, newest first.
    List {
        /// Also those that have ended.
        #[arg(long, short)]
        all: bool,
        /// Only those of this project.
        #[arg(long)]
        project: Option<String>,
    },
    /// Show a request: decisions and their reasons, units, attempts, cost and delivery.
    Show {
        /// The request, by name or id.
        request: String,
    },
    /// Follow a request until it ends or needs you.
    Watch {
        /// The request, by name or id.
        request: String,
    },
    /// Answer the question of a request.
    Answer(PmAnswerArgs),
    /// Decide the kind or the scope of a request yourself, until it is planned.
    Override(PmOverrideArgs),
    /// Show the changes of a request.
    Diff {
        /// The request, by name or id.
        request: String,
    },
    /// Cancel a request and everything that works on it.
    Cancel {
        /// The request, by name or id.
        request: String,
    },
}

/// Arguments of `pm answer`.
#[derive(Debug, Args)]
pub struct PmAnswerArgs {
    /// The request, by name or id.
    request: String,
    #[command(flatten)]
    reply: PmReplyArgs,
}

/// One way to answer.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PmReplyArgs {
    /// Approve.
    #[arg(long)]
    yes: bool,
    /// Decline: the request ends.
    #[arg(long)]
    no: bool,
    /// Try again.
    #[arg(long)]
    retry: bool,
    /// Say what to do or to change.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// Arguments of `pm override`.
#[derive(Debug, Args)]
pub struct PmOverrideArgs {
    /// The request, by name or id.
    request: String,
    /// `new_project`, `feature_request` or `quick_fix`.
    #[arg(long, required_unless_present = "scope")]
    kind: Option<WorkKind>,
    /// `trivial`, `small`, `medium` or `large`.
    #[arg(long)]
    scope: Option<WorkScope>,
}

pub(crate) async fn run(command: PmCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        PmCommand::Submit(args) => submit::run(*args, app).await,
        PmCommand::List { all, project } => {
            let items = list(app, all, project).await?;
            app.out.list(items, render::render_list)
        }
        PmCommand::Show { request } => {
            let view = get(app, &request).await?;
            app.out.show(&view, render::render_request)
        }
        PmCommand::Watch { request } => {
            let view = get(app, &request).await?;
            follow::follow(app, view).await
        }
        PmCommand::Answer(args) => {
            let PmAnswerArgs { request, reply } = args;
            let body = AnswerRequest { reply: reply.into_reply(), comment: None };
            let call =
                async |client: &cynode_client::Client| client.request_answer(&request, &body).await;
            let view = app.session.call(call).await?;
            app.out.show(&view, |view, _| format!("{} goes on: {}", view.name, view.phase))
        }
        PmCommand::Override(args) => {
            let PmOverrideArgs { request, kind, scope } = args;
            let body = OverrideRequest { kind, scope };
            let call = async |client: &cynode_client::Client| {
                client.request_override(&request, &body).await
            };
            let view = app.session.call(call).await?;
            app.out.show(&view, render::render_request)
        }
        PmCommand::Diff { request } => {
            let view = get(app, &request).await?;
            let Some(task) = render::newest_changes(&view) else {
                let text = format!("{} has changed nothing yet", view.name);
                return Err(CliFailure::NotFound(text));
            };
            diff::run(TaskDiffArgs::all_of(task.to_string()), app).await
        }
        PmCommand::Cancel { request } => {
            let call = async |client: &cynode_client::Client| client.task_cancel(&request).await;
            let canceled = app.session.call(call).await?;
            app.out.show(&canceled, |_, _| format!("{request} is canceled"))
        }
    }
}

impl PmReplyArgs {
    fn into_reply(self) -> Reply {
        match self {
            Self { text: Some(text), .. } => Reply::Text { text },
            Self { yes: true, .. } => Reply::Yes {},
            Self { retry: true, .. } => Reply::Retry {},
            Self { .. } => Reply::No {},
        }
    }
}

async fn get(app: &mut CliContext, request: &str) -> Result<RequestView, CliFailure> {
    app.session.call(async |client| client.request_get(request).await).await
}

async fn list(
    app: &mut CliContext,
    all: bool,
    project: Option<String>,
) -> Result<Vec<RequestView>, CliFailure> {
    let query = RequestQuery {
        limit: Some(MAX_LIMIT),
        project,
        open: (!all).then_some(true),
        ..RequestQuery::default()
    };
    list_pages(app, query).await
}

/// The requests that wait for a person.
pub(crate) async fn waiting_requests(app: &mut CliContext) -> Result<Vec<RequestView>, CliFailure> {
    let query = RequestQuery { limit: Some(MAX_LIMIT), waiting: true, ..RequestQuery::default() };
    list_pages(app, query).await
}

async fn list_pages(
    app: &mut CliContext,
    mut query: RequestQuery,
) -> Result<Vec<RequestView>, CliFailure> {
    let mut all = vec![];
    loop {
        let page = app.session.call(async |client| client.request_list(&query).await).await?;
        all.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(all);
        }
    }
}
