//! `memory`: what a project remembers across tasks, in one profile.

use clap::Subcommand;
use cynode_client::Client;
use cynode_domain::ids::MemoryEntryId;
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind};
use cynode_wire::page::Page;
use cynode_wire::project_memory::{
    AddMemoryEntry, MemoryEntryView, MemoryMatches, MemoryProfileQuery, MemoryQuery,
    MemorySearchQuery, UpdateMemoryEntry,
};
use serde_json::json;

use crate::profile_args::ProfileArgs;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Read and edit what a project remembers across tasks.
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List the entries, newest first.
    List {
        #[command(flatten)]
        scope: ProfileArgs,
        /// Only entries of this kind: decision, convention, failure or fact.
        #[arg(long)]
        kind: Option<MemoryKind>,
        /// Page size, 1 to 200.
        #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
        /// Continue after the previous page.
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Find the entries that have a word of the query, the best first.
    Search {
        /// The words to search for.
        query: String,
        #[command(flatten)]
        scope: ProfileArgs,
        /// The most results, 1 to 50.
        #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
        limit: Option<u32>,
    },
    /// Show an entry with its author and its source.
    Get {
        /// The entry, by id.
        entry: MemoryEntryId,
        #[command(flatten)]
        scope: ProfileArgs,
    },
    /// Add an entry.
    ///
    /// Example: `cynork memory add 'We use PostgreSQL' --kind decision --text 'SQLite is for tests only.'`
    Add {
        /// One line.
        title: String,
        /// The text.
        #[arg(long, default_value = "", hide_default_value = true)]
        text: String,
        /// decision, convention, failure or fact.
        #[arg(long, default_value = "fact")]
        kind: MemoryKind,
        #[command(flatten)]
        scope: ProfileArgs,
    },
    /// Change an entry. If you change its text, you become its author.
    Edit {
        /// The entry, by id.
        entry: MemoryEntryId,
        /// A new title.
        #[arg(long)]
        title: Option<String>,
        /// A new text.
        #[arg(long)]
        text: Option<String>,
        /// decision, convention, failure or fact.
        #[arg(long)]
        kind: Option<MemoryKind>,
        #[command(flatten)]
        scope: ProfileArgs,
    },
    /// Confirm an entry that a model or a rule wrote, and become its author.
    Promote {
        /// The entry, by id.
        entry: MemoryEntryId,
        #[command(flatten)]
        scope: ProfileArgs,
    },
    /// Delete an entry.
    #[command(visible_alias = "remove")]
    Delete {
        /// The entry, by id.
        entry: MemoryEntryId,
        #[command(flatten)]
        scope: ProfileArgs,
    },
}

fn split(args: ProfileArgs) -> (String, MemoryProfileQuery) {
    (args.project, MemoryProfileQuery { profile: args.profile })
}

pub(crate) async fn run(command: MemoryCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = match command {
        MemoryCommand::List { scope, kind, limit, cursor } => {
            let query = MemoryQuery { profile: scope.profile, kind, limit, cursor };
            let project = scope.project;
            let call = async |client: &Client| client.memory_list(&project, &query).await;
            let page = app.session.call(call).await?;
            return app.out.show(&page, render_page);
        }
        MemoryCommand::Search { query, scope, limit } => {
            let project = scope.project;
            let query = MemorySearchQuery { q: query, profile: scope.profile, limit };
            let call = async |client: &Client| client.memory_search(&project, &query).await;
            let found = app.session.call(call).await?;
            return app.out.show(&found, render_matches);
        }
        MemoryCommand::Get { entry, scope } => {
            let (project, profile) = split(scope);
            let call = async |client: &Client| client.memory_get(&project, &profile, entry).await;
            app.session.call(call).await?
        }
        MemoryCommand::Add { title, text, kind, scope } => {
            let (project, profile) = split(scope);
            let body = AddMemoryEntry { kind, title, text };
            let call = async |client: &Client| client.memory_add(&project, &profile, &body).await;
            app.session.call(call).await?
        }
        MemoryCommand::Edit { entry, title, text, kind, scope } => {
            let body = UpdateMemoryEntry { kind, title, text, ..UpdateMemoryEntry::default() };
            if body == UpdateMemoryEntry::default() {
                let usage = "nothing to change; give --title, --text or --kind";
                return Err(CliFailure::Usage(usage.to_owned()));
            }
            update(app, scope, entry, &body).await?
        }
        MemoryCommand::Promote { entry, scope } => {
            let body = UpdateMemoryEntry { promote: true, ..UpdateMemoryEntry::default() };
            update(app, scope, entry, &body).await?
        }
        MemoryCommand::Delete { entry, scope } => return delete(app, scope, entry).await,
    };
    app.out.show(&view, render_one)
}

async fn update(
    app: &mut CliContext,
    scope: ProfileArgs,
    entry: MemoryEntryId,
    body: &UpdateMemoryEntry,
) -> Result<MemoryEntryView, CliFailure> {
    let (project, profile) = split(scope);
    let call = async |client: &Client| client.memory_update(&project, &profile, entry, body).await;
    app.session.call(call).await
}

async fn delete(
    app: &mut CliContext,
    scope: ProfileArgs,
    entry: MemoryEntryId,
) -> Result<(), CliFailure> {
    let (project, profile) = split(scope);
    let call = async |client: &Client| client.memory_delete(&project, &profile, entry).await;
    app.session.call(call).await?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({"id": entry, "deleted": true}))?;
    }
    app.out.print_message(&format!("entry {entry} deleted"));
    Ok(())
}

fn author(view: &MemoryEntryView) -> String {
    match view.author {
        MemoryAuthorKind::Model => "model (unconfirmed)".to_owned(),
        author @ (MemoryAuthorKind::Person | MemoryAuthorKind::Rule) => author.to_string(),
    }
}

fn render_one(view: &MemoryEntryView, ctx: RenderContext) -> String {
    let source = &view.source;
    let pairs = [
        ("entry", Some(view.id.to_string())),
        ("kind", Some(view.kind.to_string())),
        ("title", Some(view.title.clone())),
        ("text", Some(view.text.clone()).filter(|text| !text.is_empty())),
        ("author", Some(author(view))),
        ("task", source.task_id.map(|task| task.to_string())),
        ("step", source.step.clone()),
        ("agent", source.agent.clone()),
        ("revision", Some(view.revision.to_string())),
        ("changed", Some(relative_time::format_relative(ctx.now, view.updated_at))),
    ];
    table::render_pairs(&pairs, ctx)
}

fn render_page(page: &Page<MemoryEntryView>, ctx: RenderContext) -> String {
    let rows = page.items.iter().map(|view| {
        vec![
            view.kind.to_string(),
            view.title.clone(),
            author(view),
            relative_time::format_relative(ctx.now, view.updated_at),
            view.id.to_string(),
        ]
    });
    table::render_table(&["KIND", "TITLE", "AUTHOR", "CHANGED", "ID"], rows, ctx)
}

fn render_matches(found: &MemoryMatches, ctx: RenderContext) -> String {
    let rows = found.items.iter().map(|item| {
        vec![
            format!("{:.3}", item.score),
            item.entry.kind.to_string(),
            item.entry.title.clone(),
            author(&item.entry),
            item.entry.id.to_string(),
        ]
    });
    table::render_table(&["SCORE", "KIND", "TITLE", "AUTHOR", "ID"], rows, ctx)
}
