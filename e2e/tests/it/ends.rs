//! How a task ended, without what is different each time: ids.

use std::path::Path;

use cynode_client::Client;
use cynode_domain::job::Ending;
use cynode_store::{Store, WorkflowStore};
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::Value;
use uuid::Uuid;

use crate::history::assert_is_a_path;
use crate::work::{commands, patiently, runs};

/// A kind of task; each step of it counts its runs in a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two steps that succeed.
    Completes,
    /// One step that fails, once and for all.
    Fails,
}

impl Kind {
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

/// How a task ended.
#[derive(Debug, PartialEq)]
pub(crate) struct End {
    status: String,
    summary: Option<String>,
    /// Node, edge and step of every transition.
    path: Vec<(String, String, Option<u32>)>,
    /// Step, attempt and ending of every job.
    jobs: Vec<(u32, u32, Option<Ending>)>,
    /// How often each step ran.
    pub(crate) runs: Vec<usize>,
    /// The state after the last transition.
    state: Value,
}

impl End {
    /// The end of a task that has closed.
    pub(crate) async fn of(
        (client, store, node_state): (&Client, &Store, &Path),
        kind: Kind,
        task: &TaskView,
    ) -> Self {
        let id = task.id.to_string();
        let history = patiently(async || client.task_history(&id).await).await;
        assert_is_a_path(&history);
        let result = patiently(async || client.task_result(&id).await).await;
        let (run, last) = (task.run_id.unwrap(), history.last().unwrap().sequence);
        let state = store.read(move |tx| Box::pin(async move { tx.state_at(run, last).await }));
        let jobs = result.jobs.into_iter();
        Self {
            status: task.status.to_string(),
            summary: task.summary.clone(),
            path: history.into_iter().map(|row| (row.node, row.edge, row.step_index)).collect(),
            jobs: jobs.map(|j| (j.step_index, j.attempt, j.result.map(|r| r.ending))).collect(),
            runs: (1..=kind.steps()).map(|step| runs(node_state, task.id, step)).collect(),
            state: nameless(state.await.unwrap().unwrap()),
        }
    }
}

/// The same value without ids, and without the name that was made of one.
fn nameless(value: Value) -> Value {
    if value.as_str().is_some_and(|text| text.parse::<Uuid>().is_ok()) {
        return Value::from("<id>");
    }
    match value {
        Value::Array(items) => items.into_iter().map(nameless).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| name != "task_name")
            .map(|(name, value)| (name, nameless(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
