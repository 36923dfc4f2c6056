//! What secrets look like in text.
//!
//! Each rule keeps the parts of a match that say what kind of secret was there, and drops the
//! group named `secret`. Patterns stop before quotes and backslashes, so that a redacted line
//! of JSON is still JSON. Names, prefixes, alphabets and lengths are those that providers document
//! and that public scanners of secrets look for; `crates/runtime/tests/it/recall.rs` measures them.

mod commands;
mod named;
mod prefixed;
mod shapes;

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

use super::rule::{Only, Rule, Sort};

/// How large the compiled patterns may be, in bytes.
const SIZE_LIMIT: usize = 64 * 1024 * 1024;
/// How much of the states that a search has met is kept for the next one, in bytes for each thread.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// A pattern, when a match of it counts, and what it finds.
pub(super) struct Pattern {
    text: String,
    only: Only,
    sort: Sort,
}

impl Pattern {
    fn new(text: impl Into<String>, only: Only, sort: Sort) -> Self {
        // Words are bounded by ASCII only, which the fast engines can tell in every text.
        Self { text: text.into().replace(r"\b", r"(?-u:\b)"), only, sort }
    }
}

/// Every pattern, in the order they are applied: long shapes first, so that no part of one is left.
fn all() -> Vec<Pattern> {
    let mut all = shapes::patterns();
    all.extend(prefixed::patterns());
    all.extend(commands::patterns());
    all.extend(named::patterns());
    all
}

/// Every rule, in the order they are applied.
pub(super) static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| all().iter().map(|one| Rule::new(&one.text, one.only, one.sort)).collect());

/// All patterns at once, in the order of [`RULES`]: most texts match none of them.
#[expect(clippy::expect_used, reason = "patterns are constants, and tests compile them all")]
pub(super) static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    let all = all();
    let mut set = RegexSetBuilder::new(all.iter().map(|one| &one.text));
    set.size_limit(SIZE_LIMIT).dfa_size_limit(CACHE_BYTES);
    set.build().expect("the patterns are valid")
});
