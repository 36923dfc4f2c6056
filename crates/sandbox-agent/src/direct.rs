//! Executes given steps without a model.

use std::ops::ControlFlow;

use cynode_agent_job::journal::Journal;
use cynode_agent_job::stop::JobEnd;
use cynode_roles::{StepWorker, run_worker};
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::agent_jobs::{AgentJobSpec, AgentStep, StopCondition};

use crate::action::{RunCommand, ToolAction, WriteFile};
use crate::agent_loop::AgentLoopEnd;
use crate::tools::Toolbox;

/// The steps that are left, and the sandbox that executes them.
struct DirectSteps<'a> {
    spec: &'a AgentJobSpec,
    toolbox: Toolbox,
    journal: &'a mut Journal,
    next: usize,
}

/// Executes the steps in order; the first that fails ends the job.
pub(crate) async fn execute_steps(
    spec: &AgentJobSpec,
    toolbox: Toolbox,
    journal: &mut Journal,
    trace: &TraceRecorder,
) -> JobEnd {
    let mut steps = DirectSteps { spec, toolbox, journal, next: 0 };
    let AgentLoopEnd(end) = run_worker(&mut steps, trace).await;
    end
}

impl StepWorker for DirectSteps<'_> {
    type Observation = AgentStep;
    type Decision = ToolAction;
    type End = AgentLoopEnd;

    async fn observe(&mut self) -> ControlFlow<AgentLoopEnd, AgentStep> {
        let Some(step) = self.spec.steps.get(self.next) else {
            let summary = format!("All {} steps succeeded.", self.spec.steps.len());
            let end = JobEnd::Met { summary, evidence: Vec::new() };
            return ControlFlow::Break(AgentLoopEnd(end));
        };
        self.next += 1;
        ControlFlow::Continue(step.clone())
    }

    async fn reason(&mut self, step: AgentStep) -> ControlFlow<AgentLoopEnd, Option<ToolAction>> {
        let longest = self.spec.constraints.max_runtime_seconds;
        ControlFlow::Continue(Some(convert_step(step, longest)))
    }

    fn tools(&self, action: &ToolAction) -> Vec<String> {
        vec![action.name().to_owned()]
    }

    async fn act(&mut self, action: ToolAction) -> ControlFlow<AgentLoopEnd> {
        let (name, subject) = (action.name(), action.subject());
        self.journal.begin(name, &subject);
        let observation = match self.toolbox.execute(&action).await {
            Ok(observation) => observation,
            Err(error) => {
                let end = JobEnd::unmet(StopCondition::ToolFailure, error.to_string());
                return ControlFlow::Break(AgentLoopEnd(end));
            }
        };
        self.journal.end(&observation.to_outcome());
        if observation.is_success() {
            return ControlFlow::Continue(());
        }
        let number = self.next;
        let message = format!("step {number} ({name} {subject}) failed: {}", observation.headline);
        ControlFlow::Break(AgentLoopEnd(JobEnd::unmet(StopCondition::StepFailed, message)))
    }
}

/// A command may take as long as the job.
fn convert_step(step: AgentStep, max_runtime_seconds: u32) -> ToolAction {
    match step {
        AgentStep::RunCommand { command } => {
            let timeout_s = Some(max_runtime_seconds.into());
            ToolAction::RunCommand(RunCommand { command, timeout_s })
        }
        AgentStep::WriteFile { path, content } => {
            ToolAction::WriteFile(WriteFile { path, content })
        }
    }
}
