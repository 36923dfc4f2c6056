//! Flags that describe an agent profile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use cynode_wire::agent_jobs::{AgentProgramSpec, PermissionAnswer, PermissionRules, ToolCallKind};
use cynode_wire::agent_profiles::{
    AgentProfileSpec, AgentProfileView, CreateAgentProfile, UpdateAgentProfile,
};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as WordError, StrDeserializer};

use cynode_cli::failure::CliFailure;

const EXAMPLES: &str = "\
Examples:
  cynork agent profiles add opencode --acp 'opencode acp' --description 'OpenCode 1.x'
  cynork agent profiles add mini --command 'mini -t {prompt}' --env MINI_MODE=auto
  cynork agent profiles add opencode --file opencode.toml";

/// Arguments of `agent profiles add`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("source").required(true).args(["acp", "command", "file"])))]
pub(super) struct NewProfileArgs {
    /// A name: lowercase letters, digits and dashes.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    parts: ProfilePartArgs,
}

/// Arguments of `agent profiles update`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("change").required(true).multiple(true).args(
    ["acp", "command", "file", "env", "host", "permission", "mode", "model", "description"])))]
pub(super) struct ProfileChangeArgs {
    /// The profile, by name.
    pub(super) profile: String,
    #[command(flatten)]
    parts: ProfilePartArgs,
}

/// The parts of a profile.
#[derive(Debug, Args)]
struct ProfilePartArgs {
    /// The command line of a program that speaks the Agent Client Protocol on its standard streams.
    #[arg(long, value_name = "COMMAND", conflicts_with = "command")]
    acp: Option<String>,
    /// The command line of a program that takes a prompt: `{prompt}`, `{prompt_file}` and `{workspace}` are replaced.
    /// Without the first two, the prompt is its standard input.
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// A TOML or JSON file with `description`, `program` and `hosts`, in the form of `POST /v1/agent-profiles`.
    #[arg(short, long, value_name = "FILE", conflicts_with_all =
        ["acp", "command", "env", "host", "permission", "mode", "model", "description"])]
    file: Option<PathBuf>,
    /// A variable of its environment; repeatable. Secrets are rejected: the node calls the models.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A host that it may connect to, such as example.com or *.example.com:8443; repeatable.
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// The answer to its permission requests by kind of tool call (read, edit, delete, move, search, execute, think,
    /// fetch, `switch_mode`, other, default), such as fetch=allow; repeatable.
    #[arg(long, value_name = "KIND=allow|reject", conflicts_with = "command")]
    permission: Vec<String>,
    /// The mode to select in it, by id.
    #[arg(long, conflicts_with = "command")]
    mode: Option<String>,
    /// The model to select in it, by id.
    #[arg(long, conflicts_with = "command")]
    model: Option<String>,
    /// What it is, for people.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl NewProfileArgs {
    /// Builds the request; all validation of the command line happens here.
    pub(super) fn into_request(self) -> Result<CreateAgentProfile, CliFailure> {
        // The command is replaced: the argument group guarantees that there is one.
        let program = AgentProgramSpec::Command { command: vec![], env: BTreeMap::new() };
        let empty = AgentProfileSpec { description: String::new(), program, hosts: vec![] };
        let AgentProfileSpec { description, program, hosts } = self.parts.apply(empty)?;
        Ok(CreateAgentProfile { name: self.name, description, program, hosts })
    }
}

impl ProfileChangeArgs {
    /// The next revision of a profile.
    pub(super) fn apply(self, current: AgentProfileView) -> Result<UpdateAgentProfile, CliFailure> {
        let AgentProfileView { description, program, hosts, revision, .. } = current;
        let spec = self.parts.apply(AgentProfileSpec { description, program, hosts })?;
        Ok(UpdateAgentProfile::to_revision(revision, spec))
    }
}

impl ProfilePartArgs {
    fn apply(self, mut spec: AgentProfileSpec) -> Result<AgentProfileSpec, CliFailure> {
        if let Some(path) = &self.file {
            return read_spec(path);
        }
        spec.program = self.change_program(spec.program)?;
        if !self.host.is_empty() {
            spec.hosts = self.host;
        }
        spec.description = self.description.unwrap_or(spec.description);
        Ok(spec)
    }

    fn change_program(&self, program: AgentProgramSpec) -> Result<AgentProgramSpec, CliFailure> {
        let env = if self.env.is_empty() { program.env().clone() } else { parse_env(&self.env)? };
        let changes_session =
            !self.permission.is_empty() || self.mode.is_some() || self.model.is_some();
        let line = self.acp.as_ref().or(self.command.as_ref());
        let command = match line {
            Some(line) => split_words(line)?,
            None => program.command().to_vec(),
        };
        match (program, self.acp.is_some(), self.command.is_some()) {
            (AgentProgramSpec::Acp { permissions, mode, model, .. }, _, false) => {
                let (mode, model) = (self.mode.clone().or(mode), self.model.clone().or(model));
                let permissions = self.parse_permissions()?.unwrap_or(permissions);
                Ok(AgentProgramSpec::Acp { command, env, permissions, mode, model })
            }
            (AgentProgramSpec::Command { .. }, true, _) => {
                let (mode, model) = (self.mode.clone(), self.model.clone());
                let permissions = self.parse_permissions()?.unwrap_or_default();
                Ok(AgentProgramSpec::Acp { command, env, permissions, mode, model })
            }
            (AgentProgramSpec::Command { .. }, false, _) if changes_session => {
                Err(CliFailure::Usage(
                    "--permission, --mode and --model belong to a program that speaks the Agent Client Protocol: \
                     give --acp"
                        .to_owned(),
                ))
            }
            (AgentProgramSpec::Command { .. }, false, _) | (AgentProgramSpec::Acp { .. }, _, true) => {
                Ok(AgentProgramSpec::Command { command, env })
            }
        }
    }

    /// The default rules with the given answers; `None` without any.
    fn parse_permissions(&self) -> Result<Option<PermissionRules>, CliFailure> {
        let mut rules = PermissionRules::default();
        for rule in &self.permission {
            let invalid = || {
                CliFailure::Usage(format!(
                    "\"{rule}\" is not a permission: write KIND=allow or KIND=reject, such as fetch=allow"
                ))
            };
            let (kind, answer) = rule.split_once('=').ok_or_else(invalid)?;
            let answer: PermissionAnswer = parse_word(answer).ok_or_else(invalid)?;
            match kind {
                "default" => rules.default = answer,
                kind => {
                    let kind: ToolCallKind = parse_word(kind).ok_or_else(invalid)?;
                    rules.kinds.insert(kind, answer);
                }
            }
        }
        Ok((!self.permission.is_empty()).then_some(rules))
    }
}

/// Parses a word of a closed set, as it is in JSON.
fn parse_word<T: for<'de> Deserialize<'de>>(word: &str) -> Option<T> {
    let word: StrDeserializer<'_, WordError> = word.into_deserializer();
    T::deserialize(word).ok()
}

/// Splits a command line into words, as a shell does; nothing else of a shell is interpreted.
fn split_words(line: &str) -> Result<Vec<String>, CliFailure> {
    match shlex::split(line) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err(CliFailure::Invalid("the command is empty".to_owned())),
        None => Err(CliFailure::Invalid(format!("a quote in \"{line}\" is not closed"))),
    }
}

fn parse_env(entries: &[String]) -> Result<BTreeMap<String, String>, CliFailure> {
    let parse = |entry: &String| {
        let fault =
            || CliFailure::Usage(format!("\"{entry}\" is not a variable: write NAME=VALUE"));
        let (name, value) = entry.split_once('=').ok_or_else(fault)?;
        Ok((name.to_owned(), value.to_owned()))
    };
    entries.iter().map(parse).collect()
}

/// Reads a file with a profile. A `.json` file is JSON, any other is TOML.
fn read_spec(path: &Path) -> Result<AgentProfileSpec, CliFailure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliFailure::NotFound(format!("{shown} cannot be read: {error}")))?;
    let parsed = if path.extension().is_some_and(|extension| extension == "json") {
        serde_json::from_str(&text).map_err(|error| error.to_string())
    } else {
        toml::from_str(&text).map_err(|error| error.to_string())
    };
    parsed.map_err(|error| CliFailure::Invalid(format!("{shown} is not a profile: {error}")))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::{Value, json};

    use crate::Cli;
    use crate::agent::{AgentCommand, AgentProfilesArgs, AgentProfilesCommand};
    use crate::cli::CynorkCommand;

    fn add(args: &[&str]) -> Result<Value, String> {
        let line = ["cynork", "agent", "profiles", "add", "x"].iter().chain(args);
        let cli = Cli::try_parse_from(line).map_err(|error| error.to_string())?;
        let CynorkCommand::Agent(AgentCommand::Profiles(AgentProfilesArgs {
            command: Some(AgentProfilesCommand::Add(args)),
        })) = cli.command
        else {
            unreachable!("the line says agent profiles add")
        };
        args.into_request().map(|body| json!(body)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_command_line_becomes_a_program_and_its_words() {
        let line = [
            "--acp",
            "opencode acp --cwd 'a b'",
            "--env",
            "A=b=c",
            "--host",
            "example.com",
            "--permission",
            "fetch=allow",
            "--permission",
            "default=allow",
            "--mode",
            "build",
        ];
        let made = add(&line).unwrap();

        assert_eq!(made["program"]["command"], json!(["opencode", "acp", "--cwd", "a b"]));
        assert_eq!(made["program"]["env"], json!({ "A": "b=c" }));
        assert_eq!(made["program"]["mode"], "build");
        assert_eq!(made["program"]["permissions"]["kinds"]["fetch"], "allow");
        assert_eq!(made["program"]["permissions"]["kinds"]["edit"], "allow");
        assert_eq!(made["program"]["permissions"]["default"], "allow");
        assert_eq!(made["hosts"], json!(["example.com"]));
        let made = add(&["--command", "mini -t {prompt}"]).unwrap();
        assert_eq!(
            made["program"],
            json!({ "kind": "command", "command": ["mini", "-t", "{prompt}"] })
        );
    }

    #[test]
    fn what_cannot_be_a_profile_is_rejected_before_it_is_sent() {
        for line in [
            &[][..],
            &["--acp", "a", "--command", "b"],
            &["--acp", ""],
            &["--acp", "a 'b"],
            &["--acp", "a", "--env", "A"],
            &["--acp", "a", "--permission", "fetch"],
            &["--acp", "a", "--permission", "fetch=maybe"],
            &["--acp", "a", "--permission", "fly=allow"],
            &["--command", "a", "--mode", "m"],
            &["--acp", "a", "--file", "f"],
            &["--file", "/does/not/exist"],
        ] {
            assert!(add(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_change_keeps_what_it_does_not_name() {
        let current = json!({
            "name": "x", "revision": 1, "description": "d", "hosts": ["a.example"],
            "program": { "kind": "acp", "command": ["a", "acp"], "env": { "A": "b" }, "model": "m",
                "permissions": { "default": "reject" } },
            "created_by": uuid::Uuid::nil(), "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "nodes": [],
        });
        let change = |args: &[&str]| {
            let line = ["cynork", "agent", "profiles", "update", "x"].iter().chain(args);
            let CynorkCommand::Agent(AgentCommand::Profiles(AgentProfilesArgs {
                command: Some(AgentProfilesCommand::Update(args)),
            })) = Cli::try_parse_from(line).unwrap().command
            else {
                unreachable!("the line says agent profiles update")
            };
            json!(args.apply(serde_json::from_value(current.clone()).unwrap()).unwrap())
        };

        let changed = change(&["--acp", "a2 acp"]);
        let mut expected = current["program"].clone();
        expected["command"] = json!(["a2", "acp"]);
        assert_eq!(changed["program"], expected);
        assert_eq!(
            (&changed["hosts"], &changed["description"]),
            (&json!(["a.example"]), &json!("d"))
        );
        let changed = change(&["--command", "b", "--description", "e"]);
        let expected = json!({ "kind": "command", "command": ["b"], "env": { "A": "b" } });
        assert_eq!((&changed["program"], &changed["description"]), (&expected, &json!("e")));
    }
}
