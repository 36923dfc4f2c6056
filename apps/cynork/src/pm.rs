//! `pm`: submit work in your own words, follow it, answer its questions, and get a branch.

mod demo;
mod follow;
mod render;
mod submit;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cynode_domain::agent::InstructionKind;
use cynode_domain::question::Reply;
use cynode_domain::work::UnitKind;
use cynode_domain::work_kind::{WorkKind, WorkScope};
use cynode_wire::page::MAX_LIMIT;
use cynode_wire::requests::{
    AnswerRequest, HandBackUnit, InstructUnit, OverrideRequest, RequestQuery, RequestView,
    TakeOverUnit,
};

pub(crate) use self::render::render_waiting_row;
use self::submit::SubmitArgs;
use crate::task::diff::{self, TaskDiffArgs};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Submit work, follow it, and decide what it asks.
#[derive(Debug, Subcommand)]
pub enum PmCommand {
    /// Submit work: a sentence, a file, an issue. It ends in a branch with verified requirements.
    #[command(after_help = submit::EXAMPLES)]
    Submit(Box<SubmitArgs>),
    /// Create a small git repository to try requests on without a model.
    Demo {
        /// The directory to create.
        directory: PathBuf,
    },
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
    /// Decide the kind, the scope or the workflow of a request yourself, until it is planned.
    Override(PmOverrideArgs),
    /// Show the changes of a request.
    Diff {
        /// The request, by name or id.
        request: String,
    },
    /// Pause a request: no attempt starts until it is resumed.
    Pause {
        /// The request, by name or id.
        request: String,
    },
    /// Resume a paused request.
    Resume {
        /// The request, by name or id.
        request: String,
    },
    /// Work on a unit yourself: its agent stops.
    TakeOver {
        /// The request, by name or id.
        request: String,
        /// The unit, such as `impl:auth`.
        unit: String,
    },
    /// Hand back a unit that you took over.
    HandBack(PmHandBackArgs),
    /// Instruct the agent of a unit, which gets the instruction with its next tool call.
    ///
    /// `abort` ends its attempt; `expand_scope` and `reduce_scope` start another one with the changed task.
    Instruct(PmInstructArgs),
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

/// Arguments of `pm hand-back`.
#[derive(Debug, Args)]
pub struct PmHandBackArgs {
    /// The request, by name or id.
    request: String,
    /// The unit, such as `impl:auth`.
    unit: String,
    /// The completed task with your changes [default: an agent continues].
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// What the agent should know.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// Arguments of `pm instruct`.
#[derive(Debug, Args)]
pub struct PmInstructArgs {
    /// The request, by name or id.
    request: String,
    /// The unit, such as `impl:auth`.
    unit: String,
    /// The instruction: continue, pause, revise, abort, `expand_scope` or `reduce_scope`.
    kind: InstructionKind,
    /// The text of the instruction.
    text: String,
}

/// Arguments of `pm override`.
#[derive(Debug, Args)]
pub struct PmOverrideArgs {
    /// The request, by name or id.
    request: String,
    /// `new_project`, `feature_request` or `quick_fix`.
    #[arg(long, required_unless_present_any = ["scope", "workflow"])]
    kind: Option<WorkKind>,
    /// `trivial`, `small`, `medium` or `large`.
    #[arg(long)]
    scope: Option<WorkScope>,
    /// The kinds of units: `implementation`, and any of `spec`, `design`, `review` and `test`.
    #[arg(long, value_name = "UNITS", value_delimiter = ',')]
    workflow: Vec<UnitKind>,
    /// The reason, which is recorded.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) async fn run(command: PmCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        PmCommand::Submit(args) => submit::run(*args, app).await,
        PmCommand::Demo { directory } => demo::run(&directory, app),
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
            let PmOverrideArgs { request, kind, scope, workflow, reason } = args;
            let workflow = Some(workflow).filter(|units| !units.is_empty());
            let body = OverrideRequest { kind, scope, workflow, reason };
            let call = async |client: &cynode_client::Client| {
                client.request_override(&request, &body).await
            };
            let view = app.session.call(call).await?;
            app.out.show(&view, render::render_request)
        }
        PmCommand::Diff { request } => show_diff(app, &request).await,
        PmCommand::Pause { request } => {
            let call = async |client: &cynode_client::Client| client.request_pause(&request).await;
            let view = app.session.call(call).await?;
            app.out.show(&view, |view, _| {
                format!(
                    "{name} is paused: resume it with `cynork pm resume {name}`",
                    name = view.name
                )
            })
        }
        PmCommand::Resume { request } => {
            let call = async |client: &cynode_client::Client| client.request_resume(&request).await;
            let view = app.session.call(call).await?;
            app.out.show(&view, |view, _| format!("{} goes on: {}", view.name, view.phase))
        }
        PmCommand::TakeOver { request, unit } => {
            let body = TakeOverUnit { unit };
            let call = async |client: &cynode_client::Client| {
                client.request_take_over(&request, &body).await
            };
            let view = app.session.call(call).await?;
            app.out.show(&view, |view, _| {
                let (name, unit) = (&view.name, &body.unit);
                format!("{unit} is yours: give it back with `cynork pm hand-back {name} {unit}`")
            })
        }
        PmCommand::HandBack(args) => {
            let PmHandBackArgs { request, unit, task, text } = args;
            let body = HandBackUnit { unit, task, comment: text };
            let call = async |client: &cynode_client::Client| {
                client.request_hand_back(&request, &body).await
            };
            let view = app.session.call(call).await?;
            app.out.show(&view, |view, _| format!("{} goes on: {}", view.name, view.phase))
        }
        PmCommand::Instruct(args) => instruct(args, app).await,
        PmCommand::Cancel { request } => {
            let call = async |client: &cynode_client::Client| client.task_cancel(&request).await;
            let canceled = app.session.call(call).await?;
            app.out.show(&canceled, |_, _| format!("{request} is canceled"))
        }
    }
}

async fn instruct(args: PmInstructArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let PmInstructArgs { request, unit, kind, text } = args;
    let body = InstructUnit { unit, instruction: kind, text };
    let call =
        async |client: &cynode_client::Client| client.request_instruct(&request, &body).await;
    let view = app.session.call(call).await?;
    app.out.show(&view, |view, _| {
        format!("{} instructed: follow it with `cynork pm watch {}`", body.unit, view.name)
    })
}

async fn show_diff(app: &mut CliContext, request: &str) -> Result<(), CliFailure> {
    let view = get(app, request).await?;
    let Some(task) = render::newest_changes(&view) else {
        return Err(CliFailure::NotFound(format!("{} has changed nothing yet", view.name)));
    };
    diff::run(TaskDiffArgs::all_of(task.to_string()), app).await
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
