//! Resolves the task that the user names.

use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::tasks::TaskView;
use cynode_wire::tool_calls::DbTaskList;

use super::reported_tools::ReportedTools;
use crate::HandoffAgentError;

/// The most pages of tasks that are searched.
const MAX_PAGES: usize = 5;

/// The result of a search by name.
pub(super) enum TaskSearchResult {
    One(Box<TaskView>),
    None,
    /// The names of several matches.
    Several(Vec<String>),
}

/// Finds the task with this id or name, or the only task whose name contains it.
pub(super) async fn find_task(
    tools: &ReportedTools<'_>,
    wanted: &str,
) -> Result<TaskSearchResult, HandoffAgentError> {
    let mut near = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = PageQuery { limit: Some(MAX_LIMIT), cursor };
        let call = DbTaskList { page, ..DbTaskList::default() };
        let page: Page<TaskView> = tools.read(&call).await?;
        for task in page.items {
            if task.id.to_string() == wanted || task.task_name.eq_ignore_ascii_case(wanted) {
                return Ok(TaskSearchResult::One(Box::new(task)));
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
        0 => TaskSearchResult::None,
        1 => {
            near.pop().map_or(TaskSearchResult::None, |task| TaskSearchResult::One(Box::new(task)))
        }
        _ => TaskSearchResult::Several(
            near.into_iter().take(10).map(|task| task.task_name).collect(),
        ),
    })
}
