//! Trivial tasks: latency, throughput, and delivery latency of events.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::bail;
use cynode_client::{Client, EventStream};
use cynode_domain::ids::TaskId;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use crate::sample::DurationSample;

/// Measurements of completed tasks.
#[derive(Debug, Default)]
pub(crate) struct TaskTimings {
    /// From the request for a task to the event that closes it.
    pub(crate) tasks: DurationSample,
    /// From an event's timestamp to its arrival.
    pub(crate) events: DurationSample,
    /// From the first request to the last event.
    pub(crate) all: Duration,
}

/// Runs `count` trivial tasks, `in_flight` of them at any time.
pub(crate) async fn run_trivial_tasks(
    client: &Client,
    count: usize,
    in_flight: usize,
) -> anyhow::Result<TaskTimings> {
    let mut events = client.events(&EventQuery::default(), None).await?;
    let mut seen = TaskTimings::default();
    let mut open = HashMap::new();
    let mut unseen = count;
    let begun = Instant::now();
    while unseen > 0 || !open.is_empty() {
        while unseen > 0 && open.len() < in_flight {
            let request = Instant::now();
            open.insert(client.task_create(&trivial_task()?).await?.id, request);
            unseen -= 1;
        }
        let event = next_event(&mut events, &mut seen).await?;
        if let Some(took) = closed_task_duration(&event, &mut open)? {
            seen.tasks.push(took);
        }
    }
    seen.all = begun.elapsed();
    Ok(seen)
}

fn trivial_task() -> Result<CreateTask, serde_json::Error> {
    serde_json::from_value(json!({ "input_mode": "commands", "commands": ["true"] }))
}

async fn next_event(events: &mut EventStream, seen: &mut TaskTimings) -> anyhow::Result<Event> {
    let Some(event) = events.next().await? else { bail!("the stream of events ended") };
    if let Ok(late) = (SystemClock.now() - event.occurred_at).to_std() {
        seen.events.push(late);
    }
    Ok(event)
}

/// Duration of the task that an event closes.
fn closed_task_duration(
    event: &Event,
    open: &mut HashMap<TaskId, Instant>,
) -> anyhow::Result<Option<Duration>> {
    if event.kind != "task.closed" {
        return Ok(None);
    }
    let request = event.task_id.and_then(|task| open.remove(&task));
    match request {
        Some(request) if event.data["status"] == "completed" => Ok(Some(request.elapsed())),
        Some(_) => bail!("a trivial task did not complete: {}", event.data),
        None => Ok(None),
    }
}
