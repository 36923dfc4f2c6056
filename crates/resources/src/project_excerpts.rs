//! What prompts quote of a project: the entries of its memory and the passages of its documents that fit a text.
//!
//! Start at [`ExcerptFinder::find`], which the prompts of work units, of chat turns and of plans use.
//!
//! Invariants: excerpts are those of one profile, which belongs to the named project and lets its agents read; a search that
//! fails or takes too long finds nothing and is logged, and fails nothing that waits for it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::{ProfileId, ProjectId, TaskId};
use cynode_domain::project_excerpts::ProjectExcerpts;
use cynode_domain::project_memory::MemoryAuthorKind;
use cynode_store::{MemoryEntry, ProfileContents, Store};
use tokio::time::Instant;
use tracing::warn;

use crate::profiles;
use crate::project_memory::rank;

/// The most entries of the memory in a prompt.
const MAX_ENTRIES: u32 = 5;
/// The most characters of an entry.
const MAX_ENTRY_CHARS: usize = 600;
/// The most passages of documents in a prompt.
const MAX_PASSAGES: u32 = 4;
/// A search uses the beginning of a text, at most so many bytes.
const MAX_TEXT_BYTES: usize = 4096;

type ExcerptError = Box<dyn Error + Send + Sync>;

/// Documents whose passages prompts quote.
#[async_trait]
pub trait PassageSource: Send + Sync {
    /// The passages of a profile that fit a text best, each with its citation.
    async fn quote_passages(
        &self,
        project: ProjectId,
        profile: ProfileId,
        text: &str,
        limit: u32,
    ) -> Result<Vec<String>, ExcerptError>;
}

/// What excerpts are searched for.
#[derive(Debug, Clone)]
pub struct ExcerptQuery {
    pub project: ProjectId,
    /// The default profile of the project when absent.
    pub profile: Option<ProfileId>,
    pub text: String,
    /// Entries about this task are left out: its prompt has what they say.
    pub except_task: Option<TaskId>,
}

/// Finds the excerpts for prompts. Cheap to clone.
#[derive(Clone)]
pub struct ExcerptFinder {
    store: Store,
    /// `None`: prompts quote no documents.
    passages: Option<Arc<dyn PassageSource>>,
}

impl ExcerptFinder {
    /// Quotes the memory only.
    pub fn new(store: Store) -> Self {
        Self { store, passages: None }
    }

    /// Quotes documents too.
    #[must_use]
    pub fn with_passages(self, passages: Arc<dyn PassageSource>) -> Self {
        Self { passages: Some(passages), ..self }
    }

    /// The excerpts that fit a text best; what is not found `within` this time is left out. A profile without memory and
    /// documents costs one statement.
    pub async fn find(&self, mut query: ExcerptQuery, within: Duration) -> ProjectExcerpts {
        query.text.truncate(query.text.floor_char_boundary(MAX_TEXT_BYTES));
        let (deadline, project) = (Instant::now() + within, query.project);
        let opened = self.open_profile(project, query.profile);
        let opened = complete(project, "profile", deadline, opened).await.flatten();
        let Some((profile, contents)) = opened else { return ProjectExcerpts::default() };
        let entries = self.find_entries(profile, &query, contents);
        let passages = self.find_passages(profile, &query, contents);
        let (memory, knowledge) = tokio::join!(
            complete(project, "memory", deadline, entries),
            complete(project, "documents", deadline, passages),
        );
        ProjectExcerpts {
            memory: memory.unwrap_or_default(),
            knowledge: knowledge.unwrap_or_default(),
        }
    }

    /// The profile and what it has; `None` if there is nothing that its agents may read.
    async fn open_profile(
        &self,
        project: ProjectId,
        profile: Option<ProfileId>,
    ) -> Result<Option<(ProfileId, ProfileContents)>, ExcerptError> {
        let id = profile.unwrap_or_else(|| ProfileId::default_of(project));
        let opened = self.store.read(move |tx| {
            Box::pin(async move {
                let contents = tx.profile_contents(id).await?;
                if contents == ProfileContents::default() {
                    return Ok::<_, cynode_store::Error>(None);
                }
                let found = profiles::load(tx, project, Some(id)).await?;
                let found = found.filter(|found| found.spec.memory.readable);
                Ok(found.map(|found| (found.id, contents)))
            })
        });
        Ok(opened.await?)
    }

    async fn find_entries(
        &self,
        profile: ProfileId,
        query: &ExcerptQuery,
        contents: ProfileContents,
    ) -> Result<Vec<String>, ExcerptError> {
        if !contents.has_memory {
            return Ok(vec![]);
        }
        let entries =
            self.store.read(move |tx| Box::pin(async move { tx.memory_list_all(profile).await }));
        let mut entries = entries.await?;
        if let Some(task) = query.except_task {
            entries.retain(|entry| entry.source.task_id != Some(task));
        }
        let text = query.text.clone();
        // Counting words is CPU bound.
        let ranked = tokio::task::spawn_blocking(move || rank(&text, entries, MAX_ENTRIES)).await?;
        Ok(ranked.iter().map(|(entry, _)| entry_line(entry)).collect())
    }

    async fn find_passages(
        &self,
        profile: ProfileId,
        query: &ExcerptQuery,
        contents: ProfileContents,
    ) -> Result<Vec<String>, ExcerptError> {
        match &self.passages {
            Some(passages) if contents.has_documents => {
                passages.quote_passages(query.project, profile, &query.text, MAX_PASSAGES).await
            }
            Some(_) | None => Ok(vec![]),
        }
    }
}

/// Completes a part of a search until the deadline; `None` if it failed, which is logged.
async fn complete<T>(
    project: ProjectId,
    part: &str,
    deadline: Instant,
    search: impl Future<Output = Result<T, ExcerptError>>,
) -> Option<T> {
    match tokio::time::timeout_at(deadline, search).await {
        Ok(Ok(found)) => Some(found),
        Ok(Err(error)) => {
            let error = error.as_ref() as &dyn Error;
            warn!(project.id = %project, excerpts.part = part, error, "search for excerpts failed");
            None
        }
        Err(_) => {
            warn!(project.id = %project, excerpts.part = part, "search for excerpts timed out");
            None
        }
    }
}

fn entry_line(entry: &MemoryEntry) -> String {
    let author = match entry.author {
        MemoryAuthorKind::Person => "a person",
        MemoryAuthorKind::Rule => "a rule",
        MemoryAuthorKind::Model => "a model, unconfirmed",
    };
    let line = format!("{} by {author}: {}. {}", entry.kind, entry.title, entry.text);
    line.chars().take(MAX_ENTRY_CHARS).collect()
}
