//! Given documents become documents with passages, each alone: a fault of one does not keep the others out.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use cynode_domain::knowledge::DocumentKind;
use cynode_domain::project_memory::MemoryAuthorKind;
use cynode_knowledge::{check_path, chunk_document, content_hash, kind_of_path};
use cynode_resources::secrets::RedactSecrets as _;
use cynode_wire::knowledge::GivenDocument;

use crate::NewDocument;

/// A document to ingest.
#[derive(Debug, Clone)]
pub struct DocumentContent {
    pub path: String,
    pub content: String,
    /// How it is read; by its path when absent.
    pub kind: Option<DocumentKind>,
}

/// Whose documents they are, and where they belong.
#[derive(Debug, Clone)]
pub(crate) struct Ingestion {
    pub(crate) source: String,
    pub(crate) author: MemoryAuthorKind,
    pub(crate) created_by: UserId,
    pub(crate) now: DateTime<Utc>,
}

impl Ingestion {
    /// Splits a document into passages; the error is the reason why it is not ingested. Secrets are redacted.
    pub(crate) fn read(&self, document: DocumentContent) -> Result<NewDocument, String> {
        let DocumentContent { path, content, kind } = document;
        check_path(&path).map_err(|error| error.to_string())?;
        let kind = kind.or_else(|| kind_of_path(&path));
        let kind = kind.ok_or("files of this type are not read: give text")?;
        let hash = content_hash(&content);
        let bytes = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let chunks = chunk_document(kind, &content.redact_secrets());
        Ok(NewDocument {
            source: self.source.clone(),
            path,
            kind,
            hash,
            bytes,
            author: self.author,
            created_by: self.created_by,
            now: self.now,
            chunks: chunks.map_err(|error| error.to_string())?,
        })
    }
}

impl From<GivenDocument> for DocumentContent {
    fn from(given: GivenDocument) -> Self {
        Self { path: given.path, content: given.content, kind: None }
    }
}
