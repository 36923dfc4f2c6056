//! Secrets that are known by their own shape, wherever they stand.

use super::Pattern;
use crate::redact::SecretKind::{self, ApiKey, Password, PrivateKey, Secret, Token};
use crate::redact::rule::{Only, Sort};

pub(super) fn patterns() -> Vec<Pattern> {
    let shape =
        |(text, only, kind): &(&str, Only, SecretKind)| Pattern::new(*text, *only, Sort::Is(*kind));
    SHAPES.iter().map(shape).collect()
}

const SHAPES: [(&str, Only, SecretKind); 27] = [
    // Private keys in PEM, whole, cut off, or on one line with escaped line ends.
    (
        r#"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?P<secret>.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\\*["']|\z)"#,
        Only::Always,
        PrivateKey,
    ),
    // PuTTY's own format.
    (r"(?i)Private-Lines: [0-9]+\s+(?P<secret>[A-Za-z0-9+/=\s]{40,})", Only::Always, PrivateKey),
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
        r"(?i)\bauthorization\\?.?\s*[:=]\s*\\?.?(?:bearer|basic|digest|token|negotiate|apikey|splunk|genie_?key)\s+(?P<secret>[^\s',;\x22\\]+)",
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
    // Addresses that are secrets themselves: whoever knows one may post.
    (
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/]{20,})",
        Only::Always,
        Token,
    ),
    (
        r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/(?P<secret>[A-Za-z0-9_-]{30,})",
        Only::Always,
        Token,
    ),
    (r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{40,})", Only::Always, Token),
    (r"hooks\.zapier\.com/hooks/catch/[0-9]+/(?P<secret>[A-Za-z0-9]{6,})", Only::Always, Token),
    (
        r"(?i)[?&](?:sig|x-amz-signature|x-goog-signature|signature)=(?P<secret>[A-Za-z0-9%+/]{20,}={0,2})",
        Only::Always,
        Token,
    ),
    // Azure: three characters, a digit and `Q~` in front.
    (r"\b(?P<secret>[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})", Only::Always, Secret),
    (r"\b(?P<secret>(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16})\b", Only::Always, ApiKey),
    (r"\bamzn\.mws\.(?P<secret>[0-9a-f-]{36})", Only::Always, ApiKey),
    // Bots: an id, a separator and the secret.
    (r"\b[0-9]{8,10}:(?P<secret>AA[A-Za-z0-9_-]{32,34})\b", Only::Always, Token),
    (
        r"\b[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.(?P<secret>[A-Za-z0-9_-]{27,38})\b",
        Only::Always,
        Token,
    ),
    (r"\bSG\.(?P<secret>[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})", Only::Always, ApiKey),
    (r"\b(?P<secret>[0-9a-f]{32}-us[0-9]{1,2})\b", Only::Always, ApiKey),
    (r"\b[A-Za-z0-9]{14}\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{60,70})", Only::Always, Token),
    (r"\bdt0[a-zA-Z][0-9]{2}\.[A-Z0-9]{24}\.(?P<secret>[A-Z0-9]{64})\b", Only::Always, Token),
    (
        r"\baccess-(?:sandbox|development|production)-(?P<secret>[0-9a-f]{8}-[0-9a-f-]{27})\b",
        Only::Always,
        Token,
    ),
    (
        r"\b(?:sdk|api|mob|rel)-(?P<secret>[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b",
        Only::Always,
        ApiKey,
    ),
    (r"\bA3-(?P<secret>[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){3,4})\b", Only::Always, Secret),
];
