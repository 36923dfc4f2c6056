//! Content blocks of tools, resources and prompts.

use serde_json::{Value, json};

/// One red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No samples, 8 kHz.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(crate) fn text_block(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

pub(crate) fn image_block() -> Value {
    json!({ "type": "image", "data": PNG, "mimeType": "image/png" })
}

pub(crate) fn audio_block() -> Value {
    json!({ "type": "audio", "data": WAV, "mimeType": "audio/wav" })
}

pub(crate) fn resource_block(uri: &str, mime_type: &str, text: &str) -> Value {
    json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime_type, "text": text } })
}

/// A tool result with one text block.
pub(crate) fn text_result(words: impl Into<String>) -> Value {
    json!({ "content": [text_block(words)] })
}

/// A tool result with an error text.
pub(crate) fn error_result(words: impl Into<String>) -> Value {
    json!({ "content": [text_block(words)], "isError": true })
}
