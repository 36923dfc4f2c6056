//! `knowledge`: documents of a project that people and agents search, in one profile.

mod files;
mod ingest;
mod render;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use cynode_client::Client;
use cynode_wire::knowledge::{
    DeleteDocumentsQuery, DocumentQuery, KnowledgeProfileQuery, KnowledgeSearchQuery,
};

use crate::profile_args::ProfileArgs;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// Ingest documents, and search what the project knows.
#[derive(Debug, Subcommand)]
pub enum KnowledgeCommand {
    /// Ingest files, folders, a repository or a web document. Unchanged documents are left as they are.
    ///
    /// Example: `cynork knowledge ingest docs README.md --source handbook`
    Ingest(IngestArgs),
    /// Find the passages that fit a question best, with citations.
    ///
    /// Example: `cynork knowledge search 'how long is a lease valid?'`
    Search {
        /// A question, or words.
        query: String,
        #[command(flatten)]
        scope: ProfileArgs,
        /// The most results, 1 to 50.
        #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
        limit: Option<u32>,
    },
    /// List the documents, by source and path.
    List {
        #[command(flatten)]
        scope: ProfileArgs,
        /// Only documents of this source.
        #[arg(long)]
        source: Option<String>,
        /// Only the document with this path, or those in the folder of this name.
        #[arg(long)]
        path: Option<String>,
        /// Page size, 1 to 200.
        #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: Option<u32>,
        /// Continue after the previous page.
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Show the sources and how much they hold.
    Sources {
        #[command(flatten)]
        scope: ProfileArgs,
    },
    /// Delete documents.
    #[command(visible_alias = "remove")]
    Delete {
        #[command(flatten)]
        scope: ProfileArgs,
        /// The source whose documents are deleted.
        #[arg(long, required_unless_present = "all")]
        source: Option<String>,
        /// Only the document with this path, or those in the folder of this name.
        #[arg(long, requires = "source")]
        path: Option<String>,
        /// Delete every document of the profile.
        #[arg(long, conflicts_with = "source")]
        all: bool,
    },
}

/// What is ingested.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// Files and folders. Version control, build output and binary files are left out.
    #[arg(required_unless_present_any = ["url", "repository"], conflicts_with_all = ["url", "repository"])]
    paths: Vec<PathBuf>,
    /// A web document, which the orchestrator fetches from an allowed host.
    #[arg(long, conflicts_with = "repository")]
    url: Option<String>,
    /// A git repository, of which git makes a shallow clone on this machine.
    #[arg(long, value_name = "URL")]
    repository: Option<String>,
    /// The branch or tag of the repository [default: its default branch].
    #[arg(long, value_name = "REF", requires = "repository")]
    branch: Option<String>,
    /// The name of the source [default: the name of the folder, file, repository or host].
    #[arg(long)]
    source: Option<String>,
    /// Delete documents of the source that are not among the files any more.
    #[arg(long, conflicts_with = "url")]
    sync: bool,
    #[command(flatten)]
    scope: ProfileArgs,
}

pub(crate) async fn run(command: KnowledgeCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        KnowledgeCommand::Ingest(args) => ingest::run(args, app).await,
        KnowledgeCommand::Search { query, scope, limit } => {
            let query = KnowledgeSearchQuery { q: query, profile: scope.profile, limit };
            let call =
                async |client: &Client| client.knowledge_search(&scope.project, &query).await;
            let found = app.session.call(call).await?;
            app.out.show(&found, render::hits)
        }
        KnowledgeCommand::List { scope, source, path, limit, cursor } => {
            let query = DocumentQuery { profile: scope.profile, source, path, limit, cursor };
            let call = async |client: &Client| client.knowledge_list(&scope.project, &query).await;
            let page = app.session.call(call).await?;
            app.out.show(&page, render::page)
        }
        KnowledgeCommand::Sources { scope } => {
            let query = KnowledgeProfileQuery { profile: scope.profile };
            let call =
                async |client: &Client| client.knowledge_overview(&scope.project, &query).await;
            let overview = app.session.call(call).await?;
            app.out.show(&overview, render::overview)
        }
        KnowledgeCommand::Delete { scope, source, path, all } => {
            let profile = scope.profile;
            let query = DeleteDocumentsQuery { profile, source, path, exact: false, all };
            let call =
                async |client: &Client| client.knowledge_delete(&scope.project, &query).await;
            let deleted = app.session.call(call).await?;
            app.out.show(&deleted, render::deleted)
        }
    }
}
