//! One pattern, when it counts, and how it is cut out of a text.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::{Captures, Regex};

use super::SecretKind;

/// What must be true of a match before it counts.
#[derive(Clone, Copy)]
pub(super) enum Only {
    /// Every match counts.
    Always,
    /// The secret is not a word that people or programmers write.
    NotAWord,
    /// The secret is not a place holder, see [`is_placeholder`].
    NotAPlaceholder,
    /// The secret is neither a word nor an identifier nor a place holder, see [`is_random`].
    Random,
}

/// How a rule knows the sort of what it found.
#[derive(Clone, Copy)]
pub(super) enum Sort {
    /// It finds one sort only.
    Is(SecretKind),
    /// The name before the secret says it.
    Named,
}

/// A pattern with a group `secret`, and when it counts.
pub(super) struct Rule {
    pattern: Regex,
    only: Only,
    sort: Sort,
}

impl Rule {
    #[expect(clippy::expect_used, reason = "patterns are constants, and tests compile them all")]
    pub(super) fn new(pattern: &str, only: Only, sort: Sort) -> Self {
        Self { pattern: Regex::new(pattern).expect("the pattern is valid"), only, sort }
    }

    /// The text with `marker` where this rule's secrets were; their sorts are added to `kinds`.
    pub(super) fn apply<'a>(
        &self,
        text: Cow<'a, str>,
        marker: &str,
        kinds: &mut BTreeSet<SecretKind>,
    ) -> Cow<'a, str> {
        let Cow::Owned(clean) =
            self.pattern.replace_all(&text, |found: &Captures<'_>| self.cut(found, marker, kinds))
        else {
            return text;
        };
        if clean == text { text } else { Cow::Owned(clean) }
    }

    fn cut(&self, found: &Captures<'_>, marker: &str, kinds: &mut BTreeSet<SecretKind>) -> String {
        let (Some(whole), Some(secret)) = (found.get(0), found.name("secret")) else {
            return String::new();
        };
        // A place that was cleaned before is clean.
        if secret.as_str() == marker || !self.counts(secret.as_str()) {
            return whole.as_str().to_owned();
        }
        let before = &whole.as_str()[..secret.start() - whole.start()];
        let after = &whole.as_str()[secret.end() - whole.start()..];
        kinds.insert(match self.sort {
            Sort::Is(kind) => kind,
            Sort::Named => SecretKind::of_name(before),
        });
        format!("{before}{marker}{after}")
    }

    fn counts(&self, secret: &str) -> bool {
        match self.only {
            Only::Always => true,
            Only::NotAWord => !is_word(secret),
            Only::NotAPlaceholder => !is_placeholder(secret),
            Only::Random => is_random(secret) && !is_placeholder(secret),
        }
    }
}

/// `$TOKEN`, `{token}`, `<token>`, what stands for something left out, words of programs for nothing, and
/// where programs look a secret up.
fn is_placeholder(text: &str) -> bool {
    text.starts_with(['$', '{', '<', '%', '…', '*'])
        || ["...", "os.", "process.env"].iter().any(|begin| text.starts_with(begin))
        || ["None", "null", "nil", "undefined", "true", "false"].contains(&text)
}

/// Words with digits in them that stand where a secret could.
const WITH_DIGITS: [&str; 12] = [
    "base64", "base32", "sha256", "sha512", "argon2", "argon2id", "ed25519", "x25519", "hs256",
    "rs256", "es256", "oauth2",
];

/// Letters and digits, mixed as programs that make secrets mix them and as people who make up passwords do.
/// Identifiers, versions and dates are words and numbers with separators between them.
fn is_random(text: &str) -> bool {
    let text = text.trim_end_matches(['.', ':', '!', '?']);
    let has = |is: fn(&char) -> bool| text.chars().any(|letter| is(&letter));
    let is_mixed = has(char::is_ascii_digit) && has(char::is_ascii_alphabetic);
    let parts = || text.split(['_', '-', '.', '/', ':', '=', '+', '~', '%', '@']);
    let is_one_part = parts().filter(|part| !part.is_empty()).count() == 1;
    let is_known = WITH_DIGITS.contains(&text.to_ascii_lowercase().as_str());
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

/// Letters of one case (or capitalised), as words are; also with dots, dashes or underscores
/// between them, as identifiers are.
fn is_word(text: &str) -> bool {
    text.split(['_', '-', '.', ':', '/'])
        .all(|part| part.chars().all(char::is_alphabetic) && !has_inner_capitals(part))
        && text.len() < 40
}

fn has_inner_capitals(part: &str) -> bool {
    let is_one_case = part.chars().all(char::is_uppercase);
    !is_one_case && part.chars().skip(1).filter(|letter| letter.is_uppercase()).count() > 2
}
