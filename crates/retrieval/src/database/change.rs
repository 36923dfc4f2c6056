//! A change of the documents of a profile, in one transaction: rows at once, totals and terms at the end.

use std::collections::BTreeMap;

use cynode_domain::ids::{KnowledgeDocumentId, ProfileId};
use cynode_domain::knowledge::DocumentOutcome;
use cynode_knowledge::index::list_names;
use cynode_knowledge::rank::PassageWords;
use cynode_store::{Error, KnowledgeDocument, KnowledgeTotals, NewPassage, TermChange, Tx};

use super::outcome_of;
use crate::backend::{IngestedPassages, NewDocument};

/// A document whose words were counted.
pub(super) struct PreparedDocument {
    row: KnowledgeDocument,
    passages: Vec<NewPassage>,
    words: i64,
    /// In how many of its passages each term occurs.
    terms: BTreeMap<i64, i64>,
}

impl PreparedDocument {
    pub(super) fn new(profile: ProfileId, new: NewDocument) -> Self {
        let (mut passages, mut words, mut terms) = (vec![], 0, BTreeMap::new());
        for chunk in new.chunks {
            let counted = PassageWords::count(&new.path, &chunk.heading, &chunk.text);
            words += i64::from(counted.words());
            count_terms(&counted, &mut terms, 1);
            passages.push(NewPassage {
                ordinal: chunk.ordinal,
                index_terms: list_names(profile, &counted),
                heading: chunk.heading,
                first_line: chunk.first_line,
                last_line: chunk.last_line,
                text: chunk.text,
            });
        }
        let row = KnowledgeDocument {
            id: KnowledgeDocumentId::generate(),
            profile,
            source: new.source,
            path: new.path,
            kind: new.kind,
            hash: new.hash,
            bytes: new.bytes,
            passages: u32::try_from(passages.len()).unwrap_or(u32::MAX),
            author: new.author,
            created_by: new.created_by,
            created_at: new.now,
            updated_at: new.now,
        };
        Self { row, passages, words, terms }
    }

    pub(super) fn passage_count(&self) -> usize {
        self.passages.len()
    }
}

fn count_terms(passage: &PassageWords, terms: &mut BTreeMap<i64, i64>, passages: i64) {
    for term in passage.terms() {
        *terms.entry(term.0).or_insert(0) += passages;
    }
}

/// What a transaction changes. Rows are changed at once; [`KnowledgeChange::apply`] writes the rest.
pub(super) struct KnowledgeChange {
    profile: ProfileId,
    totals: KnowledgeTotals,
    /// Ascending, so that the rows of terms are changed in one order.
    terms: BTreeMap<i64, i64>,
}

impl KnowledgeChange {
    pub(super) fn new(profile: ProfileId) -> Self {
        Self { profile, totals: KnowledgeTotals::default(), terms: BTreeMap::new() }
    }

    /// Adds a document, or replaces the one with its source and path if the content differs.
    pub(super) async fn upsert(
        &mut self,
        tx: &mut Tx,
        document: PreparedDocument,
    ) -> Result<IngestedPassages, Error> {
        let PreparedDocument { mut row, passages, words, terms } = document;
        let stored = tx.knowledge_document_find(self.profile, &row.source, &row.path).await?;
        let outcome = outcome_of(stored.as_ref(), &row.hash);
        if let Some(stored) = stored {
            if outcome == DocumentOutcome::Unchanged {
                return Ok(IngestedPassages { outcome, passages: stored.passages });
            }
            self.remove(tx, &stored).await?;
            row.created_at = stored.created_at;
        }
        self.totals.documents += 1;
        self.totals.passages += i64::from(row.passages);
        self.totals.words += words;
        self.totals.bytes += i64::from(row.bytes);
        for (term, passages) in terms {
            *self.terms.entry(term).or_insert(0) += passages;
        }
        tx.knowledge_document_insert(&row).await?;
        tx.knowledge_passages_insert(self.profile, row.id, passages).await?;
        Ok(IngestedPassages { outcome, passages: row.passages })
    }

    /// Removes a document. What its passages added is counted again from their text.
    pub(super) async fn remove(
        &mut self,
        tx: &mut Tx,
        document: &KnowledgeDocument,
    ) -> Result<(), Error> {
        for passage in tx.knowledge_passages_of(self.profile, document.id).await? {
            let counted = PassageWords::count(&document.path, &passage.heading, &passage.text);
            self.totals.words -= i64::from(counted.words());
            count_terms(&counted, &mut self.terms, -1);
        }
        self.totals.documents -= 1;
        self.totals.passages -= i64::from(document.passages);
        self.totals.bytes -= i64::from(document.bytes);
        tx.knowledge_passages_delete(self.profile, document.id).await?;
        tx.knowledge_document_delete(self.profile, document.id).await.map(drop)
    }

    /// Writes the changes of totals and terms.
    pub(super) async fn apply(self, tx: &mut Tx) -> Result<(), Error> {
        if self.totals != KnowledgeTotals::default() {
            tx.knowledge_totals_add(self.profile, self.totals).await?;
        }
        let is_changed = |(_, passages): &(i64, i64)| *passages != 0;
        let changes: Vec<TermChange> = self
            .terms
            .into_iter()
            .filter(is_changed)
            .map(|(term, passages)| TermChange { term, passages })
            .collect();
        tx.knowledge_terms_change(self.profile, &changes).await
    }
}
