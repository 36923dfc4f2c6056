//! Text patterns of secrets.
//!
//! Each rule replaces only the group named `secret` of a match. Patterns stop before quotes and
//! backslashes, so that a redacted line of JSON stays valid. Names, prefixes, alphabets and lengths
//! come from provider documentation and public secret scanners; `crates/runtime/tests/it/recall.rs`
//! measures the recall.

mod commands;
mod named;
mod prefixed;
mod shapes;

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};

use super::rule::{KindSource, MatchCondition, RedactionRule};

/// Limit of the compiled patterns, in bytes.
const SIZE_LIMIT: usize = 64 * 1024 * 1024;
/// Lazy DFA cache per thread, in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// A pattern, the condition for a match, and the kind of the secret.
pub(super) struct SecretPattern {
    text: String,
    only: MatchCondition,
    sort: KindSource,
}

impl SecretPattern {
    fn new(text: impl Into<String>, only: MatchCondition, sort: KindSource) -> Self {
        // ASCII word boundaries, which the fast engines support for every text.
        Self { text: text.into().replace(r"\b", r"(?-u:\b)"), only, sort }
    }
}

/// Every pattern, in order of application: long shapes first, so that none is redacted partially.
fn all_patterns() -> Vec<SecretPattern> {
    let mut all = shapes::patterns();
    all.extend(prefixed::patterns());
    all.extend(commands::patterns());
    all.extend(named::patterns());
    all
}

/// Every rule, in order of application.
pub(super) static RULES: LazyLock<Vec<RedactionRule>> = LazyLock::new(|| {
    all_patterns().iter().map(|one| RedactionRule::new(&one.text, one.only, one.sort)).collect()
});

/// All patterns as one set, in the order of [`RULES`]: most texts match none.
#[expect(clippy::expect_used, reason = "patterns are constants, and tests compile them all")]
pub(super) static PATTERN_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let all = all_patterns();
    let mut set = RegexSetBuilder::new(all.iter().map(|one| &one.text));
    set.size_limit(SIZE_LIMIT).dfa_size_limit(CACHE_BYTES);
    set.build().expect("the patterns are valid")
});
