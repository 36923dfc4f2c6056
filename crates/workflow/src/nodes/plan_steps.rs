//! Plans the steps of the request: by rule if the request contains its commands, so the same request
//! always yields the same plan.
//!
//! Prose goes to the orchestrator's planner. If the planner cannot plan it, a person is asked for the
//! commands. If the task requires it, a person must approve the plan. The run waits without a runner.

use std::sync::Arc;

use cynode_domain::job::Action;
use cynode_domain::plan::{self, InputMode, NeedsPlanner, Plan, Step};
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::text::truncate_chars;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField, TraceStop};
use cynode_runtime::trace_recorder::log_event;
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_workflow_state::{RunTaskRequest, SharedPart, WorkflowState};

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::run_handle::{POLL_MS, RunHandle};

/// Maximum number of lines of a request or plan quoted in a question, and of characters of each.
const MAX_LINES: usize = 50;
const MAX_CHARS: usize = 200;

/// Plans the steps of the request.
#[derive(Debug)]
pub struct PlanStepsNode(pub Arc<RunHandle>);

impl WorkflowNode for PlanStepsNode {
    const NAME: &'static str = "plan_steps";
    type Input = SharedPart<RunTaskRequest>;
    type Output = Plan;

    async fn run(
        &self,
        cx: &mut NodeContext<'_>,
        request: Self::Input,
    ) -> Result<Plan, WorkflowNodeError> {
        log_event(None, TraceActor::Planner, &TraceEntry::new(TraceEventKind::PlanStarted));
        let plan = match plan_by_rule(&request, request.mode, &request.prompt, &request.commands) {
            Ok(plan) => plan,
            Err(NeedsPlanner) => self.plan_prose(cx, &request).await?,
        };
        let finished = TraceEntry::plan_finished(TraceStop::GoalMet);
        let finished = finished.with(TraceField::Steps, plan.steps.len());
        log_event(None, TraceActor::Planner, &finished);
        if request.approve_plan {
            require_approval(cx, &plan)?;
        }
        Ok(plan)
    }
}

impl PlanStepsNode {
    /// Plans a request in prose: by the planner, or else by asking a person.
    async fn plan_prose(
        &self,
        cx: &mut NodeContext<'_>,
        request: &RunTaskRequest,
    ) -> Result<Plan, WorkflowNodeError> {
        let mut answers = vec![];
        loop {
            let question = match self.request_plan(cx, &answers).await? {
                PlanningView::Planned { steps, assumptions, made_by } => {
                    return Ok(Plan { steps, assumptions, made_by });
                }
                PlanningView::Ask { question } => {
                    clarification_question(request, question.text, &[ReplyForm::Text])
                }
                PlanningView::NoPlanner { reason }
                | PlanningView::Waiting { waiting_for: reason } => {
                    let text = format!("{reason}. Give the commands to run for this request.");
                    clarification_question(request, text, &[])
                }
            };
            let answer: Answer = cx.require_answer(&round_key("clarify", &answers), &question)?;
            if let Some(refusal) = answer.refusal() {
                return Err(WorkflowNodeError::Denied(refusal));
            }
            let Some(Reply::Text { text }) = answer.reply else {
                return plan_from_answer(request, &answer);
            };
            answers.push(text);
        }
    }

    /// Requests a plan. The answer is recorded, so that a node that is entered again does not request it twice. A plan
    /// that takes longer than one poll is awaited without a runner and a lease.
    async fn request_plan(
        &self,
        cx: &mut NodeContext<'_>,
        answers: &[String],
    ) -> Result<PlanningView, WorkflowNodeError> {
        let body =
            PlanRun { lease: self.0.lease_token(), answers: answers.to_vec(), wait_ms: POLL_MS };
        cx.effect(&round_key("plan", answers), async {
            match self.0.call(&body).await? {
                PlanningView::Waiting { waiting_for } => {
                    Err(WorkflowNodeError::WaitingFor(waiting_for))
                }
                view @ (PlanningView::Planned { .. }
                | PlanningView::Ask { .. }
                | PlanningView::NoPlanner { .. }) => Ok(view),
            }
        })
        .await
    }
}

/// The effect key after so many clarifications.
fn round_key(word: &str, answers: &[String]) -> String {
    if answers.is_empty() { word.to_owned() } else { format!("{word}/{}", answers.len()) }
}

impl StateBinding<WorkflowState> for PlanStepsNode {
    fn input(state: &WorkflowState) -> Result<SharedPart<RunTaskRequest>, WorkflowNodeError> {
        let request = state.request.clone();
        request
            .ok_or_else(|| WorkflowNodeError::Denied("the state has no request to plan".to_owned()))
    }

    /// Drops the request, whose content is in the plan: keeping both would double every checkpoint.
    fn apply(state: &mut WorkflowState, plan: Plan) {
        state.plan = plan.into();
        state.request = None;
        state.current_step_index = 0;
    }
}

fn plan_by_rule(
    request: &RunTaskRequest,
    mode: InputMode,
    prompt: &str,
    commands: &[String],
) -> Result<Plan, NeedsPlanner> {
    let RunTaskRequest { expected_outputs, step_criteria, .. } = request;
    plan::plan_by_rule(&plan::PlannerInput {
        mode,
        prompt,
        commands,
        expected_outputs,
        step_criteria,
    })
}

/// Builds the plan from the commands or script in a person's answer.
fn plan_from_answer(request: &RunTaskRequest, answer: &Answer) -> Result<Plan, WorkflowNodeError> {
    let planned = match &answer.reply {
        Some(Reply::Commands { lines }) => plan_by_rule(request, InputMode::Commands, "", lines),
        Some(Reply::Script { text }) => plan_by_rule(request, InputMode::Script, text, &[]),
        Some(Reply::Yes {} | Reply::No {} | Reply::Text { .. } | Reply::Retry {}) | None => {
            Err(NeedsPlanner)
        }
    };
    let mut plan = planned.map_err(|error| WorkflowNodeError::Denied(error.to_string()))?;
    let by = answer.by.clone().unwrap_or_default();
    plan.assumptions.push(format!("{by} provided the commands for the prompt"));
    plan.made_by = answer.by.as_ref().map(|by| format!("person: {by}"));
    Ok(plan)
}

/// The question to a person when there is no plan.
fn clarification_question(request: &RunTaskRequest, text: String, more: &[ReplyForm]) -> Question {
    let accepts = [ReplyForm::Commands, ReplyForm::Script, ReplyForm::No];
    Question {
        kind: QuestionKind::Clarification,
        text,
        about: request.prompt.lines().take(MAX_LINES).map(truncate_line).collect(),
        accepts: accepts.iter().chain(more).copied().collect(),
    }
}

/// Succeeds only if a person approves the plan.
fn require_approval(cx: &NodeContext<'_>, plan: &Plan) -> Result<(), WorkflowNodeError> {
    let steps = plan.steps.len();
    let question = Question {
        kind: QuestionKind::Approval,
        text: format!("Approve this plan? Steps: {steps}."),
        about: (1..)
            .zip(&plan.steps)
            .take(MAX_LINES)
            .map(|(n, step)| describe_step(n, step))
            .collect(),
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    };
    let answer: Answer = cx.require_answer("approve", &question)?;
    match answer.refusal() {
        Some(refusal) => Err(WorkflowNodeError::Denied(refusal)),
        None => Ok(()),
    }
}

/// Renders a step as one line.
pub(super) fn describe_step(number: u32, step: &Step) -> String {
    match &step.action {
        Action::Command { line } => truncate_line(&format!("{number}. {line}")),
        Action::Script { text } => format!("{number}. a script of {} lines", text.lines().count()),
        Action::Agent { prompt, .. } => truncate_line(&format!("{number}. an agent: {prompt}")),
    }
}

fn truncate_line(line: &str) -> String {
    truncate_chars(line, MAX_CHARS).to_owned()
}
