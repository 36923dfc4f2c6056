//! The backend in the product's own database, on either engine: SQLite's FTS5 or PostgreSQL's GIN index lists passages by
//! term, and the passages that the lists speak for are ranked by their text (see `cynode_knowledge::index`).

mod change;
mod search;

use std::collections::VecDeque;

use async_trait::async_trait;
use cynode_domain::ids::ProfileId;
use cynode_domain::knowledge::DocumentOutcome;
use cynode_store::{
    DatabaseEngine, DocumentSelection, KnowledgeDocument, KnowledgeSource, KnowledgeTotals, Store,
};

use crate::backend::{BackendError, IngestedPassages, NewDocument, SearchHit, VectorBackend};
use change::{KnowledgeChange, PreparedDocument};

/// Bytes of documents that a profile may store.
const MAX_PROFILE_BYTES: i64 = 4 * 1024 * 1024 * 1024;
/// Passages that one transaction writes, unless a document alone has more: other writers wait for it.
const TRANSACTION_PASSAGES: usize = 256;
/// Documents that one transaction deletes.
const TRANSACTION_DELETIONS: u32 = 20;

/// The backend in the product's database.
#[derive(Clone)]
pub struct DatabaseBackend {
    store: Store,
    max_bytes: i64,
}

impl std::fmt::Debug for DatabaseBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatabaseBackend")
            .field("engine", &self.store.engine())
            .finish_non_exhaustive()
    }
}

impl DatabaseBackend {
    pub fn new(store: Store) -> Self {
        Self { store, max_bytes: MAX_PROFILE_BYTES }
    }

    /// Limits the bytes of documents of each profile.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: i64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    async fn upsert_in_one_transaction(
        &self,
        profile: ProfileId,
        documents: Vec<PreparedDocument>,
    ) -> Result<Vec<IngestedPassages>, BackendError> {
        let max_bytes = self.max_bytes;
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    // Changes of one profile follow each other: all of them change its totals and terms.
                    if tx.profile_lock(profile).await?.is_none() {
                        return Err(BackendError::NoProfile);
                    }
                    let mut change = KnowledgeChange::new(profile);
                    let mut outcomes = vec![];
                    for document in documents {
                        outcomes.push(change.upsert(tx, document).await?);
                    }
                    change.apply(tx).await?;
                    let bytes = tx.knowledge_totals(profile).await?.bytes;
                    if bytes > max_bytes {
                        return Err(BackendError::Quota(format!(
                            "the documents of the profile would take {bytes} bytes; {max_bytes} are allowed: delete \
                             some with `cynork knowledge delete`"
                        )));
                    }
                    Ok(outcomes)
                })
            })
            .await
    }
}

#[async_trait]
impl VectorBackend for DatabaseBackend {
    fn name(&self) -> &'static str {
        match self.store.engine() {
            DatabaseEngine::Sqlite => "embedded",
            DatabaseEngine::Postgres => "postgres",
        }
    }

    async fn connect(&self) -> Result<(), BackendError> {
        let probe = self
            .store
            .read(|tx| {
                Box::pin(async move {
                    tx.knowledge_passages_with("a0000000000000000", 1).await?;
                    tx.knowledge_totals(ProfileId::generate()).await
                })
            })
            .await;
        match probe {
            Ok(_) => Ok(()),
            Err(error @ cynode_store::Error::Statement(_)) => {
                Err(BackendError::Configuration(format!(
                    "the full-text index of the database cannot be used ({error}): restore the tables \
                     knowledge_* from a backup"
                )))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn upsert(
        &self,
        profile: ProfileId,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<IngestedPassages>, BackendError> {
        let prepare = move || {
            let prepared = documents.into_iter().map(|new| PreparedDocument::new(profile, new));
            prepared.collect::<VecDeque<_>>()
        };
        // Counting words is CPU bound.
        let mut waiting = tokio::task::spawn_blocking(prepare).await.unwrap_or_else(resume_panic);
        let mut outcomes = vec![];
        while let Some(first) = waiting.pop_front() {
            let mut passages = first.passage_count();
            let mut batch = vec![first];
            while let Some(next) = waiting.front()
                && passages + next.passage_count() <= TRANSACTION_PASSAGES
            {
                passages += next.passage_count();
                batch.extend(waiting.pop_front());
            }
            outcomes.extend(self.upsert_in_one_transaction(profile, batch).await?);
        }
        Ok(outcomes)
    }

    async fn search(
        &self,
        profile: ProfileId,
        query: String,
        limit: u32,
    ) -> Result<Vec<SearchHit>, BackendError> {
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move { search::find_candidates(tx, profile, &query).await })
            })
            .await?;
        let Some(found) = found else { return Ok(vec![]) };
        let ranked = tokio::task::spawn_blocking(move || found.rank(limit)).await;
        Ok(ranked.unwrap_or_else(resume_panic))
    }

    async fn list(
        &self,
        profile: ProfileId,
        selection: DocumentSelection,
        after: Option<(String, String)>,
        limit: u32,
    ) -> Result<Vec<KnowledgeDocument>, BackendError> {
        let list = self.store.read(move |tx| {
            Box::pin(async move {
                tx.knowledge_document_list(profile, &selection, after.as_ref(), limit).await
            })
        });
        Ok(list.await?)
    }

    async fn delete(
        &self,
        profile: ProfileId,
        selection: DocumentSelection,
    ) -> Result<u64, BackendError> {
        let mut deleted = 0;
        loop {
            let selection = selection.clone();
            let batch = self.store.write(move |tx| {
                Box::pin(async move {
                    if tx.profile_lock(profile).await?.is_none() {
                        return Ok(0);
                    }
                    let documents = tx
                        .knowledge_document_list(profile, &selection, None, TRANSACTION_DELETIONS)
                        .await?;
                    let mut change = KnowledgeChange::new(profile);
                    for document in &documents {
                        change.remove(tx, document).await?;
                    }
                    change.apply(tx).await?;
                    Ok::<_, cynode_store::Error>(documents.len() as u64)
                })
            });
            match batch.await? {
                0 => return Ok(deleted),
                some => deleted += some,
            }
        }
    }

    async fn sources(&self, profile: ProfileId) -> Result<Vec<KnowledgeSource>, BackendError> {
        let list = self
            .store
            .read(move |tx| Box::pin(async move { tx.knowledge_source_list(profile).await }));
        Ok(list.await?)
    }

    async fn totals(&self, profile: ProfileId) -> Result<KnowledgeTotals, BackendError> {
        let totals =
            self.store.read(move |tx| Box::pin(async move { tx.knowledge_totals(profile).await }));
        Ok(totals.await?)
    }
}

fn resume_panic<T>(error: tokio::task::JoinError) -> T {
    std::panic::resume_unwind(error.into_panic())
}

/// What an upsert does with a document, given the hash of the stored one.
fn outcome_of(stored: Option<&KnowledgeDocument>, hash: &str) -> DocumentOutcome {
    match stored {
        None => DocumentOutcome::Added,
        Some(stored) if stored.hash == hash => DocumentOutcome::Unchanged,
        Some(_) => DocumentOutcome::Replaced,
    }
}
