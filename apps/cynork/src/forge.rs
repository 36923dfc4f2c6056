//! `forge`: the forges of projects' repositories. The token comes from standard input or a hidden prompt, the secret of the
//! webhook from a file; neither is printed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cynode_domain::forge::ForgeApiKind;
use cynode_domain::git::BranchName;
use cynode_domain::ids::ForgeId;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::forges::{ForgeView, SetForge};
use serde_json::json;

use crate::profile_args::DEFAULT_PROJECT;
use crate::task::input::{InputPurpose, read_text};
use crate::task::repository_args::resolve_repository;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};
use cynode_cli_admin::creds::read_secret;

/// Connect repositories with their forge: pull requests, issues, webhooks.
#[derive(Debug, Subcommand)]
pub enum ForgeCommand {
    /// Set the forge of a repository; prompts for the API token, or reads it from standard input.
    ///
    /// Example: `cynork forge set https://github.com/team/shop.git < token.txt`
    Set(ForgeSetArgs),
    /// List the forges of a project, without their secrets.
    List {
        /// The project, by slug or id [default: your default project].
        #[arg(long, default_value = DEFAULT_PROJECT, hide_default_value = true)]
        project: String,
    },
    /// Remove a forge and its secrets.
    #[command(visible_alias = "delete")]
    Remove {
        /// The forge, by id.
        forge: ForgeId,
    },
}

/// Arguments of `forge set`.
#[derive(Debug, Args)]
pub struct ForgeSetArgs {
    /// The repository, by the address that requests use.
    repository: String,
    /// The project, by slug or id [default: your default project].
    #[arg(long, default_value = DEFAULT_PROJECT, hide_default_value = true)]
    project: String,
    /// The API: `github`, `gitlab` or `gitea` (also Forgejo) [default: from the repository, if it is on a public forge].
    #[arg(long, requires = "url")]
    kind: Option<ForgeApiKind>,
    /// The URL of the web pages of the forge.
    #[arg(long, requires = "kind")]
    url: Option<String>,
    /// The path of the repository on the forge [default: from the repository].
    #[arg(long, value_name = "OWNER/NAME")]
    path: Option<String>,
    /// Allow the forge to be in an internal network. Administrators only.
    #[arg(long)]
    internal: bool,
    /// The branch that pull requests are merged into [default: the default branch of the repository].
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// Submit issues with this label when the webhook reports them.
    #[arg(long, value_name = "LABEL", requires = "webhook_secret_file")]
    issue_label: Option<String>,
    /// Comment on issues that are accepted.
    #[arg(long)]
    comment_on_issues: bool,
    /// A file with the secret that signs the deliveries of the webhook.
    #[arg(long, value_name = "FILE")]
    webhook_secret_file: Option<PathBuf>,
}

pub(crate) async fn run(command: ForgeCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        ForgeCommand::Set(args) => {
            let project = args.project.clone();
            let body = build_forge(args)?;
            let call =
                async |client: &cynode_client::Client| client.forge_set(&project, &body).await;
            let view = app.session.call(call).await?;
            app.out.show(&view, render_one)
        }
        ForgeCommand::List { project } => {
            let call = async |client: &cynode_client::Client| client.forge_list(&project).await;
            let all = app.session.call(call).await?;
            app.out.list(all, render)
        }
        ForgeCommand::Remove { forge } => {
            app.session.call(async |client| client.forge_remove(forge).await).await?;
            if app.out.format == Format::Json {
                app.out.print_json(&json!({"id": forge, "removed": true}))?;
            }
            app.out.print_message(&format!("forge {forge} removed"));
            Ok(())
        }
    }
}

fn build_forge(args: ForgeSetArgs) -> Result<SetForge, CliFailure> {
    let repository = resolve_repository(args.repository, None, None)?.url;
    let webhook_secret = match args.webhook_secret_file {
        Some(path) => {
            let text = read_text(&path, InputPurpose::SecretFile)?;
            Some(GivenSecret(text.trim().to_owned()))
        }
        None => None,
    };
    Ok(SetForge {
        repository,
        kind: args.kind,
        base_url: args.url,
        path: args.path,
        is_internal: args.internal,
        base_branch: args.base,
        issue_label: args.issue_label,
        comments_on_issues: args.comment_on_issues,
        token: read_secret()?,
        webhook_secret,
    })
}

fn render_one(view: &ForgeView, ctx: RenderContext) -> String {
    let settings = &view.settings;
    let webhook = if view.has_webhook { view.webhook_path.clone() } else { "no secret".to_owned() };
    let pairs = [
        ("forge", Some(view.id.to_string())),
        ("repository", Some(view.repository.to_string())),
        ("kind", Some(settings.kind.to_string())),
        ("url", Some(settings.base_url.clone())),
        ("path", Some(settings.path.clone())),
        ("internal", settings.is_internal.then(|| "yes".to_owned())),
        ("base", settings.base_branch.as_ref().map(ToString::to_string)),
        ("issue label", settings.issue_label.clone()),
        ("webhook", Some(webhook)),
        ("in rules", Some(view.resource.clone())),
        ("set", Some(relative_time::format_relative(ctx.now, view.updated_at))),
    ];
    table::render_pairs(&pairs, ctx)
}

fn render(all: &[ForgeView], ctx: RenderContext) -> String {
    let rows = all.iter().map(|view| {
        vec![
            view.repository.to_string(),
            view.settings.kind.to_string(),
            view.resource.clone(),
            if view.has_webhook { "yes" } else { "no" }.to_owned(),
            view.id.to_string(),
        ]
    });
    table::render_table(&["REPOSITORY", "KIND", "IN RULES", "WEBHOOK", "ID"], rows, ctx)
}
