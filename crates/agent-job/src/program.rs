//! Validates the program that carries out a job, and fills in the placeholders of its command.

use std::collections::BTreeMap;

use cynode_domain::text::truncate_chars;
use cynode_wire::agent_jobs::AgentProgramSpec;

/// The most words of a command, and the most variables.
const MAX_WORDS: usize = 256;
/// The most bytes of one word, one variable or one id. The kernel rejects words of 128 KiB.
const MAX_WORD_BYTES: usize = 32 << 10;
/// The most bytes of the command and the variables together.
const MAX_TOTAL_BYTES: usize = 256 << 10;

/// The prompt as a part of a word.
pub const PROMPT: &str = "{prompt}";
/// The path of a file with the prompt.
pub const PROMPT_FILE: &str = "{prompt_file}";
/// The path of the workspace.
pub const WORKSPACE: &str = "{workspace}";

/// Returns every fault of a program.
pub(crate) fn find_program_faults(program: &AgentProgramSpec) -> Vec<String> {
    let mut faults = Vec::new();
    match program {
        AgentProgramSpec::Acp { command, env, mode, model, .. } => {
            find_command_faults(command, env, &mut faults);
            for (name, id) in [("mode", mode), ("model", model)] {
                if id.as_ref().is_some_and(|id| id.is_empty() || id.len() > MAX_WORD_BYTES) {
                    faults.push(format!("program.{name} must be an id, or absent"));
                }
            }
        }
        AgentProgramSpec::Command { command, env } => {
            find_command_faults(command, env, &mut faults);
            let words = command.iter().take(MAX_WORDS);
            let unknown = words
                .flat_map(|word| find_placeholders(word))
                .find(|name| ![PROMPT, PROMPT_FILE, WORKSPACE].contains(name));
            faults.extend(unknown.map(|name| {
                format!(
                    "program.command has the unknown placeholder {name}; there are {PROMPT}, \
                     {PROMPT_FILE} and {WORKSPACE}. Put text with braces into a script"
                )
            }));
        }
    }
    faults
}

fn find_command_faults(
    command: &[String],
    env: &BTreeMap<String, String>,
    faults: &mut Vec<String>,
) {
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        faults.push("program.command must name a program".to_owned());
    }
    if command.len() > MAX_WORDS || env.len() > MAX_WORDS {
        faults.push(format!("program has more than {MAX_WORDS} words or variables"));
    }
    let variables = env.iter().flat_map(|(name, value)| [name, value]);
    let words: Vec<&String> = command.iter().chain(variables).collect();
    if words.iter().any(|word| word.contains('\0')) {
        faults.push("program contains a NUL character".to_owned());
    }
    let total: usize = words.iter().map(|word| word.len()).sum();
    if total > MAX_TOTAL_BYTES || words.iter().any(|word| word.len() > MAX_WORD_BYTES) {
        faults.push(format!(
            "program has a word of more than {MAX_WORD_BYTES} bytes, or {MAX_TOTAL_BYTES} bytes in total"
        ));
    }
    if let Some(name) = env.keys().find(|name| !is_variable_name(name)) {
        let name = truncate_chars(name, 40);
        faults.push(format!("program.env has the invalid name \"{name}\""));
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !name.chars().any(char::is_whitespace)
}

/// Finds `{name}`, where the name has lower-case letters and underscores only: braces around anything else are text.
fn find_placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.match_indices('{').filter_map(move |(start, _)| {
        let length = word[start..].find('}')?;
        let name = &word[start + 1..start + length];
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_name.then(|| &word[start..=start + length])
    })
}

/// Replaces the placeholders of a word in one pass, so that values are not searched for placeholders.
pub fn fill_placeholders(word: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('{') {
        let found = values.iter().find(|(name, _)| rest[start..].starts_with(name));
        let (value, length) = found.map_or(("{", 1), |(name, value)| (*value, name.len()));
        filled.push_str(&rest[..start]);
        filled.push_str(value);
        rest = &rest[start + length..];
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn faults(program: Value) -> String {
        find_program_faults(&serde_json::from_value(program).unwrap()).join("; ")
    }

    #[test]
    fn a_program_is_accepted_with_its_placeholders_and_other_braces() {
        let command =
            json!(["agent", "--json={\"a\": {}}", "${HOME}", "-p{prompt}", "{workspace}"]);
        assert_eq!(faults(json!({ "kind": "command", "command": command })), "");
        let acp = json!({ "kind": "acp", "command": ["agent", "{print}"], "env": { "A_b": "" } });
        assert_eq!(faults(acp), "");
    }

    #[test]
    fn an_unknown_placeholder_is_rejected_with_the_known_ones() {
        let fault = faults(json!({ "kind": "command", "command": ["a", "x {promt}"] }));
        for part in ["{promt}", PROMPT, PROMPT_FILE, WORKSPACE] {
            assert!(fault.contains(part), "{part} in {fault}");
        }
    }

    #[test]
    fn what_the_kernel_would_reject_is_rejected() {
        let long = "x".repeat(MAX_WORD_BYTES + 1);
        let cases = [
            (json!([]), json!({}), "must name a program"),
            (json!([" "]), json!({}), "must name a program"),
            (json!(["a", "b\0"]), json!({}), "NUL"),
            (json!(["a", long]), json!({}), "bytes"),
            (json!(vec!["x".repeat(MAX_WORD_BYTES); 9]), json!({}), "in total"),
            (json!(vec!["x"; MAX_WORDS + 1]), json!({}), "more than 256 words"),
            (json!(["a"]), json!({ "A=B": "" }), "invalid name"),
            (json!(["a"]), json!({ "": "" }), "invalid name"),
        ];
        for (command, env, part) in cases {
            for kind in ["acp", "command"] {
                let fault = faults(json!({ "kind": kind, "command": command, "env": env }));
                assert!(fault.contains(part), "{part} in {fault}");
            }
        }
        assert!(faults(json!({ "kind": "acp", "command": ["a"], "mode": "" })).contains("mode"));
    }

    #[test]
    fn a_value_is_not_searched_for_placeholders() {
        let values = [(PROMPT, "print {workspace} {x}"), (WORKSPACE, "/w")];
        let filled = fill_placeholders("{a} {prompt} in {workspace}{", &values);
        assert_eq!(filled, "{a} print {workspace} {x} in /w{");
    }
}
