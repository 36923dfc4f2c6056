//! Patterns over names, such as `db.*`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest pattern and the longest name that is ever matched.
pub const MAX_BYTES: usize = 256;

/// A name in which every `*` stands for any run of characters, also none; all else is literal.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schema(value_type = String, example = "db.*")]
pub struct Pattern(String);

/// The text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It has no character, or too many.
    #[error("a pattern has 1 to {MAX_BYTES} bytes")]
    Length,
    /// It holds characters that no name has.
    #[error("a pattern holds letters, digits, and . _ - / : * only")]
    Characters,
}

impl Pattern {
    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole of `name` fits.
    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, name)
    }
}

/// Whether the whole of `name` fits `pattern`. Takes time proportional to the product of both
/// lengths at most.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|head| name.strip_prefix(head)) else {
        return false;
    };
    let Some(tail) = pieces.next_back() else {
        // Without a star the head is all there is.
        return rest.is_empty();
    };
    for piece in pieces {
        let Some(found) = rest.find(piece) else {
            return false;
        };
        rest = rest.get(found + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(tail)
}

impl FromStr for Pattern {
    type Err = BadPattern;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(BadPattern::Length);
        }
        let is_known = |c: char| c.is_ascii_alphanumeric() || "._-/:*".contains(c);
        if text.chars().all(is_known) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadPattern::Characters)
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = BadPattern;

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
            assert_eq!(matches(pattern, name), fits, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_pattern_of_odd_characters_or_of_none_is_refused() {
        assert_eq!("".parse::<Pattern>(), Err(BadPattern::Length));
        assert_eq!("db.task get".parse::<Pattern>(), Err(BadPattern::Characters));
        assert_eq!("x".repeat(MAX_BYTES + 1).parse::<Pattern>(), Err(BadPattern::Length));
    }

    /// The obvious way: take a character, or let a star eat one.
    fn naive(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), None) => naive(rest, name),
            (Some((b'*', rest)), Some((_, later))) => naive(rest, name) || naive(pattern, later),
            (Some((p, rest)), Some((n, later))) => p == n && naive(rest, later),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn patterns_match_as_the_naive_matcher_does(pattern in "[ab.*]{0,8}", name in "[ab.]{0,8}") {
            prop_assert_eq!(matches(&pattern, &name), naive(pattern.as_bytes(), name.as_bytes()));
        }
    }
}
