//! Streamed responses.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{OutputItem, OutputPart, ResponseView};

/// An event with its sequence number.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct NumberedEvent {
    /// The event.
    #[serde(flatten)]
    pub event: ResponseEvent,
    /// Sequence number, from 0.
    pub sequence_number: u64,
}

/// An event of a streamed response.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type")]
pub enum ResponseEvent {
    /// The response was created.
    #[serde(rename = "response.created")]
    Created {
        /// The response.
        response: ResponseView,
    },
    /// The response is in progress.
    #[serde(rename = "response.in_progress")]
    InProgress {
        /// The response.
        response: ResponseView,
    },
    /// The answer is complete.
    #[serde(rename = "response.completed")]
    Completed {
        /// The response.
        response: ResponseView,
    },
    /// The response is incomplete.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// The response.
        response: ResponseView,
    },
    /// The response failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// The response.
        response: ResponseView,
    },
    /// A new item starts.
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        /// Index in the output.
        output_index: u32,
        /// The item so far.
        item: OutputItem,
    },
    /// An item is complete.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// Index in the output.
        output_index: u32,
        /// The item.
        item: OutputItem,
    },
    /// A new part of a message starts.
    #[serde(rename = "response.content_part.added")]
    PartAdded {
        /// Position.
        #[serde(flatten)]
        at: ContentPosition,
        /// The part so far.
        part: OutputPart,
    },
    /// A part of a message is complete.
    #[serde(rename = "response.content_part.done")]
    PartDone {
        /// Position.
        #[serde(flatten)]
        at: ContentPosition,
        /// The part.
        part: OutputPart,
    },
    /// Text to append.
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        /// Position.
        #[serde(flatten)]
        at: ContentPosition,
        /// The text.
        delta: String,
        /// Always empty.
        logprobs: Vec<Value>,
    },
    /// The text is complete.
    #[serde(rename = "response.output_text.done")]
    TextDone {
        /// Position.
        #[serde(flatten)]
        at: ContentPosition,
        /// The text.
        text: String,
        /// Always empty.
        logprobs: Vec<Value>,
    },
    /// Refusal text to append.
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta {
        /// Position.
        #[serde(flatten)]
        at: ContentPosition,
        /// The text.
        delta: String,
    },
    /// A refusal is complete.
    #[serde(rename = "response.refusal.done")]
    RefusalDone {
        /// Position.
        #[serde(flatten)]
        at: ContentPosition,
        /// The text.
        refusal: String,
    },
    /// JSON text to append to the arguments of a call.
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta {
        /// Index of the item in the output.
        output_index: u32,
        /// Item id.
        item_id: String,
        /// The text.
        delta: String,
    },
    /// The arguments of a call are complete.
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone {
        /// Index of the item in the output.
        output_index: u32,
        /// Item id.
        item_id: String,
        /// The function.
        name: String,
        /// The text.
        arguments: String,
    },
}

/// Position of a message part in a response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ContentPosition {
    /// Index of the item in the output.
    pub output_index: u32,
    /// Item id.
    pub item_id: String,
    /// Index of the part in the message.
    pub content_index: u32,
}

impl ResponseEvent {
    /// SSE event name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "response.created",
            Self::InProgress { .. } => "response.in_progress",
            Self::Completed { .. } => "response.completed",
            Self::Incomplete { .. } => "response.incomplete",
            Self::Failed { .. } => "response.failed",
            Self::ItemAdded { .. } => "response.output_item.added",
            Self::ItemDone { .. } => "response.output_item.done",
            Self::PartAdded { .. } => "response.content_part.added",
            Self::PartDone { .. } => "response.content_part.done",
            Self::TextDelta { .. } => "response.output_text.delta",
            Self::TextDone { .. } => "response.output_text.done",
            Self::RefusalDelta { .. } => "response.refusal.delta",
            Self::RefusalDone { .. } => "response.refusal.done",
            Self::ArgumentsDelta { .. } => "response.function_call_arguments.delta",
            Self::ArgumentsDone { .. } => "response.function_call_arguments.done",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_called_in_the_stream_what_its_body_says() {
        let at = ContentPosition { output_index: 0, item_id: "msg_1".into(), content_index: 0 };
        let (delta, logprobs) = ("Hi".to_owned(), vec![]);
        let event = ResponseEvent::TextDelta { at, delta, logprobs };

        let name = event.name();
        let body = serde_json::to_value(NumberedEvent { event, sequence_number: 4 }).unwrap();

        assert_eq!(
            body,
            serde_json::json!({
                "type": name, "sequence_number": 4, "output_index": 0, "item_id": "msg_1",
                "content_index": 0, "delta": "Hi", "logprobs": []
            })
        );
    }
}
