//! Tasks that show what was lost and what ran twice.
//!
//! The first step of a task appends a line to a file in the workspace, the second prints the number of lines: more than
//! one if the first ran twice. A step that a kill interrupts is not repeated, because commands may not be repeatable: the
//! run asks a person, who declines here, and the task fails as interrupted.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::bail;
use cynode_client::{Client, ClientError};
use cynode_domain::ids::TaskId;
use cynode_domain::question::Reply;
use cynode_wire::runs::AnswerRun;
use cynode_wire::tasks::CreateTask;
use serde_json::json;
use tokio::time::Instant;

use super::Deadline;

/// Tasks open at any time.
const IN_FLIGHT: usize = 4;
/// A task that is open for longer is stuck. Nothing that a kill interrupts takes as long.
const STUCK: Duration = Duration::from_mins(3);
/// How long tasks may need once nothing is killed any more.
const SETTLE: Duration = Duration::from_mins(3);
/// Pause between two looks.
const POLL: Duration = Duration::from_millis(200);

/// The outcome of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskFate {
    Open,
    Completed,
    Interrupted,
    /// The first step ran more than once.
    Doubled,
    /// Closed for no reason that a kill explains.
    Lost,
}

/// Every task that the orchestrator accepted.
#[derive(Debug, Default)]
pub(super) struct WorkReport {
    tasks: Mutex<HashMap<TaskId, (TaskFate, Instant)>>,
}

/// Totals of the report.
#[derive(Debug, Default)]
pub(super) struct WorkOutcome {
    pub(super) tasks: usize,
    pub(super) interrupted: usize,
    pub(super) lost: Vec<TaskId>,
    pub(super) doubled: Vec<TaskId>,
}

impl WorkReport {
    fn set(&self, task: TaskId, fate: TaskFate) {
        self.lock().insert(task, (fate, Instant::now()));
    }

    /// A task that has been open for too long.
    fn find_stuck(&self) -> Option<TaskId> {
        let tasks = self.lock();
        let mut open = tasks.iter().filter(|(_, (fate, _))| *fate == TaskFate::Open);
        open.find(|(_, (_, since))| since.elapsed() > STUCK).map(|(task, _)| *task)
    }

    fn open(&self) -> Vec<TaskId> {
        let tasks = self.lock();
        let is_open = |(_, (fate, _)): &(&TaskId, &(TaskFate, Instant))| *fate == TaskFate::Open;
        tasks.iter().filter(is_open).map(|(task, _)| *task).collect()
    }

    /// Totals; a task that is still open counts as lost.
    pub(super) fn outcome(&self) -> WorkOutcome {
        let tasks = self.lock();
        let mut outcome = WorkOutcome { tasks: tasks.len(), ..WorkOutcome::default() };
        for (task, (fate, _)) in tasks.iter() {
            match fate {
                TaskFate::Completed => {}
                TaskFate::Interrupted => outcome.interrupted += 1,
                TaskFate::Doubled => outcome.doubled.push(*task),
                TaskFate::Lost | TaskFate::Open => outcome.lost.push(*task),
            }
        }
        outcome
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TaskId, (TaskFate, Instant)>> {
        self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Creates tasks until the deadline.
pub(super) async fn run(
    client: &Client,
    report: &WorkReport,
    deadline: &Deadline,
) -> anyhow::Result<()> {
    for number in 0_u64.. {
        while report.open().len() >= IN_FLIGHT && !deadline.is_over() {
            deadline.pause(POLL).await;
            look_at_open(client, report).await?;
            if let Some(task) = report.find_stuck() {
                bail!("task {task} is open for more than {} s", STUCK.as_secs());
            }
        }
        if deadline.is_over() {
            return Ok(());
        }
        if let Some(task) = create(client, number, deadline).await? {
            report.set(task, TaskFate::Open);
        }
    }
    Ok(())
}

/// Waits until every task is closed.
pub(super) async fn wait_for_all(client: &Client, report: &WorkReport) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLE;
    while !report.open().is_empty() && Instant::now() < until {
        look_at_open(client, report).await?;
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Creates one task. Repeats the request while there is no response: the key keeps it one task.
async fn create(
    client: &Client,
    number: u64,
    deadline: &Deadline,
) -> anyhow::Result<Option<TaskId>> {
    let task: CreateTask = serde_json::from_value(json!({
        "input_mode": "commands",
        "commands": ["echo line >> lines && sleep 0.3", "wc -l < lines"],
        "idempotency_key": format!("soak-{number}"),
    }))?;
    while !deadline.is_over() {
        match client.task_create(&task).await {
            Ok(created) => return Ok(Some(created.id)),
            Err(error) if is_transient(&error) => deadline.pause(POLL).await,
            Err(error) => bail!("task {number} was rejected: {error}"),
        }
    }
    Ok(None)
}

async fn look_at_open(client: &Client, report: &WorkReport) -> anyhow::Result<()> {
    for task in report.open() {
        let result = match client.task_result(&task.to_string()).await {
            Ok(result) => json!(result),
            Err(error) if is_transient(&error) => return Ok(()),
            Err(error) if error.status() == Some(404) => {
                report.set(task, TaskFate::Lost);
                continue;
            }
            Err(error) => bail!("the result of {task} cannot be read: {error}"),
        };
        let jobs = result["jobs"].as_array().cloned().unwrap_or_default();
        let stdout = |index: usize| jobs.get(index).map(|job| job["result"]["stdout"].clone());
        let is_interrupted =
            jobs.iter().any(|job| job["result"]["ending"]["kind"] == "interrupted");
        let fate = match result["status"].as_str() {
            Some("completed") if stdout(1) == Some(json!("1\n")) => TaskFate::Completed,
            Some("completed") => TaskFate::Doubled,
            Some("failed") if is_interrupted => TaskFate::Interrupted,
            Some("failed" | "canceled") => TaskFate::Lost,
            Some("waiting") if is_interrupted => {
                decline_repeat(client, task).await;
                continue;
            }
            _ => continue,
        };
        report.set(task, fate);
    }
    Ok(())
}

/// Answers that an interrupted step is not repeated. Asked again at the next look if the orchestrator is away.
async fn decline_repeat(client: &Client, task: TaskId) {
    let body = AnswerRun { reply: Reply::No {}, comment: None };
    let _ = client.run_answer(&task.to_string(), &body).await;
}

/// Whether the orchestrator was killed or is starting.
pub(super) fn is_transient(error: &ClientError) -> bool {
    match error {
        ClientError::Unreachable { .. } | ClientError::InvalidResponse { .. } => true,
        ClientError::Refused(problem) => problem.status == 429 || problem.status >= 500,
        ClientError::NotAnOrchestrator { .. } | ClientError::InvalidAddress { .. } => false,
    }
}
