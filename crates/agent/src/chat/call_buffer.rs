//! Buffers model output that may be a tool call written as text.

use cynode_llm::{may_be_tool_call, parse_tool_calls};
use cynode_llm_wire::openai::ToolCall;

/// Buffered output. Small models write tool calls as text, which the user should not see.
#[derive(Debug)]
pub(super) struct CallBuffer {
    text: String,
    /// Whether the text may still be a call.
    is_open: bool,
}

impl CallBuffer {
    /// Buffers output only if tool calls are allowed.
    pub(super) fn new(may_call: bool) -> Self {
        Self { text: String::new(), is_open: may_call }
    }

    /// Appends text; returns the text that can be shown.
    pub(super) fn push(&mut self, words: String) -> String {
        if !self.is_open {
            return words;
        }
        self.text.push_str(&words);
        self.is_open = may_be_tool_call(&self.text);
        if self.is_open { String::new() } else { std::mem::take(&mut self.text) }
    }

    /// Returns the tool calls in the buffer, or its text if there are none.
    pub(super) fn finish(self, is_known: impl Fn(&str) -> bool) -> Result<Vec<ToolCall>, String> {
        let calls = parse_tool_calls(&self.text, is_known);
        if calls.is_empty() {
            return Err(self.text);
        }
        let call = |(index, call): (usize, cynode_llm_wire::openai::FunctionCall)| {
            ToolCall::function(&format!("text_{index}"), &call.name, call.arguments)
        };
        Ok(calls.into_iter().enumerate().map(call).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(may_call: bool, chunks: &[&str]) -> (String, Result<usize, String>) {
        let mut withheld = CallBuffer::new(may_call);
        let shown = chunks.iter().map(|chunk| withheld.push((*chunk).to_owned())).collect();
        (shown, withheld.finish(|name| name == "look").map(|calls| calls.len()))
    }

    #[test]
    fn a_call_is_never_shown_and_other_words_come_at_once() {
        let (shown, calls) = pushed(true, &["```js", "on\n{\"name\": ", "\"look\"}\n```"]);
        assert_eq!((shown.as_str(), calls), ("", Ok(1)));
        let (shown, rest) = pushed(true, &["Hel", "lo {\"name\": \"look\"}"]);
        assert_eq!((shown.as_str(), rest), ("Hello {\"name\": \"look\"}", Err(String::new())));
    }

    #[test]
    fn what_turns_out_to_be_no_call_is_shown_in_the_end() {
        let (shown, rest) = pushed(true, &["{\"answer\"", ": 42}"]);
        assert_eq!((shown.as_str(), rest), ("", Err("{\"answer\": 42}".to_owned())));
        let (shown, _) = pushed(false, &["{\"name\": \"look\"}"]);
        assert_eq!(shown, "{\"name\": \"look\"}", "no call may be made here");
    }
}
