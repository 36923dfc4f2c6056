//! Which commands carry out a request in prose.

use cynode_wire::handoff::WorkspaceFacts;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Scope, WorkKind, explicit_commands, object, text, texts};
use crate::brain::{Decision, Ruling};
use crate::context::{untrusted, workspace_prompt};

/// More commands than this are no plan.
const MAX_COMMANDS: usize = 50;
/// A request and its answer. Without it, models of 1.5 billion parameters repeat a command until the limit.
const EXAMPLE: &str = r#"For example, the answer to "write the squares of 1 to 5 into a file and print their average":
{"assumptions": [], "commands": [{"aim": "write the squares of 1 to 5 into a file", "command": "seq 1 5 | awk '{ print $1 * $1 }' > squares.txt"}, {"aim": "print their average", "command": "awk '{ total += $1 } END { print total / NR }' squares.txt"}], "question": ""}"#;

/// Which commands carry this out?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSteps {
    /// The request.
    pub request: String,
    /// What must be true of the result, in words.
    pub criteria: Vec<String>,
    /// Files that the last command must leave behind.
    pub expected_outputs: Vec<String>,
    /// How many commands a model may want; those that the request itself names are not counted.
    #[serde(default = "most")]
    pub max_commands: usize,
    /// What the workspace holds before the first command.
    #[serde(default)]
    pub workspace: WorkspaceFacts,
    /// How the request was classified before; absent where a rule plans it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<PlanBackground>,
}

/// What was decided about a request before its commands are planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBackground {
    /// The kind of work.
    pub kind: WorkKind,
    /// Its size.
    pub scope: Scope,
    /// What is known of the project, in words.
    pub project: String,
}

impl PlanBackground {
    fn prompt(&self) -> String {
        let (kind, scope) = (self.kind.as_str(), self.scope.as_str());
        let classified = format!("\n\nThe request was classified as {kind} of {scope} scope.");
        if self.project.trim().is_empty() {
            return classified;
        }
        let project = untrusted::quote("project", &self.project, 4 * 1024);
        format!("{classified} What is known of its project:\n{project}")
    }
}

/// As many as records of before could have.
const fn most() -> usize {
    MAX_COMMANDS
}

/// A plan, or what must be known first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The commands, in order; empty where something must be known first.
    pub commands: Vec<PlannedCommand>,
    /// What was taken for granted.
    pub assumptions: Vec<String>,
    /// What must be known first; empty where there are commands.
    pub question: String,
}

/// One command of a plan.
///
/// The aim comes first, in the alphabet as in the answer: a small model that says which part of the request a command
/// carries out writes a better command, and divides the request instead of repeating a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCommand {
    /// The part of the request that it carries out.
    pub aim: String,
    /// The command line.
    pub command: String,
}

impl Planned {
    /// The command lines, in order.
    pub fn lines(&self) -> Vec<String> {
        self.commands.iter().map(|planned| planned.command.clone()).collect()
    }

    /// The same plan; a question that came with commands is shown among what was taken for granted. Small models
    /// fill every field.
    pub(crate) fn settled(mut self) -> Self {
        if !self.commands.is_empty() && !self.question.trim().is_empty() {
            self.assumptions.push(format!("open: {}", std::mem::take(&mut self.question)));
        }
        self
    }
}

impl Decision for PlanSteps {
    type Answer = Planned;

    const PURPOSE: &'static str = "plan";
    const HINT: &'static str = "strong";

    fn schema(&self) -> Value {
        let command = object(&json!({
            "aim": text("Which part of the request.", 500),
            "command": text("For /bin/sh.", 8000),
        }));
        object(&json!({
            "commands": { "type": "array", "maxItems": self.max_commands, "items": command, "description": "In order; empty if you ask." },
            "assumptions": texts("What you took for granted; mostly nothing.", 20),
            "question": { "type": "string", "maxLength": 2000, "description": "What you must know first; else empty." },
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 24 * 1024);
        let listed = |about: &str, name: &str, lines: &[String]| match lines {
            [] => String::new(),
            lines => {
                format!("\n\n{about}:\n{}", untrusted::quote(name, &lines.join("\n"), 8 * 1024))
            }
        };
        let criteria = listed("What must be true of the result", "criteria", &self.criteria);
        let outputs = "Files that must be left in $CYNODE_ARTIFACTS_DIR";
        let outputs = listed(outputs, "files owed", &self.expected_outputs);
        let (workspace, most) = (workspace_prompt(&self.workspace), self.max_commands);
        let background = self.background.as_ref().map(PlanBackground::prompt).unwrap_or_default();
        format!(
            "Plan the commands that carry out the whole request in a sandbox: a workspace, no network, the usual \
             programs of a Linux system. {workspace} One command for each part of the request, {most} at most: say \
             its aim, then the command line. Never hide a failure.{background}\n\n\
             {EXAMPLE}\n\n{request}{criteria}{outputs}"
        )
    }

    fn by_rule(&self) -> Option<Ruling<Planned>> {
        let commands = explicit_commands(&self.request);
        (1..=MAX_COMMANDS).contains(&commands.len()).then(|| {
            let words = format!("{} commands that the request names", commands.len());
            let named = "the request names its commands".to_owned();
            let planned = |command| PlannedCommand { aim: named.clone(), command };
            let commands = commands.into_iter().map(planned).collect();
            let assumptions = vec![named.clone()];
            Ruling::new(Planned { commands, assumptions, question: String::new() }, words)
        })
    }

    fn fallback(&self) -> Ruling<Planned> {
        let question = "Which commands carry this out? Nobody could plan it.".to_owned();
        let answer = Planned { commands: vec![], assumptions: vec![], question };
        Ruling::new(answer, "a person is asked")
    }

    fn objection(&self, answer: &Planned) -> Option<String> {
        let says_nothing = answer.commands.is_empty() && answer.question.trim().is_empty();
        says_nothing.then(|| "give commands, or say in question what must be known".to_owned())
    }

    fn summary(answer: &Planned) -> String {
        if answer.commands.is_empty() {
            return format!("asks: {}", answer.question);
        }
        format!("{} commands", answer.commands.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_beside_commands_is_kept_among_the_assumptions() {
        let answer = Planned {
            commands: vec![PlannedCommand {
                aim: "count".to_owned(),
                command: "seq 1 10".to_owned(),
            }],
            assumptions: vec![],
            question: "What is the sum?".to_owned(),
        };

        let settled = answer.settled();

        assert_eq!(settled.assumptions, ["open: What is the sum?"]);
        assert_eq!((settled.commands.len(), settled.question.as_str()), (1, ""));
        let asks = Planned { commands: vec![], question: "Which file?".to_owned(), ..settled };
        assert_eq!(asks.clone().settled(), asks);
    }
}
