//! Which work a trace belongs to, and which trace a piece of work.

use cynode_domain::ids::{ProfileId, ProjectId, RunId, TaskId, TraceId, UserId};
use cynode_sql::{Row, params};

use crate::{Error, Tx};

/// A profile that rows of a trace belong to, and its project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceProfile {
    pub project: ProjectId,
    pub profile: ProfileId,
}

impl Tx {
    /// Returns the profiles of a user's tasks in a trace, and the default profiles of the projects of their conversations.
    pub async fn trace_profiles(
        &mut self,
        trace: TraceId,
        owner: UserId,
    ) -> Result<Vec<TraceProfile>, Error> {
        // The id of a default profile is that of its project.
        let sql = "SELECT t.project_id, coalesce(t.profile_id, t.project_id) AS profile_id
                   FROM tasks t WHERE t.created_by = $3 AND t.id IN
                       (SELECT r.task_id FROM runs r WHERE r.trace_id = $1
                        UNION SELECT q.task_id FROM work_requests q WHERE q.task_id = $1
                        UNION SELECT k.id FROM tasks k WHERE k.parent_task_id = $1)
                   UNION SELECT c.project_id, c.project_id FROM chat_audit_log c
                   WHERE c.request_id = $2 AND c.user_id = $3 AND c.project_id IS NOT NULL
                   UNION SELECT b.project_id, b.project_id FROM brain_calls b
                   WHERE b.trace_id = $2 AND b.user_id = $3 AND b.task_id IS NULL
                       AND b.project_id IS NOT NULL
                   UNION SELECT d.project_id, d.project_id FROM pm_decisions d
                   WHERE d.trace_id = $2 AND d.user_id = $3 AND d.task_id IS NULL
                       AND d.project_id IS NOT NULL";
        let rows = self.rows(sql, params![trace, trace.to_string(), owner]).await?;
        let pair = |row: &Row| {
            Ok(TraceProfile { project: row.id("project_id")?, profile: row.id("profile_id")? })
        };
        rows.iter().map(pair).collect()
    }

    /// Returns the trace of a run, else of the newest run of a task, else of the task if it is a request.
    pub async fn trace_of_work(
        &mut self,
        run: Option<RunId>,
        task: Option<TaskId>,
    ) -> Result<Option<TraceId>, Error> {
        let sql = "SELECT coalesce(
                       (SELECT r.trace_id FROM runs r WHERE r.id = $1),
                       (SELECT r.trace_id FROM runs r WHERE r.task_id = $2 ORDER BY r.id DESC LIMIT 1),
                       (SELECT q.task_id FROM work_requests q WHERE q.task_id = $2)) AS trace_id";
        self.row(sql, params![run, task]).await?.map_or(Ok(None), |row| row.id_opt("trace_id"))
    }
}
