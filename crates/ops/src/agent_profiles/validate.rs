//! Validation of agent profiles, before anything is written.

use cynode_domain::agent_program::{AgentProfileSpec, AgentProgramSpec};
use cynode_domain::policy::allowed_hosts::AllowedHosts;
use cynode_domain::text::truncate_chars;
use cynode_runtime::redact::{REDACTED, is_secret_key, redact_with_marker};

const MAX_DESCRIPTION_BYTES: usize = 1000;
const MAX_COMMAND_WORDS: usize = 64;
const MAX_ENV_ENTRIES: usize = 64;
const MAX_NAME_BYTES: usize = 128;
const MAX_HOSTS: usize = 64;
/// Mode and model.
const MAX_SELECTOR_BYTES: usize = 200;
/// The longest specification as JSON. Every job of the profile has a copy.
const MAX_SPEC_BYTES: usize = 16 * 1024;
/// The variables with which the sandbox connects its processes to models and tools.
const SANDBOX_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL"];
const SANDBOX_PREFIX: &str = "CYNODE_";
/// Values of variables that are named like a secret and hold none: some programs start only if they are set.
const PLACEHOLDERS: [&str; 4] = ["none", "unused", "dummy", "placeholder"];

/// Returns every validation error of a profile.
pub(super) fn validate_spec(spec: &AgentProfileSpec) -> Vec<String> {
    let mut faults = validate_command(spec.program.command());
    for (name, value) in spec.program.env() {
        faults.extend(validate_variable(name, value));
    }
    if spec.program.env().len() > MAX_ENV_ENTRIES {
        let count = spec.program.env().len();
        faults.push(format!("env has {count} entries; allowed are {MAX_ENV_ENTRIES}"));
    }
    if let AgentProgramSpec::Acp { mode, model, .. } = &spec.program {
        let selectors = [("mode", mode), ("model", model)];
        let is_bad = |text: &String| text.trim().is_empty() || text.len() > MAX_SELECTOR_BYTES;
        let bad = selectors.iter().filter(|(_, text)| text.as_ref().is_some_and(is_bad));
        faults.extend(bad.map(|(name, _)| format!("{name} needs 1 to {MAX_SELECTOR_BYTES} bytes")));
    }
    if spec.description.len() > MAX_DESCRIPTION_BYTES {
        faults.push(format!("description is longer than {MAX_DESCRIPTION_BYTES} bytes"));
    }
    if has_secret(&spec.description) {
        faults.push("description seems to contain a secret: remove it".to_owned());
    }
    if spec.hosts.len() > MAX_HOSTS {
        faults.push(format!("hosts has {} entries; allowed are {MAX_HOSTS}", spec.hosts.len()));
    }
    if let Err(error) = AllowedHosts::parse(&spec.hosts) {
        faults.push(format!("hosts: {error}"));
    }
    let text = serde_json::to_string(spec).unwrap_or_default();
    if text.len() > MAX_SPEC_BYTES {
        faults.push(format!("the profile is longer than {MAX_SPEC_BYTES} bytes in all"));
    }
    if text.contains("\\u0000") {
        faults.push("a profile must not contain NUL characters".to_owned());
    }
    faults
}

fn validate_command(command: &[String]) -> Vec<String> {
    let mut faults = vec![];
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        faults.push("command is empty: name the program and its arguments".to_owned());
    }
    if command.len() > MAX_COMMAND_WORDS {
        let count = command.len();
        faults.push(format!("command has {count} words; allowed are {MAX_COMMAND_WORDS}"));
    }
    // A flag and its value are two words.
    if has_secret(&command.join(" ")) {
        faults.push(format!("command seems to contain a secret: {NO_SECRETS}"));
    }
    faults
}

const NO_SECRETS: &str = "every user may read a profile, and an agent needs no keys, because its node calls the models for it";

fn validate_variable(name: &str, value: &str) -> Option<String> {
    let shown = truncate_chars(name, MAX_NAME_BYTES);
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Some(format!(
            "env: \"{}\" is not the name of a variable: use letters, digits and _",
            shown.escape_debug()
        ));
    }
    if SANDBOX_VARIABLES.contains(&name) || name.starts_with(SANDBOX_PREFIX) {
        return Some(format!("env: the sandbox sets {shown} itself: remove it"));
    }
    let is_placeholder = value.is_empty() || PLACEHOLDERS.contains(&value);
    let is_secret = has_secret(value) || (is_secret_key(name) && !is_placeholder);
    is_secret.then(|| {
        format!(
            "env: the value of {shown} looks like a secret: {NO_SECRETS}. If the program starts only if the variable is \
             set, set it to \"{}\"",
            PLACEHOLDERS[0]
        )
    })
}

fn has_secret(text: &str) -> bool {
    !redact_with_marker(text, REDACTED).kinds.is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn faults(program: &Value, hosts: &[&str]) -> Vec<String> {
        let spec = json!({ "program": program, "hosts": hosts });
        validate_spec(&serde_json::from_value(spec).unwrap())
    }

    fn faults_of_env(name: &str, value: &str) -> Vec<String> {
        faults(&json!({ "kind": "acp", "command": ["a"], "env": { name: value } }), &[])
    }

    #[test]
    fn plain_variables_and_placeholders_are_accepted() {
        let accepted = [
            ("PATH", "/opt/bin:/bin"),
            ("MAX_TOKENS", "100"),
            ("OPENAI_API_KEY", "none"),
            ("X", ""),
        ];
        for (name, value) in accepted {
            assert_eq!(faults_of_env(name, value), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn variables_of_the_sandbox_and_secrets_are_rejected_with_advice() {
        for name in ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "CYNODE_MCP_URL"] {
            let found = faults_of_env(name, "http://127.0.0.1:1");
            assert_eq!(found, [format!("env: the sandbox sets {name} itself: remove it")]);
        }
        let key = "sk-proj-Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        for (name, value) in [("OPENAI_API_KEY", "abc"), ("EXTRA", key), ("MY_PASSWORD", "x")] {
            let [fault] = &faults_of_env(name, value)[..] else { panic!("{name}") };
            assert!(fault.contains("looks like a secret") && !fault.contains(value), "{fault}");
        }
        for name in ["", "1A", "A-B", "A=B", "A\0"] {
            assert!(faults_of_env(name, "x")[0].contains("not the name of a variable"), "{name:?}");
        }
    }

    #[test]
    fn commands_hosts_and_sizes_are_bounded() {
        let command =
            |command: Value| faults(&json!({ "kind": "command", "command": command }), &[]);
        for empty in [json!([]), json!([" "])] {
            assert!(command(empty)[0].starts_with("command is empty"));
        }
        assert!(command(json!(vec!["a"; 65]))[0].contains("65 words"));
        assert!(command(json!(["a", "x".repeat(20_000)]))[0].contains("in all"));
        let key = "sk-proj-Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        assert!(command(json!(["a", "--api-key", key]))[0].contains("secret"));
        let acp = json!({ "kind": "acp", "command": ["a"], "model": "" });
        assert_eq!(faults(&acp, &[]), ["model needs 1 to 200 bytes"]);
        let plain = || json!({ "kind": "acp", "command": ["opencode", "acp"] });
        assert_eq!(faults(&plain(), &["*.example.com:8443"]), Vec::<String>::new());
        assert!(faults(&plain(), &["not a host"])[0].starts_with("hosts: "));
    }
}
