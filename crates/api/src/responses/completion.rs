//! Converts the answer of a chat turn to a response.

use cynode_llm_wire::openai::ChatCompletion;
use cynode_llm_wire::openai::responses::{
    IncompleteDetails, OutputItem, OutputPart, ResponseStatus, ResponseView,
};

/// Builds the response of a complete answer.
pub(super) fn build_response(mut view: ResponseView, completion: &ChatCompletion) -> ResponseView {
    if let Some(choice) = completion.choices.first() {
        let message = &choice.message;
        let text = message.content.iter().filter(|text| !text.is_empty()).map(OutputPart::text);
        let refusal =
            message.refusal.iter().map(|text| OutputPart::Refusal { refusal: text.clone() });
        let content: Vec<OutputPart> = text.chain(refusal).collect();
        if !content.is_empty() {
            view.output.push(completed_message(&view.id, content));
        }
        for call in &message.tool_calls {
            let Some(function) = &call.function else { continue };
            let id = function_id(&view.id, view.output.len());
            let (name, arguments) = (function.name.clone(), function.arguments.clone());
            let status = ResponseStatus::Completed;
            let call_id = call.id.clone();
            view.output.push(OutputItem::FunctionCall { id, call_id, name, arguments, status });
        }
        set_status(&mut view, choice.finish_reason.as_deref());
    }
    view.usage = completion.usage.as_ref().map(Into::into);
    view
}

/// Sets the status from the finish reason.
pub(super) fn set_status(view: &mut ResponseView, reason: Option<&str>) {
    let cut = match reason {
        Some("length") => Some("max_output_tokens"),
        Some("content_filter") => Some("content_filter"),
        _ => None,
    };
    view.status = cut.map_or(ResponseStatus::Completed, |_| ResponseStatus::Incomplete);
    view.incomplete_details = cut.map(|reason| IncompleteDetails { reason: reason.to_owned() });
}

/// A completed message.
fn completed_message(response: &str, content: Vec<OutputPart>) -> OutputItem {
    let (role, status) = ("assistant".to_owned(), ResponseStatus::Completed);
    OutputItem::Message { id: message_id(response), status, role, content }
}

/// The id of a response's message.
pub(super) fn message_id(response: &str) -> String {
    format!("msg_{}", bare_id(response))
}

/// The id of the function call at this output index.
pub(super) fn function_id(response: &str, index: usize) -> String {
    format!("fc_{}_{index}", bare_id(response))
}

fn bare_id(response: &str) -> &str {
    response.strip_prefix(super::PREFIX).unwrap_or(response)
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::responses::{ResponseRequest, ResponseSettings};
    use serde_json::json;

    use super::*;

    fn response(choice: &serde_json::Value) -> serde_json::Value {
        let settings = ResponseSettings::from(&ResponseRequest::default());
        let view = ResponseView::begun("resp_1".into(), 7, "p/m".into(), settings);
        let completion = serde_json::from_value(json!({
            "choices": [choice],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        }))
        .unwrap();
        serde_json::to_value(build_response(view, &completion)).unwrap()
    }

    #[test]
    fn words_are_a_message_and_calls_are_items_of_their_own() {
        let body = response(&json!({"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Let me look.",
            "tool_calls": [{"id": "call_1", "type": "function",
                            "function": {"name": "look_up", "arguments": "{}"}}]
        }}));

        assert_eq!(body["status"], "completed");
        assert_eq!(body["output"][0]["id"], "msg_1");
        assert_eq!(body["output"][0]["content"][0]["text"], "Let me look.");
        assert_eq!(
            body["output"][1],
            json!({"type": "function_call", "id": "fc_1_1", "call_id": "call_1",
                   "name": "look_up", "arguments": "{}", "status": "completed"})
        );
        assert_eq!(body["usage"]["input_tokens"], 3);
    }

    #[test]
    fn an_answer_that_was_cut_off_says_why() {
        let message = json!({"role": "assistant", "content": "Once upon"});

        let cut = response(&json!({"finish_reason": "length", "message": message}));
        let filtered = response(&json!({"finish_reason": "content_filter", "message": message}));

        assert_eq!(cut["status"], "incomplete");
        assert_eq!(cut["incomplete_details"]["reason"], "max_output_tokens");
        assert_eq!(filtered["incomplete_details"]["reason"], "content_filter");
    }
}
