//! Checks that data of one profile does not reach another, over random operations on any store of profiles.
//!
//! [`check_isolation`] compares every answer with a model of each profile on its own: nothing of another profile is
//! returned, counted, ranked by or deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::future::Future;

/// Data that is kept for each profile, through one interface.
pub trait ProfileData {
    /// How an interface names a profile.
    type Profile: Clone + Debug;

    /// Creates a profile without data.
    fn create_profile(&self) -> impl Future<Output = Self::Profile>;

    /// Adds a text; returns its id.
    fn add(&self, profile: &Self::Profile, text: &str) -> impl Future<Output = String>;

    /// The ids that match a query, with their scores, the best first.
    fn search(
        &self,
        profile: &Self::Profile,
        query: &str,
    ) -> impl Future<Output = Vec<(String, f64)>>;

    /// Every id.
    fn list(&self, profile: &Self::Profile) -> impl Future<Output = BTreeSet<String>>;

    /// Whether the id can be read.
    fn can_read(&self, profile: &Self::Profile, id: &str) -> impl Future<Output = bool>;

    /// Whether the id was deleted.
    fn delete(&self, profile: &Self::Profile, id: &str) -> impl Future<Output = bool>;
}

const PROFILES: usize = 4;
const OPERATIONS: usize = 60;
const WORDS: [&str; 6] = ["build", "cache", "größe", "deploy", "東京", "test"];

/// A fixed sequence of numbers for each seed (`SplitMix64`).
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap_or(0)
    }

    fn text(&mut self) -> String {
        let words: Vec<&str> =
            (0..=self.below(4)).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(" ")
    }
}

/// Runs random operations on random profiles.
///
/// # Panics
///
/// If an operation on one profile shows or changes data of another.
pub async fn check_isolation<D: ProfileData>(data: &D, seed: u64) {
    let mut random = Sequence(seed);
    let mut profiles = vec![];
    for _ in 0..PROFILES {
        profiles.push(data.create_profile().await);
    }
    // What each profile holds, in the order of addition.
    let mut model: Vec<Vec<(String, String)>> = vec![vec![]; PROFILES];
    for _ in 0..OPERATIONS {
        let (own, other) = (random.below(PROFILES), random.below(PROFILES));
        let profile = &profiles[own];
        match random.below(5) {
            0 | 1 => {
                let text = random.text();
                let id = data.add(profile, &text).await;
                model[own].push((id, text));
            }
            2 => {
                let query = random.text();
                check_search(data, profile, &query, &model[own]).await;
            }
            3 => {
                let known: BTreeSet<String> = model[own].iter().map(|(id, _)| id.clone()).collect();
                assert_eq!(data.list(profile).await, known, "list of {profile:?}");
            }
            _ => {
                let count = model[other].len();
                let Some((id, _)) = model[other].get(random.below(count)).cloned() else {
                    continue;
                };
                assert_eq!(data.can_read(profile, &id).await, own == other, "read of {id}");
                assert_eq!(data.delete(profile, &id).await, own == other, "deletion of {id}");
                if own == other {
                    model[own].retain(|(known, _)| *known != id);
                }
            }
        }
    }
    check_ranking(data, &profiles, &model).await;
}

async fn check_search<D: ProfileData>(
    data: &D,
    profile: &D::Profile,
    query: &str,
    model: &[(String, String)],
) {
    let wanted: BTreeSet<&str> = query.split(' ').collect();
    let has_word =
        |(_, text): &&(String, String)| text.split(' ').any(|word| wanted.contains(word));
    let expected: BTreeSet<&str> = model.iter().filter(has_word).map(|(id, _)| &**id).collect();
    let found = data.search(profile, query).await;
    let ids: BTreeSet<&str> = found.iter().map(|(id, _)| &**id).collect();
    // Other stores may return less than every match, never more.
    assert!(ids.is_subset(&expected), "search of {profile:?} for {query}: {ids:?} {expected:?}");
    assert_eq!(ids.is_empty(), expected.is_empty(), "search of {profile:?} for {query}");
}

/// Every profile ranks as a new one does that holds the same texts, while the others hold theirs.
async fn check_ranking<D: ProfileData>(
    data: &D,
    profiles: &[D::Profile],
    model: &[Vec<(String, String)>],
) {
    for (profile, entries) in profiles.iter().zip(model) {
        let alone = data.create_profile().await;
        let mut same = BTreeMap::new();
        for (id, text) in entries {
            same.insert(data.add(&alone, text).await, id.clone());
        }
        for word in WORDS {
            let found = data.search(profile, word).await;
            let expected: Vec<(String, f64)> = data
                .search(&alone, word)
                .await
                .into_iter()
                .map(|(id, score)| (same[&id].clone(), score))
                .collect();
            assert_eq!(found, expected, "ranking of {profile:?} for {word}");
        }
    }
}
