//! Users who exhaust every limit.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cynode_client::{Client, ClientError};
use cynode_wire::artifacts::DeleteArtifacts;
use cynode_wire::page::PageQuery;
use cynode_wire::tasks::{CreateTask, TaskQuery};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::work::is_transient;
use super::{Deadline, count};
use crate::table::FigureRow;

/// Requests at once, above the limit of a user.
const REQUESTS: usize = 48;
/// Idle connections held at once.
const CONNECTIONS: usize = 400;
/// Jobs that exceed a limit: command, and limits.
const HOSTILE: [(&str, &str); 6] = [
    ("tail -c 512M /dev/zero | tail", r#"{"memory_mib": 64}"#),
    ("head -c 512M /dev/zero > /dev/shm/big; sleep 1", r#"{"memory_mib": 64}"#),
    ("exec 9>gone; rm gone; head -c 64M /dev/zero >&9; sleep 1", r#"{"disk_mib": 16}"#),
    (
        "i=0; while [ $i -lt 64 ]; do sleep 60 & i=$((i+1)); done; wait",
        r#"{"processes": 16, "timeout_s": 5}"#,
    ),
    ("trap '' TERM; sleep 60", r#"{"timeout_s": 2}"#),
    ("yes", r#"{"output_bytes": 65536, "timeout_s": 5}"#),
];
/// Contents of artifacts: a few, because a blob lives an hour after its last file.
const CONTENTS: usize = 8;

/// What was refused, and what was not.
#[derive(Debug, Default)]
pub(super) struct PressureCounts {
    requests: AtomicUsize,
    requests_refused: AtomicUsize,
    logins_refused: AtomicUsize,
    connections: AtomicUsize,
    hostile_jobs: AtomicUsize,
    files_rejected: AtomicUsize,
    files_deleted: AtomicUsize,
}

impl PressureCounts {
    /// As figures.
    pub(super) fn rows(&self) -> [FigureRow; 7] {
        let row = |what: &str, counter: &AtomicUsize| {
            FigureRow::from_value(what, count(counter.load(Ordering::Relaxed)), "")
        };
        [
            row("requests of the flooder", &self.requests),
            row("of these refused", &self.requests_refused),
            row("wrong passwords refused", &self.logins_refused),
            row("idle connections opened", &self.connections),
            row("jobs that exceed a limit", &self.hostile_jobs),
            row("artifacts over the quota", &self.files_rejected),
            row("tasks whose artifacts were deleted", &self.files_deleted),
        ]
    }
}

fn add(counter: &AtomicUsize, number: usize) {
    counter.fetch_add(number, Ordering::Relaxed);
}

/// Runs jobs that exceed their limits, and stores artifacts until the quota is used up, then deletes them.
pub(super) async fn hoard(
    client: &Client,
    counts: &PressureCounts,
    deadline: &Deadline,
) -> anyhow::Result<()> {
    let mut stored = Vec::new();
    let mut turn = 0;
    while !deadline.is_over() {
        let (command, limits) = HOSTILE[turn % HOSTILE.len()];
        let limits: Value = serde_json::from_str(limits)?;
        if run_task(client, command, limits, deadline).await?.is_some() {
            add(&counts.hostile_jobs, 1);
        }
        let content = turn % CONTENTS;
        let command = format!("yes {content} | head -c 8M > $CYNODE_ARTIFACTS_DIR/file-{turn}");
        match run_task(client, &command, json!({}), deadline).await? {
            Some(result) if result["status"] == "completed" => {
                stored.push(result["task_id"].clone());
            }
            Some(_) => {
                add(&counts.files_rejected, 1);
                for task in stored.drain(..) {
                    let task = task.as_str().unwrap_or_default();
                    if client.artifact_delete(task, &DeleteArtifacts::default()).await.is_ok() {
                        add(&counts.files_deleted, 1);
                    }
                }
            }
            None => {}
        }
        turn += 1;
    }
    Ok(())
}

/// Runs a task to its end; `None` if the orchestrator was killed meanwhile.
async fn run_task(
    client: &Client,
    command: &str,
    limits: Value,
    deadline: &Deadline,
) -> anyhow::Result<Option<Value>> {
    let body = json!({ "input_mode": "commands", "commands": [command], "limits": limits });
    let task: CreateTask = serde_json::from_value(body)?;
    let accept = |result: Result<Value, ClientError>| match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_transient(&error) => Ok(None),
        Err(error) => Err(error),
    };
    let created = client.task_create(&task).await.map(|created| json!(created.id));
    let Some(id) = accept(created)? else {
        deadline.pause(Duration::from_millis(500)).await;
        return Ok(None);
    };
    while !deadline.is_over() {
        deadline.pause(Duration::from_millis(300)).await;
        let result = client.task_result(id.as_str().unwrap_or_default()).await;
        let Some(result) = accept(result.map(|result| json!(result)))? else { continue };
        if matches!(result["status"].as_str(), Some("completed" | "failed" | "canceled")) {
            return Ok(Some(result));
        }
    }
    Ok(None)
}

/// Sends requests beyond the limit of a user, and wrong passwords.
pub(super) async fn flood(
    client: &Client,
    counts: &PressureCounts,
    deadline: &Deadline,
) -> anyhow::Result<()> {
    let anonymous = Client::new(client.base_url(), "".into())?;
    while !deadline.is_over() {
        let query = TaskQuery::default();
        let page = PageQuery::default();
        let requests = (0..REQUESTS).map(async |number| match number % 2 {
            0 => client.task_list(&query).await.map(drop),
            _ => client.project_list(&page).await.map(drop),
        });
        let results = join_all(requests).await;
        add(&counts.requests, results.len());
        let is_refused = |result: &&Result<(), ClientError>| {
            result.as_ref().is_err_and(|error| error.status() == Some(429))
        };
        add(&counts.requests_refused, results.iter().filter(is_refused).count());
        let wrong = serde_json::from_value(json!({ "handle": "flooder", "password": "wrong" }))?;
        let refused = anonymous.login(&wrong).await;
        add(&counts.logins_refused, usize::from(refused.is_err()));
        deadline.pause(Duration::from_secs(1)).await;
    }
    Ok(())
}

/// Holds connections that send nothing.
pub(super) async fn hold_connections(
    address: SocketAddr,
    counts: &PressureCounts,
    deadline: &Deadline,
) -> anyhow::Result<()> {
    while !deadline.is_over() {
        let opened = join_all((0..CONNECTIONS).map(|_| TcpStream::connect(address))).await;
        let opened: Vec<TcpStream> = opened.into_iter().filter_map(Result::ok).collect();
        add(&counts.connections, opened.len());
        deadline.pause(Duration::from_secs(5)).await;
        drop(opened);
        deadline.pause(Duration::from_secs(10)).await;
    }
    Ok(())
}
