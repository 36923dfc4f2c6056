//! What secrets look like in text.
//!
//! Each rule keeps the parts of a match that say what kind of secret was there, and drops the
//! group named `secret`. Patterns stop before quotes and backslashes, so that a redacted line
//! of JSON is still JSON.

use std::sync::LazyLock;

use regex::RegexSet;

use super::SecretKind::{self, ApiKey, Password, PrivateKey, Secret, Token};
use super::rule::{Only, Rule, Sort};

/// Ends of names whose value in text is a secret. The last word decides: `db_password=x` is one,
/// `max_tokens=5` is none.
const KEY: &str = "(?:password|passwd|passphrase|[_-]pass|[_-]pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|authorization|credentials?)";

/// Every rule, in the order they are applied: long shapes first, so that no part of one is left.
pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    SHAPES
        .iter()
        .map(|(pattern, only, kind)| Rule::new(pattern, *only, Sort::Is(*kind)))
        .chain(keyed().into_iter().map(|(pattern, only)| Rule::new(&pattern, only, Sort::Named)))
        .collect()
});

/// All patterns at once, for the many texts in which there is nothing to find.
#[expect(clippy::expect_used, reason = "patterns are constants, and tests compile them all")]
pub(super) static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    let shapes = SHAPES.iter().map(|(pattern, _, _)| (*pattern).to_owned());
    let all = shapes.chain(keyed().into_iter().map(|(pattern, _)| pattern));
    RegexSet::new(all).expect("the patterns are valid")
});

/// Secrets that are known by their own shape.
const SHAPES: [(&str, Only, SecretKind); 29] = [
    // Private keys in PEM, whole, cut off, or on one line with escaped line ends.
    (
        r#"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?P<secret>.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\\*["']|\z)"#,
        Only::Always,
        PrivateKey,
    ),
    (r"\bAGE-SECRET-KEY-1(?P<secret>[0-9A-Z]{20,})", Only::Always, PrivateKey),
    // JSON web tokens.
    (
        r"\b(?P<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)",
        Only::Always,
        Token,
    ),
    // Passwords in addresses. Greedy, since a password may hold an unescaped @.
    (
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'\\]*:(?P<secret>[^\s/"'\\<>]+)@"#,
        Only::NotAPlaceholder,
        Password,
    ),
    // A token in the place of a user's name.
    (r"://(?P<secret>[A-Za-z0-9_-]{30,})@", Only::NotAWord, Token),
    // Our own tokens.
    (r"\bcyn_[A-Za-z0-9]{1,16}_(?P<secret>[A-Za-z0-9_-]{12,})", Only::Always, Token),
    // Headers.
    (
        r"(?i)\bauthorization\\?.?\s*[:=]\s*\\?.?(?:bearer|basic|digest|token|negotiate|apikey)\s+(?P<secret>[^\s',;\x22\\]+)",
        Only::NotAPlaceholder,
        Token,
    ),
    // Not what has a value behind it: that is the secret then.
    (
        r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/-]{8,}={0,2})(?:[^A-Za-z0-9._~+/=\[-]|$)",
        Only::NotAWord,
        Token,
    ),
    (r"(?i)\b(?:set-)?cookie:\s*(?P<secret>[^\s=;'\x22\\]+=[^\r\n'\x22\\]+)", Only::Always, Token),
    // Model providers.
    (r"\bsk-(?P<secret>[A-Za-z0-9_-]{16,})", Only::NotAWord, ApiKey),
    (r"\b(?P<secret>AIza[A-Za-z0-9_-]{30,})", Only::Always, ApiKey),
    (r"\b(?:hf|r8|gsk)_(?P<secret>[A-Za-z0-9]{24,})", Only::Always, ApiKey),
    (r"\b(?:xai|pplx)-(?P<secret>[A-Za-z0-9]{24,})", Only::Always, ApiKey),
    // Forges and registries.
    (r"\bgh[pousr]_(?P<secret>[A-Za-z0-9]{16,})", Only::Always, Token),
    (r"\bgithub_pat_(?P<secret>[A-Za-z0-9_]{16,})", Only::Always, Token),
    (
        r"\bgl(?:pat|ptt|dt|rt|cbt|ft|soat|oas|agent|ffct|imt)-(?P<secret>[A-Za-z0-9_.-]{16,})",
        Only::NotAWord,
        Token,
    ),
    (r"\bnpm_(?P<secret>[A-Za-z0-9]{30,})", Only::Always, Token),
    (r"\bpypi-(?P<secret>[A-Za-z0-9_-]{30,})", Only::NotAWord, Token),
    (
        r"\b(?:dckr_pat_|dop_v1_|shpat_|glsa_|lin_api_)(?P<secret>[A-Za-z0-9_-]{20,})",
        Only::Always,
        Token,
    ),
    (r"\bhv[sb]\.(?P<secret>[A-Za-z0-9_-]{24,})", Only::Always, Token),
    // Clouds.
    (r"\b(?P<secret>(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16})\b", Only::Always, ApiKey),
    (r"\bya29\.(?P<secret>[A-Za-z0-9_-]{20,})", Only::Always, Token),
    (r"\bGOCSPX-(?P<secret>[A-Za-z0-9_-]{20,})", Only::Always, Secret),
    (r"\b(?P<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})", Only::Always, Secret),
    (r"(?i)[?&]sig=(?P<secret>[A-Za-z0-9%+/]{20,}={0,2})", Only::Always, Token),
    // Payments, mail and chats.
    (r"\b(?:[sr]k_(?:live|test)|whsec)_(?P<secret>[A-Za-z0-9]{16,})", Only::Always, ApiKey),
    (r"\bSG\.(?P<secret>[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", Only::Always, ApiKey),
    (r"\bx(?:ox[a-z]|app)-(?P<secret>[A-Za-z0-9-]{10,})", Only::Always, Token),
    (r"hooks\.slack\.com/services/(?P<secret>[A-Za-z0-9/]{20,})", Only::Always, Token),
];

/// Secrets that are known by the name before them.
fn keyed() -> [(String, Only); 7] {
    [
        // "password": "…", in JSON.
        (format!(r#"(?i)(?:{KEY}|cookie)"\s*:\s*"(?P<secret>(?:[^"\\]|\\.)+)"#), Only::Always),
        // \"password\": \"…\", in JSON inside a string, where an even number of \ ends the string.
        (
            format!(
                r#"(?i)(?:{KEY}|cookie)\\(?:\\\\)*"\s*:\s*\\(?:\\\\)*"(?P<secret>(?:[^"\\]|\\[^"\\]|\\\\(?:\\\\|\\"|[^"\\]))+)"#
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
        // …;Pwd=…, in connection strings.
        (r#"(?i);\s*pwd=(?P<secret>[^\s"'\\&,;()=]+)"#.to_owned(), Only::NotAPlaceholder),
        // password: …, in YAML, headers and messages.
        (
            format!(
                r#"(?i){KEY}:\s*["'`]?(?P<secret>[^\s"'`\\,;:()<>&}}\]][^\s"'`\\,;()<>&]{{3,}})"#
            ),
            Only::NotAWord,
        ),
        // --password …, in command lines.
        (
            format!(r#"(?i)--[a-z-]*{KEY}[ =]["']?(?P<secret>[^\s"'\\,:}}\]-][^\s"'\\]{{3,}})"#),
            Only::NotAWord,
        ),
    ]
}
