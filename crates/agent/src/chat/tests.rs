//! Chat turns with scripted tools and models.

mod by_model;
mod by_rule;

use cynode_wire::handoff::ChatEvent;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::*;

const ID: &str = "0193a4b2-0000-7000-8000-000000000001";

fn task(name: &str, status: &str) -> Value {
    json!({
        "id": ID, "task_name": name, "status": status, "closed": status == "completed",
        "project_id": ID, "run_id": ID, "input_mode": "prompt", "prompt": "Do it", "commands": [],
        "acceptance_criteria": [], "depends_on": [], "summary": null,
        "created_at": "2026-11-15T12:00:00Z", "updated_at": "2026-11-15T12:00:00Z",
        "started_at": null, "ended_at": null,
    })
}

fn page(items: &[Value]) -> Value {
    json!({ "items": items })
}

fn user(content: &str) -> Turn {
    Turn { role: TurnRole::User, content: content.to_owned() }
}

async fn answer_text(work: HandoffSession, said: &str) -> Vec<ChatEvent> {
    answer_turn(work, BrainOptions::default(), vec![user(said)]).collect().await
}

fn text(events: &[ChatEvent]) -> String {
    let delta = |event: &ChatEvent| match event {
        ChatEvent::Delta { text } => Some(text.clone()),
        ChatEvent::Tool { .. } | ChatEvent::Done { .. } | ChatEvent::Failed { .. } => None,
    };
    events.iter().filter_map(delta).collect()
}

fn decisions(events: &[ChatEvent]) -> &[DecisionRecord] {
    match events.last() {
        Some(ChatEvent::Done { decisions, .. } | ChatEvent::Failed { decisions, .. }) => decisions,
        other => panic!("{other:?} is no end"),
    }
}
