//! Redacts secrets in stored text and in requests to models.
//!
//! Every request to a model is a [`RedactedRequest`], which cannot be built without redaction. Prose written by
//! people, and all text written by agents, is redacted before it is stored (`RedactSecrets`). ADR 20 lists the
//! texts that stay unredacted because a command needs or printed them.

mod request;
mod stored_text;

use std::borrow::Cow;
use std::collections::BTreeSet;

use cynode_runtime::redact::{SecretKind, redact_with_marker};
use serde_json::Value;

pub use request::RedactedRequest;
pub use stored_text::RedactSecrets;

/// Replaces a redacted secret.
pub const SECRET_MARKER: &str = "SECRET_REDACTED";

/// Kinds of secrets found.
pub type SecretKinds = BTreeSet<SecretKind>;

/// Redacts the secrets in a text.
pub(crate) fn redact_text(text: &mut String, kinds: &mut SecretKinds) {
    let found = redact_with_marker(text, SECRET_MARKER);
    kinds.extend(found.kinds);
    if let Cow::Owned(clean) = found.text {
        *text = clean;
    }
}

/// Redacts the secrets in every string of a value.
pub fn redact_value(value: &mut Value, kinds: &mut SecretKinds) {
    match value {
        // A match in encoded image or audio data is a false positive.
        Value::String(text) if text.starts_with("data:") => {}
        Value::String(text) => redact_text(text, kinds),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_value(item, kinds)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact_value(field, kinds)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
