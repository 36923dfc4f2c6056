//! Lookups for many ids at once, so that a list costs the same number of statements whatever its length.

use std::collections::BTreeMap;

use cynode_domain::ids::{NodeId, RunId, ScheduleId, ScheduleRunId, TaskId, UserId};
use cynode_domain::status::{NodeStatus, TaskStatus};

use crate::quarantine::tables;
use crate::questions::{RunQuestion, run_question};
use crate::schedule_runs::{self, ScheduleRun, ScheduledTask};
use crate::{Error, Tx};
use cynode_sql::Param;
use cynode_sql::Row;

/// A task that another one depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The dependent task.
    pub task: TaskId,
    pub on: TaskId,
    /// The name of the task depended on.
    pub name: String,
    /// Its status; `None` if it cannot be read.
    pub status: Option<TaskStatus>,
}

/// The newest run of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestRun {
    pub task: TaskId,
    pub id: RunId,
    /// Why the last runner could not continue it, while it can be claimed.
    pub suspend_reason: Option<String>,
}

/// What lists show of a worker node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSummary {
    pub slug: String,
    pub status: NodeStatus,
}

/// An `IN` list and its parameters. The last id is repeated up to a power of two, so that lists of any length
/// share few prepared statements. `None` if there is no id.
pub(crate) fn in_list<Id: Copy + Into<Param>>(ids: &[Id]) -> Option<(String, Vec<Param>)> {
    let last = *ids.last()?;
    let mut params: Vec<Param> = ids.iter().map(|id| (*id).into()).collect();
    params.resize_with(ids.len().next_power_of_two(), || last.into());
    let numbers: Vec<String> = (1..=params.len()).map(|number| format!("${number}")).collect();
    Some((format!("({})", numbers.join(", ")), params))
}

/// Lookups for many ids; rows that do not exist are absent from the result.
impl Tx {
    /// Returns the dependencies of tasks, each ordered by id.
    pub async fn dependencies_of(&mut self, tasks: &[TaskId]) -> Result<Vec<Dependency>, Error> {
        let Some((ids, params)) = in_list(tasks) else { return Ok(vec![]) };
        let sql = format!(
            "SELECT d.task_id, d.depends_on_task_id, t.name, t.status FROM task_dependencies d
             JOIN tasks t ON t.id = d.depends_on_task_id WHERE d.task_id IN {ids}
             ORDER BY d.task_id, d.depends_on_task_id"
        );
        let dependency = |row: &Row| {
            Ok(Dependency {
                task: row.id("task_id")?,
                on: row.id("depends_on_task_id")?,
                name: row.get("name")?,
                status: row.keyword("status").ok(),
            })
        };
        self.list(&tables::DEPENDENCIES, &sql, &params, dependency).await
    }

    /// Returns the newest run of each task that has one.
    pub async fn newest_runs_of(&mut self, tasks: &[TaskId]) -> Result<Vec<NewestRun>, Error> {
        let Some((ids, params)) = in_list(tasks) else { return Ok(vec![]) };
        let sql = format!(
            "SELECT r.task_id, r.id, CASE WHEN r.runnable THEN r.put_down_reason END AS reason
             FROM runs r WHERE r.task_id IN {ids} AND NOT EXISTS (
                 SELECT 1 FROM runs n WHERE n.task_id = r.task_id AND n.id > r.id)"
        );
        let newest = |row: &Row| {
            let (task, id) = (row.id("task_id")?, row.id("id")?);
            Ok(NewestRun { task, id, suspend_reason: row.get("reason")? })
        };
        self.list(&tables::RUNS, &sql, &params, newest).await
    }

    /// Returns the open questions of runs.
    pub async fn open_questions_of(&mut self, runs: &[RunId]) -> Result<Vec<RunQuestion>, Error> {
        let Some((ids, params)) = in_list(runs) else { return Ok(vec![]) };
        let sql =
            format!("SELECT * FROM run_questions WHERE run_id IN {ids} AND answered_at IS NULL");
        self.list(&tables::QUESTIONS, &sql, &params, run_question).await
    }

    /// Returns the node that the oldest waiting job of each task is pinned to; `None` if none of its jobs is pinned.
    pub async fn awaited_nodes_of(
        &mut self,
        tasks: &[TaskId],
    ) -> Result<BTreeMap<TaskId, Option<NodeId>>, Error> {
        let Some((ids, params)) = in_list(tasks) else { return Ok(BTreeMap::new()) };
        let sql = format!(
            "SELECT id, task_id, pinned_node_id FROM jobs WHERE task_id IN {ids} AND node_id IS NULL
             AND NOT closed ORDER BY pinned_node_id IS NOT NULL, id DESC"
        );
        let awaited = |row: &Row| Ok((row.id("task_id")?, row.id_opt("pinned_node_id")?));
        Ok(self.list(&tables::JOBS, &sql, &params, awaited).await?.into_iter().collect())
    }

    /// Returns name and status of nodes.
    pub async fn node_summaries(
        &mut self,
        nodes: &[NodeId],
    ) -> Result<BTreeMap<NodeId, NodeSummary>, Error> {
        let Some((ids, params)) = in_list(nodes) else { return Ok(BTreeMap::new()) };
        let sql = format!("SELECT id, node_slug, status FROM nodes WHERE id IN {ids}");
        let summary = |row: &Row| {
            let (slug, status) = (row.get("node_slug")?, row.keyword("status")?);
            Ok((row.id("id")?, NodeSummary { slug, status }))
        };
        Ok(self.list(&tables::NODES, &sql, &params, summary).await?.into_iter().collect())
    }

    /// Returns the names of tasks.
    pub async fn task_names(
        &mut self,
        tasks: &[TaskId],
    ) -> Result<BTreeMap<TaskId, String>, Error> {
        let Some((ids, params)) = in_list(tasks) else { return Ok(BTreeMap::new()) };
        let sql = format!("SELECT id, name FROM tasks WHERE id IN {ids}");
        let name = |row: &Row| Ok((row.id("id")?, row.get("name")?));
        Ok(self.list(&tables::TASKS, &sql, &params, name).await?.into_iter().collect())
    }

    /// Returns the handles of users.
    pub async fn user_handles(
        &mut self,
        users: &[UserId],
    ) -> Result<BTreeMap<UserId, String>, Error> {
        let Some((ids, params)) = in_list(users) else { return Ok(BTreeMap::new()) };
        let sql = format!("SELECT id, handle FROM users WHERE id IN {ids}");
        let handle = |row: &Row| Ok((row.id("id")?, row.get("handle")?));
        Ok(self.list(&tables::USERS, &sql, &params, handle).await?.into_iter().collect())
    }

    /// Returns the newest run of each schedule that has one.
    pub async fn newest_schedule_runs_of(
        &mut self,
        schedules: &[ScheduleId],
    ) -> Result<Vec<ScheduleRun>, Error> {
        let Some((ids, params)) = in_list(schedules) else { return Ok(vec![]) };
        let sql = format!(
            "SELECT r.* FROM schedule_runs r WHERE r.schedule_id IN {ids} AND NOT EXISTS (
                 SELECT 1 FROM schedule_runs n WHERE n.schedule_id = r.schedule_id AND n.id > r.id)"
        );
        self.list(&tables::SCHEDULE_RUNS, &sql, &params, schedule_runs::run).await
    }

    /// Returns the tasks that were created for schedule runs, ordered by id.
    pub async fn scheduled_tasks_of(
        &mut self,
        runs: &[ScheduleRunId],
    ) -> Result<Vec<ScheduledTask>, Error> {
        let Some((ids, params)) = in_list(runs) else { return Ok(vec![]) };
        let sql = format!(
            "SELECT t.run_id, k.id, k.name, k.status FROM schedule_run_tasks t
             JOIN tasks k ON k.id = t.task_id WHERE t.run_id IN {ids} ORDER BY k.id"
        );
        let task = |row: &Row| {
            Ok(ScheduledTask {
                run: row.id("run_id")?,
                task: row.id("id")?,
                name: row.get("name")?,
                status: row.keyword("status")?,
            })
        };
        self.list(&tables::TASKS, &sql, &params, task).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_similar_length_share_a_statement() {
        let ids =
            |count: usize| -> Vec<TaskId> { (0..count).map(|_| TaskId::generate()).collect() };

        assert!(in_list(&ids(0)).is_none());
        for (count, length) in [(1, 1), (3, 4), (4, 4), (5, 8), (201, 256)] {
            let (sql, params) = in_list(&ids(count)).unwrap();
            assert_eq!((params.len(), sql.matches('$').count()), (length, length));
        }
    }
}
