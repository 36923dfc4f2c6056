//! Documents of the knowledge of a profile, and their totals. Every statement names the profile.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{KnowledgeDocumentId, ProfileId, UserId};
use cynode_domain::knowledge::DocumentKind;
use cynode_domain::project_memory::MemoryAuthorKind;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::{Row, params};

/// A document; its passages are rows of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeDocument {
    pub id: KnowledgeDocumentId,
    pub profile: ProfileId,
    /// A name that a person chose.
    pub source: String,
    /// Unique in the source.
    pub path: String,
    pub kind: DocumentKind,
    /// Of the content as it was given.
    pub hash: String,
    pub bytes: u32,
    pub passages: u32,
    pub author: MemoryAuthorKind,
    /// The person who gave it, or on whose behalf it was given.
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// What a profile stores, or a change of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnowledgeTotals {
    pub documents: i64,
    pub passages: i64,
    pub words: i64,
    pub bytes: i64,
}

/// A source of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeSource {
    pub source: String,
    pub documents: i64,
    pub passages: i64,
    pub bytes: i64,
    pub updated_at: DateTime<Utc>,
}

/// Which documents of a profile an operation concerns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentSelection {
    /// All sources when absent.
    pub source: Option<String>,
    /// The document with this path, and those in the folder of this name; all when absent.
    pub path: Option<String>,
    /// Leaves out the documents in the folder of the path.
    pub is_exact: bool,
}

impl DocumentSelection {
    /// The condition, for the parameters 1 to 3. A folder is a range of paths: `0` follows `/`.
    fn condition(&self) -> &'static str {
        if self.is_exact {
            "profile_id = $1
             AND ($2 /*pg ::text */ IS NULL OR source = $2)
             AND ($3 /*pg ::text */ IS NULL OR path = $3)"
        } else {
            "profile_id = $1
             AND ($2 /*pg ::text */ IS NULL OR source = $2)
             AND ($3 /*pg ::text */ IS NULL OR path = $3 OR (path > $3 || '/' AND path < $3 || '0'))"
        }
    }
}

/// Documents of the knowledge of a profile.
impl Tx {
    pub async fn knowledge_document_insert(
        &mut self,
        document: &KnowledgeDocument,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO knowledge_documents (id, profile_id, source, path, kind, hash, bytes, passages,
                       author_kind, created_by, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let params = params![
            document.id,
            document.profile,
            &document.source,
            &document.path,
            document.kind.as_str(),
            &document.hash,
            document.bytes,
            document.passages,
            document.author.as_str(),
            document.created_by,
            document.created_at,
            document.updated_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Returns the document of a source with this path.
    pub async fn knowledge_document_find(
        &mut self,
        profile: ProfileId,
        source: &str,
        path: &str,
    ) -> Result<Option<KnowledgeDocument>, Error> {
        let sql = "SELECT * FROM knowledge_documents
                   WHERE profile_id = $1 AND source = $2 AND path = $3";
        self.one(&tables::KNOWLEDGE_DOCUMENTS, sql, params![profile, source, path], document).await
    }

    /// Lists a page of documents by source and path, those after `after`.
    pub async fn knowledge_document_list(
        &mut self,
        profile: ProfileId,
        selection: &DocumentSelection,
        after: Option<&(String, String)>,
        limit: u32,
    ) -> Result<Vec<KnowledgeDocument>, Error> {
        let sql = format!(
            "SELECT * FROM knowledge_documents WHERE {}
             AND ($4 /*pg ::text */ IS NULL OR (source, path) > ($4, $5 /*pg ::text */))
             ORDER BY source, path LIMIT $6",
            selection.condition()
        );
        let (source, path) = after.cloned().unzip();
        let params = params![
            profile,
            selection.source.clone(),
            selection.path.clone(),
            source,
            path,
            limit,
        ];
        self.page(&tables::KNOWLEDGE_DOCUMENTS, &sql, params, document).await
    }

    /// Lists the sources of a profile.
    pub async fn knowledge_source_list(
        &mut self,
        profile: ProfileId,
    ) -> Result<Vec<KnowledgeSource>, Error> {
        let sql = "SELECT source, count(*) AS documents, CAST(sum(passages) AS bigint) AS passages,
                       CAST(sum(bytes) AS bigint) AS bytes, max(updated_at) AS updated_at
                   FROM knowledge_documents WHERE profile_id = $1 GROUP BY source ORDER BY source";
        self.rows(sql, params![profile]).await?.iter().map(source).collect()
    }

    /// Deletes the row of a document, whose passages were deleted before.
    pub async fn knowledge_document_delete(
        &mut self,
        profile: ProfileId,
        id: KnowledgeDocumentId,
    ) -> Result<bool, Error> {
        let sql = "DELETE FROM knowledge_documents WHERE profile_id = $1 AND id = $2";
        Ok(self.execute(sql, params![profile, id]).await? == 1)
    }

    /// What a profile stores.
    pub async fn knowledge_totals(&mut self, profile: ProfileId) -> Result<KnowledgeTotals, Error> {
        let sql = "SELECT * FROM knowledge_totals WHERE profile_id = $1";
        let row = self.row(sql, params![profile]).await?;
        row.as_ref().map(totals).transpose().map(Option::unwrap_or_default)
    }

    /// Adds a change to the totals of a profile.
    pub async fn knowledge_totals_add(
        &mut self,
        profile: ProfileId,
        change: KnowledgeTotals,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO knowledge_totals (profile_id, documents, passages, words, bytes)
                   VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (profile_id) DO UPDATE SET
                       documents = knowledge_totals.documents + excluded.documents,
                       passages = knowledge_totals.passages + excluded.passages,
                       words = knowledge_totals.words + excluded.words,
                       bytes = knowledge_totals.bytes + excluded.bytes";
        let KnowledgeTotals { documents, passages, words, bytes } = change;
        let params = params![profile, documents, passages, words, bytes];
        self.execute(sql, params).await.map(drop)
    }
}

pub(crate) fn document(row: &Row) -> Result<KnowledgeDocument, Error> {
    Ok(KnowledgeDocument {
        id: row.id("id")?,
        profile: row.id("profile_id")?,
        source: row.get("source")?,
        path: row.get("path")?,
        kind: row.keyword("kind")?,
        hash: row.get("hash")?,
        bytes: row.count("bytes")?,
        passages: row.count("passages")?,
        author: row.keyword("author_kind")?,
        created_by: row.id("created_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn source(row: &Row) -> Result<KnowledgeSource, Error> {
    Ok(KnowledgeSource {
        source: row.get("source")?,
        documents: row.get("documents")?,
        passages: row.get("passages")?,
        bytes: row.get("bytes")?,
        updated_at: row.get("updated_at")?,
    })
}

fn totals(row: &Row) -> Result<KnowledgeTotals, Error> {
    Ok(KnowledgeTotals {
        documents: row.get("documents")?,
        passages: row.get("passages")?,
        words: row.get("words")?,
        bytes: row.get("bytes")?,
    })
}
