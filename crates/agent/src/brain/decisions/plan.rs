//! Decision: the commands that carry out a request in prose.

use cynode_domain::criteria::Criterion;
use cynode_domain::project_excerpts::ProjectExcerpts;
use cynode_wire::handoff::WorkspaceFacts;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{WorkKind, WorkScope, explicit_commands, object_schema, text_list_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::{quote_excerpts, untrusted, workspace_prompt};

/// The most commands of a plan.
const MAX_COMMANDS: usize = 50;
/// A request and its answer. Without it, models of 1.5 billion parameters repeat a command until the limit.
const EXAMPLE: &str = r#"For example, the answer to "write the squares of 1 to 5 into a file and print their average":
{"assumptions": [], "commands": [{"aim": "write the squares of 1 to 5 into a file", "command": "seq 1 5 | awk '{ print $1 * $1 }' > squares.txt"}, {"aim": "print their average", "command": "awk '{ total += $1 } END { print total / NR }' squares.txt"}], "question": ""}"#;

/// Plans the commands of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRequestSteps {
    pub request: String,
    /// The acceptance criteria of every kind. The prompt refers to the task context, which quotes them.
    pub criteria: Vec<Criterion>,
    /// The artifacts that the last command must produce.
    pub expected_outputs: Vec<String>,
    /// The most commands of a model's plan; does not limit commands that the request names.
    #[serde(default = "most")]
    pub max_commands: usize,
    /// The workspace before the first command.
    #[serde(default)]
    pub workspace: WorkspaceFacts,
    /// The classification of the request; absent if a rule plans it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<PlanBackground>,
}

/// The classification of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBackground {
    pub kind: WorkKind,
    pub scope: WorkScope,
    /// Facts about the project, as text.
    pub project: String,
    /// What the project remembers and its documents say about the request.
    #[serde(default, skip_serializing_if = "ProjectExcerpts::is_empty")]
    pub excerpts: ProjectExcerpts,
}

impl PlanBackground {
    fn prompt(&self) -> String {
        let (kind, scope) = (self.kind.as_str(), self.scope.as_str());
        let mut text = format!("\n\nThe request was classified as {kind} of {scope} scope.");
        if !self.project.trim().is_empty() {
            let project = untrusted::quote("project", &self.project, 4 * 1024);
            text = format!("{text} The project:\n{project}");
        }
        if !self.excerpts.is_empty() {
            text = format!("{text}\n\n{}", quote_excerpts(&self.excerpts));
        }
        text
    }
}

/// The default for recordings without the field.
const fn most() -> usize {
    MAX_COMMANDS
}

/// A plan, or the question that must be answered first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCommands {
    /// In order; empty if there is a question.
    pub commands: Vec<PlannedCommand>,
    pub assumptions: Vec<String>,
    /// Empty if there are commands.
    pub question: String,
}

/// One command of a plan.
///
/// `aim` sorts before `command`, so that a model writes it first: small models that state the aim write better
/// commands, and divide the request instead of repeating a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedCommand {
    /// The part of the request that the command carries out.
    pub aim: String,
    pub command: String,
}

impl PlannedCommands {
    /// The command lines, in order.
    pub fn lines(&self) -> Vec<String> {
        self.commands.iter().map(|planned| planned.command.clone()).collect()
    }

    /// Moves a question next to commands to the assumptions. Small models fill every field.
    pub(crate) fn with_question_as_assumption(mut self) -> Self {
        if !self.commands.is_empty() && !self.question.trim().is_empty() {
            self.assumptions.push(format!("open: {}", std::mem::take(&mut self.question)));
        }
        self
    }
}

impl BrainDecision for PlanRequestSteps {
    type Answer = PlannedCommands;

    const PURPOSE: &'static str = "plan";
    const HINT: &'static str = "strong";

    fn schema(&self) -> Value {
        let command = object_schema(&json!({
            "aim": text_schema("The part of the request.", 500),
            "command": text_schema("For /bin/sh.", 8000),
        }));
        object_schema(&json!({
            "commands": { "type": "array", "maxItems": self.max_commands, "items": command, "description": "In order; empty if you ask a question." },
            "assumptions": text_list_schema("Assumptions; usually none.", 20),
            "question": { "type": "string", "maxLength": 2000, "description": "Question to answer first, or empty." },
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 24 * 1024);
        let criteria = if self.criteria.is_empty() {
            ""
        } else {
            " The result must meet every acceptance criterion of the task."
        };
        let outputs = match &*self.expected_outputs {
            [] => String::new(),
            paths => {
                let paths = untrusted::quote("expected files", &paths.join("\n"), 8 * 1024);
                format!("\n\nFiles that must be left in $CYNODE_ARTIFACTS_DIR:\n{paths}")
            }
        };
        let (workspace, most) = (workspace_prompt(&self.workspace), self.max_commands);
        let background = self.background.as_ref().map(PlanBackground::prompt).unwrap_or_default();
        format!(
            "Plan the commands that fulfil the whole request in a sandbox: a workspace, no network, common Linux \
             programs. {workspace} One command for each part of the request, at most {most}: state \
             its aim, then the command line. Never hide a failure.{criteria}{background}\n\n\
             {EXAMPLE}\n\n{request}{outputs}"
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<PlannedCommands>> {
        let commands = explicit_commands(&self.request);
        (1..=MAX_COMMANDS).contains(&commands.len()).then(|| {
            let words = format!("{} commands that the request names", commands.len());
            let named = "the request names its commands".to_owned();
            let planned = |command| PlannedCommand { aim: named.clone(), command };
            let commands = commands.into_iter().map(planned).collect();
            let assumptions = vec![named.clone()];
            RuleAnswer::new(
                PlannedCommands { commands, assumptions, question: String::new() },
                words,
            )
        })
    }

    fn fallback(&self) -> RuleAnswer<PlannedCommands> {
        let question = "No model could plan this. Give the commands to run, or add a model: \
                        `cynork models add-provider`"
            .to_owned();
        let answer = PlannedCommands { commands: vec![], assumptions: vec![], question };
        RuleAnswer::new(answer, "asks a person")
    }

    fn find_objection(&self, answer: &PlannedCommands) -> Option<String> {
        let says_nothing = answer.commands.is_empty() && answer.question.trim().is_empty();
        says_nothing.then(|| "give commands, or say in question what must be known".to_owned())
    }

    fn summarize(answer: &PlannedCommands) -> String {
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
        let answer = PlannedCommands {
            commands: vec![PlannedCommand {
                aim: "count".to_owned(),
                command: "seq 1 10".to_owned(),
            }],
            assumptions: vec![],
            question: "What is the sum?".to_owned(),
        };

        let settled = answer.with_question_as_assumption();

        assert_eq!(settled.assumptions, ["open: What is the sum?"]);
        assert_eq!((settled.commands.len(), settled.question.as_str()), (1, ""));
        let asks =
            PlannedCommands { commands: vec![], question: "Which file?".to_owned(), ..settled };
        assert_eq!(asks.clone().with_question_as_assumption(), asks);
    }
}
