//! The steps of a task, and the deterministic planner for tasks that name their commands.

use serde::{Deserialize, Serialize};

use crate::criteria::Criterion;
use crate::job::Action;

/// How a task says what is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputMode {
    /// Free text, interpreted by a planner; never run as shell.
    Prompt,
    /// One script, run as it stands.
    Script,
    /// Command lines, run one after the other in one workspace.
    Commands,
}

impl InputMode {
    /// The word for this mode in the database and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Script => "script",
            Self::Commands => "commands",
        }
    }
}

/// Whose words the command of a step is. Where nobody is named, a person is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepAuthor {
    /// A person gave it, in the task or in an answer: nobody else changes it.
    #[default]
    Person,
    /// The project manager planned it, and may plan it anew.
    Manager,
}

impl StepAuthor {
    /// Whether a person gave the command.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may leave out so")]
    fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

/// One step of a plan: what runs, and what must be there afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Step {
    /// What runs.
    pub action: Action,
    /// Artifact paths the step must leave behind.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
    /// What must be true of the result of this step; the last step must also meet the task's criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// Whose words its command is.
    #[serde(default, skip_serializing_if = "StepAuthor::is_person")]
    pub author: StepAuthor,
}

impl Step {
    /// A step that a person gave, which owes nothing in particular.
    pub fn new(action: Action) -> Self {
        let (expected_outputs, criteria) = (vec![], vec![]);
        Self { action, expected_outputs, criteria, author: StepAuthor::Person }
    }
}

/// A criterion for the result of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepCriterion {
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// What must be true of its result before the next step starts.
    pub criterion: Criterion,
}

/// The ordered steps of one run, and what was assumed in making them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Plan {
    /// The steps, in the order they run.
    pub steps: Vec<Step>,
    /// What the planner took for granted.
    pub assumptions: Vec<String>,
    /// Who made it, in words, written where it was made; absent in plans of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

/// What a plan is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// How the task says what is to be done.
    pub mode: InputMode,
    /// The prompt, or the text of the script.
    pub prompt: &'a str,
    /// The command lines.
    pub commands: &'a [String],
    /// Artifact paths that the last step must leave behind.
    pub expected_outputs: &'a [String],
    /// What must be true of the results of single steps.
    pub step_criteria: &'a [StepCriterion],
}

impl Request<'_> {
    /// The criteria for the result of one step, by its place from 0.
    fn criteria_of_step(&self, index: usize) -> Vec<Criterion> {
        let is_of_step = |of: &&StepCriterion| usize::try_from(of.step_index) == Ok(index);
        let of_step = self.step_criteria.iter().filter(is_of_step);
        of_step.map(|of| of.criterion.clone()).collect()
    }
}

/// The request needs a planner that reads prose, and none is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a prompt needs a planner and none is configured: give the work as --command or --script")]
pub struct NeedsPlanner;

/// Plans a request that names its commands; the same request always gives the same plan.
pub fn by_rule(request: &Request<'_>) -> Result<Plan, NeedsPlanner> {
    let (actions, rule): (Vec<Action>, _) = match request.mode {
        InputMode::Prompt => return Err(NeedsPlanner),
        InputMode::Script => {
            (vec![Action::Script { text: request.prompt.to_owned() }], "a script is one step")
        }
        InputMode::Commands => {
            let command = |line: &String| Action::Command { line: line.clone() };
            let actions = request.commands.iter().map(command).collect();
            (actions, "each command is one step, in the order given")
        }
    };
    let last = actions.len().saturating_sub(1);
    let steps = actions
        .into_iter()
        .enumerate()
        .map(|(index, action)| {
            let is_last = index == last;
            let owed = if is_last { request.expected_outputs.to_vec() } else { vec![] };
            let criteria = request.criteria_of_step(index);
            Step { expected_outputs: owed, criteria, ..Step::new(action) }
        })
        .collect();
    let assumptions = vec!["commands run in order in one workspace".to_owned()];
    Ok(Plan { steps, assumptions, made_by: Some(format!("rule: {rule}")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(mode: InputMode, commands: &[String]) -> Request<'_> {
        Request { mode, prompt: "make it so", commands, expected_outputs: &[], step_criteria: &[] }
    }

    #[test]
    fn each_command_is_one_step_and_the_last_owes_the_outputs() {
        let commands = ["make".to_owned(), "make test".to_owned()];
        let outputs = ["report.txt".to_owned()];
        let request =
            Request { expected_outputs: &outputs, ..request(InputMode::Commands, &commands) };

        let plan = by_rule(&request).unwrap();

        assert_eq!(plan.steps.len(), 2);
        assert_eq!(plan.steps[0].expected_outputs, Vec::<String>::new());
        assert_eq!(plan.steps[1].expected_outputs, outputs);
    }

    #[test]
    fn a_step_has_the_criteria_that_name_it() {
        let commands = ["make".to_owned(), "make test".to_owned()];
        let text = |words: &str| Criterion::Text { description: words.to_owned() };
        let of = |step_index, words| StepCriterion { step_index, criterion: text(words) };
        let step_criteria = [of(0, "it is small"), of(1, "it is fast"), of(0, "it is tidy")];
        let request =
            Request { step_criteria: &step_criteria, ..request(InputMode::Commands, &commands) };

        let plan = by_rule(&request).unwrap();

        assert_eq!(plan.steps[0].criteria, [text("it is small"), text("it is tidy")]);
        assert_eq!(plan.steps[1].criteria, [text("it is fast")]);
    }

    #[test]
    fn prose_is_never_run_as_a_command() {
        assert_eq!(by_rule(&request(InputMode::Prompt, &[])), Err(NeedsPlanner));
    }
}
