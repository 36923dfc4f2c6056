//! Content blocks of tools, resources and prompts.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// One red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No samples, 8 kHz.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(crate) fn image_block() -> ContentBlock {
    ContentBlock::image(PNG, "image/png")
}

pub(crate) fn audio_block() -> ContentBlock {
    ContentBlock::audio(WAV, "audio/wav")
}

pub(crate) fn resource_block(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(mime_type))
}

/// A tool result with one text block.
pub(crate) fn text_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A tool result with an error text.
pub(crate) fn error_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}
