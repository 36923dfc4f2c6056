//! Tasks.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, ProfileId, ProjectId, RunId, TaskId, UserId};
use cynode_domain::plan::InputMode;
use cynode_domain::status::TaskStatus;
use cynode_domain::task_options::TaskOptions;
use cynode_domain::verification::VerificationStatus;
use serde_json::json;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, ListedProfiles, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

const COUNT: &str = "SELECT count(*) AS n FROM tasks WHERE status = $1";

/// A task as its creator specified it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    pub id: TaskId,
    pub created_by: UserId,
    pub project: ProjectId,
    /// What its agents may use; `None` for the default profile of the project.
    pub profile_id: Option<ProfileId>,
    /// Unique per creator.
    pub name: String,
    /// Whether it is given as a prompt, commands or a script.
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    pub prompt: String,
    pub commands: Vec<String>,
    /// The acceptance criteria of the result.
    pub acceptance_criteria: Vec<Criterion>,
    /// The execution options.
    pub options: TaskOptions,
    /// Two requests of one user with the same key create one task.
    pub idempotency_key: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// A task with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub spec: NewTask,
    pub status: TaskStatus,
    /// Set once closed.
    pub summary: Option<String>,
    /// Set once completed.
    pub verification: Option<VerificationStatus>,
    pub updated_at: DateTime<Utc>,
    /// When its workflow started.
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    /// When a pause was requested.
    pub paused_at: Option<DateTime<Utc>>,
    /// The request that it is a part of.
    pub parent: Option<TaskParent>,
}

/// The place of a child task in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskParent {
    pub task: TaskId,
    /// The work unit, or another step of the request.
    pub unit: String,
}

impl Task {
    /// The task as [`Tx::task_insert`] stores it.
    pub fn from_new(spec: NewTask) -> Self {
        Self {
            status: TaskStatus::Pending,
            summary: None,
            verification: None,
            updated_at: spec.created_at,
            started_at: None,
            ended_at: None,
            paused_at: None,
            parent: None,
            spec,
        }
    }
}

/// A task with its owner, project and profile: what decides who may see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskScope {
    pub task: TaskId,
    pub created_by: UserId,
    pub project: ProjectId,
    pub profile: ProfileId,
}

impl NewTask {
    /// The profile of its agents.
    pub fn profile(&self) -> ProfileId {
        self.profile_id.unwrap_or(ProfileId::default_of(self.project))
    }
}

/// Selects tasks of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks of this user; all users if absent.
    pub created_by: Option<UserId>,
    pub project: Option<ProjectId>,
    pub profiles: ListedProfiles,
    pub status: Option<TaskStatus>,
    /// Only tasks whose run waits for a person's answer, or does not; both if absent.
    pub awaits_answer: Option<bool>,
    /// Only tasks older than this one.
    pub before: Option<TaskId>,
    pub limit: u32,
}

/// Tasks and their dependencies. A closed task is immutable.
impl Tx {
    /// Adds a task unless its name or idempotency key is taken; returns true if it was added.
    pub async fn task_insert(&mut self, task: &NewTask) -> Result<bool, Error> {
        let sql = "INSERT INTO tasks
                   (id, created_by, project_id, name, status, closed, input_mode, prompt, commands,
                    acceptance_criteria, options, idempotency_key, created_at, updated_at,
                    profile_id)
                   VALUES ($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $12, $13)
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
            task.profile_id,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn task_get(&mut self, id: TaskId) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE id = $1";
        self.one(&tables::TASKS, sql, params![id], task).await
    }

    /// Returns the task, locked until the transaction ends.
    pub async fn task_lock(&mut self, id: TaskId) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE id = $1 /*pg FOR NO KEY UPDATE */";
        self.one(&tables::TASKS, sql, params![id], task).await
    }

    /// Returns creator, project and profile of a task, even if the rest of its row cannot be decoded; `None` if they
    /// cannot be read.
    pub async fn task_scope(&mut self, id: TaskId) -> Result<Option<TaskScope>, Error> {
        let sql = "SELECT id, created_by, project_id, profile_id FROM tasks WHERE id = $1";
        Ok(self.row(sql, params![id]).await?.as_ref().and_then(scope))
    }

    /// As [`Tx::task_scope`], for the task of a job.
    pub async fn task_scope_of_job(&mut self, job: JobId) -> Result<Option<TaskScope>, Error> {
        let sql = "SELECT t.id, t.created_by, t.project_id, t.profile_id FROM jobs j
                   JOIN tasks t ON t.id = j.task_id WHERE j.id = $1";
        Ok(self.row(sql, params![job]).await?.as_ref().and_then(scope))
    }

    /// As [`Tx::task_scope`], for the task of a run.
    pub async fn task_scope_of_run(&mut self, run: RunId) -> Result<Option<TaskScope>, Error> {
        let sql = "SELECT t.id, t.created_by, t.project_id, t.profile_id FROM runs r
                   JOIN tasks t ON t.id = r.task_id WHERE r.id = $1";
        Ok(self.row(sql, params![run]).await?.as_ref().and_then(scope))
    }

    /// Returns the user's task with this name.
    pub async fn task_by_name(&mut self, user: UserId, name: &str) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE created_by = $1 AND name = $2";
        self.one(&tables::TASKS, sql, params![user, name], task).await
    }

    /// Returns the task with this name in the projects that are shared with the user; none if there are several.
    pub async fn task_by_shared_name(
        &mut self,
        user: UserId,
        name: &str,
    ) -> Result<Option<Task>, Error> {
        let sql = "SELECT t.* FROM user_group_members m JOIN projects p ON p.group_id = m.group_id
                   JOIN tasks t ON t.project_id = p.id AND t.name = $2 AND t.created_by <> $1
                   WHERE m.user_id = $1 LIMIT 2";
        let mut found = self.page(&tables::TASKS, sql, params![user, name], task).await?;
        Ok(if found.len() == 1 { found.pop() } else { None })
    }

    /// Returns the user's task with this idempotency key.
    pub async fn task_by_key(&mut self, user: UserId, key: &str) -> Result<Option<Task>, Error> {
        let sql = "SELECT * FROM tasks WHERE created_by = $1 AND idempotency_key = $2";
        self.one(&tables::TASKS, sql, params![user, key], task).await
    }

    /// Stores the hash of the request that used an idempotency key.
    pub async fn task_set_request_hash(&mut self, id: TaskId, hash: &str) -> Result<(), Error> {
        let sql = "UPDATE tasks SET request_sha256 = $2 WHERE id = $1";
        self.execute(sql, params![id, hash]).await.map(drop)
    }

    /// Returns the hash of the request that used an idempotency key; `None` if it is not stored.
    pub async fn task_request_hash(&mut self, id: TaskId) -> Result<Option<String>, Error> {
        let sql = "SELECT request_sha256 FROM tasks WHERE id = $1";
        self.row(sql, params![id]).await?.map_or(Ok(None), |row| row.get("request_sha256"))
    }

    /// Returns the highest number among the user's names: `stem` is 1, `stem-7` is 7; 0 if there is none.
    pub async fn task_highest_number(&mut self, user: UserId, stem: &str) -> Result<u32, Error> {
        // In byte order every name that starts with "stem-" is between that and "stem.". Only generated
        // numbers count, so nine digits suffice; a longer one is higher.
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
            Some(row) => row.keyword("digits"),
            None => Ok(u32::from(self.task_by_name(user, stem).await?.is_some())),
        }
    }

    /// Lists a page of tasks, newest first.
    pub async fn task_list(&mut self, filter: &TaskFilter) -> Result<Vec<Task>, Error> {
        let (sql, params) = list_statement(filter);
        self.page(&tables::TASKS, &sql, &params, task).await
    }

    /// Returns the query plan of the engine.
    pub async fn task_list_plan(&mut self, filter: &TaskFilter) -> Result<String, Error> {
        let (sql, params) = list_statement(filter);
        self.plan(&sql, &params).await
    }

    /// Sets the status of an open task; returns false if it is closed.
    pub async fn task_set_status(
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

    /// Updates name, criteria and time of change of an open task; returns false if it is closed.
    pub async fn task_update(&mut self, task: &Task) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET name = $2, acceptance_criteria = $3, updated_at = $4
                   WHERE id = $1 AND NOT closed";
        let Task { spec, updated_at, .. } = task;
        let params = params![spec.id, &spec.name, json!(spec.acceptance_criteria), *updated_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Counts the tasks with this status.
    pub async fn task_count(&mut self, status: TaskStatus) -> Result<i64, Error> {
        self.row(COUNT, params![status]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    /// Returns the query plan of [`Tx::task_count`].
    pub async fn task_count_plan(&mut self, status: TaskStatus) -> Result<String, Error> {
        self.plan(COUNT, params![status]).await
    }
}

/// A range of one index, whose columns are the filter and the id: neither engine reads a task that it does not
/// return. Given equalities, PostgreSQL might scan all tasks by id and filter.
fn list_statement(filter: &TaskFilter) -> (String, Vec<Param>) {
    let (mut columns, mut params): (Vec<&str>, Vec<Param>) = (vec![], vec![]);
    // No index has both columns: the tasks of a project usually belong to one user.
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
    sql.push_str(&filter.profiles.and_condition("tasks"));
    if let Some(awaits_answer) = filter.awaits_answer {
        let not = if awaits_answer { "" } else { "NOT " };
        let _ = write!(
            sql,
            " AND {not}(EXISTS (SELECT 1 FROM runs r WHERE r.task_id = tasks.id AND r.runnable
             AND r.waits_for = 'answer') OR EXISTS (SELECT 1 FROM work_requests q
             WHERE q.task_id = tasks.id AND q.question IS NOT NULL))"
        );
    }
    params.push(filter.limit.into());
    let order = columns.join(" DESC, ");
    let _ = write!(sql, " ORDER BY {order} DESC LIMIT ${}", params.len());
    (sql, params)
}

fn parent(row: &Row) -> Result<Option<TaskParent>, Error> {
    let (task, unit): (_, Option<String>) =
        (row.id_opt("parent_task_id")?, row.get("work_unit_id")?);
    Ok(task.map(|task| TaskParent { task, unit: unit.unwrap_or_default() }))
}

fn scope(row: &Row) -> Option<TaskScope> {
    let (created_by, project) = (row.id("created_by").ok()?, row.id("project_id").ok()?);
    let profile = row.id_opt("profile_id").ok()?.unwrap_or(ProfileId::default_of(project));
    Some(TaskScope { task: row.id("id").ok()?, created_by, project, profile })
}

pub(crate) fn task(row: &Row) -> Result<Task, Error> {
    let mode: String = row.get("input_mode")?;
    let input_mode = InputMode::ALL
        .into_iter()
        .find(|known| known.as_str() == mode)
        .ok_or_else(|| Error::unreadable("input_mode", format!("unknown mode {mode}")))?;
    Ok(Task {
        spec: NewTask {
            id: row.id("id")?,
            created_by: row.id("created_by")?,
            project: row.id("project_id")?,
            profile_id: row.id_opt("profile_id")?,
            name: row.get("name")?,
            input_mode,
            prompt: row.get("prompt")?,
            commands: row.json("commands")?,
            acceptance_criteria: row.json("acceptance_criteria")?,
            options: row.json("options")?,
            idempotency_key: row.get("idempotency_key")?,
            created_at: row.get("created_at")?,
        },
        status: row.keyword("status")?,
        summary: row.get("summary")?,
        verification: row.keyword_opt("verification")?,
        updated_at: row.get("updated_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        paused_at: row.get("paused_at")?,
        parent: parent(row)?,
    })
}
