//! The interface of a store of passages.
//!
//! Every call names a profile; there is no call without one. A call returns, counts, ranks by and deletes data of
//! that profile only.

use std::fmt;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProfileId, UserId};
use cynode_domain::knowledge::{DocumentKind, DocumentOutcome};
use cynode_domain::project_memory::MemoryAuthorKind;
use cynode_knowledge::Chunk;
use cynode_store::{DocumentSelection, KnowledgeDocument, KnowledgeSource, KnowledgeTotals};

/// Why an operation of a backend failed.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// It cannot be used as it is; the text says what to do.
    #[error("{0}")]
    Configuration(String),
    /// The documents would take more than the profile may store.
    #[error("{0}")]
    Quota(String),
    /// The profile was deleted meanwhile.
    #[error("the profile was deleted meanwhile")]
    NoProfile,
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// A document, split into passages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// A name that a person chose.
    pub source: String,
    /// Unique in the source.
    pub path: String,
    pub kind: DocumentKind,
    /// Of the content as it was given; decides whether the document is unchanged.
    pub hash: String,
    pub bytes: u32,
    pub author: MemoryAuthorKind,
    pub created_by: UserId,
    pub now: DateTime<Utc>,
    pub chunks: Vec<Chunk>,
}

/// The outcome of ingesting a document, and how many passages it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestedPassages {
    pub outcome: DocumentOutcome,
    pub passages: u32,
}

/// A passage that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    pub source: String,
    pub path: String,
    pub ordinal: u32,
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
    /// From 0 to 1; see [`VectorBackend::search`].
    pub score: f64,
}

/// Stores the passages of documents and finds them.
#[async_trait]
pub trait VectorBackend: Send + Sync + fmt::Debug {
    /// The name that people see.
    fn name(&self) -> &'static str;

    /// Validates that the backend can be used. Fails with a text that says what to do.
    async fn connect(&self) -> Result<(), BackendError>;

    /// Stores documents in their order, each with all its passages or not at all; an error leaves those before it stored.
    /// Idempotent: a document with the same source, path and hash is left as it is; one with another hash is replaced.
    async fn upsert(
        &self,
        profile: ProfileId,
        documents: Vec<NewDocument>,
    ) -> Result<Vec<IngestedPassages>, BackendError>;

    /// Finds passages, best first.
    ///
    /// A score is from 0 to 1; a higher one is more similar. Scores compare passages of one search, not searches or
    /// backends. Equal scores are ordered by source, path and position, so that the same data gives the same answer. A
    /// query without words finds nothing.
    async fn search(
        &self,
        profile: ProfileId,
        query: String,
        limit: u32,
    ) -> Result<Vec<SearchHit>, BackendError>;

    /// Lists documents by source and path, those after the given source and path.
    async fn list(
        &self,
        profile: ProfileId,
        selection: DocumentSelection,
        after: Option<(String, String)>,
        limit: u32,
    ) -> Result<Vec<KnowledgeDocument>, BackendError>;

    /// Deletes documents; returns how many. One that fails in the middle deleted some of them, and may be repeated.
    async fn delete(
        &self,
        profile: ProfileId,
        selection: DocumentSelection,
    ) -> Result<u64, BackendError>;

    async fn sources(&self, profile: ProfileId) -> Result<Vec<KnowledgeSource>, BackendError>;

    async fn totals(&self, profile: ProfileId) -> Result<KnowledgeTotals, BackendError>;
}
