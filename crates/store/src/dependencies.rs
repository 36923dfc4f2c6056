//! The dependencies of tasks on others.

use cynode_domain::ids::TaskId;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

impl Tx {
    /// Locks the dependency graph until the transaction ends: two concurrent cycle checks would each miss a
    /// cycle that both create.
    pub async fn dependency_lock(&mut self) -> Result<(), Error> {
        // SQLite has one writer and reads the lock as a comment. The number is arbitrary.
        let sql = "SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299001) */";
        self.rows(sql, &[]).await.map(drop)
    }

    /// Makes `task` depend on `on`.
    pub async fn dependency_insert(&mut self, task: TaskId, on: TaskId) -> Result<(), Error> {
        let sql = "INSERT INTO task_dependencies (task_id, depends_on_task_id) VALUES ($1, $2)
                   ON CONFLICT DO NOTHING";
        self.execute(sql, params![task, on]).await.map(drop)
    }

    /// Lists the dependencies of a task.
    pub async fn dependency_list(&mut self, task: TaskId) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT * FROM task_dependencies WHERE task_id = $1 ORDER BY depends_on_task_id";
        // All or none: without one of them the task would start too early.
        let rows = self.all(&tables::DEPENDENCIES, sql, params![task], dependency).await?;
        Ok(rows.into_iter().map(|(_, on)| on).collect())
    }

    /// Lists the open tasks that depend on `on` directly.
    pub async fn dependency_list_dependents(&mut self, on: TaskId) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT d.* FROM task_dependencies d JOIN tasks t ON t.id = d.task_id
                   WHERE d.depends_on_task_id = $1 AND NOT t.closed ORDER BY d.task_id";
        let rows = self.list(&tables::DEPENDENCIES, sql, params![on], dependency).await?;
        Ok(rows.into_iter().map(|(task, _)| task).collect())
    }
}

/// The dependent task, and the task that it depends on.
pub(crate) fn dependency(row: &Row) -> Result<(TaskId, TaskId), Error> {
    Ok((row.id("task_id")?, row.id("depends_on_task_id")?))
}
