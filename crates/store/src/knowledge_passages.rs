//! Passages of documents, and the lists of passages by term, which the engine's full-text index keeps. Every statement
//! names the profile.

use std::sync::LazyLock;

use cynode_domain::ids::{KnowledgeDocumentId, ProfileId};

use crate::lookups::in_list;
use crate::{Error, Tx};
use cynode_sql::{InsertStatements, Param, Row, params};

/// A passage to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPassage {
    pub ordinal: u32,
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
    /// The index terms, separated by spaces: lower-case letters and digits only.
    pub index_terms: String,
}

/// A passage with the place of its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgePassage {
    pub id: i64,
    pub source: String,
    pub path: String,
    pub ordinal: u32,
    pub heading: String,
    pub first_line: u32,
    pub last_line: u32,
    pub text: String,
}

/// How the number of passages with a term changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermChange {
    pub term: i64,
    pub passages: i64,
}

static TERM_UPSERTS: LazyLock<InsertStatements> = LazyLock::new(|| {
    InsertStatements::for_table("knowledge_terms", "profile_id, term, passages").with_suffix(
        " ON CONFLICT (profile_id, term)
          DO UPDATE SET passages = knowledge_terms.passages + excluded.passages",
    )
});

/// Passages and their terms.
impl Tx {
    /// Stores the passages of a document, and adds them to the lists of their terms.
    pub async fn knowledge_passages_insert(
        &mut self,
        profile: ProfileId,
        document: KnowledgeDocumentId,
        passages: Vec<NewPassage>,
    ) -> Result<(), Error> {
        const ON_POSTGRES: &str = "INSERT INTO knowledge_passages
            (profile_id, document_id, ordinal, heading, first_line, last_line, text, terms)
            VALUES ($1, $2, $3, $4, $5, $6, $7, CAST(CAST($8 AS text) AS tsvector))";
        const ON_SQLITE: &str = "INSERT INTO knowledge_passages
            (profile_id, document_id, ordinal, heading, first_line, last_line, text)
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        const INDEX_ON_SQLITE: &str =
            "INSERT INTO knowledge_index (rowid, terms) VALUES (last_insert_rowid(), $1)";
        let is_sqlite = self.is_sqlite();
        let mut rows: Vec<(&str, Vec<Param>)> = vec![];
        for passage in passages {
            let mut params = vec![
                profile.into(),
                document.into(),
                passage.ordinal.into(),
                passage.heading.into(),
                passage.first_line.into(),
                passage.last_line.into(),
                passage.text.into(),
            ];
            let index_terms: Param = passage.index_terms.into();
            if is_sqlite {
                rows.push((ON_SQLITE, params));
                rows.push((INDEX_ON_SQLITE, vec![index_terms]));
            } else {
                params.push(index_terms);
                rows.push((ON_POSTGRES, params));
            }
        }
        let statements: Vec<(&str, &[Param])> =
            rows.iter().map(|(sql, params)| (*sql, params.as_slice())).collect();
        self.execute_all(&statements).await.map(drop)
    }

    /// The passages of a document, in order.
    pub async fn knowledge_passages_of(
        &mut self,
        profile: ProfileId,
        document: KnowledgeDocumentId,
    ) -> Result<Vec<KnowledgePassage>, Error> {
        let sql = "SELECT p.*, d.source, d.path FROM knowledge_passages p
                   JOIN knowledge_documents d ON d.id = p.document_id
                   WHERE p.document_id = $2 AND p.profile_id = $1 ORDER BY p.ordinal";
        self.rows(sql, params![profile, document]).await?.iter().map(passage).collect()
    }

    /// Deletes the passages of a document, and removes them from the lists of their terms.
    pub async fn knowledge_passages_delete(
        &mut self,
        profile: ProfileId,
        document: KnowledgeDocumentId,
    ) -> Result<(), Error> {
        if self.is_sqlite() {
            let sql = "DELETE FROM knowledge_index WHERE rowid IN
                       (SELECT id FROM knowledge_passages
                        WHERE document_id = $2 AND profile_id = $1)";
            self.execute(sql, params![profile, document]).await?;
        }
        let sql = "DELETE FROM knowledge_passages WHERE document_id = $2 AND profile_id = $1";
        self.execute(sql, params![profile, document]).await.map(drop)
    }

    /// Applies changes of the numbers of passages by term, each term at most once, in ascending order.
    pub async fn knowledge_terms_change(
        &mut self,
        profile: ProfileId,
        changes: &[TermChange],
    ) -> Result<(), Error> {
        const REMOVE: &str = "DELETE FROM knowledge_terms
            WHERE profile_id = $1 AND term = $2 AND passages <= 0";
        let row = |change: &TermChange| {
            [profile.into(), change.term.into(), change.passages.into()] as [Param; 3]
        };
        let values: Vec<Param> = changes.iter().flat_map(row).collect();
        let upserts = TERM_UPSERTS.for_values(&values, self.is_sqlite());
        self.execute_all(&upserts).await?;
        let fewer = changes.iter().filter(|change| change.passages < 0);
        let removed: Vec<[Param; 2]> =
            fewer.map(|change| [profile.into(), change.term.into()]).collect();
        let removals: Vec<(&str, &[Param])> =
            removed.iter().map(|params| (REMOVE, params.as_slice())).collect();
        self.execute_all(&removals).await.map(drop)
    }

    /// In how many passages of the profile each of these terms occurs; absent terms occur in none.
    pub async fn knowledge_term_passages(
        &mut self,
        profile: ProfileId,
        terms: &[i64],
    ) -> Result<Vec<(i64, i64)>, Error> {
        let Some((in_ids, mut params)) = in_list(terms) else { return Ok(vec![]) };
        params.push(profile.into());
        let profile_number = params.len();
        let sql = format!(
            "SELECT term, passages FROM knowledge_terms WHERE profile_id = ${profile_number} AND term IN {in_ids}"
        );
        let rows = self.rows(&sql, &params).await?;
        rows.iter().map(|row| Ok((row.get("term")?, row.get("passages")?))).collect()
    }

    /// The passages in the list of an index term, oldest first. Terms of different profiles differ, so that a list holds
    /// passages of one profile; [`Tx::knowledge_passages_get`] checks that.
    pub async fn knowledge_passages_with(
        &mut self,
        index_term: &str,
        limit: u32,
    ) -> Result<Vec<i64>, Error> {
        let sql = if self.is_sqlite() {
            "SELECT rowid AS id FROM knowledge_index WHERE knowledge_index MATCH $1
             ORDER BY rowid LIMIT $2"
        } else {
            "SELECT id FROM knowledge_passages WHERE terms @@ CAST(CAST($1 AS text) AS tsquery)
             ORDER BY id LIMIT $2"
        };
        let rows = self.rows(sql, params![index_term, limit]).await?;
        rows.iter().map(|row| row.get("id")).collect()
    }

    /// The passages with these ids that are of the profile.
    pub async fn knowledge_passages_get(
        &mut self,
        profile: ProfileId,
        ids: &[i64],
    ) -> Result<Vec<KnowledgePassage>, Error> {
        let Some((in_ids, mut params)) = in_list(ids) else { return Ok(vec![]) };
        params.push(profile.into());
        let profile_number = params.len();
        let sql = format!(
            "SELECT p.*, d.source, d.path FROM knowledge_passages p
             JOIN knowledge_documents d ON d.id = p.document_id
             WHERE p.profile_id = ${profile_number} AND p.id IN {in_ids}"
        );
        self.rows(&sql, &params).await?.iter().map(passage).collect()
    }
}

fn passage(row: &Row) -> Result<KnowledgePassage, Error> {
    Ok(KnowledgePassage {
        id: row.get("id")?,
        source: row.get("source")?,
        path: row.get("path")?,
        ordinal: row.count("ordinal")?,
        heading: row.get("heading")?,
        first_line: row.count("first_line")?,
        last_line: row.count("last_line")?,
        text: row.get("text")?,
    })
}
