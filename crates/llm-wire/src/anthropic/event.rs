//! Streamed responses.

use serde::{Deserialize, Serialize};

use super::{
    MessagesBlock, MessagesErrorDetail, MessagesResponse, MessagesStopReason, MessagesUsage,
};

/// An event of a streamed answer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagesEvent {
    /// The answer starts.
    MessageStart {
        /// The message without content; its usage is an estimate.
        message: MessagesResponse,
    },
    /// A block starts.
    ContentBlockStart {
        /// Index in the content.
        index: u32,
        /// The block without text or arguments.
        content_block: MessagesBlock,
    },
    /// A block continues.
    ContentBlockDelta {
        /// Index in the content.
        index: u32,
        /// Text to append.
        delta: MessagesBlockDelta,
    },
    /// A block is complete.
    ContentBlockStop {
        /// Index in the content.
        index: u32,
    },
    /// The answer is complete.
    MessageDelta {
        /// Why it ended.
        delta: MessageEnd,
        /// Token usage of the whole answer.
        usage: MessagesUsage,
    },
    /// The stream is complete.
    MessageStop,
    /// Keep-alive.
    Ping,
    /// The answer failed; the last event.
    Error {
        /// The error.
        error: MessagesErrorDetail,
    },
}

impl MessagesEvent {
    /// Name of the event, equal to its `type`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Ping => "ping",
            Self::Error { .. } => "error",
        }
    }
}

/// Text to append to a block.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagesBlockDelta {
    /// Text of the answer.
    TextDelta {
        /// The text.
        text: String,
    },
    /// Arguments of a tool call.
    InputJsonDelta {
        /// JSON text.
        partial_json: String,
    },
}

/// The end of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct MessageEnd {
    /// Why it ended.
    pub stop_reason: Option<MessagesStopReason>,
    /// The text that ended it, if the provider reports it.
    pub stop_sequence: Option<String>,
}
