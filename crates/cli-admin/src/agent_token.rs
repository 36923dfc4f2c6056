//! `agent-token`: tokens that agents present to the MCP gateway.

use clap::{Args, Subcommand};
use cynode_domain::ids::{JobId, TokenId, UserId};
use cynode_domain::policy::AgentType;
use cynode_wire::agents::{AgentTokenView, BindingView, IssueAgentToken};
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Manage the tokens that agents present to the MCP gateway.
#[derive(Debug, Subcommand)]
pub enum AgentTokenCommand {
    /// Issue a token; its secret is printed once, on standard output.
    ///
    /// Example: `cynork -q agent-token issue planner --agent pm > pm.token`
    Issue(AgentTokenIssueArgs),
    /// List your tokens; administrators see the tokens of all users.
    List,
    /// Revoke a token.
    #[command(visible_aliases = ["remove", "delete"])]
    Revoke {
        /// The token id.
        token: TokenId,
    },
}

/// Arguments of `agent-token issue`.
#[derive(Debug, Args)]
pub struct AgentTokenIssueArgs {
    /// A name that describes the purpose of the token.
    name: String,
    /// The type of agent that will hold it: pm, pa or sandbox.
    #[arg(long, value_name = "TYPE")]
    agent: AgentType,
    /// The user it acts for, by id [default: you].
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// Lifetime in seconds [default: 3600].
    #[arg(long, value_name = "SECONDS")]
    expires_in: Option<u32>,
    /// Bind it to this task, by name or id.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Bind it to this job of the task, by id.
    #[arg(long, value_name = "ID", requires = "task")]
    job: Option<JobId>,
    /// Bind it to this project, by slug or id.
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
}

pub async fn run(command: AgentTokenCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        AgentTokenCommand::Issue(args) => issue(args, app).await,
        AgentTokenCommand::List => list(app).await,
        AgentTokenCommand::Revoke { token } => revoke(token, app).await,
    }
}

async fn issue(args: AgentTokenIssueArgs, app: &mut CliContext) -> Result<(), CliFailure> {
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
    app.out.print_message("Store this token now; it cannot be shown again.");
    Ok(())
}

async fn list(app: &mut CliContext) -> Result<(), CliFailure> {
    let items = app.session.load_pages(async |c, page| c.agent_token_list(page).await).await?;
    app.out.list(items, render)
}

async fn revoke(token: TokenId, app: &mut CliContext) -> Result<(), CliFailure> {
    app.session.call(async |client| client.agent_token_revoke(token).await).await?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({"id": token, "revoked": true}))?;
    }
    app.out.print_message(&format!("token {token} revoked"));
    Ok(())
}

fn render(tokens: &[AgentTokenView], ctx: RenderContext) -> String {
    let rows = tokens.iter().map(|token| {
        let state = match token.revoked_at {
            Some(when) => format!("revoked {}", relative_time::format_relative(ctx.now, when)),
            None if token.expires_at <= ctx.now => {
                format!("expired {}", relative_time::format_relative(ctx.now, token.expires_at))
            }
            None => {
                format!("expires {}", relative_time::format_relative(ctx.now, token.expires_at))
            }
        };
        let bound = token.binding.task_id.map_or("-".to_owned(), |task| format!("task {task}"));
        vec![token.name.clone(), token.agent_type.to_string(), state, bound, token.id.to_string()]
    });
    table::render_table(&["NAME", "AGENT", "STATE", "BOUND TO", "ID"], rows, ctx)
}
