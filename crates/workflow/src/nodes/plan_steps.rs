//! Turns the request into steps, by rule where the request names its commands: the same request always
//! gives the same plan.
//!
//! Prose goes to the orchestrator's planner. What that cannot plan, a person is asked for. If the task
//! wants that, a person must also agree to the plan. Either way the run waits without a runner.

use cynode_domain::job::Action;
use cynode_domain::plan::{self, InputMode, NeedsPlanner, Plan, Step};
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_wire::planning::PlanningView;

use super::Control;
use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::{Request, RunState, Shared};

/// How many lines of a request or a plan a question repeats, and how much of each.
const MAX_LINES: usize = 50;
const MAX_CHARS: usize = 200;

/// Turns the request into steps.
#[derive(Debug)]
pub struct PlanSteps(pub Control);

impl Node for PlanSteps {
    const NAME: &'static str = "plan_steps";
    type Input = Shared<Request>;
    type Output = Plan;

    async fn run(&self, cx: &mut NodeCx<'_>, request: Self::Input) -> Result<Plan, NodeError> {
        let plan = match by_rule(&request, request.mode, &request.prompt, &request.commands) {
            Ok(plan) => plan,
            Err(NeedsPlanner) => self.planned(cx, &request).await?,
        };
        if request.approve_plan {
            approved(cx, &plan)?;
        }
        Ok(plan)
    }
}

impl PlanSteps {
    /// The plan of a request in prose: of a planner, or of a person where there is none.
    async fn planned(&self, cx: &mut NodeCx<'_>, request: &Request) -> Result<Plan, NodeError> {
        let mut said = vec![];
        loop {
            let question = match self.draft(cx, &said).await? {
                PlanningView::Planned { steps, assumptions, made_by } => {
                    return Ok(Plan { steps, assumptions, made_by });
                }
                PlanningView::Ask { question } => {
                    unplanned(request, question.text, &[ReplyForm::Text])
                }
                PlanningView::NoPlanner { reason }
                | PlanningView::Waiting { waiting_for: reason } => {
                    let text = format!("{reason}: what is to be run for this request?");
                    unplanned(request, text, &[])
                }
            };
            let answer: Answer = cx.ask(&round("clarify", &said), &question)?;
            if let Some(refusal) = answer.refusal() {
                return Err(NodeError::Denied(refusal));
            }
            let Some(Reply::Text { text }) = answer.reply else {
                return as_told(request, &answer);
            };
            said.push(text);
        }
    }

    /// What the planner says. It is recorded, so that a node that is entered again does not ask twice. A plan that takes
    /// longer than one look is waited for without a runner and a lease.
    async fn draft(&self, cx: &mut NodeCx<'_>, said: &[String]) -> Result<PlanningView, NodeError> {
        cx.effect(&round("plan", said), async {
            match self.0.plan(said).await? {
                PlanningView::Waiting { waiting_for } => Err(NodeError::Waits(waiting_for)),
                view @ (PlanningView::Planned { .. }
                | PlanningView::Ask { .. }
                | PlanningView::NoPlanner { .. }) => Ok(view),
            }
        })
        .await
    }
}

/// The key of what is asked after people said so much.
fn round(word: &str, said: &[String]) -> String {
    if said.is_empty() { word.to_owned() } else { format!("{word}/{}", said.len()) }
}

impl On<RunState> for PlanSteps {
    fn input(state: &RunState) -> Result<Shared<Request>, NodeError> {
        let request = state.request.clone();
        request.ok_or_else(|| NodeError::Denied("the state holds no request to plan".to_owned()))
    }

    /// The plan says all that the request did: keeping both would double every checkpoint.
    fn apply(state: &mut RunState, plan: Plan) {
        state.plan = plan.into();
        state.request = None;
        state.current_step_index = 0;
    }
}

fn by_rule(
    request: &Request,
    mode: InputMode,
    prompt: &str,
    commands: &[String],
) -> Result<Plan, NeedsPlanner> {
    let Request { expected_outputs, step_criteria, .. } = request;
    plan::by_rule(&plan::Request { mode, prompt, commands, expected_outputs, step_criteria })
}

/// The plan that a person gives, in the place of one that nobody made.
fn as_told(request: &Request, answer: &Answer) -> Result<Plan, NodeError> {
    let planned = match &answer.reply {
        Some(Reply::Commands { lines }) => by_rule(request, InputMode::Commands, "", lines),
        Some(Reply::Script { text }) => by_rule(request, InputMode::Script, text, &[]),
        Some(Reply::Yes {} | Reply::No {} | Reply::Text { .. } | Reply::Retry {}) | None => {
            Err(NeedsPlanner)
        }
    };
    let mut plan = planned.map_err(|error| NodeError::Denied(error.to_string()))?;
    let by = answer.by.clone().unwrap_or_default();
    plan.assumptions.push(format!("{by} said what is to be run for the prompt"));
    plan.made_by = answer.by.as_ref().map(|by| format!("person: {by}"));
    Ok(plan)
}

/// What a person is asked when there is no plan.
fn unplanned(request: &Request, text: String, more: &[ReplyForm]) -> Question {
    let accepts = [ReplyForm::Commands, ReplyForm::Script, ReplyForm::No];
    Question {
        kind: QuestionKind::Clarification,
        text,
        about: request.prompt.lines().take(MAX_LINES).map(short).collect(),
        accepts: accepts.iter().chain(more).copied().collect(),
    }
}

/// Goes on only if a person agrees.
fn approved(cx: &NodeCx<'_>, plan: &Plan) -> Result<(), NodeError> {
    let steps = plan.steps.len();
    let question = Question {
        kind: QuestionKind::Approval,
        text: format!("Shall this plan be carried out? Number of steps: {steps}."),
        about: (1..).zip(&plan.steps).take(MAX_LINES).map(|(n, step)| told(n, step)).collect(),
        accepts: vec![ReplyForm::Yes, ReplyForm::No],
    };
    let answer: Answer = cx.ask("approve", &question)?;
    match answer.refusal() {
        Some(refusal) => Err(NodeError::Denied(refusal)),
        None => Ok(()),
    }
}

/// A step in a line.
pub(super) fn told(number: u32, step: &Step) -> String {
    match &step.action {
        Action::Command { line } => short(&format!("{number}. {line}")),
        Action::Script { text } => format!("{number}. a script of {} lines", text.lines().count()),
    }
}

fn short(line: &str) -> String {
    line.chars().take(MAX_CHARS).collect()
}
