//! `agent-token`: tokens that agents present to the MCP gateway.

use clap::{Args, Subcommand};
use cynode_domain::ids::{JobId, TokenId, UserId};
use cynode_domain::policy::AgentType;
use cynode_wire::agents::{AgentTokenView, BindingView, IssueAgentToken};
use cynode_wire::page::{MAX_LIMIT, PageQuery};
use serde_json::json;

use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// Tokens that agents present to the MCP gateway.
#[derive(Debug, Subcommand)]
pub enum AgentTokenCommand {
    /// Issue a token; its secret is printed once, on standard output.
    ///
    /// Example: `cynork -q agent-token issue planner --agent pm > pm.token`
    Issue(IssueArgs),
    /// List tokens: your own, or everybody's for administrators.
    List,
    /// End a token.
    #[command(visible_aliases = ["remove", "delete"])]
    Revoke {
        /// The token's id.
        token: TokenId,
    },
}

/// What kind of token to issue.
#[derive(Debug, Args)]
pub struct IssueArgs {
    /// What the token is for.
    name: String,
    /// The kind of agent that will hold it: pm, pa or sandbox.
    #[arg(long, value_name = "TYPE")]
    agent: AgentType,
    /// The user it acts for, by id; you, without it.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// Seconds until it ends; one hour without it.
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u32>,
    /// Bind it to this task, by name or id.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Bind it to this job of the task, by id.
    #[arg(long, value_name = "ID", requires = "task")]
    job: Option<JobId>,
    /// Bind it to this project, by name or id.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
}

/// Does what the command says.
pub(crate) async fn run(command: AgentTokenCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        AgentTokenCommand::Issue(args) => issue(args, app).await,
        AgentTokenCommand::List => list(app).await,
        AgentTokenCommand::Revoke { token } => revoke(token, app).await,
    }
}

async fn issue(args: IssueArgs, app: &mut App) -> Result<(), Failure> {
    let mut binding = BindingView { job_id: args.job, ..BindingView::default() };
    if let Some(task) = args.task {
        binding.task_id = Some(app.session.call(async |c| c.task_get(&task).await).await?.id);
    }
    if let Some(project) = args.project {
        let found = app.session.call(async |c| c.project_get(&project).await).await?;
        binding.project_id = Some(found.id);
    }
    let body = IssueAgentToken {
        agent_type: args.agent,
        name: args.name,
        user_id: args.user,
        expires_in_seconds: args.expires_in,
        binding,
    };
    let made = app.session.call(async |client| client.agent_token_issue(&body).await).await?;
    app.out.show(&made, |made, _| made.secret.clone())?;
    app.out.say("keep it safe: it cannot be shown again.");
    Ok(())
}

async fn list(app: &mut App) -> Result<(), Failure> {
    let mut query = PageQuery { limit: Some(MAX_LIMIT), cursor: None };
    let mut items = vec![];
    loop {
        let page = app.session.call(async |client| client.agent_token_list(&query).await).await?;
        items.extend(page.items);
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    app.out.list(items, render)
}

async fn revoke(token: TokenId, app: &mut App) -> Result<(), Failure> {
    app.session.call(async |client| client.agent_token_revoke(token).await).await?;
    if app.out.format == Format::Json {
        app.out.json(&json!({"id": token, "revoked": true}))?;
    }
    app.out.say(&format!("token {token} is revoked"));
    Ok(())
}

fn render(tokens: &[AgentTokenView], look: Look) -> String {
    let rows = tokens.iter().map(|token| {
        let state = match token.revoked_at {
            Some(when) => format!("revoked {}", age::ago(look.now, when)),
            None if token.expires_at <= look.now => {
                format!("ended {}", age::ago(look.now, token.expires_at))
            }
            None => format!("ends {}", age::ago(look.now, token.expires_at)),
        };
        let bound = token.binding.task_id.map_or("-".to_owned(), |task| format!("task {task}"));
        vec![token.name.clone(), token.agent_type.to_string(), state, bound, token.id.to_string()]
    });
    table::rows(&["NAME", "AGENT", "STATE", "BOUND TO", "ID"], rows, look)
}
