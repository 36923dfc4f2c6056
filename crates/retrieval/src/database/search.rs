//! A search: the lists of the terms of the query name candidates, which are ranked by their text.

use cynode_domain::ids::ProfileId;
use cynode_knowledge::index::{Candidates, MAX_LIST, lists_to_read};
use cynode_knowledge::rank::{CorpusStatistics, PassageText, RankedQuery};
use cynode_knowledge::words::TermId;
use cynode_store::{Error, KnowledgePassage, Tx};

use crate::backend::SearchHit;

/// What a search found, before it is ranked.
pub(super) struct FoundCandidates {
    query: RankedQuery,
    corpus: CorpusStatistics,
    passages: Vec<KnowledgePassage>,
}

/// Reads the candidates of a query; `None` if no term of it occurs in the profile.
pub(super) async fn find_candidates(
    tx: &mut Tx,
    profile: ProfileId,
    query: &str,
) -> Result<Option<FoundCandidates>, Error> {
    let query = RankedQuery::new(query);
    let ids: Vec<i64> = query.terms.iter().map(|term| term.0).collect();
    let with = tx.knowledge_term_passages(profile, &ids).await?;
    if with.is_empty() {
        return Ok(None);
    }
    let totals = tx.knowledge_totals(profile).await?;
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    let corpus = CorpusStatistics {
        passages: count(totals.passages),
        words: count(totals.words),
        passages_with: with.into_iter().map(|(term, with)| (TermId(term), count(with))).collect(),
    };
    let mut candidates = Candidates::default();
    for list in lists_to_read(profile, &query.terms, &corpus) {
        let passages = tx.knowledge_passages_with(&list.name, MAX_LIST).await?;
        candidates.add(&list, &passages);
    }
    let passages = tx.knowledge_passages_get(profile, &candidates.best()).await?;
    Ok(Some(FoundCandidates { query, corpus, passages }))
}

impl FoundCandidates {
    /// The best passages, best first; equal scores by source, path and position.
    pub(super) fn rank(self, limit: u32) -> Vec<SearchHit> {
        let Self { query, corpus, passages } = self;
        let score = |passage: &KnowledgePassage| {
            let KnowledgePassage { path, heading, text, .. } = passage;
            query.score(&PassageText { path, heading, text }, &corpus)
        };
        let mut hits: Vec<SearchHit> =
            passages.into_iter().map(|passage| hit(score(&passage), passage)).collect();
        hits.sort_by(|one, other| {
            let by_place = |hit: &SearchHit| (hit.source.clone(), hit.path.clone(), hit.ordinal);
            other.score.total_cmp(&one.score).then_with(|| by_place(one).cmp(&by_place(other)))
        });
        hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        hits
    }
}

fn hit(score: f64, passage: KnowledgePassage) -> SearchHit {
    let KnowledgePassage { source, path, ordinal, heading, first_line, last_line, text, .. } =
        passage;
    SearchHit { source, path, ordinal, heading, first_line, last_line, text, score }
}
