//! The script of the model: which answer follows a request, whatever API it uses.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::CanaryRun;

/// The end of the tool's name. Agents put the name of the server before it.
pub(super) const TOOL_NAME: &str = "canary";
/// Calls of the tool that the model asks for, at most: an agent whose calls fail would otherwise never stop.
const MAX_WANTED_CALLS: u32 = 5;

/// The longest name of a tool or a model. APIs of models allow less.
const MAX_NAME_BYTES: usize = 256;

const TEXT_WITH_RESULT: &str = "The tool works. The trial is complete.";
const TEXT_WITHOUT_TOOL: &str = "The trial is complete.";

/// A request to the model. Everything else in it is skipped without being stored, so a request is small however long its
/// body is.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ModelRequest {
    #[serde(default, deserialize_with = "read_model")]
    pub(super) model: String,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    pub(super) stream_options: Option<StreamOptions>,
    /// The first tool whose name matches.
    #[serde(default, rename = "tools", deserialize_with = "read_offered_tool")]
    tool: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    pub(super) include_usage: bool,
}

/// A tool in the form of either API: chat completions have its name in `function`.
#[derive(Debug, Default, Deserialize)]
struct OfferedTool<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<OfferedFunction<'a>>,
}

#[derive(Debug, Default, Deserialize)]
struct OfferedFunction<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

impl OfferedTool<'_> {
    /// Returns the name if the tool is the scripted one.
    fn matching_name(self) -> Option<String> {
        let name = self.name.or_else(|| self.function.and_then(|function| function.name))?;
        (name.len() <= MAX_NAME_BYTES && name.ends_with(TOOL_NAME)).then(|| name.into_owned())
    }
}

/// Answers repeat the model. A name that no model has is left out.
fn read_model<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let model = String::deserialize(deserializer)?;
    Ok(if model.len() <= MAX_NAME_BYTES { model } else { String::new() })
}

/// Reads the list of tools without storing it.
fn read_offered_tool<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    struct ToolList;

    impl<'de> Visitor<'de> for ToolList {
        type Value = Option<String>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of tools")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut tools: A) -> Result<Self::Value, A::Error> {
            while let Some(tool) = tools.next_element::<OfferedTool<'_>>()? {
                if let Some(name) = tool.matching_name() {
                    while tools.next_element::<IgnoredAny>()?.is_some() {}
                    return Ok(Some(name));
                }
            }
            Ok(None)
        }
    }

    deserializer.deserialize_seq(ToolList)
}

/// What the model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptedAnswer {
    /// A call of the tool with this name, with a number that is unique in the run.
    Call {
        tool: String,
        number: u32,
    },
    Text(&'static str),
    /// No answer.
    Hold,
}

impl CanaryRun {
    /// Counts a request and decides its answer. `body` is the text that `request` was read from.
    pub(super) fn answer(&self, request: &ModelRequest, body: &[u8]) -> ScriptedAnswer {
        let is_held = contains_word(body, &self.stop_word);
        let has_result = contains_word(body, &self.code);
        let mut seen = self.seen();
        if is_held {
            seen.held_requests += 1;
            return ScriptedAnswer::Hold;
        }
        seen.model_requests += 1;
        seen.is_tool_offered |= request.tool.is_some();
        if has_result {
            seen.tool_results += 1;
            return ScriptedAnswer::Text(TEXT_WITH_RESULT);
        }
        match &request.tool {
            Some(tool) if seen.wanted_calls < MAX_WANTED_CALLS => {
                seen.wanted_calls += 1;
                ScriptedAnswer::Call { tool: tool.clone(), number: seen.wanted_calls }
            }
            Some(_) | None => ScriptedAnswer::Text(TEXT_WITHOUT_TOOL),
        }
    }
}

/// The words have letters and digits only, so JSON does not change them.
fn contains_word(body: &[u8], word: &str) -> bool {
    !word.is_empty() && body.windows(word.len()).any(|window| window == word.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::CanaryOrigin;
    use super::*;

    fn answer(run: &CanaryRun, request: &Value) -> ScriptedAnswer {
        let body = request.to_string();
        run.answer(&serde_json::from_str(&body).unwrap(), body.as_bytes())
    }

    #[test]
    fn the_tool_is_wanted_until_its_result_is_in_a_request() {
        let run = CanaryRun::new(CanaryOrigin::ThisProcess);
        let tools = json!([
            { "type": "function", "function": { "name": "read" } },
            { "type": "function", "function": { "name": "cynode_canary" } },
        ]);
        let first = json!({ "messages": [], "tools": tools });
        let call = |number| ScriptedAnswer::Call { tool: "cynode_canary".to_owned(), number };

        assert_eq!(answer(&run, &first), call(1));
        assert_eq!(answer(&run, &first), call(2));
        let result = json!({ "role": "tool", "content": format!("it is {}", run.code) });
        let second = json!({ "messages": [result], "tools": tools });
        assert_eq!(answer(&run, &second), ScriptedAnswer::Text(TEXT_WITH_RESULT));

        let seen = run.seen().clone();
        assert_eq!((seen.model_requests, seen.tool_results, seen.is_tool_offered), (3, 1, true));
    }

    #[test]
    fn a_request_is_small_however_long_its_body_is() {
        let long_name = format!("{}canary", "x".repeat(MAX_NAME_BYTES));
        let mut tools = vec![json!({}); 100_000];
        tools.extend([json!({ "name": long_name }), json!({ "name": "first_\u{e9}_canary" })]);
        tools.extend([json!({ "name": "second_canary" }), json!({ "function": 7 })]);
        let body = json!({ "model": "m".repeat(100_000), "tools": tools }).to_string();

        let request: ModelRequest = serde_json::from_str(&body).unwrap();

        // Nothing but two names is stored.
        assert_eq!(request.tool.as_deref(), Some("first_\u{e9}_canary"));
        assert_eq!((request.model.capacity(), request.stream_options.is_some()), (0, false));
    }

    #[test]
    fn an_agent_whose_calls_fail_gets_a_text_in_the_end() {
        let run = CanaryRun::new(CanaryOrigin::ThisProcess);
        let request = json!({ "tools": [{ "name": "mcp__cynode__canary" }] });
        let answers: Vec<_> = (0..=MAX_WANTED_CALLS).map(|_| answer(&run, &request)).collect();

        assert!(matches!(answers[4], ScriptedAnswer::Call { number: 5, .. }), "{answers:?}");
        assert_eq!(answers[5], ScriptedAnswer::Text(TEXT_WITHOUT_TOOL));
    }

    #[test]
    fn a_request_without_the_tool_gets_a_text_and_one_with_the_stop_word_no_answer() {
        let run = CanaryRun::new(CanaryOrigin::ThisProcess);
        let tools = json!([{ "name": "canary_bird" }]);

        let plain = answer(&run, &json!({ "messages": [], "tools": tools }));
        let held = answer(&run, &json!({ "system": run.stop_word }));

        assert_eq!((plain, held), (ScriptedAnswer::Text(TEXT_WITHOUT_TOOL), ScriptedAnswer::Hold));
        let state = run.state();
        assert_eq!((state.model_requests, state.held_requests), (1, 1));
    }
}
