//! What people see of a request.

use std::collections::BTreeMap;

use cynode_domain::ids::TaskId;
use cynode_domain::status::{RequestPhase, ShownTaskStatus, WorkUnitStatus};
use cynode_ops::messages::render_progress;
use cynode_ops::work::WorkBoard;
use cynode_planning::requirements::list_requirements;
use cynode_store::{
    AgentCheckpoint, AttemptStatus, RequestOverview, Task, Tx, WorkRequest, WorkUnit,
};
use cynode_wire::requests::{AttemptView, PendingQuestion, RequestUnitView, RequestView};

use crate::RequestError;
use crate::snapshot::RequestSnapshot;

/// How much of the text a list shows.
const LIST_TEXT_CHARS: usize = 200;

/// What a view shows beside the rows of the request.
pub(crate) struct ViewFacts {
    owner: String,
    model_calls: i64,
    cost_micro_usd: i64,
    /// What agents last reported, by child task.
    progress: BTreeMap<TaskId, String>,
    /// Their newest checkpoints.
    checkpoints: BTreeMap<TaskId, String>,
}

impl ViewFacts {
    pub(crate) async fn load(
        tx: &mut Tx,
        task: &Task,
        all: &[TaskId],
    ) -> Result<Self, RequestError> {
        let owner = tx.user_get(task.spec.created_by).await?.map(|user| user.handle);
        let sums = tx.inference_sums_of(all).await?;
        let (model_calls, cost_micro_usd) = (sums.calls, sums.cost_micro_usd);
        let agents = tx.agents_of_children(task.spec.id).await?.into_iter();
        let progress = agents.filter_map(|agent| Some((agent.task, agent.progress?)));
        let saved = tx.agent_checkpoints_of_children(task.spec.id).await?.into_iter();
        let checkpoints = saved.map(|saved| (saved.task, describe_checkpoint(&saved)));
        Ok(Self {
            owner: owner.unwrap_or_default(),
            model_calls,
            cost_micro_usd,
            progress: progress.collect(),
            checkpoints: checkpoints.collect(),
        })
    }
}

/// The view in lists.
pub(crate) fn brief_view(request: WorkRequest, overview: RequestOverview) -> RequestView {
    let RequestOverview { task, owner, unit_count, completed_count } = overview;
    let text: String = task.spec.prompt.chars().take(LIST_TEXT_CHARS).collect();
    let status = match (&request.question, task.status.is_terminal()) {
        (Some(_), false) => ShownTaskStatus::Waiting,
        _ => task.status.to_shown(),
    };
    let phase = if task.status.is_terminal() { RequestPhase::Ended } else { request.phase };
    let state = request.state;
    let context = state.context;
    RequestView {
        id: request.task,
        name: task.spec.name,
        owner,
        status,
        phase,
        project_id: task.spec.project,
        text,
        source: request.source,
        repository: task.spec.options.repository,
        settings: request.settings,
        kind: state.kind,
        scope: state.scope,
        project_kind: context.as_ref().map(|context| context.kind),
        architecture: context.as_ref().map(|context| context.architecture.clone()),
        test_commands: context.map(|context| context.test_commands).unwrap_or_default(),
        workflow: state.workflow,
        question: request.question.map(|asked| PendingQuestion {
            subject: asked.subject,
            question: asked.question,
            asked_at: request.asked_at,
        }),
        paused_at: task.paused_at.filter(|_| !task.status.is_terminal()),
        taken_over: state.taken_over,
        answers: vec![],
        requirements: vec![],
        units: vec![],
        steps: vec![],
        progress_percent: (completed_count * 100).checked_div(unit_count).unwrap_or(0),
        notes: state.notes,
        delivery: state.delivery,
        estimate: None,
        cost_micro_usd: None,
        model_calls: None,
        summary: task.summary,
        verification: task.verification,
        created_at: request.created_at,
        updated_at: request.updated_at.max(task.updated_at),
        ended_at: task.ended_at,
    }
}

/// The view of one request.
pub(crate) fn full_view(snapshot: RequestSnapshot, mut facts: ViewFacts) -> RequestView {
    let RequestSnapshot { request, task, board, attempts, .. } = snapshot;
    let (text, answers) = (task.spec.prompt.clone(), request.state.answers.clone());
    let requirements = list_requirements(&text);
    let estimate = request.state.estimate.clone();
    let rows = board.as_ref().map(WorkBoard::units).unwrap_or_default();
    let order: BTreeMap<TaskId, u32> =
        attempts.iter().map(|known| (known.attempt.child, known.attempt.sequence)).collect();
    let mut by_unit: BTreeMap<String, Vec<AttemptView>> = BTreeMap::new();
    for attempt in attempts {
        let view = attempt_view(attempt, &mut facts);
        by_unit.entry(view.unit.clone()).or_default().push(view);
    }
    let is_completed = |unit: &&WorkUnit| unit.status == WorkUnitStatus::Completed;
    let count = |units: usize| u32::try_from(units).unwrap_or(u32::MAX);
    let overview = RequestOverview {
        task,
        owner: facts.owner,
        unit_count: count(rows.len()),
        completed_count: count(rows.iter().filter(is_completed).count()),
    };
    let units = rows.iter().enumerate().map(|(index, unit)| RequestUnitView {
        id: unit.id.clone(),
        component: unit.component.clone(),
        kind: unit.kind,
        status: unit.status,
        role: unit.role.clone(),
        depends_on: board.as_ref().map(|board| unit_dependencies(board, index)).unwrap_or_default(),
        revision_count: unit.revision_count,
        summary: unit.summary.clone(),
        notes: unit.notes.clone(),
        attempts: by_unit.remove(&unit.id).unwrap_or_default(),
    });
    let units: Vec<_> = units.collect();
    let mut steps: Vec<AttemptView> = by_unit.into_values().flatten().collect();
    steps.sort_by_key(|step| order.get(&step.task_id).copied());
    RequestView {
        text,
        answers,
        requirements,
        units,
        steps,
        estimate,
        cost_micro_usd: Some(facts.cost_micro_usd),
        model_calls: Some(facts.model_calls),
        ..brief_view(request, overview)
    }
}

/// The units that must pass before a unit starts.
fn unit_dependencies(board: &WorkBoard, index: usize) -> Vec<String> {
    let unit = board.unit(index);
    let component = board.components().iter().find(|part| part.name == unit.component);
    let needed = component.map(|part| part.dependencies.as_slice()).unwrap_or_default();
    let others = board.units().iter().filter(|other| needed.contains(&other.component));
    let own = board.predecessors(index).map(|other| board.unit(other));
    others.chain(own).map(|other| other.id.clone()).collect()
}

fn attempt_view(attempt: AttemptStatus, facts: &mut ViewFacts) -> AttemptView {
    let AttemptStatus { attempt, status, summary, agent } = attempt;
    let result =
        attempt.outcome.as_ref().and_then(|outcome| outcome["message"].as_str().map(str::to_owned));
    AttemptView {
        unit: attempt.unit,
        number: attempt.number,
        task_id: attempt.child,
        status: status.to_shown(),
        agent,
        result: result.or(summary),
        progress: facts.progress.remove(&attempt.child),
        checkpoint: facts.checkpoints.remove(&attempt.child),
        created_at: attempt.created_at,
    }
}

/// A checkpoint on one line, such as `2/5 (40%): parser done`.
fn describe_checkpoint(saved: &AgentCheckpoint) -> String {
    format!("{}: {}", render_progress(saved), saved.summary)
}
