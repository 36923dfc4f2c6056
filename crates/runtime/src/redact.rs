//! Redaction of secrets in data that leaves the process.
//!
//! Two mechanisms: field names that imply a secret ([`is_secret_key`]), and text patterns
//! ([`redact`]). Code and prose that only mention passwords and tokens stay unchanged.
//!
//! Invariant: redaction is idempotent, and valid JSON stays valid.

mod kind;
mod patterns;
mod rule;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

pub use kind::SecretKind;

/// Replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Suffixes of secret field names, in lower case without separators.
const SECRET_SUFFIXES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authorization",
    "cookie",
    "credential",
    "credentials",
];

/// Limit of passes over a text.
const MAX_ROUNDS: usize = 6;

/// A redacted text, and the kinds of the secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText<'a> {
    pub text: Cow<'a, str>,
    /// Empty if nothing was redacted.
    pub kinds: BTreeSet<SecretKind>,
}

/// Replaces secrets with [`REDACTED`].
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_with_marker(text, REDACTED).text
}

/// Replaces secrets with `marker`.
pub fn redact_with_marker<'a>(text: &'a str, marker: &str) -> RedactedText<'a> {
    let (mut clean, mut kinds) = (Cow::Borrowed(text), BTreeSet::new());
    // A replacement may let another rule match. Each round leaves fewer matches; the limit guards
    // against adversarial texts.
    for _ in 0..MAX_ROUNDS {
        if !patterns::PATTERN_SET.is_match(&clean) || cynode_fault::fault!("GRD-18") {
            break;
        }
        let before = clean.clone();
        let found = patterns::PATTERN_SET.matches(&clean);
        for rule in found.iter().filter_map(|index| patterns::RULES.get(index)) {
            clean = rule.apply(clean, marker, &mut kinds);
        }
        if clean == before {
            break;
        }
    }
    RedactedText { text: clean, kinds }
}

/// Whether a field of this name holds a secret, regardless of its value.
///
/// `refresh_token`, `X-Api-Key` and `clientSecret` do; `max_tokens`, `token_type` and
/// `admin_token_file` do not.
pub fn is_secret_key(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    plain.contains("password") || SECRET_SUFFIXES.iter().any(|ending| plain.ends_with(ending))
}

/// Redacts a JSON value recursively.
pub fn redact_json(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_json),
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                redact_field(key, field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Redacts the value of a field, by field name and by pattern.
pub fn redact_field(key: &str, value: &mut Value) {
    if is_secret_key(key) && !value.is_null() && !value.is_boolean() {
        *value = Value::from(REDACTED);
    } else {
        redact_json(value);
    }
}

#[cfg(test)]
mod tests;
