//! Reads actions from a model's answer, in any form.
//!
//! Every form is accepted at any time: native calls first, then a call or an action written as text. The requested
//! [`ActionFormat`](cynode_wire::agent_jobs::ActionFormat) only decides what the model is asked for.

use cynode_agent_job::bounded_text::clip_end;
use cynode_llm::{first_json_object, parse_tool_calls, refusal};
use cynode_llm_wire::openai::{ChatCompletion, FunctionCall};
use serde_json::{Map, Value};

use crate::action::{Action, ToolAction};
use crate::json_repair::{escape_controls, parse_object};

/// The most actions of one answer; the rest is ignored.
const MAX_ACTIONS: usize = 8;
/// The most bytes of a malformed answer that are shown to the model again.
const QUOTED_BYTES: usize = 1_500;
/// The names of all actions, for calls that are written as text.
const ACTION_NAMES: [&str; 9] = [
    "read_file",
    "search",
    "list_files",
    "edit_file",
    "write_file",
    "run_command",
    "call_tool",
    "finish",
    "give_up",
];

/// An action with the arguments as the model wrote them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestedAction {
    pub(crate) action: Action,
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

impl RequestedAction {
    /// The tool that it calls: one that was granted, or the action itself.
    pub(crate) fn tool(&self) -> String {
        match &self.action {
            Action::Tool(ToolAction::CallTool(call)) => call.name.clone(),
            Action::Tool(_) | Action::Finish(_) | Action::GiveUp { .. } => self.name.clone(),
        }
    }
}

/// An answer without a valid action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MalformedAnswer {
    /// The answer, shortened.
    pub(crate) quoted: String,
    /// The fault, for the model.
    pub(crate) fault: String,
}

/// Returns the actions of an answer, at least one.
pub(crate) fn parse_answer(
    completion: &ChatCompletion,
) -> Result<Vec<RequestedAction>, MalformedAnswer> {
    let calls: Vec<&FunctionCall> = completion
        .message()
        .into_iter()
        .flat_map(|message| &message.tool_calls)
        .filter_map(|call| call.function.as_ref())
        .take(MAX_ACTIONS)
        .collect();
    let text = strip_think_blocks(completion.text());
    let parsed = if let Some(words) = refusal(completion) {
        Err(format!("you refused: {words}"))
    } else if calls.is_empty() {
        parse_text(&text)
    } else {
        calls.iter().map(|call| parse_call(call)).collect()
    };
    parsed.map_err(|fault| {
        let choice = completion.choices.first();
        let is_cut = choice.and_then(|choice| choice.finish_reason.as_deref()) == Some("length");
        let advice = if is_cut { " (the answer was cut off: write less at once)" } else { "" };
        let calls: Vec<String> =
            calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
        let quoted = if calls.is_empty() { text } else { calls.join("\n") };
        MalformedAnswer {
            quoted: clip_end(&quoted, QUOTED_BYTES),
            fault: format!("{}{advice}", clip_end(&fault, QUOTED_BYTES)),
        }
    })
}

/// Parses a call. The name may contain markup of a template, such as `functions.read_file`.
fn parse_call(call: &FunctionCall) -> Result<RequestedAction, String> {
    let name = call.name.trim();
    let name = name.rsplit(['.', ':']).next().unwrap_or(name);
    let arguments = parse_object(&call.arguments).map_err(|fault| format!("{name}: {fault}"))?;
    request_action(name, arguments)
}

fn request_action(name: &str, arguments: Map<String, Value>) -> Result<RequestedAction, String> {
    let action = Action::parse(name, arguments.clone())?;
    Ok(RequestedAction { action, name: name.to_owned(), arguments })
}

/// Parses actions that are written as text.
fn parse_text(text: &str) -> Result<Vec<RequestedAction>, String> {
    if text.trim().is_empty() {
        return Err("the answer is empty; state one action".to_owned());
    }
    let calls = parse_tool_calls(text, |name| ACTION_NAMES.contains(&name));
    if !calls.is_empty() {
        return calls.iter().take(MAX_ACTIONS).map(parse_call).collect();
    }
    let object = find_action_object(text)
        .ok_or_else(|| "the answer contains no action; state one action".to_owned())?;
    parse_action_object(object).map(|action| vec![action])
}

/// Finds the JSON object of the action: in a code block, or anywhere in the text.
fn find_action_object(text: &str) -> Option<Map<String, Value>> {
    let block = text.split_once("```json").or_else(|| text.split_once("```")).map(|(_, it)| it);
    let repaired = block.map(escape_controls);
    [block, repaired.as_deref(), Some(text), Some(&escape_controls(text))]
        .into_iter()
        .flatten()
        .find_map(|text| match first_json_object(text) {
            Some(Value::Object(object)) if action_name(&object).is_some() => Some(object),
            _ => None,
        })
}

fn action_name(object: &Map<String, Value>) -> Option<&str> {
    ["action", "name", "tool", "function"].iter().find_map(|key| object.get(*key)?.as_str())
}

/// Parses `{"action": name, …arguments}`, also with the arguments in an object of their own.
fn parse_action_object(mut object: Map<String, Value>) -> Result<RequestedAction, String> {
    let name = action_name(&object).unwrap_or_default().to_owned();
    if object.contains_key("action") {
        object.remove("action");
        // `call_tool` has an argument of this name itself.
        if name != "call_tool" {
            for key in ["arguments", "parameters"] {
                if let Some(Value::Object(inner)) = object.remove(key) {
                    object.extend(inner);
                }
            }
        }
        return request_action(&name, object);
    }
    let arguments = ["arguments", "parameters"].iter().find_map(|key| object.remove(*key));
    match arguments {
        Some(Value::Object(arguments)) => request_action(&name, arguments),
        _ => request_action(&name, object),
    }
}

/// Removes `<think>` blocks; an unfinished one extends to the end.
fn strip_think_blocks(text: &str) -> String {
    let (mut rest, mut shown) = (text, String::new());
    while let Some((before, thought)) = rest.split_once("<think>") {
        shown.push_str(before);
        rest = thought.split_once("</think>").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::{AssistantMessage, Choice, ToolCall};

    use super::*;
    use crate::action::{ReadFile, ToolAction};

    fn answer(text: &str, calls: Vec<ToolCall>) -> ChatCompletion {
        let message = AssistantMessage {
            content: Some(text.to_owned()),
            tool_calls: calls,
            ..AssistantMessage::default()
        };
        let choice = Choice { message, ..Choice::default() };
        ChatCompletion { choices: vec![choice], ..ChatCompletion::default() }
    }

    fn read(path: &str) -> Action {
        let path = path.to_owned();
        Action::Tool(ToolAction::ReadFile(ReadFile { path, start_line: None, end_line: None }))
    }

    #[test]
    fn an_action_is_read_in_every_form() {
        let call = ToolCall::function("1", "functions.read_file", r#"{"path": "a"}"#);
        let answers = [
            answer("Let me look.", vec![call]),
            answer(r#"{"action": "read_file", "path": "a"}"#, vec![]),
            answer(r#"{"action": "read_file", "arguments": {"path": "a"}}"#, vec![]),
            answer(r#"{"name": "read_file", "arguments": {"path": "a"}}"#, vec![]),
            answer(
                "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool_call>",
                vec![],
            ),
            answer(
                "<think>{\"action\": 1}</think>I look at {x}.\n```json\n{\"action\": \"read_file\", \"path\": \"a\"}\n```\nThen more.",
                vec![],
            ),
            answer("Sure: {\"action\": \"read_file\",\n\"path\": \"a\"} ok", vec![]),
        ];
        for answer in answers {
            let actions = parse_answer(&answer).unwrap();
            let actions: Vec<&Action> = actions.iter().map(|it| &it.action).collect();
            assert_eq!(actions, [&read("a")], "{answer:?}");
        }
    }

    #[test]
    fn several_calls_are_read_in_order() {
        let calls = ["a", "b"]
            .map(|path| ToolCall::function(path, "read_file", format!("{{\"path\": \"{path}\"}}")));
        let actions = parse_answer(&answer("", calls.into())).unwrap();
        assert_eq!(actions.len(), 2);
        assert_eq!(actions[1].action, read("b"));
    }

    #[test]
    fn an_answer_without_an_action_is_quoted_with_its_fault() {
        let cases = [
            (answer("", vec![]), "the answer is empty"),
            (answer("I am done!", vec![]), "contains no action"),
            (answer(r#"{"action": "dance"}"#, vec![]), "there is no action \"dance\""),
            (answer("", vec![ToolCall::function("1", "read_file", "{\"pa")]), "not a JSON object"),
            (answer("", vec![ToolCall::function("1", "read_file", "{}")]), "missing field `path`"),
        ];
        for (answer, fault) in cases {
            let malformed = parse_answer(&answer).unwrap_err();
            assert!(malformed.fault.contains(fault), "{malformed:?}");
        }
    }

    #[test]
    fn raw_line_breaks_in_a_code_block_are_accepted() {
        let text =
            "```json\n{\"action\": \"write_file\", \"path\": \"a\", \"content\": \"x\ny\"}\n```";
        let actions = parse_answer(&answer(text, vec![])).unwrap();
        assert_eq!(actions[0].arguments["content"], "x\ny");
    }

    #[test]
    fn a_cut_off_answer_is_told_to_be_shorter() {
        let mut answer = answer("{\"action\": \"write_file\", \"content\": \"aaa", vec![]);
        answer.choices[0].finish_reason = Some("length".to_owned());
        assert!(parse_answer(&answer).unwrap_err().fault.contains("write less"));
    }
}
