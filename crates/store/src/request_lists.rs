//! Lists of submitted work.

use std::fmt::Write as _;

use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::status::{RequestPhase, ShownTaskStatus, TaskStatus};

use crate::lookups::in_list;
use crate::quarantine::tables;
use crate::tasks::task;
use crate::work_requests::request;
use crate::{Error, ListedProfiles, Task, Tx, WorkRequest};
use cynode_sql::Param;
use cynode_sql::Row;

/// What a list shows of a request beside its own row.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOverview {
    pub task: Task,
    /// The handle of the user who submitted it.
    pub owner: String,
    pub unit_count: u32,
    pub completed_count: u32,
}

/// Selects requests of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// Only requests of this user; all users if absent.
    pub created_by: Option<UserId>,
    /// Only requests of this user and of projects that are shared with the user; all users if absent.
    pub reader: Option<UserId>,
    pub project: Option<ProjectId>,
    pub profiles: ListedProfiles,
    /// Only requests that are open, or ended; both if absent.
    pub is_open: Option<bool>,
    /// Only requests that wait for a person.
    pub awaits_answer: bool,
    /// Only requests with this status, as clients see it.
    pub status: Option<ShownTaskStatus>,
    /// Only requests in this phase.
    pub phase: Option<RequestPhase>,
    /// Only requests whose name or text contains this, in any case.
    pub text: Option<String>,
    /// Only requests older than this one.
    pub before: Option<TaskId>,
    pub limit: u32,
}

impl Tx {
    /// Lists a page of requests, newest first.
    pub async fn request_list(
        &mut self,
        filter: &RequestFilter,
    ) -> Result<Vec<WorkRequest>, Error> {
        let mut sql = "SELECT r.* FROM work_requests r JOIN tasks t ON t.id = r.task_id WHERE true"
            .to_owned();
        let mut params: Vec<Param> = vec![];
        let mut add = |condition: &str, param: Param| {
            params.push(param);
            sql.push_str(&condition.replace("$n", &format!("${}", params.len())));
        };
        if let Some(user) = filter.created_by {
            add(" AND t.created_by = $n", user.into());
        }
        if let Some(user) = filter.reader {
            let shared =
                "SELECT p.id FROM projects p JOIN user_group_members m ON m.group_id = p.group_id
                          WHERE m.user_id = $n";
            let condition = format!(" AND (t.created_by = $n OR t.project_id IN ({shared}))");
            add(&condition, user.into());
        }
        if let Some(project) = filter.project {
            add(" AND t.project_id = $n", project.into());
        }
        if let Some(before) = filter.before {
            add(" AND r.task_id < $n", before.into());
        }
        if let Some(text) = &filter.text {
            // The engine folds both sides, so that they agree on what is the same letter.
            let is_like = "LIKE lower($n) ESCAPE '!'";
            let condition = format!(" AND (lower(t.name) {is_like} OR lower(t.prompt) {is_like})");
            add(&condition, contains_pattern(text).into());
        }
        if let Some(status) = filter.status {
            add(" AND t.status = $n", TaskStatus::from(status).as_str().into());
        }
        match filter.phase {
            // A canceled request ends without a step of its driver.
            Some(RequestPhase::Ended) => sql.push_str(" AND (r.phase = 'ended' OR t.closed)"),
            Some(phase) => add(" AND NOT t.closed AND r.phase = $n", phase.as_str().into()),
            None => {}
        }
        if filter.status == Some(ShownTaskStatus::Running) {
            sql.push_str(" AND r.question IS NULL");
        }
        match filter.is_open {
            Some(true) => sql.push_str(" AND NOT t.closed"),
            Some(false) => sql.push_str(" AND t.closed"),
            None => {}
        }
        sql.push_str(&filter.profiles.and_condition("t"));
        if filter.awaits_answer || filter.status == Some(ShownTaskStatus::Waiting) {
            sql.push_str(" AND r.question IS NOT NULL AND NOT t.closed");
        }
        params.push(filter.limit.into());
        let _ = write!(sql, " ORDER BY r.task_id DESC LIMIT ${}", params.len());
        self.page(&tables::WORK_REQUESTS, &sql, &params, request).await
    }

    /// Returns the tasks, owners and progress of requests. The number of statements does not depend on their number.
    pub async fn request_overviews(
        &mut self,
        requests: &[TaskId],
    ) -> Result<Vec<RequestOverview>, Error> {
        let Some((ids, params)) = in_list(requests) else { return Ok(vec![]) };
        let sql = format!(
            "SELECT t.*, u.handle AS owner_handle,
             (SELECT count(*) FROM work_units w WHERE w.task_id = t.id) AS unit_count,
             (SELECT count(*) FROM work_units w WHERE w.task_id = t.id AND w.status = 'completed')
                 AS completed_count
             FROM tasks t JOIN users u ON u.id = t.created_by WHERE t.id IN {ids}"
        );
        self.list(&tables::TASKS, &sql, &params, overview).await
    }
}

fn overview(row: &Row) -> Result<RequestOverview, Error> {
    Ok(RequestOverview {
        task: task(row)?,
        owner: row.get("owner_handle")?,
        unit_count: row.count("unit_count")?,
        completed_count: row.count("completed_count")?,
    })
}

/// A pattern of `LIKE`, with `!` as the escape character, for texts that contain this one.
fn contains_pattern(text: &str) -> String {
    let mut pattern = "%".to_owned();
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
