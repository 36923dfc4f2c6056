//! Takes secrets out of what is kept and of what goes to models.
//!
//! Everything that is sent to a model is a [`CleanRequest`], which cannot be made without cleaning. What
//! people write in prose, and whatever agents write, is cleaned before it is kept (`WithoutSecrets`). Which
//! texts stay as they are, because a command needs or printed them, is decided in ADR 20.

mod kept;
mod request;

use std::borrow::Cow;
use std::collections::BTreeSet;

use cynode_runtime::redact::{SecretKind, redact_marked};
use serde_json::Value;

pub(crate) use kept::WithoutSecrets;
pub use request::CleanRequest;

/// What stands where a secret was.
pub const SECRET_MARKER: &str = "SECRET_REDACTED";

/// The sorts of secrets that were found.
pub(crate) type Kinds = BTreeSet<SecretKind>;

/// Takes the secrets out of a text.
pub(crate) fn clean_text(text: &mut String, kinds: &mut Kinds) {
    let found = redact_marked(text, SECRET_MARKER);
    kinds.extend(found.kinds);
    if let Cow::Owned(clean) = found.text {
        *text = clean;
    }
}

/// Takes the secrets out of every text in a value.
pub(crate) fn clean_value(value: &mut Value, kinds: &mut Kinds) {
    match value {
        // Images and sounds are no text, and finding a key in one is chance.
        Value::String(text) if text.starts_with("data:") => {}
        Value::String(text) => clean_text(text, kinds),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, kinds)),
        Value::Object(fields) => fields.values_mut().for_each(|field| clean_value(field, kinds)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
