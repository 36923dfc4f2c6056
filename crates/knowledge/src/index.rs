//! The lists of passages in the full-text index of a database, and the lists that a search reads.
//!
//! A passage is in the list of each of its terms, and in a second list of those that it is mainly about. The names of lists
//! contain the profile, so that a list holds passages of one profile. A search reads whole lists of rare terms, and of
//! frequent terms only the second list: what it reads is bounded, however many passages there are. The passages with
//! the greatest sums of weights are then ranked by their text.

use std::collections::BTreeMap;

use cynode_domain::ids::ProfileId;

use crate::rank::{CorpusStatistics, PassageWords};
use crate::words::{TermId, hash};

/// The longest list that a search reads.
pub const MAX_LIST: u32 = 4000;
/// How many passages are ranked by their text.
pub const MAX_RANKED: usize = 200;
/// From this weight on, a passage is mainly about a term: the term occurs twice, or in the heading.
const MAIN_WEIGHT: f64 = 0.6;
/// The weight of an occurrence, as a share of the rarity of its term.
const ANY_SHARE: f64 = 0.45;
const MAIN_SHARE: f64 = 0.25;

/// A list of passages by term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Any,
    Main,
}

fn list_name(profile: ProfileId, term: TermId, list: List) -> String {
    let letter = match list {
        List::Any => 'a',
        List::Main => 'm',
    };
    let seed = hash(profile.as_uuid().as_bytes(), 3);
    format!("{letter}{:016x}", hash(&term.0.to_le_bytes(), seed))
}

/// The names of the lists that a passage is in, separated by spaces.
pub fn list_names(profile: ProfileId, passage: &PassageWords) -> String {
    let mut names = vec![];
    for term in passage.terms() {
        names.push(list_name(profile, term, List::Any));
        if passage.usual_saturation(term) >= MAIN_WEIGHT {
            names.push(list_name(profile, term, List::Main));
        }
    }
    names.join(" ")
}

/// A list to read, and the weight that it adds to each of its passages.
#[derive(Debug, Clone, PartialEq)]
pub struct ListToRead {
    pub name: String,
    pub weight: f64,
}

/// The lists that a search for these terms reads.
pub fn lists_to_read(
    profile: ProfileId,
    terms: &[TermId],
    corpus: &CorpusStatistics,
) -> Vec<ListToRead> {
    let mut lists = vec![];
    for term in terms {
        let rarity = corpus.rarity(*term);
        let passages = corpus.passages_with.get(term).copied().unwrap_or(0);
        let mut read = |list, share: f64| {
            lists
                .push(ListToRead { name: list_name(profile, *term, list), weight: share * rarity });
        };
        if passages == 0 {
            continue;
        }
        let is_short = passages <= u64::from(MAX_LIST);
        if is_short {
            read(List::Any, ANY_SHARE);
        }
        if !is_short {
            read(List::Main, ANY_SHARE + MAIN_SHARE);
        } else if passages > MAX_RANKED as u64 {
            read(List::Main, MAIN_SHARE);
        }
    }
    lists
}

/// The passages with the greatest weights, at most [`MAX_RANKED`]. Equal weights are ordered by id.
#[derive(Debug, Default)]
pub struct Candidates(BTreeMap<i64, f64>);

impl Candidates {
    pub fn add(&mut self, list: &ListToRead, passages: &[i64]) {
        for passage in passages {
            *self.0.entry(*passage).or_insert(0.0) += list.weight;
        }
    }

    pub fn best(self) -> Vec<i64> {
        let mut all: Vec<(i64, f64)> = self.0.into_iter().collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        all.truncate(MAX_RANKED);
        all.into_iter().map(|(passage, _)| passage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(term: TermId, with: u64) -> CorpusStatistics {
        CorpusStatistics {
            passages: 1_000_000,
            words: 100_000_000,
            passages_with: BTreeMap::from([(term, with)]),
        }
    }

    #[test]
    fn lists_of_different_profiles_and_terms_have_different_names() {
        let (one, other) = (ProfileId::generate(), ProfileId::generate());
        let passage = PassageWords::count("docs/lease.md", "", "lease lease run");

        let names = list_names(one, &passage);
        let others = list_names(other, &passage);

        let is_elsewhere = |name: &&str| others.split(' ').any(|other| other == *name);
        assert_eq!(names.split(' ').filter(is_elsewhere).count(), 0);
        let main = names.split(' ').filter(|name| name.starts_with('m')).count();
        assert!(main >= 1 && names.split(' ').count() > main + 1, "{names}");
    }

    #[test]
    fn what_is_read_is_bounded_however_frequent_a_term_is() {
        let (profile, term) = (ProfileId::generate(), TermId::from_term("lease"));
        let names = |with| {
            let lists = lists_to_read(profile, &[term], &corpus(term, with));
            lists.iter().map(|list| list.name.chars().next().unwrap()).collect::<String>()
        };

        assert_eq!(names(0), "");
        assert_eq!(names(10), "a");
        assert_eq!(names(1000), "am");
        assert_eq!(names(500_000), "m");
    }

    #[test]
    fn candidates_with_more_and_rarer_terms_come_first_and_ties_by_id() {
        let mut candidates = Candidates::default();
        let list = |weight| ListToRead { name: String::new(), weight };
        candidates.add(&list(1.0), &[1, 2, 3]);
        candidates.add(&list(2.0), &[3, 4]);

        assert_eq!(candidates.best(), [3, 4, 1, 2]);
    }
}
