//! What secrets look like in text.
//!
//! Each rule keeps the parts of a match that say what kind of secret was there, and drops the
//! group named `secret`. Patterns stop before quotes and backslashes, so that a redacted line
//! of JSON is still JSON.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::REDACTED;

/// Ends of names whose value in text is a secret. The last word decides: `db_password=x` is one,
/// `max_tokens=5` is none.
const KEY: &str = "(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|authorization|credentials?)";

/// What must be true of a match before it counts.
#[derive(Clone, Copy)]
enum Only {
    /// Every match counts.
    Always,
    /// The secret is not a word that people or programmers write.
    NotAWord,
    /// The secret is not a place holder, such as `$TOKEN`, `{token}` or `<token>`.
    NotAPlaceholder,
}

/// A pattern, and when it counts.
pub(super) struct Rule {
    pattern: Regex,
    only: Only,
}

impl Rule {
    pub(super) fn apply<'a>(&self, text: Cow<'a, str>) -> Cow<'a, str> {
        if !self.pattern.is_match(&text) {
            return text;
        }
        let clean = self.pattern.replace_all(&text, |found: &Captures<'_>| self.cut(found));
        if clean == text { text } else { Cow::Owned(clean.into_owned()) }
    }

    fn cut(&self, found: &Captures<'_>) -> String {
        let (Some(whole), Some(secret)) = (found.get(0), found.name("secret")) else {
            return String::new();
        };
        if !self.counts(secret.as_str()) {
            return whole.as_str().to_owned();
        }
        let before = &whole.as_str()[..secret.start() - whole.start()];
        let after = &whole.as_str()[secret.end() - whole.start()..];
        format!("{before}{REDACTED}{after}")
    }

    fn counts(&self, secret: &str) -> bool {
        match self.only {
            Only::Always => true,
            Only::NotAWord => !is_word(secret),
            Only::NotAPlaceholder => !secret.starts_with(['$', '{', '<', '%']),
        }
    }
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

/// Every rule, in the order they are applied: long shapes first, so that no part of one is left.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    SHAPES
        .iter()
        .map(|(pattern, only)| rule(pattern, *only))
        .chain(keyed().into_iter().map(|(pattern, only)| rule(&pattern, only)))
        .collect()
});

#[expect(clippy::expect_used, reason = "patterns are constants, and every test compiles them all")]
fn rule(pattern: &str, only: Only) -> Rule {
    Rule { pattern: Regex::new(pattern).expect("the pattern is valid"), only }
}

/// Secrets that are known by their own shape.
const SHAPES: [(&str, Only); 15] = [
    // Private keys in PEM, whole, cut off, or on one line with escaped line ends.
    (
        r#"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<secret>.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\\*["']|\z)"#,
        Only::Always,
    ),
    // JSON web tokens.
    (r"\b(?P<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)", Only::Always),
    // Passwords in addresses. Greedy, since a password may hold an unescaped @.
    (
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'\\]*:(?P<secret>[^\s/"'\\<>]+)@"#,
        Only::NotAPlaceholder,
    ),
    // Our own tokens.
    (r"\bcyn_[A-Za-z0-9]{1,16}_(?P<secret>[A-Za-z0-9_-]{12,})", Only::Always),
    // Headers.
    (
        r"(?i)\bauthorization\\?.?\s*[:=]\s*\\?.?(?:bearer|basic|digest|token|negotiate|apikey)\s+(?P<secret>[^\s',;\x22\\]+)",
        Only::NotAPlaceholder,
    ),
    (r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/-]{8,}={0,2})", Only::NotAWord),
    (r"(?i)\b(?:set-)?cookie:\s*(?P<secret>[^\s=;'\x22\\]+=[^\r\n'\x22\\]+)", Only::Always),
    // Model providers.
    (r"\bsk-(?P<secret>[A-Za-z0-9_-]{16,})", Only::NotAWord),
    (r"\b(?P<secret>AIza[A-Za-z0-9_-]{30,})", Only::Always),
    (r"\bhf_(?P<secret>[A-Za-z0-9]{24,})", Only::Always),
    // Forges and registries.
    (r"\bgh[pousr]_(?P<secret>[A-Za-z0-9]{16,})", Only::Always),
    (r"\bgithub_pat_(?P<secret>[A-Za-z0-9_]{16,})", Only::Always),
    (r"\bglpat-(?P<secret>[A-Za-z0-9_-]{16,})", Only::Always),
    // Clouds and chats.
    (r"\b(?P<secret>(?:AKIA|ASIA)[0-9A-Z]{16})\b", Only::Always),
    (r"\bxox[a-z]-(?P<secret>[A-Za-z0-9-]{10,})", Only::Always),
];

/// Secrets that are known by the name before them.
fn keyed() -> [(String, Only); 6] {
    [
        // "password": "…", in JSON.
        (format!(r#"(?i)(?:{KEY}|cookie)"\s*:\s*"(?P<secret>(?:[^"\\]|\\.)+)"#), Only::Always),
        // \"password\": \"…\", in JSON inside a string.
        (
            format!(
                r#"(?i)(?:{KEY}|cookie)\\+"\s*:\s*\\+"(?P<secret>(?:[^"\\]|\\[^"\\]|\\\\(?:\\\\|\\"|[^"\\]))+)"#
            ),
            Only::Always,
        ),
        // password = "…", in TOML, code and logs.
        (
            format!(r#"(?i){KEY}\s*=\s*\\*["'](?P<secret>[^"'\\,:}}\]][^"'\\]*)"#),
            Only::NotAPlaceholder,
        ),
        // password=…, in queries, forms, connection strings and logs.
        (format!(r#"(?i){KEY}=(?P<secret>[^\s"'\\&,;()=]+)"#), Only::NotAPlaceholder),
        // password: …, in YAML, headers and messages.
        (
            format!(r#"(?i){KEY}:\s*["']?(?P<secret>[^\s"'\\,;:()<>&}}\]][^\s"'\\,;()<>&]{{3,}})"#),
            Only::NotAWord,
        ),
        // --password …, in command lines.
        (
            format!(r#"(?i)--[a-z-]*{KEY}[ =]["']?(?P<secret>[^\s"'\\,:}}\]-][^\s"'\\]{{3,}})"#),
            Only::NotAWord,
        ),
    ]
}
