//! Executes given steps without a model.

use cynode_agent_job::journal::Journal;
use cynode_agent_job::stop::JobEnd;
use cynode_wire::agent_jobs::{AgentJobSpec, AgentStep, StopCondition};

use crate::action::{RunCommand, ToolAction, WriteFile};
use crate::tools::Toolbox;

/// Executes the steps in order; the first that fails ends the job.
pub(crate) async fn execute_steps(
    spec: &AgentJobSpec,
    toolbox: &Toolbox,
    journal: &mut Journal,
) -> JobEnd {
    for (number, step) in (1..).zip(&spec.steps) {
        let action = convert_step(step, spec.constraints.max_runtime_seconds);
        let (name, subject) = (action.name(), action.subject());
        journal.begin(name, &subject);
        let observation = match toolbox.execute(&action).await {
            Ok(observation) => observation,
            Err(error) => return JobEnd::unmet(StopCondition::ToolFailure, error.to_string()),
        };
        journal.end(&observation.to_outcome());
        if !observation.is_success() {
            let message =
                format!("step {number} ({name} {subject}) failed: {}", observation.headline);
            return JobEnd::unmet(StopCondition::StepFailed, message);
        }
    }
    let summary = format!("All {} steps succeeded.", spec.steps.len());
    JobEnd::Met { summary, evidence: Vec::new() }
}

/// A command may take as long as the job.
fn convert_step(step: &AgentStep, max_runtime_seconds: u32) -> ToolAction {
    match step.clone() {
        AgentStep::RunCommand { command } => {
            let timeout_s = Some(max_runtime_seconds.into());
            ToolAction::RunCommand(RunCommand { command, timeout_s })
        }
        AgentStep::WriteFile { path, content } => {
            ToolAction::WriteFile(WriteFile { path, content })
        }
    }
}
