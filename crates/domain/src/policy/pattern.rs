//! Patterns over names, such as `db.*`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Limit for patterns and names.
pub const MAX_BYTES: usize = 256;

/// A glob in which `*` matches any number of characters; all else is literal.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "db.*")]
pub struct Pattern(String);

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("a pattern must have 1 to {MAX_BYTES} bytes")]
    Length,
    #[error("a pattern may contain letters, digits, and . _ - / : * only")]
    Characters,
}

impl Pattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `name` matches completely.
    pub fn matches(&self, name: &str) -> bool {
        matches_glob(&self.0, name)
    }
}

/// Whether `name` matches `pattern` completely. Worst case: time proportional to the product of both
/// lengths.
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    let mut chunks = pattern.split('*');
    let Some(mut rest) = chunks.next().and_then(|head| name.strip_prefix(head)) else {
        return false;
    };
    let Some(tail) = chunks.next_back() else {
        // No `*`: the names must be equal.
        return rest.is_empty();
    };
    for chunk in chunks {
        let Some(found) = rest.find(chunk) else {
            return false;
        };
        rest = rest.get(found + chunk.len()..).unwrap_or_default();
    }
    rest.ends_with(tail)
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(PatternError::Length);
        }
        let is_known = |c: char| c.is_ascii_alphanumeric() || "._-/:*".contains(c);
        if text.chars().all(is_known) {
            Ok(Self(text.to_owned()))
        } else {
            Err(PatternError::Characters)
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_stands_for_any_run_and_nothing_else_is_special() {
        for (pattern, name, fits) in [
            ("db.*", "db.task.get", true),
            ("db.*", "db", false),
            ("db.*", "xdb.task.get", false),
            ("db.*.get", "db.task.get", true),
            ("db.*.get", "db.task.getter", false),
            ("*", "", true),
            ("*a*b", "aab", true),
            ("a*a", "a", false),
            ("web.fetch", "web.fetch", true),
            ("web.fetch", "web.fetch.all", false),
            ("web.?etch", "web.fetch", false),
        ] {
            assert_eq!(matches_glob(pattern, name), fits, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_pattern_of_odd_characters_or_of_none_is_refused() {
        assert_eq!("".parse::<Pattern>(), Err(PatternError::Length));
        assert_eq!("db.task get".parse::<Pattern>(), Err(PatternError::Characters));
        assert_eq!("x".repeat(MAX_BYTES + 1).parse::<Pattern>(), Err(PatternError::Length));
    }

    /// Reference implementation.
    fn reference_match(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), None) => reference_match(rest, name),
            (Some((b'*', rest)), Some((_, later))) => {
                reference_match(rest, name) || reference_match(pattern, later)
            }
            (Some((p, rest)), Some((n, later))) => p == n && reference_match(rest, later),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn patterns_match_as_the_naive_matcher_does(pattern in "[ab.*]{0,8}", name in "[ab.]{0,8}") {
            prop_assert_eq!(matches_glob(&pattern, &name), reference_match(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
