//! Which task a person means.

use cynode_wire::page::Page;
use cynode_wire::tasks::TaskView;
use serde_json::{Value, json};

use super::desk::Desk;
use crate::AgentError;

/// How many pages of tasks are searched for a name.
const MAX_PAGES: usize = 5;

/// What a name led to.
pub(super) enum Found {
    /// The one task.
    One(Box<TaskView>),
    /// No task.
    None,
    /// Several tasks, by name.
    Several(Vec<String>),
}

/// The task of this id or name; a part of the name will do if only one task has it.
pub(super) async fn task(desk: &Desk<'_>, wanted: &str) -> Result<Found, AgentError> {
    let mut near = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page: Page<TaskView> = desk.read("db.task.list", page_of(cursor)).await?;
        for task in page.items {
            if task.id.to_string() == wanted || task.task_name.eq_ignore_ascii_case(wanted) {
                return Ok(Found::One(Box::new(task)));
            }
            if task.task_name.to_lowercase().contains(&wanted.to_lowercase()) {
                near.push(task);
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(match near.len() {
        0 => Found::None,
        1 => near.pop().map_or(Found::None, |task| Found::One(Box::new(task))),
        _ => Found::Several(near.into_iter().take(10).map(|task| task.task_name).collect()),
    })
}

fn page_of(cursor: Option<String>) -> Value {
    match cursor {
        Some(cursor) => json!({ "limit": 200, "cursor": cursor }),
        None => json!({ "limit": 200 }),
    }
}
