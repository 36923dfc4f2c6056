//! Plans the steps of a request in prose, after it is classified and scoped.
//!
//! No work units are created: nothing executes them yet, and a task must not complete next to units that never ran.

use cynode_domain::criteria::Criterion;
use cynode_domain::job::Action;
use cynode_domain::plan::{Step, StepAuthor};
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::trace::TraceStop;
use cynode_roles::{PlanDraft, PlanMetadata, Planner, StepLimit, run_planner};
use cynode_wire::handoff::{
    DecidedBy, Handoff, HandoffContext, PlanAnswer, PlanHandoff, PlanOutcome, TaskFacts,
};
use cynode_wire::tasks::UpdateTask;
use cynode_wire::tool_calls::DbTaskUpdate;
use serde_json::Value;
use tracing::debug;

use super::project::{ProjectBackground, gather_background};
use crate::HandoffAgentError;
use crate::brain::BrainDecision as _;
use crate::brain::decisions::{
    AssessScope, ClassifyRequest, PlanBackground, PlanRequestSteps, PlannedCommand,
    PlannedCommands, RefineCriteria,
};
use crate::session::HandoffSession;
use crate::tools;

/// The divisor of the remaining time for classifying and scoping; planning keeps the rest.
const BACKGROUND_PART: u32 = 4;

/// Plans the steps of a request.
pub(crate) async fn plan(
    mut work: HandoffSession,
    handoff: &Handoff<PlanHandoff>,
) -> Result<PlanAnswer, HandoffAgentError> {
    // The limit of a model's plan is part of the question; commands that the request names are limited by this one.
    let max_steps = StepLimit::clamped(StepLimit::MAX);
    let metadata = PlanMetadata { trace: work.trace.clone(), max_steps };
    let mut planner =
        RequestPlanner { work: &mut work, handoff, question: None, assumptions: vec![] };
    let plan = run_planner(&mut planner, &handoff.body.prompt, &metadata).await?;
    let outcome = match planner.question {
        Some(question) => PlanOutcome::Ask { question },
        None => PlanOutcome::Planned { steps: plan.steps, assumptions: planner.assumptions },
    };
    Ok(PlanAnswer { outcome, decisions: work.decisions })
}

/// Plans commands by rule, else by a model.
struct RequestPlanner<'a> {
    work: &'a mut HandoffSession,
    handoff: &'a Handoff<PlanHandoff>,
    /// The question that a person must answer before there is a plan.
    question: Option<Question>,
    assumptions: Vec<String>,
}

impl Planner for RequestPlanner<'_> {
    type Step = Step;
    type Error = HandoffAgentError;

    async fn draft(&mut self, _: &str, _: StepLimit) -> Result<PlanDraft<Step>, HandoffAgentError> {
        match draft_outcome(self.work, self.handoff).await? {
            PlanOutcome::Planned { steps, assumptions } => {
                self.assumptions = assumptions;
                Ok(PlanDraft::new(steps, TraceStop::GoalMet))
            }
            PlanOutcome::Ask { question } => {
                self.question = Some(question);
                Ok(PlanDraft::new(vec![], TraceStop::PersonNeeded))
            }
        }
    }

    fn stop_of(error: &HandoffAgentError) -> TraceStop {
        match error {
            HandoffAgentError::MissingRecording(_) => TraceStop::ModelFailure,
            HandoffAgentError::Refused { .. }
            | HandoffAgentError::Tool { .. }
            | HandoffAgentError::Unreachable(_)
            | HandoffAgentError::WrongRole { .. } => TraceStop::ToolFailure,
        }
    }
}

/// Decides the steps, or the question that must be answered first.
async fn draft_outcome(
    work: &mut HandoffSession,
    handoff: &Handoff<PlanHandoff>,
) -> Result<PlanOutcome, HandoffAgentError> {
    let (task, body) = (handoff.context.task.as_ref(), &handoff.body);
    let mut question = PlanRequestSteps {
        request: body.prompt.clone(),
        criteria: task.map(|task| task.acceptance_criteria.clone()).unwrap_or_default(),
        expected_outputs: body.expected_outputs.clone(),
        max_commands: work.brain.max_steps(),
        workspace: task.map(|task| task.workspace.clone()).unwrap_or_default(),
        background: None,
    };
    if let (Some(task), None) = (task, question.decide_by_rule()) {
        let background = load_background(work, &handoff.context, task, &body.prompt).await?;
        question.background = Some(background);
    }
    let planned = work.decide(&question).await?.with_question_as_assumption();
    let by_rule = work.decisions.last().is_some_and(|record| record.by == DecidedBy::Rule);
    let mut checks = vec![];
    if let Some(task) = task {
        let needs_checks = task.acceptance_criteria.is_empty() && !by_rule;
        if !planned.commands.is_empty() && (needs_checks || has_prose(task)) {
            checks = refine_criteria(work, task, &body.prompt, &planned.lines()).await?;
        }
    }
    // Commands that the request names count as written by a person.
    let author = if by_rule { StepAuthor::Person } else { StepAuthor::Manager };
    let mut outcome = plan_outcome(planned, author, &body.expected_outputs);
    if let PlanOutcome::Planned { steps, .. } = &mut outcome {
        for (step, criteria) in steps.iter_mut().zip(checks) {
            step.criteria = criteria;
        }
    }
    Ok(outcome)
}

/// Whether no rule can check one of the task's criteria.
fn has_prose(task: &TaskFacts) -> bool {
    let is_prose = |criterion: &Criterion| matches!(criterion, Criterion::Text { .. });
    task.acceptance_criteria.iter().any(is_prose)
}

/// Classifies and scopes a request, and gathers facts about its project.
async fn load_background(
    work: &mut HandoffSession,
    context: &HandoffContext,
    task: &TaskFacts,
    prompt: &str,
) -> Result<PlanBackground, HandoffAgentError> {
    let brain = work.brain.clone();
    work.brain = brain.clone().with_time_share(BACKGROUND_PART);
    let request = prompt.to_owned();
    let ProjectBackground { has_brief, description: project } =
        gather_background(work, context, task).await?;
    let question = ClassifyRequest { request: request.clone(), has_brief, labels: vec![] };
    let kind = work.decide(&question).await?.kind;
    let question = AssessScope { request, kind, project: project.clone(), labels: vec![] };
    let scoped = work.decide(&question).await?;
    work.brain = brain;
    let excerpts = context.excerpts.clone();
    Ok(PlanBackground { kind, scope: scoped.scope, project, excerpts })
}

/// Updates the criteria of the task if they can be refined. Returns the criteria of single commands, by command.
async fn refine_criteria(
    work: &mut HandoffSession,
    task: &TaskFacts,
    prompt: &str,
    commands: &[String],
) -> Result<Vec<Vec<Criterion>>, HandoffAgentError> {
    let question = RefineCriteria {
        request: prompt.to_owned(),
        criteria: task.acceptance_criteria.clone(),
        commands: commands.to_vec(),
    };
    let refined = work.decide(&question).await?;
    let of_steps = (0..commands.len()).map(|index| question.step_criteria(&refined, index));
    let of_steps = of_steps.collect();
    let criteria = question.with(&refined);
    if criteria == task.acceptance_criteria {
        return Ok(of_steps);
    }
    let update = UpdateTask {
        acceptance_criteria: Some(criteria),
        expected_updated_at: task.updated_at,
        ..UpdateTask::default()
    };
    let call = DbTaskUpdate { task_id: task.id, update };
    match tools::call_tool::<_, Value>(work.tools.as_ref(), &call).await {
        // A concurrent change wins; the criteria of single commands still apply.
        Err(error) if error.is_conflict() => {
            debug!(task.id = %task.id, %error, "criteria not updated");
            Ok(of_steps)
        }
        other => other.map(|_| of_steps),
    }
}

fn plan_outcome(planned: PlannedCommands, author: StepAuthor, outputs: &[String]) -> PlanOutcome {
    if planned.commands.is_empty() {
        let question = Question {
            kind: QuestionKind::Clarification,
            text: planned.question,
            about: planned.assumptions,
            accepts: vec![ReplyForm::Commands, ReplyForm::Script, ReplyForm::No],
        };
        return PlanOutcome::Ask { question };
    }
    let last = planned.commands.len() - 1;
    let step = |(index, PlannedCommand { command: line, .. }): (usize, PlannedCommand)| {
        let expected_outputs = if index == last { outputs.to_vec() } else { vec![] };
        Step { expected_outputs, author, ..Step::new(Action::Command { line }) }
    };
    let steps = planned.commands.into_iter().enumerate().map(step).collect();
    PlanOutcome::Planned { steps, assumptions: planned.assumptions }
}
