//! The steps of a task, and the deterministic planner for tasks that list their commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::criteria::Criterion;
use crate::job::Action;

/// How a task describes its work.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InputMode {
    /// Free text, interpreted by a planner; never run as shell.
    #[default]
    Prompt,
    /// One script, run unchanged.
    Script,
    /// Command lines, run one after the other in one workspace.
    Commands,
    /// Free text for an agent, which carries it out in a sandbox.
    Agent,
    /// Submitted work: child tasks carry it out.
    Request,
}

impl InputMode {
    pub const ALL: [Self; 5] =
        [Self::Prompt, Self::Script, Self::Commands, Self::Agent, Self::Request];

    /// The spelling in the database and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Script => "script",
            Self::Commands => "commands",
            Self::Agent => "agent",
            Self::Request => "request",
        }
    }
}

/// The author of a step's command; a person by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepAuthor {
    /// A person, in the task or in an answer. Only people change it.
    #[default]
    Person,
    /// The project manager, which may replan it.
    Manager,
}

impl StepAuthor {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "`skip_serializing_if` passes a reference"
    )]
    fn is_person(&self) -> bool {
        *self == Self::Person
    }
}

/// One step of a plan: what runs, and what it must produce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Step {
    /// What runs.
    pub action: Action,
    /// Artifact paths that the step must produce.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
    /// Criteria for the result of this step; the last step must also meet the task's criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// The author of its command.
    #[serde(default, skip_serializing_if = "StepAuthor::is_person")]
    pub author: StepAuthor,
}

impl Step {
    /// A step authored by a person, without expected outputs or criteria.
    pub fn new(action: Action) -> Self {
        let (expected_outputs, criteria) = (vec![], vec![]);
        Self { action, expected_outputs, criteria, author: StepAuthor::Person }
    }
}

/// A criterion for the result of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StepCriterion {
    /// The step's index in the plan, from 0.
    pub step_index: u32,
    /// Must be met before the next step starts.
    pub criterion: Criterion,
}

/// The ordered steps of one run, and the assumptions behind them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Plan {
    /// The steps, in execution order.
    pub steps: Vec<Step>,
    /// The planner's assumptions.
    pub assumptions: Vec<String>,
    /// Who made the plan, for people; absent in plans of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
}

/// Input of the planner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannerInput<'a> {
    pub mode: InputMode,
    /// The prompt, or the text of the script.
    pub prompt: &'a str,
    pub commands: &'a [String],
    /// Artifact paths that the last step must produce.
    pub expected_outputs: &'a [String],
    pub step_criteria: &'a [StepCriterion],
}

impl PlannerInput<'_> {
    /// The criteria of the step with this index, from 0.
    fn step_criteria_at(&self, index: usize) -> Vec<Criterion> {
        let is_of_step = |of: &&StepCriterion| usize::try_from(of.step_index) == Ok(index);
        let of_step = self.step_criteria.iter().filter(is_of_step);
        of_step.map(|of| of.criterion.clone()).collect()
    }
}

/// A prompt cannot be planned by rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no model is configured, so a prompt cannot be planned: use --command or --script, or add one \
     with `cynork models add-provider`"
)]
pub struct NeedsPlanner;

/// Plans a request that lists its commands; deterministic.
pub fn plan_by_rule(request: &PlannerInput<'_>) -> Result<Plan, NeedsPlanner> {
    let (actions, rule): (Vec<Action>, _) = match request.mode {
        InputMode::Prompt | InputMode::Request => return Err(NeedsPlanner),
        InputMode::Script => {
            (vec![Action::Script { text: request.prompt.to_owned() }], "a script is one step")
        }
        InputMode::Commands => {
            let command = |line: &String| Action::Command { line: line.clone() };
            let actions = request.commands.iter().map(command).collect();
            (actions, "each command is one step, in the order given")
        }
        InputMode::Agent => {
            let (prompt, criteria) = (request.prompt.to_owned(), vec![]);
            (
                vec![Action::Agent { prompt, criteria, model_hint: None }],
                "an agent carries out the request as one step",
            )
        }
    };
    let last = actions.len().saturating_sub(1);
    let steps = actions
        .into_iter()
        .enumerate()
        .map(|(index, action)| {
            let is_last = index == last;
            let owed = if is_last { request.expected_outputs.to_vec() } else { vec![] };
            let criteria = request.step_criteria_at(index);
            Step { expected_outputs: owed, criteria, ..Step::new(action) }
        })
        .collect();
    let assumptions = vec!["commands run in order in one workspace".to_owned()];
    Ok(Plan { steps, assumptions, made_by: Some(format!("rule: {rule}")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(mode: InputMode, commands: &[String]) -> PlannerInput<'_> {
        PlannerInput {
            mode,
            prompt: "make it so",
            commands,
            expected_outputs: &[],
            step_criteria: &[],
        }
    }

    #[test]
    fn each_command_is_one_step_and_the_last_owes_the_outputs() {
        let commands = ["make".to_owned(), "make test".to_owned()];
        let outputs = ["report.txt".to_owned()];
        let request =
            PlannerInput { expected_outputs: &outputs, ..request(InputMode::Commands, &commands) };

        let plan = plan_by_rule(&request).unwrap();

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
        let request = PlannerInput {
            step_criteria: &step_criteria,
            ..request(InputMode::Commands, &commands)
        };

        let plan = plan_by_rule(&request).unwrap();

        assert_eq!(plan.steps[0].criteria, [text("it is small"), text("it is tidy")]);
        assert_eq!(plan.steps[1].criteria, [text("it is fast")]);
    }

    #[test]
    fn prose_is_never_run_as_a_command() {
        assert_eq!(plan_by_rule(&request(InputMode::Prompt, &[])), Err(NeedsPlanner));
    }
}
