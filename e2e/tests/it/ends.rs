//! The end state of a task, without ids.

use std::path::Path;

use cynode_client::Client;
use cynode_domain::job::JobEnding;
use cynode_store::Store;
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::Value;
use uuid::Uuid;

use crate::history::assert_is_a_path;
use crate::work::{commands, count_step_runs, retry_while_unavailable};

/// A kind of task; each step counts its runs in its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// Two steps that succeed.
    Completes,
    /// One step that fails permanently.
    Fails,
}

impl TaskKind {
    pub(crate) fn task(self) -> CreateTask {
        match self {
            Self::Completes => commands(&["echo ran >> step-1", "echo ran >> step-2; echo out"]),
            Self::Fails => commands(&["echo ran >> step-1; exit 3"]),
        }
    }

    pub(crate) fn steps(self) -> u32 {
        match self {
            Self::Completes => 2,
            Self::Fails => 1,
        }
    }
}

/// The end state of a task.
#[derive(Debug, PartialEq)]
pub(crate) struct TaskEndState {
    status: String,
    summary: Option<String>,
    /// Node, edge and step of every transition.
    path: Vec<(String, String, Option<u32>)>,
    /// Step, attempt and ending of every job.
    jobs: Vec<(u32, u32, Option<JobEnding>)>,
    /// Number of runs of each step.
    pub(crate) runs: Vec<usize>,
    /// The state after the last transition.
    state: Value,
}

impl TaskEndState {
    /// The end state of a closed task.
    pub(crate) async fn load(
        (client, store, node_state): (&Client, &Store, &Path),
        kind: TaskKind,
        task: &TaskView,
    ) -> Self {
        let id = task.id.to_string();
        let history = retry_while_unavailable(async || client.task_history(&id).await).await;
        assert_is_a_path(&history);
        let result = retry_while_unavailable(async || client.task_result(&id).await).await;
        let (run, last) = (task.run_id.unwrap(), history.last().unwrap().sequence);
        let state = store.read(move |tx| Box::pin(async move { tx.state_at(run, last).await }));
        let jobs = result.jobs.into_iter();
        Self {
            status: task.status.to_string(),
            summary: task.summary.clone(),
            path: history.into_iter().map(|row| (row.node, row.edge, row.step_index)).collect(),
            jobs: jobs.map(|j| (j.step_index, j.attempt, j.result.map(|r| r.ending))).collect(),
            runs: (1..=kind.steps())
                .map(|step| count_step_runs(node_state, task.id, step))
                .collect(),
            state: without_ids(state.await.unwrap().unwrap()),
        }
    }
}

/// The same value without ids, and without names derived from ids.
fn without_ids(value: Value) -> Value {
    if value.as_str().is_some_and(|text| text.parse::<Uuid>().is_ok()) {
        return Value::from("<id>");
    }
    match value {
        Value::Array(items) => items.into_iter().map(without_ids).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| name != "task_name")
            .map(|(name, value)| (name, without_ids(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
