//! Tasks and what they depend on.

use std::fmt::Write as _;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{NodeId, ProjectId, TaskId, UserId};
use cynode_domain::job::Limits;
use cynode_domain::plan::{InputMode, StepCriterion};
use cynode_domain::status::TaskStatus;
use cynode_domain::verification::VerificationStatus;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::column::Row;
use crate::param::{Param, params};
use crate::quarantine::tables;
use crate::{Error, Tx};

/// What a task is, as its creator said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The task's id.
    pub id: TaskId,
    /// Who asked for it.
    pub created_by: UserId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its name, unique for its creator.
    pub name: String,
    /// How it says what is to be done.
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    pub prompt: String,
    /// The command lines.
    pub commands: Vec<String>,
    /// What must be true of the result.
    pub acceptance_criteria: Vec<Criterion>,
    /// How it is to be run.
    pub options: TaskOptions,
    /// Two requests of one user with the same key create one task.
    pub idempotency_key: Option<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// How a task is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOptions {
    /// Artifact paths the last step must leave behind.
    pub expected_outputs: Vec<String>,
    /// What must be true of the results of single steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// The bounds of each job.
    pub limits: Limits,
    /// Whether a step may run again after it was interrupted.
    pub retry_interrupted: bool,
    /// How often a failing step may run in all; preferences decide when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Whether a person must agree to the plan before anything runs.
    #[serde(default)]
    pub approve_plan: bool,
    /// How long a question of its run waits for an answer, in seconds; for ever when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within_s: Option<u32>,
    /// The node that all of it runs on; when absent, whoever places its first job chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
}

/// A task and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What it is.
    pub asked: NewTask,
    /// Where it stands.
    pub status: TaskStatus,
    /// What came of it, once closed.
    pub summary: Option<String>,
    /// What was verified of it, once completed.
    pub verification: Option<VerificationStatus>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When its workflow started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it closed.
    pub ended_at: Option<DateTime<Utc>>,
    /// When somebody asked that no runner takes it.
    pub paused_at: Option<DateTime<Utc>>,
}

/// Which tasks a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Of this user; of everybody when absent.
    pub created_by: Option<UserId>,
    /// Of this project.
    pub project: Option<ProjectId>,
    /// With this status.
    pub status: Option<TaskStatus>,
    /// Whose run waits for a person's answer, or does not; both when absent.
    pub awaits_answer: Option<bool>,
    /// Older than this one.
    pub before: Option<TaskId>,
    /// At most this many.
    pub limit: u32,
}

/// Tasks and what they depend on. A closed task never changes again.
#[async_trait]
pub trait TaskStore {
    /// Adds a task unless its name or idempotency key is taken; true if it was added.
    async fn task_insert(&mut self, task: &NewTask) -> Result<bool, Error>;
    /// The task with this id.
    async fn task_get(&mut self, id: TaskId) -> Result<Option<Task>, Error>;
    /// The task with this id, locked until the transaction ends.
    async fn task_lock(&mut self, id: TaskId) -> Result<Option<Task>, Error>;
    /// Who created a task and in which project, whatever else its row holds; nothing if that cannot be
    /// told.
    async fn task_scope(&mut self, id: TaskId) -> Result<Option<(UserId, ProjectId)>, Error>;
    /// The user's task with this name.
    async fn task_by_name(&mut self, user: UserId, name: &str) -> Result<Option<Task>, Error>;
    /// The user's task with this idempotency key.
    async fn task_by_key(&mut self, user: UserId, key: &str) -> Result<Option<Task>, Error>;
    /// Remembers what a request with an idempotency key asked for, as a hash.
    async fn task_set_request_hash(&mut self, id: TaskId, hash: &str) -> Result<(), Error>;
    /// What the request with an idempotency key asked for; nothing if that is not known.
    async fn task_request_hash(&mut self, id: TaskId) -> Result<Option<String>, Error>;
    /// The highest number among the user's names: `stem` is 1, `stem-7` is 7; 0 if there are none.
    async fn task_highest_number(&mut self, user: UserId, stem: &str) -> Result<u32, Error>;
    /// A page of tasks, newest first.
    async fn task_list(&mut self, filter: &TaskFilter) -> Result<Vec<Task>, Error>;
    /// How the engine would find these tasks, in its own words.
    async fn task_list_plan(&mut self, filter: &TaskFilter) -> Result<String, Error>;
    /// Moves a task that is still open; false if it is closed.
    async fn task_set_status(
        &mut self,
        id: TaskId,
        status: TaskStatus,
        summary: Option<&str>,
    ) -> Result<bool, Error>;
    /// Writes the name, the criteria and the time of change of a task that is still open; false if it
    /// is closed.
    async fn task_update(&mut self, task: &Task) -> Result<bool, Error>;
    /// How many tasks have this status.
    async fn task_count(&mut self, status: TaskStatus) -> Result<i64, Error>;
    /// Lets nobody else in this far until the transaction ends: two who look for cycles at the same
    /// time would each miss the one they make together.
    async fn dependency_lock(&mut self) -> Result<(), Error>;
    /// Makes `task` wait for `on`.
    async fn dependency_insert(&mut self, task: TaskId, on: TaskId) -> Result<(), Error>;
    /// What a task waits for.
    async fn dependency_list(&mut self, task: TaskId) -> Result<Vec<TaskId>, Error>;
    /// The open tasks that wait for `on` directly.
    async fn dependency_waiting(&mut self, on: TaskId) -> Result<Vec<TaskId>, Error>;
}

#[async_trait]
impl TaskStore for Tx {
    async fn task_insert(&mut self, task: &NewTask) -> Result<bool, Error> {
        let sql = "INSERT INTO tasks
                   (id, created_by, project_id, name, status, closed, input_mode, prompt, commands,
                    acceptance_criteria, options, idempotency_key, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $12)
                   ON CONFLICT DO NOTHING";
        let params = params![
            task.id,
            task.created_by,
            task.project,
            &task.name,
            false,
            task.input_mode.as_str(),
            &task.prompt,
            json!(task.commands),
            json!(task.acceptance_criteria),
            json!(task.options),
            task.idempotency_key.clone(),
            task.created_at,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn task_get(&mut self, id: TaskId) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE id = $1";
        self.one(&tables::TASKS, sql, params![id], task).await
    }

    async fn task_lock(&mut self, id: TaskId) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE id = $1 /*pg FOR NO KEY UPDATE */";
        self.one(&tables::TASKS, sql, params![id], task).await
    }

    async fn task_scope(&mut self, id: TaskId) -> Result<Option<(UserId, ProjectId)>, Error> {
        let sql = "SELECT created_by, project_id FROM tasks WHERE id = $1";
        let row = self.row(sql, params![id]).await?;
        Ok(row.and_then(|row| Some((row.id("created_by").ok()?, row.id("project_id").ok()?))))
    }

    async fn task_by_name(&mut self, user: UserId, name: &str) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE created_by = $1 AND name = $2";
        self.one(&tables::TASKS, sql, params![user, name], task).await
    }

    async fn task_by_key(&mut self, user: UserId, key: &str) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE created_by = $1 AND idempotency_key = $2";
        self.one(&tables::TASKS, sql, params![user, key], task).await
    }

    async fn task_set_request_hash(&mut self, id: TaskId, hash: &str) -> Result<(), Error> {
        let sql = "UPDATE tasks SET request_sha256 = $2 WHERE id = $1";
        self.execute(sql, params![id, hash]).await.map(drop)
    }

    async fn task_request_hash(&mut self, id: TaskId) -> Result<Option<String>, Error> {
        let sql = "SELECT request_sha256 FROM tasks WHERE id = $1";
        self.row(sql, params![id]).await?.map_or(Ok(None), |row| row.get("request_sha256"))
    }

    async fn task_highest_number(&mut self, user: UserId, stem: &str) -> Result<u32, Error> {
        // In byte order every name that begins with "stem-" lies between that and "stem.". Only
        // what we number ourselves counts, so nine digits are plenty; longer means higher.
        let (from, to) = (format!("{stem}-"), format!("{stem}."));
        let dash = from.chars().count();
        let sql = format!(
            "SELECT substr(name, {dash} + 1) AS digits FROM tasks
             WHERE created_by = $1 AND name > $2 AND name < $3 AND length(name) <= {dash} + 9
             AND ltrim(substr(name, {dash} + 1), '0123456789') = ''
             AND substr(name, {dash} + 1, 1) <> '0'
             ORDER BY length(name) DESC, name DESC LIMIT 1"
        );
        match self.row(&sql, params![user, from, to]).await? {
            Some(row) => row.word("digits"),
            None => Ok(u32::from(self.task_by_name(user, stem).await?.is_some())),
        }
    }

    async fn task_list(&mut self, filter: &TaskFilter) -> Result<Vec<Task>, Error> {
        let (sql, params) = list_statement(filter);
        self.page(&tables::TASKS, &sql, &params, task).await
    }

    async fn task_list_plan(&mut self, filter: &TaskFilter) -> Result<String, Error> {
        let (sql, params) = list_statement(filter);
        self.plan(&sql, &params).await
    }

    async fn task_set_status(
        &mut self,
        id: TaskId,
        status: TaskStatus,
        summary: Option<&str>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET status = $2, closed = $3, summary = coalesce($4, summary),
                   updated_at = cynode_now(),
                   started_at = CASE WHEN $2 = 'running' THEN coalesce(started_at, cynode_now())
                       ELSE started_at END,
                   ended_at = CASE WHEN $3 THEN cynode_now() ELSE ended_at END
                   WHERE id = $1 AND NOT closed";
        let params = params![id, status, status.is_terminal(), summary];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn task_update(&mut self, task: &Task) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET name = $2, acceptance_criteria = $3, updated_at = $4
                   WHERE id = $1 AND NOT closed";
        let Task { asked, updated_at, .. } = task;
        let params = params![asked.id, &asked.name, json!(asked.acceptance_criteria), *updated_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn task_count(&mut self, status: TaskStatus) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM tasks WHERE status = $1";
        self.row(sql, params![status]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    async fn dependency_lock(&mut self) -> Result<(), Error> {
        // SQLite has one writer and reads the lock as a comment. The number is ours to choose.
        let sql = "SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299001) */";
        self.rows(sql, &[]).await.map(drop)
    }

    async fn dependency_insert(&mut self, task: TaskId, on: TaskId) -> Result<(), Error> {
        let sql = "INSERT INTO task_dependencies (task_id, depends_on_task_id) VALUES ($1, $2)
                   ON CONFLICT DO NOTHING";
        self.execute(sql, params![task, on]).await.map(drop)
    }

    async fn dependency_list(&mut self, task: TaskId) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT depends_on_task_id FROM task_dependencies WHERE task_id = $1
                   ORDER BY depends_on_task_id";
        let rows = self.rows(sql, params![task]).await?;
        rows.iter().map(|row| row.id("depends_on_task_id")).collect()
    }

    async fn dependency_waiting(&mut self, on: TaskId) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT d.task_id FROM task_dependencies d JOIN tasks t ON t.id = d.task_id
                   WHERE d.depends_on_task_id = $1 AND NOT t.closed ORDER BY d.task_id";
        let rows = self.rows(sql, params![on]).await?;
        rows.iter().map(|row| row.id("task_id")).collect()
    }
}

/// A range of one index, whose columns are the filter and the id: neither engine reads a task that it
/// does not give out. PostgreSQL, given equalities, might walk all tasks by id instead and filter.
fn list_statement(filter: &TaskFilter) -> (String, Vec<Param>) {
    let (mut columns, mut params): (Vec<&str>, Vec<Param>) = (vec![], vec![]);
    // No index has both: a project's tasks are as a rule those of one user.
    let rest = match (filter.project, filter.created_by) {
        (Some(project), rest) => {
            columns.push("project_id");
            params.push(project.into());
            rest
        }
        (None, Some(user)) => {
            columns.push("created_by");
            params.push(user.into());
            None
        }
        (None, None) => None,
    };
    if let Some(status) = filter.status {
        columns.push("status");
        params.push(status.into());
    }
    columns.push("id");
    let values: Vec<String> = (1..columns.len()).map(|number| format!("${number}, ")).collect();
    let values = values.concat();
    params.push(filter.before.map_or_else(|| Uuid::max().into(), Param::from));
    params.push(Uuid::nil().into());
    let (names, before, first) = (columns.join(", "), params.len() - 1, params.len());
    let mut sql = format!(
        "SELECT * FROM tasks
         WHERE ({names}) < ({values}${before}) AND ({names}) >= ({values}${first})"
    );
    if let Some(user) = rest {
        params.push(user.into());
        let _ = write!(sql, " AND created_by = ${}", params.len());
    }
    if let Some(awaits_answer) = filter.awaits_answer {
        let not = if awaits_answer { "" } else { "NOT " };
        let _ = write!(
            sql,
            " AND {not}EXISTS (SELECT 1 FROM runs r WHERE r.task_id = tasks.id AND r.runnable
             AND r.waits_for = 'answer')"
        );
    }
    params.push(filter.limit.into());
    let order = columns.join(" DESC, ");
    let _ = write!(sql, " ORDER BY {order} DESC LIMIT ${}", params.len());
    (sql, params)
}

pub(crate) fn task(row: &Row) -> Result<Task, Error> {
    let mode: String = row.get("input_mode")?;
    let input_mode = [InputMode::Prompt, InputMode::Script, InputMode::Commands]
        .into_iter()
        .find(|known| known.as_str() == mode)
        .ok_or_else(|| Error::unreadable("input_mode", format!("unknown mode {mode}")))?;
    Ok(Task {
        asked: NewTask {
            id: row.id("id")?,
            created_by: row.id("created_by")?,
            project: row.id("project_id")?,
            name: row.get("name")?,
            input_mode,
            prompt: row.get("prompt")?,
            commands: row.json("commands")?,
            acceptance_criteria: row.json("acceptance_criteria")?,
            options: row.json("options")?,
            idempotency_key: row.get("idempotency_key")?,
            created_at: row.get("created_at")?,
        },
        status: row.word("status")?,
        summary: row.get("summary")?,
        verification: row.word_opt("verification")?,
        updated_at: row.get("updated_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        paused_at: row.get("paused_at")?,
    })
}
