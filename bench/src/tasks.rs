//! Trivial tasks: how long one takes, how many go through, and how soon events are seen.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::bail;
use cynode_client::{Client, Events};
use cynode_domain::ids::TaskId;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use crate::sample::Sample;

/// What was seen of tasks that ran.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// From the request for a task to the news that it closed.
    pub(crate) tasks: Sample,
    /// From an event's own time to its arrival.
    pub(crate) events: Sample,
    /// From the first request to the last news.
    pub(crate) all: Duration,
}

/// Runs `count` trivial tasks, `in_flight` of them at any time.
pub(crate) async fn run(client: &Client, count: usize, in_flight: usize) -> anyhow::Result<Seen> {
    let mut events = client.events(&EventQuery::default(), None).await?;
    let mut seen = Seen::default();
    let mut open = HashMap::new();
    let mut unseen = count;
    let begun = Instant::now();
    while unseen > 0 || !open.is_empty() {
        while unseen > 0 && open.len() < in_flight {
            let asked = Instant::now();
            open.insert(client.task_create(&trivial()?).await?.id, asked);
            unseen -= 1;
        }
        let event = next(&mut events, &mut seen).await?;
        if let Some(took) = closed(&event, &mut open)? {
            seen.tasks.push(took);
        }
    }
    seen.all = begun.elapsed();
    Ok(seen)
}

fn trivial() -> Result<CreateTask, serde_json::Error> {
    serde_json::from_value(json!({ "input_mode": "commands", "commands": ["true"] }))
}

async fn next(events: &mut Events, seen: &mut Seen) -> anyhow::Result<Event> {
    let Some(event) = events.next().await? else { bail!("the stream of events ended") };
    if let Ok(late) = (SystemClock.now() - event.occurred_at).to_std() {
        seen.events.push(late);
    }
    Ok(event)
}

/// How long the task took that an event closes.
fn closed(event: &Event, open: &mut HashMap<TaskId, Instant>) -> anyhow::Result<Option<Duration>> {
    if event.kind != "task.closed" {
        return Ok(None);
    }
    let asked = event.task_id.and_then(|task| open.remove(&task));
    match asked {
        Some(asked) if event.data["status"] == "completed" => Ok(Some(asked.elapsed())),
        Some(_) => bail!("a trivial task did not complete: {}", event.data),
        None => Ok(None),
    }
}
