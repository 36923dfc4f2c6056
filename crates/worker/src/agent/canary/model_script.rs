//! The script of the model: which answer follows a request, whatever API it uses.

use serde::Deserialize;

use super::CanaryRun;

/// The end of the tool's name. Agents put the name of the server before it.
pub(super) const TOOL_NAME: &str = "canary";
/// Calls of the tool that the model asks for, at most: an agent whose calls fail would go on for ever.
const MAX_WANTED_CALLS: u32 = 5;

const TEXT_WITH_RESULT: &str = "The tool works. The trial is complete.";
const TEXT_WITHOUT_TOOL: &str = "The trial is complete.";

/// A request to the model. Everything else in it is skipped without being stored.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ModelRequest {
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    pub(super) stream_options: Option<StreamOptions>,
    #[serde(default)]
    tools: Vec<OfferedTool>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    pub(super) include_usage: bool,
}

/// A tool in the form of either API: chat completions have its name in `function`.
#[derive(Debug, Default, Deserialize)]
struct OfferedTool {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    function: Option<OfferedFunction>,
}

#[derive(Debug, Default, Deserialize)]
struct OfferedFunction {
    #[serde(default)]
    name: Option<String>,
}

impl OfferedTool {
    fn name(&self) -> Option<&str> {
        let function = self.function.as_ref().and_then(|function| function.name.as_deref());
        self.name.as_deref().or(function)
    }
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
        let offered = request.tools.iter().filter_map(OfferedTool::name);
        let tool = offered.filter(|name| name.ends_with(TOOL_NAME)).map(str::to_owned).next();
        let mut seen = self.seen();
        if contains_word(body, &self.stop_word) {
            seen.held_requests += 1;
            return ScriptedAnswer::Hold;
        }
        seen.model_requests += 1;
        seen.is_tool_offered |= tool.is_some();
        if contains_word(body, &self.code) {
            seen.tool_results += 1;
            return ScriptedAnswer::Text(TEXT_WITH_RESULT);
        }
        match tool {
            Some(tool) if seen.wanted_calls < MAX_WANTED_CALLS => {
                seen.wanted_calls += 1;
                ScriptedAnswer::Call { tool, number: seen.wanted_calls }
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
