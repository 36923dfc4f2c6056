//! Tasks whose runs can be counted, and checks of their results.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cynode_client::{Client, ClientError};
use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_domain::question::Reply;
use cynode_wire::runs::AnswerRun;
use cynode_wire::tasks::{CreateTask, LogQuery, TaskView};
use serde_json::json;

use crate::history::assert_is_a_path;

const STEPS: u32 = 3;

/// Whether a task may end as interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InterruptionPolicy {
    Allowed,
    Wrong,
}

/// A task of command lines, with everything else at its default.
pub(crate) fn commands(lines: &[&str]) -> CreateTask {
    let body = json!({ "input_mode": "commands", "commands": lines });
    serde_json::from_value(body).unwrap()
}

/// A task of three steps; each run of a step adds a line to its own file in the workspace.
pub(crate) fn countable_task() -> CreateTask {
    let line = |step| {
        format!(
            "echo ran >> step-{step}; cp step-{step} \"$CYNODE_ARTIFACTS_DIR\"; \
             echo begin {step}; sleep 0.1; echo end {step}"
        )
    };
    let lines: Vec<String> = (1..=STEPS).map(line).collect();
    commands(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Repeats a call while the orchestrator is unavailable.
pub(crate) async fn retry_while_unavailable<T>(
    call: impl AsyncFn() -> Result<T, ClientError>,
) -> T {
    let begun = Instant::now();
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) if error.is_transient() && begun.elapsed() < crate::system::PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Creates a task exactly once, however often the request must be sent.
pub(crate) async fn create_task_once(client: &Client, mut body: CreateTask) -> TaskId {
    body.idempotency_key.get_or_insert_with(|| TaskId::generate().to_string());
    retry_while_unavailable(async || client.task_create(&body).await).await.id
}

/// Waits until a task has closed.
pub(crate) async fn wait_until_closed(client: &Client, task: TaskId, within: Duration) -> TaskView {
    let begun = Instant::now();
    let id = task.to_string();
    loop {
        let view = retry_while_unavailable(async || client.task_get(&id).await).await;
        if view.closed {
            return view;
        }
        decline_repeat(client, &view).await;
        assert!(begun.elapsed() < within, "task {id} is not closed after {within:?}: {view:#?}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// Declines to repeat an interrupted step while waiting for the end of a task.
pub(crate) async fn decline_repeat(client: &Client, task: &TaskView) {
    let asks =
        task.blocked_reason.as_deref().is_some_and(|why| why.contains("waiting for your answer"));
    if !asks {
        return;
    }
    let id = task.id.to_string();
    // The caller looks again if the orchestrator is unavailable.
    let Ok(run) = client.run_get(&id).await else { return };
    if run.question.is_some_and(|request| request.asked_by == "verify_step_result") {
        let body = AnswerRun { reply: Reply::No {}, comment: None };
        // Two callers may wait for the same task, and the run may have continued since.
        let _ = client.run_answer(&id, &body).await;
    }
}

/// Panics unless every step of a [`countable_task`] task ran exactly once, or the task says that it was
/// interrupted and no step ran twice.
pub(crate) async fn assert_ran_once(
    client: &Client,
    node_state: &Path,
    task: &TaskView,
    interruption: InterruptionPolicy,
) {
    let id = task.id.to_string();
    assert_is_a_path(&retry_while_unavailable(async || client.task_history(&id).await).await);
    let counts: Vec<usize> =
        (1..=STEPS).map(|step| count_step_runs(node_state, task.id, step)).collect();
    if task.status.as_str() == "completed" {
        assert_eq!(counts, [1; STEPS as usize], "{task:#?}");
        assert_results_are_whole(client, &id).await;
        return;
    }
    assert_eq!(
        (interruption, task.status.as_str()),
        (InterruptionPolicy::Allowed, "failed"),
        "{task:?}"
    );
    let summary = task.summary.as_deref().unwrap_or_default();
    assert!(summary.contains("interrupted: "), "no reason: {task:#?}");
    assert!(counts.iter().all(|count| *count <= 1), "{counts:?} {task:#?}");
}

/// Output and files of a completed task arrived once, whole and in order.
async fn assert_results_are_whole(client: &Client, id: &str) {
    let logs =
        retry_while_unavailable(async || client.task_logs(id, &LogQuery::default()).await).await;
    let expected = "begin 1\nend 1\nbegin 2\nend 2\nbegin 3\nend 3\n";
    assert_eq!((logs.stdout.as_str(), logs.stderr.as_str()), (expected, ""));
    for step in 1..=STEPS {
        let path = format!("step-{step}");
        let content =
            retry_while_unavailable(async || client.artifact_content(id, &path).await).await;
        assert_eq!(&content[..], b"ran\n");
    }
    let result = retry_while_unavailable(async || client.task_result(id).await).await;
    assert_eq!(result.jobs.len(), STEPS as usize, "{result:#?}");
    for job in result.jobs {
        let ending = job.result.map(|result| result.ending);
        assert_eq!((job.attempt, ending), (1, Some(JobEnding::Exited { code: 0 })));
    }
}

/// Number of runs of a step so far.
pub(crate) fn count_step_runs(node_state: &Path, task: TaskId, step: u32) -> usize {
    let file = node_state.join(format!("workspaces/{task}/step-{step}"));
    fs::read_to_string(file).unwrap_or_default().lines().count()
}
