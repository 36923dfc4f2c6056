//! A redaction rule: a pattern, its condition, and the replacement.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::{Captures, Regex};

use super::SecretKind;

/// The condition for a match to count.
#[derive(Clone, Copy)]
pub(super) enum MatchCondition {
    Always,
    /// The secret is not a word or identifier.
    NotAWord,
    /// The secret is not a placeholder, see [`is_placeholder`].
    NotAPlaceholder,
    /// The secret is neither a word nor an identifier nor a placeholder, see [`is_random`].
    Random,
}

/// How a rule determines the kind of a secret.
#[derive(Clone, Copy)]
pub(super) enum KindSource {
    /// Fixed.
    Fixed(SecretKind),
    /// By the name before the secret.
    ByName,
}

/// A pattern with a group `secret`, and its condition.
pub(super) struct RedactionRule {
    pattern: Regex,
    only: MatchCondition,
    sort: KindSource,
}

impl RedactionRule {
    #[expect(clippy::expect_used, reason = "patterns are constants, and tests compile them all")]
    pub(super) fn new(pattern: &str, only: MatchCondition, sort: KindSource) -> Self {
        Self { pattern: Regex::new(pattern).expect("the pattern is valid"), only, sort }
    }

    /// Replaces this rule's secrets with `marker` and adds their kinds to `kinds`.
    pub(super) fn apply<'a>(
        &self,
        text: Cow<'a, str>,
        marker: &str,
        kinds: &mut BTreeSet<SecretKind>,
    ) -> Cow<'a, str> {
        let Cow::Owned(clean) = self
            .pattern
            .replace_all(&text, |found: &Captures<'_>| self.replace_match(found, marker, kinds))
        else {
            return text;
        };
        if clean == text { text } else { Cow::Owned(clean) }
    }

    fn replace_match(
        &self,
        found: &Captures<'_>,
        marker: &str,
        kinds: &mut BTreeSet<SecretKind>,
    ) -> String {
        let (Some(whole), Some(secret)) = (found.get(0), found.name("secret")) else {
            return String::new();
        };
        // Already redacted.
        if secret.as_str() == marker || !self.is_secret(secret.as_str()) {
            return whole.as_str().to_owned();
        }
        let before = &whole.as_str()[..secret.start() - whole.start()];
        let after = &whole.as_str()[secret.end() - whole.start()..];
        kinds.insert(match self.sort {
            KindSource::Fixed(kind) => kind,
            KindSource::ByName => SecretKind::from_name(before),
        });
        format!("{before}{marker}{after}")
    }

    fn is_secret(&self, secret: &str) -> bool {
        match self.only {
            MatchCondition::Always => true,
            MatchCondition::NotAWord => !is_word(secret),
            MatchCondition::NotAPlaceholder => !is_placeholder(secret),
            MatchCondition::Random => is_random(secret) && !is_placeholder(secret),
        }
    }
}

/// `$TOKEN`, `{token}`, `<token>`, ellipses, null literals, and look-ups such as `process.env`.
fn is_placeholder(text: &str) -> bool {
    text.starts_with(['$', '{', '<', '%', '…', '*'])
        || ["...", "os.", "process.env"].iter().any(|begin| text.starts_with(begin))
        || ["None", "null", "nil", "undefined", "true", "false"].contains(&text)
}

/// Words with digits that are not secrets.
const KNOWN_WORDS: [&str; 12] = [
    "base64", "base32", "sha256", "sha512", "argon2", "argon2id", "ed25519", "x25519", "hs256",
    "rs256", "es256", "oauth2",
];

/// Whether letters and digits are mixed as in generated secrets and passwords. Identifiers, versions and
/// dates, which are words and numbers with separators, do not count.
fn is_random(text: &str) -> bool {
    let text = text.trim_end_matches(['.', ':', '!', '?']);
    let has = |is: fn(&char) -> bool| text.chars().any(|letter| is(&letter));
    let is_mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let parts = || text.split(['_', '-', '.', '/', ':', '=', '+', '~', '%', '@']);
    let is_one_part = parts().filter(|part| !part.is_empty()).count() == 1;
    let is_known = KNOWN_WORDS.contains(&text.to_ascii_lowercase().as_str());
    is_mixed && !is_known && (is_one_part || !parts().all(is_name_with_number))
}

/// `task`, `Task2`, `v1`, `2026`: letters, then at most four digits.
fn is_name_with_number(part: &str) -> bool {
    let letters = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = part.len() - letters.len();
    letters.chars().all(char::is_alphabetic)
        && !has_inner_capitals(letters)
        && letters.len() < 24
        && (digits <= 4 || letters.is_empty())
}

/// Letters of one case (or capitalised) like words, optionally joined with dots, dashes or underscores
/// like identifiers.
fn is_word(text: &str) -> bool {
    text.split(['_', '-', '.', ':', '/'])
        .all(|part| part.chars().all(char::is_alphabetic) && !has_inner_capitals(part))
        && text.len() < 40
}

fn has_inner_capitals(part: &str) -> bool {
    let is_one_case = part.chars().all(char::is_uppercase);
    !is_one_case && part.chars().skip(1).filter(|letter| letter.is_uppercase()).count() > 2
}
