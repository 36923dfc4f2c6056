//! Answers that come as events.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{OutputItem, OutputPart, ResponseView};

/// An event and its place in the stream.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct NumberedEvent {
    /// The event.
    #[serde(flatten)]
    pub event: ResponseEvent,
    /// Its place, from 0.
    pub sequence_number: u64,
}

/// Something new about an answer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "type")]
pub enum ResponseEvent {
    /// The answer has a name.
    #[serde(rename = "response.created")]
    Created {
        /// The answer.
        response: ResponseView,
    },
    /// The answer comes.
    #[serde(rename = "response.in_progress")]
    InProgress {
        /// The answer.
        response: ResponseView,
    },
    /// The answer is whole.
    #[serde(rename = "response.completed")]
    Completed {
        /// The answer.
        response: ResponseView,
    },
    /// The answer was cut off.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// The answer.
        response: ResponseView,
    },
    /// The answer failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// The answer.
        response: ResponseView,
    },
    /// A new item begins.
    #[serde(rename = "response.output_item.added")]
    ItemAdded {
        /// Its place in the output.
        output_index: u32,
        /// The item, as far as it is.
        item: OutputItem,
    },
    /// An item is whole.
    #[serde(rename = "response.output_item.done")]
    ItemDone {
        /// Its place in the output.
        output_index: u32,
        /// The item.
        item: OutputItem,
    },
    /// A new part of a message begins.
    #[serde(rename = "response.content_part.added")]
    PartAdded {
        /// Where.
        #[serde(flatten)]
        at: Place,
        /// The part, as far as it is.
        part: OutputPart,
    },
    /// A part of a message is whole.
    #[serde(rename = "response.content_part.done")]
    PartDone {
        /// Where.
        #[serde(flatten)]
        at: Place,
        /// The part.
        part: OutputPart,
    },
    /// Words to append.
    #[serde(rename = "response.output_text.delta")]
    TextDelta {
        /// Where.
        #[serde(flatten)]
        at: Place,
        /// The words.
        delta: String,
        /// How likely they were; nothing is said about it.
        logprobs: Vec<Value>,
    },
    /// The words are whole.
    #[serde(rename = "response.output_text.done")]
    TextDone {
        /// Where.
        #[serde(flatten)]
        at: Place,
        /// The words.
        text: String,
        /// How likely they were; nothing is said about it.
        logprobs: Vec<Value>,
    },
    /// Words to append to a refusal.
    #[serde(rename = "response.refusal.delta")]
    RefusalDelta {
        /// Where.
        #[serde(flatten)]
        at: Place,
        /// The words.
        delta: String,
    },
    /// A refusal is whole.
    #[serde(rename = "response.refusal.done")]
    RefusalDone {
        /// Where.
        #[serde(flatten)]
        at: Place,
        /// The words.
        refusal: String,
    },
    /// JSON text to append to the arguments of a call.
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta {
        /// The item's place in the output.
        output_index: u32,
        /// The item's own name.
        item_id: String,
        /// The text.
        delta: String,
    },
    /// The arguments of a call are whole.
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone {
        /// The item's place in the output.
        output_index: u32,
        /// The item's own name.
        item_id: String,
        /// The function.
        name: String,
        /// The text.
        arguments: String,
    },
}

/// Where in an answer a part of a message is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Place {
    /// The item's place in the output.
    pub output_index: u32,
    /// The item's own name.
    pub item_id: String,
    /// The part's place in the message.
    pub content_index: u32,
}

impl ResponseEvent {
    /// What the event is called in the stream.
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
        let at = Place { output_index: 0, item_id: "msg_1".into(), content_index: 0 };
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
