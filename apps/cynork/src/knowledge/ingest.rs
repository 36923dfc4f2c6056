//! `knowledge ingest`: sends documents in batches, and reports the outcome of each.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cynode_client::Client;
use cynode_domain::knowledge::DocumentOutcome;
use cynode_runtime::child_env::{Allowlist, ChildEnv};
use cynode_wire::knowledge::{
    DeleteDocumentsQuery, DocumentQuery, GivenDocument, IngestDocuments, IngestedDocuments,
    KnowledgeProfileQuery, MAX_INGESTED,
};
use serde::Serialize;
use serde_json::json;

use super::IngestArgs;
use super::files::{self, SkippedFile};
use crate::profile_args::ProfileArgs;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;

/// Bytes of documents in one call.
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// What git needs to find its configuration and the person's credentials.
const GIT_VARIABLES: [&str; 8] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
];

/// The outcome of all documents.
#[derive(Debug, Default, Serialize)]
struct IngestSummary {
    source: String,
    added: u64,
    replaced: u64,
    unchanged: u64,
    deleted: u64,
    passages: u64,
    skipped: Vec<SkippedDocument>,
}

#[derive(Debug, Serialize)]
struct SkippedDocument {
    path: String,
    reason: String,
}

pub(super) async fn run(args: IngestArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    if let Some(url) = &args.url {
        return ingest_url(url, &args, app).await;
    }
    let cloned;
    let (paths, name) = match &args.repository {
        Some(repository) => {
            cloned = clone_repository(repository, args.branch.as_deref())?;
            (vec![cloned.path().to_path_buf()], repository_name(repository))
        }
        None => (args.paths.clone(), default_name(&args.paths)),
    };
    let source = args.source.clone().unwrap_or(name);
    let summary = ingest_files(&paths, source, &args, app).await?;
    app.out.show(&summary, render)
}

async fn ingest_files(
    paths: &[PathBuf],
    source: String,
    args: &IngestArgs,
    app: &mut CliContext,
) -> Result<IngestSummary, CliFailure> {
    let found = files::find(paths)?;
    let mut summary = IngestSummary { source: source.clone(), ..IngestSummary::default() };
    let (mut batch, mut bytes) = (vec![], 0);
    for file in &found {
        let document = match files::read(file) {
            Ok(document) => document,
            Err(SkippedFile { path, reason }) => {
                summary.skipped.push(SkippedDocument { path, reason });
                continue;
            }
        };
        if batch.len() == MAX_INGESTED || bytes + document.content.len() > BATCH_BYTES {
            summary.send(&args.scope, std::mem::take(&mut batch), app).await?;
            bytes = 0;
        }
        bytes += document.content.len();
        batch.push(document);
    }
    summary.send(&args.scope, batch, app).await?;
    if args.sync {
        let kept = found.into_iter().map(|file| file.path).collect();
        summary.delete_others(&args.scope, &kept, app).await?;
    }
    Ok(summary)
}

impl IngestSummary {
    async fn send(
        &mut self,
        scope: &ProfileArgs,
        documents: Vec<GivenDocument>,
        app: &mut CliContext,
    ) -> Result<(), CliFailure> {
        if documents.is_empty() {
            return Ok(());
        }
        let body = IngestDocuments { source: self.source.clone(), documents };
        let profile = KnowledgeProfileQuery { profile: scope.profile.clone() };
        let call =
            async |client: &Client| client.knowledge_ingest(&scope.project, &profile, &body).await;
        let ingested = app.session.call(call).await?;
        self.count(ingested);
        Ok(())
    }

    fn count(&mut self, ingested: IngestedDocuments) {
        for item in ingested.items {
            self.passages += u64::from(item.passages);
            match (item.outcome, item.error) {
                (Some(DocumentOutcome::Added), _) => self.added += 1,
                (Some(DocumentOutcome::Replaced), _) => self.replaced += 1,
                (Some(DocumentOutcome::Unchanged), _) => self.unchanged += 1,
                (None, reason) => {
                    let reason = reason.unwrap_or_else(|| "it was not ingested".to_owned());
                    self.skipped.push(SkippedDocument { path: item.path, reason });
                }
            }
        }
    }

    /// Deletes documents of the source that are not among the paths.
    async fn delete_others(
        &mut self,
        scope: &ProfileArgs,
        kept: &BTreeSet<String>,
        app: &mut CliContext,
    ) -> Result<(), CliFailure> {
        let mut query = DocumentQuery {
            profile: scope.profile.clone(),
            source: Some(self.source.clone()),
            limit: Some(200),
            ..DocumentQuery::default()
        };
        let mut gone = vec![];
        loop {
            let call = async |client: &Client| client.knowledge_list(&scope.project, &query).await;
            let page = app.session.call(call).await?;
            let paths = page.items.into_iter().map(|document| document.path);
            gone.extend(paths.filter(|path| !kept.contains(path)));
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => break,
            }
        }
        for path in gone {
            let query = DeleteDocumentsQuery {
                profile: scope.profile.clone(),
                source: Some(self.source.clone()),
                path: Some(path),
                // Without it, the documents in a folder of this name would be deleted, too.
                exact: true,
                all: false,
            };
            let call =
                async |client: &Client| client.knowledge_delete(&scope.project, &query).await;
            self.deleted += app.session.call(call).await?.deleted;
        }
        Ok(())
    }
}

async fn ingest_url(url: &str, args: &IngestArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let project = async |client: &Client| client.project_get(&args.scope.project).await;
    let project = app.session.call(project).await?;
    let mut arguments = json!({ "project_id": project.id, "url": url });
    if let Some(profile) = &args.scope.profile {
        arguments["profile"] = json!(profile);
    }
    if let Some(source) = &args.source {
        arguments["source"] = json!(source);
    }
    let called = app.session.call_tool("knowledge.fetch", &arguments).await?;
    let ingested: IngestedDocuments = serde_json::from_value(called)
        .map_err(|error| CliFailure::Internal(format!("unexpected answer: {error}")))?;
    let source = args.source.clone().unwrap_or_else(|| url.to_owned());
    let mut summary = IngestSummary { source, ..IngestSummary::default() };
    summary.count(ingested);
    app.out.show(&summary, render)
}

fn clone_repository(
    repository: &str,
    branch: Option<&str>,
) -> Result<tempfile::TempDir, CliFailure> {
    let failed = |error: std::io::Error| CliFailure::Usage(format!("cannot run git: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    let mut git = std::process::Command::new("git");
    git.inherit_only(&Allowlist::for_process().names(&GIT_VARIABLES));
    git.args(["clone", "--quiet", "--depth", "1", "--single-branch"]);
    if let Some(branch) = branch {
        git.args(["--branch", branch]);
    }
    // A URL that begins with a dash is not an option.
    let status = git.arg("--").arg(repository).arg(folder.path()).status().map_err(failed)?;
    if status.success() {
        Ok(folder)
    } else {
        Err(CliFailure::Usage(format!("git could not clone {repository}: see its message above")))
    }
}

/// The last part of the URL of a repository, without `.git`.
fn repository_name(repository: &str) -> String {
    let name = repository.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or(repository);
    name.strip_suffix(".git").unwrap_or(name).to_owned()
}

fn default_name(paths: &[PathBuf]) -> String {
    match paths {
        [one] => files::name_of(one),
        _ => files::name_of(Path::new(".")),
    }
}

fn render(summary: &IngestSummary, _: RenderContext) -> String {
    let IngestSummary { source, added, replaced, unchanged, deleted, passages, skipped } = summary;
    let mut text = format!(
        "source {source}: {added} added, {replaced} replaced, {unchanged} unchanged, {deleted} deleted; \
         {passages} passages"
    );
    for SkippedDocument { path, reason } in skipped {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nleft out: {path}: {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_named_after_what_is_ingested() {
        assert_eq!(repository_name("https://git.example/team/shop.git"), "shop");
        assert_eq!(repository_name("git@git.example:shop.git"), "shop");
        assert_eq!(repository_name("/srv/git/shop/"), "shop");
    }
}
