//! Takes secrets out of what leaves the process.
//!
//! Two nets: fields whose name says that they hold a secret ([`is_secret_key`]), and text in
//! which something looks like a secret ([`redact`]). Code and prose that only talk about
//! passwords and tokens stay as they are.
//!
//! Invariant: redacting twice gives what redacting once gave, and JSON stays JSON.

mod kind;
mod patterns;
mod rule;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

pub use kind::SecretKind;

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Endings of names of fields that hold a secret, without separators and in lower case.
const SECRET_ENDINGS: [&str; 13] = [
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

/// How often a text is looked through.
const MAX_ROUNDS: usize = 6;

/// A text without its secrets, and of which sorts they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The clean text.
    pub text: Cow<'a, str>,
    /// The sorts of what was taken out; empty if nothing was.
    pub kinds: BTreeSet<SecretKind>,
}

/// The text without its secrets.
pub fn redact(text: &str) -> Cow<'_, str> {
    redact_marked(text, REDACTED).text
}

/// The text with `marker` where its secrets were.
pub fn redact_marked<'a>(text: &'a str, marker: &str) -> Redacted<'a> {
    let (mut clean, mut kinds) = (Cow::Borrowed(text), BTreeSet::new());
    // What one rule cuts out may let another find more. Each round leaves less to find; the bound is
    // for texts that are made to take long.
    for _ in 0..MAX_ROUNDS {
        if !patterns::ANY.is_match(&clean) {
            break;
        }
        let before = clean.clone();
        let found = patterns::ANY.matches(&clean);
        for rule in found.iter().filter_map(|index| patterns::RULES.get(index)) {
            clean = rule.apply(clean, marker, &mut kinds);
        }
        if clean == before {
            break;
        }
    }
    Redacted { text: clean, kinds }
}

/// Whether a field of this name holds a secret, whatever its value looks like.
///
/// `refresh_token`, `X-Api-Key` and `clientSecret` do; `max_tokens`, `token_type` and
/// `admin_token_file` do not.
pub fn is_secret_key(key: &str) -> bool {
    let plain: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    plain.contains("password") || SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending))
}

/// Takes the secrets out of a JSON value, in every field and at every depth.
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

/// Takes the secrets out of the value of a field, by the field's name and by what it looks like.
pub fn redact_field(key: &str, value: &mut Value) {
    if is_secret_key(key) && !value.is_null() && !value.is_boolean() {
        *value = Value::from(REDACTED);
    } else {
        redact_json(value);
    }
}

#[cfg(test)]
mod tests;
