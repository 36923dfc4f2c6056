//! Secrets identified by their own format.

use super::SecretPattern;
use crate::redact::SecretKind::{self, ApiKey, Password, PrivateKey, Secret, Token};
use crate::redact::rule::{KindSource, MatchCondition};

pub(super) fn patterns() -> Vec<SecretPattern> {
    let shape = |(text, only, kind): &(&str, MatchCondition, SecretKind)| {
        SecretPattern::new(*text, *only, KindSource::Fixed(*kind))
    };
    FORMAT_PATTERNS.iter().map(shape).collect()
}

const FORMAT_PATTERNS: [(&str, MatchCondition, SecretKind); 28] = [
    // Private keys in PEM: complete, truncated, or on one line with escaped line breaks.
    (
        r#"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?P<secret>.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\\*["']|\z)"#,
        MatchCondition::Always,
        PrivateKey,
    ),
    // PuTTY's own format.
    (
        r"(?i)Private-Lines: [0-9]+\s+(?P<secret>[A-Za-z0-9+/=\s]{40,})",
        MatchCondition::Always,
        PrivateKey,
    ),
    (r"\bAGE-SECRET-KEY-1(?P<secret>[0-9A-Z]{20,})", MatchCondition::Always, PrivateKey),
    // JSON web tokens.
    (
        r"\b(?P<secret>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)",
        MatchCondition::Always,
        Token,
    ),
    // Passwords in URLs. Greedy, since a password may contain an unescaped @.
    (
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'\\]*:(?P<secret>[^\s/"'\\<>]+)@"#,
        MatchCondition::NotAPlaceholder,
        Password,
    ),
    // A token as the user name of a URL.
    (r"://(?P<secret>[A-Za-z0-9_-]{30,})@", MatchCondition::NotAWord, Token),
    // CyNode tokens.
    (r"\bcyn_lease_(?P<secret>[A-Za-z0-9._~-]{12,})", MatchCondition::Always, Token),
    (r"\bcyn_[A-Za-z0-9]{1,16}_(?P<secret>[A-Za-z0-9_-]{12,})", MatchCondition::Always, Token),
    // Headers.
    (
        r"(?i)\bauthorization\\?.?\s*[:=]\s*\\?.?(?:bearer|basic|digest|token|negotiate|apikey|splunk|genie_?key)\s+(?P<secret>[^\s',;\x22\\]+)",
        MatchCondition::NotAPlaceholder,
        Token,
    ),
    // Not if a value follows: then that is the secret.
    (
        r"(?i)\b(?:bearer|basic)\s+(?P<secret>[A-Za-z0-9._~+/-]{8,}={0,2})(?:[^A-Za-z0-9._~+/=\[-]|$)",
        MatchCondition::NotAWord,
        Token,
    ),
    (
        r"(?i)\b(?:set-)?cookie:\s*(?P<secret>[^\s=;'\x22\\]+=[^\r\n'\x22\\]+)",
        MatchCondition::Always,
        Token,
    ),
    // URLs that are secrets themselves: knowing one is enough to post.
    (
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/]{20,})",
        MatchCondition::Always,
        Token,
    ),
    (
        r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/(?P<secret>[A-Za-z0-9_-]{30,})",
        MatchCondition::Always,
        Token,
    ),
    (
        r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{40,})",
        MatchCondition::Always,
        Token,
    ),
    (
        r"hooks\.zapier\.com/hooks/catch/[0-9]+/(?P<secret>[A-Za-z0-9]{6,})",
        MatchCondition::Always,
        Token,
    ),
    (
        r"(?i)[?&](?:sig|x-amz-signature|x-goog-signature|signature)=(?P<secret>[A-Za-z0-9%+/]{20,}={0,2})",
        MatchCondition::Always,
        Token,
    ),
    // Azure: three characters, a digit and `Q~` in front.
    (
        r"\b(?P<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})",
        MatchCondition::Always,
        Secret,
    ),
    (
        r"\b(?P<secret>(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16})\b",
        MatchCondition::Always,
        ApiKey,
    ),
    (r"\bamzn\.mws\.(?P<secret>[0-9a-f-]{36})", MatchCondition::Always, ApiKey),
    // Bots: an id, a separator and the secret.
    (r"\b[0-9]{8,10}:(?P<secret>AA[A-Za-z0-9_-]{32,34})\b", MatchCondition::Always, Token),
    (
        r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.(?P<secret>[A-Za-z0-9_-]{27,38})\b",
        MatchCondition::Always,
        Token,
    ),
    (r"\bSG\.(?P<secret>[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", MatchCondition::Always, ApiKey),
    (r"\b(?P<secret>[0-9a-f]{32}-us[0-9]{1,2})\b", MatchCondition::Always, ApiKey),
    (
        r"\b[A-Za-z0-9]{14}\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{60,70})",
        MatchCondition::Always,
        Token,
    ),
    (
        r"\bdt0[a-zA-Z][0-9]{2}\.[A-Z0-9]{24}\.(?P<secret>[A-Z0-9]{64})\b",
        MatchCondition::Always,
        Token,
    ),
    (
        r"\baccess-(?:sandbox|development|production)-(?P<secret>[0-9a-f]{8}-[0-9a-f-]{27})\b",
        MatchCondition::Always,
        Token,
    ),
    (
        r"\b(?:sdk|api|mob|rel)-(?P<secret>[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b",
        MatchCondition::Always,
        ApiKey,
    ),
    (
        r"\bA3-(?P<secret>[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4})\b",
        MatchCondition::Always,
        Secret,
    ),
];
