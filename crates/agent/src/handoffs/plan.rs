//! A request in prose becomes steps. It is classified and scoped before commands are planned.
//!
//! No work units are written: nothing executes them yet, and a task must not complete next to units that never ran.

use cynode_domain::criteria::Criterion;
use cynode_domain::job::Action;
use cynode_domain::plan::{Step, StepAuthor};
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_wire::handoff::{
    DecidedBy, Handoff, HandoffContext, PlanAnswer, PlanHandoff, PlanOutcome, TaskFacts,
};
use serde_json::{Value, json};
use tracing::debug;

use super::project::{Known, known};
use crate::AgentError;
use crate::brain::Decision as _;
use crate::brain::decisions::{
    AssessScope, Classify, PlanBackground, PlanSteps, Planned, PlannedCommand, RefineCriteria,
};
use crate::tools;
use crate::work::Work;

/// The part of the remaining time in which a model may classify and scope a request, so that planning keeps the rest.
const BACKGROUND_PART: u32 = 4;

/// Makes steps of a request.
pub(crate) async fn plan(
    mut work: Work,
    handoff: &Handoff<PlanHandoff>,
) -> Result<PlanAnswer, AgentError> {
    let (task, body) = (handoff.context.task.as_ref(), &handoff.body);
    let mut question = PlanSteps {
        request: body.prompt.clone(),
        criteria: task.map(prose).unwrap_or_default(),
        expected_outputs: body.expected_outputs.clone(),
        max_commands: work.brain.max_steps(),
        workspace: task.map(|task| task.workspace.clone()).unwrap_or_default(),
        background: None,
    };
    if let (Some(task), None) = (task, question.by_rule()) {
        let background = load_background(&mut work, (&handoff.context, task), &body.prompt).await?;
        question.background = Some(background);
    }
    let planned = work.think(&question).await?.settled();
    let by_rule = work.decisions.last().is_some_and(|record| record.by == DecidedBy::Rule);
    let mut checks = vec![];
    if let Some(task) = task {
        let needs_checks = task.acceptance_criteria.is_empty() && !by_rule;
        if !planned.commands.is_empty() && (needs_checks || !prose(task).is_empty()) {
            checks = refine(&mut work, task, (&body.prompt, &planned.lines())).await?;
        }
    }
    // Commands that the request names are a person's words.
    let author = if by_rule { StepAuthor::Person } else { StepAuthor::Manager };
    let mut outcome = outcome(planned, author, &body.expected_outputs);
    if let PlanOutcome::Planned { steps, .. } = &mut outcome {
        for (step, criteria) in steps.iter_mut().zip(checks) {
            step.criteria = criteria;
        }
    }
    Ok(PlanAnswer { outcome, decisions: work.decisions })
}

/// The criteria that a person reads.
fn prose(task: &TaskFacts) -> Vec<String> {
    let text = |criterion: &Criterion| match criterion {
        Criterion::Text { description } => Some(description.clone()),
        Criterion::ExitCode { .. }
        | Criterion::OutputMatches { .. }
        | Criterion::FileExists { .. }
        | Criterion::CommandSucceeds { .. } => None,
    };
    task.acceptance_criteria.iter().filter_map(text).collect()
}

/// Classifies and scopes a request, and gathers what is known of its project.
async fn load_background(
    work: &mut Work,
    (context, task): (&HandoffContext, &TaskFacts),
    prompt: &str,
) -> Result<PlanBackground, AgentError> {
    let brain = work.brain.clone();
    work.brain = brain.clone().share_of_time(BACKGROUND_PART);
    let request = prompt.to_owned();
    let Known { has_brief, words: project } = known(work, context, task).await?;
    let kind = work.think(&Classify { request: request.clone(), has_brief }).await?.kind;
    let scoped = work.think(&AssessScope { request, kind, project: project.clone() }).await?;
    work.brain = brain;
    Ok(PlanBackground { kind, scope: scoped.scope, project })
}

/// Writes sharper criteria down, and more of them, where that makes any difference. Returns those that are
/// about the result of one command, by command.
async fn refine(
    work: &mut Work,
    task: &TaskFacts,
    (prompt, commands): (&str, &[String]),
) -> Result<Vec<Vec<Criterion>>, AgentError> {
    let question = RefineCriteria {
        request: prompt.to_owned(),
        criteria: task.acceptance_criteria.clone(),
        commands: commands.to_vec(),
    };
    let refined = work.think(&question).await?;
    let of_steps = (0..commands.len()).map(|index| question.criteria_of_step(&refined, index));
    let of_steps = of_steps.collect();
    let criteria = question.with(&refined);
    if criteria == task.acceptance_criteria {
        return Ok(of_steps);
    }
    let mut arguments = json!({ "task_id": task.id, "acceptance_criteria": criteria });
    if let Some(seen) = task.updated_at {
        arguments["expected_updated_at"] = json!(seen);
    }
    match tools::call::<Value>(work.tools.as_ref(), "db.task.update", arguments).await {
        // Whoever changed it in the meantime knows better; what a rule can check is checked anyway.
        Err(error) if error.is_conflict() => {
            debug!(task.id = %task.id, "task {} keeps its criteria: {error}", task.id);
            Ok(of_steps)
        }
        other => other.map(|_| of_steps),
    }
}

fn outcome(planned: Planned, author: StepAuthor, outputs: &[String]) -> PlanOutcome {
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
