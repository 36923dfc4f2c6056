//! The actions of a model, parsed from a name and arguments.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use cynode_agent_job::bounded_text::one_line;

/// The most bytes of a subject in records and progress lines.
const SUBJECT_BYTES: usize = 200;

/// What a model asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Tool(ToolAction),
    Finish(FinishReport),
    GiveUp { reason: String },
}

/// An action that has an observation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolAction {
    ReadFile(ReadFile),
    Search(Search),
    ListFiles(ListFiles),
    EditFile(EditFile),
    WriteFile(WriteFile),
    RunCommand(RunCommand),
    CallTool(CallTool),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ReadFile {
    pub(crate) path: String,
    #[serde(default, deserialize_with = "lenient_number")]
    pub(crate) start_line: Option<u64>,
    #[serde(default, deserialize_with = "lenient_number")]
    pub(crate) end_line: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Search {
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ListFiles {
    #[serde(default)]
    pub(crate) path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct EditFile {
    pub(crate) path: String,
    /// At least one.
    pub(crate) edits: Vec<TextEdit>,
}

/// One replacement of text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct TextEdit {
    pub(crate) old: String,
    pub(crate) new: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct RunCommand {
    pub(crate) command: String,
    #[serde(default, deserialize_with = "lenient_number")]
    pub(crate) timeout_s: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct CallTool {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
}

/// The report of a model that believes the goal is met.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(crate) struct FinishReport {
    #[serde(default)]
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) evidence: Vec<EvidenceItem>,
}

/// Evidence as a model states it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct EvidenceItem {
    /// The number of the criterion, or its text.
    pub(crate) criterion: Value,
    #[serde(default)]
    pub(crate) evidence: String,
}

#[derive(Deserialize)]
struct GiveUpReason {
    #[serde(default)]
    reason: String,
}

impl Action {
    /// Parses an action; the error is written for the model. Unknown arguments are ignored, because models add
    /// explanations.
    pub(crate) fn parse(name: &str, mut arguments: Map<String, Value>) -> Result<Self, String> {
        if name == "edit_file" {
            normalize_edits(&mut arguments);
        }
        let arguments = Value::Object(arguments);
        let action = match name {
            "read_file" => Self::Tool(ToolAction::ReadFile(parse_arguments(name, arguments)?)),
            "search" => Self::Tool(ToolAction::Search(parse_arguments(name, arguments)?)),
            "list_files" => Self::Tool(ToolAction::ListFiles(parse_arguments(name, arguments)?)),
            "edit_file" => {
                let edit: EditFile = parse_arguments(name, arguments)?;
                if edit.edits.is_empty() {
                    return Err("edit_file: edits is empty".to_owned());
                }
                Self::Tool(ToolAction::EditFile(edit))
            }
            "write_file" => Self::Tool(ToolAction::WriteFile(parse_arguments(name, arguments)?)),
            "run_command" => Self::Tool(ToolAction::RunCommand(parse_arguments(name, arguments)?)),
            "call_tool" => Self::Tool(ToolAction::CallTool(parse_arguments(name, arguments)?)),
            "finish" => Self::Finish(parse_arguments(name, arguments)?),
            "give_up" => {
                let GiveUpReason { reason } = parse_arguments(name, arguments)?;
                Self::GiveUp { reason }
            }
            other => return Err(format!("there is no action \"{}\"", one_line(other, 60))),
        };
        Ok(action)
    }
}

impl ToolAction {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::ReadFile(_) => "read_file",
            Self::Search(_) => "search",
            Self::ListFiles(_) => "list_files",
            Self::EditFile(_) => "edit_file",
            Self::WriteFile(_) => "write_file",
            Self::RunCommand(_) => "run_command",
            Self::CallTool(_) => "call_tool",
        }
    }

    /// The path, command line or name that the action is about, on one line.
    pub(crate) fn subject(&self) -> String {
        let subject = match self {
            Self::ReadFile(ReadFile { path, .. })
            | Self::EditFile(EditFile { path, .. })
            | Self::WriteFile(WriteFile { path, .. }) => path,
            Self::Search(Search { pattern, path: Some(path) }) => {
                return one_line(&format!("{pattern} in {path}"), SUBJECT_BYTES);
            }
            Self::Search(search) => &search.pattern,
            Self::ListFiles(list) => list.path.as_deref().unwrap_or("."),
            Self::RunCommand(run) => &run.command,
            Self::CallTool(call) => &call.name,
        };
        one_line(subject, SUBJECT_BYTES)
    }
}

fn parse_arguments<T: for<'de> Deserialize<'de>>(name: &str, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))
}

/// Accepts one edit without the list around it.
fn normalize_edits(arguments: &mut Map<String, Value>) {
    match arguments.get_mut("edits") {
        Some(edits @ Value::Object(_)) => *edits = Value::Array(vec![edits.take()]),
        Some(_) => {}
        None => {
            let (old, new) = (arguments.remove("old"), arguments.remove("new"));
            if let (Some(old), Some(new)) = (old, new) {
                let edit = serde_json::json!({ "old": old, "new": new });
                arguments.insert("edits".to_owned(), Value::Array(vec![edit]));
            }
        }
    }
}

/// Accepts numbers, numbers in quotes, and null.
fn lenient_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Number(number) => number
            .as_u64()
            .map(Some)
            .ok_or_else(|| serde::de::Error::custom(format!("{number} is not a whole number"))),
        Value::String(text) => text
            .trim()
            .parse()
            .map(Some)
            .map_err(|_| serde::de::Error::custom(format!("\"{text}\" is not a whole number"))),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(serde::de::Error::custom("expected a whole number"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(name: &str, arguments: Value) -> Result<Action, String> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        Action::parse(name, arguments)
    }

    #[test]
    fn numbers_in_quotes_and_explanations_are_accepted() {
        let arguments = json!({ "path": "a", "start_line": "3", "end_line": 5, "why": "to look" });
        let read = ReadFile { path: "a".to_owned(), start_line: Some(3), end_line: Some(5) };
        assert_eq!(parse("read_file", arguments), Ok(Action::Tool(ToolAction::ReadFile(read))));
    }

    #[test]
    fn one_edit_is_accepted_without_a_list() {
        let edit = json!({ "old": "a", "new": "b" });
        let listed = parse("edit_file", json!({ "path": "x", "edits": [edit] })).unwrap();
        for other in
            [json!({ "path": "x", "edits": edit }), json!({ "path": "x", "old": "a", "new": "b" })]
        {
            assert_eq!(parse("edit_file", other), Ok(listed.clone()));
        }
    }

    #[test]
    fn an_error_names_the_action_and_the_argument() {
        let message = |name, arguments| parse(name, arguments).unwrap_err();
        assert_eq!(message("read_file", json!({})), "read_file: missing field `path`");
        assert_eq!(message("dance", json!({})), "there is no action \"dance\"");
        assert_eq!(
            message("edit_file", json!({ "path": "x", "edits": [] })),
            "edit_file: edits is empty"
        );
        assert_eq!(
            message("run_command", json!({ "command": "x", "timeout_s": "soon" })),
            "run_command: \"soon\" is not a whole number"
        );
    }
}
