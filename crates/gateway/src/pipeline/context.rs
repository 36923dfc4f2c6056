//! Stage `context`: whether the ids in the arguments belong to the caller.
//!
//! An id that the token is bound to needs no looking up: it must be that one. Any other is looked up
//! and must exist, be visible to the user, and fit the ids beside it.

use cynode_domain::ids::{GroupId, JobId, ProjectId, RunId, TaskId, UserId};
use cynode_domain::policy::{ErrorKind, Stage};
use serde_json::Value;

use super::{Denial, Setting};
use crate::identity::Identity;
use crate::snapshot::ScopedIds;

/// The scoped ids that a call names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallIds {
    /// `task_id`
    pub task: Option<TaskId>,
    /// `job_id`
    pub job: Option<JobId>,
    /// `run_id`
    pub run: Option<RunId>,
    /// `project_id`
    pub project: Option<ProjectId>,
    /// `scope_id` of a user
    pub user: Option<UserId>,
    /// `scope_id` of a group
    pub group: Option<GroupId>,
}

/// What must be looked up before the context can be judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needed {
    /// This task.
    pub task: Option<TaskId>,
    /// This job.
    pub job: Option<JobId>,
    /// This run.
    pub run: Option<RunId>,
    /// This project.
    pub project: Option<ProjectId>,
}

impl Needed {
    /// Whether nothing must be looked up.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What was found. Nothing means: does not exist, or not for this user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// The task's project.
    pub task: Option<ProjectId>,
    /// The job's task and project.
    pub job: Option<(TaskId, ProjectId)>,
    /// The run's task and project.
    pub run: Option<(TaskId, ProjectId)>,
    /// The project, if the user may see it.
    pub project: Option<ProjectId>,
}

/// Reads the ids that a tool's arguments may hold.
pub fn ids(scoped: ScopedIds, arguments: &Value) -> Result<CallIds, Denial> {
    let mut ids = CallIds {
        task: read(scoped.task, arguments, "task_id")?,
        job: read(scoped.job, arguments, "job_id")?,
        run: read(scoped.run, arguments, "run_id")?,
        project: read(scoped.project, arguments, "project_id")?,
        ..CallIds::default()
    };
    // A scope is one of the ids above under another name. The schema admits no other kinds.
    match arguments.get("scope_type").and_then(Value::as_str).filter(|_| scoped.scope) {
        Some("task") => ids.task = read(true, arguments, "scope_id")?,
        Some("project") => ids.project = read(true, arguments, "scope_id")?,
        Some("user") => ids.user = read(true, arguments, "scope_id")?,
        Some("group") => ids.group = read(true, arguments, "scope_id")?,
        _ => {}
    }
    Ok(ids)
}

fn read<Id: std::str::FromStr>(
    is_scoped: bool,
    arguments: &Value,
    name: &str,
) -> Result<Option<Id>, Denial> {
    if !is_scoped {
        return Ok(None);
    }
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let id = value.as_str().and_then(|text| text.parse().ok());
            id.map(Some).ok_or_else(|| refusal(format!("{name} is no id")))
        }
    }
}

/// What must be looked up.
pub fn needed(who: &Identity, ids: &CallIds) -> Needed {
    let is_bound_job = ids.job.is_some() && ids.job == who.job;
    let is_bound_run = ids.run.is_some() && ids.run == who.run;
    let is_bound_task = ids.task.is_none() || ids.task == who.task;
    Needed {
        task: ids.task.filter(|_| who.task.is_none()),
        // A bound job or run needs no looking up, as long as no other task is named beside it.
        job: ids.job.filter(|_| !(is_bound_job && is_bound_task)),
        run: ids.run.filter(|_| !(is_bound_run && is_bound_task)),
        project: ids.project.filter(|_| who.project.is_none()),
    }
}

/// Whether the ids belong to the caller and to each other.
pub fn check(who: &Identity, ids: &CallIds, facts: &Facts) -> Result<Setting, Denial> {
    same("task_id", ids.task, who.task)?;
    same("job_id", ids.job, who.job)?;
    same("run_id", ids.run, who.run)?;
    same("project_id", ids.project, who.project)?;
    // Administrators manage what belongs to others; their agents do not.
    if !who.caller.is_admin {
        same("scope_id", ids.user, Some(who.user))?;
        if ids.group.is_some_and(|group| !who.groups.contains(&group)) {
            return Err(refusal("scope_id names no group of this caller"));
        }
    }
    let needed = needed(who, ids);
    let mut setting = Setting { task: ids.task.or(who.task), project: ids.project.or(who.project) };
    if needed.project.is_some() && facts.project != needed.project {
        return Err(refusal("there is no such project for this caller"));
    }
    if needed.task.is_some() {
        let project = facts.task.ok_or_else(|| refusal("there is no such task for this caller"))?;
        setting.project = Some(fits("the task is of another project", setting.project, project)?);
    }
    if needed.job.is_some() {
        let (task, project) =
            facts.job.ok_or_else(|| refusal("there is no such job for this caller"))?;
        setting.task = Some(fits("the job is of another task", setting.task, task)?);
        setting.project = Some(fits("the job is of another project", setting.project, project)?);
    }
    if needed.run.is_some() {
        let (task, project) =
            facts.run.ok_or_else(|| refusal("there is no such run for this caller"))?;
        setting.task = Some(fits("the run is of another task", setting.task, task)?);
        setting.project = Some(fits("the run is of another project", setting.project, project)?);
    }
    Ok(setting)
}

fn same<Id: PartialEq>(name: &str, given: Option<Id>, bound: Option<Id>) -> Result<(), Denial> {
    match (given, bound) {
        (Some(given), Some(bound)) if given != bound => {
            Err(refusal(format!("{name} is not the one this token is bound to")))
        }
        _ => Ok(()),
    }
}

fn fits<Id: PartialEq>(refused: &str, wanted: Option<Id>, found: Id) -> Result<Id, Denial> {
    if wanted.is_none_or(|wanted| wanted == found) { Ok(found) } else { Err(refusal(refused)) }
}

fn refusal(message: impl Into<String>) -> Denial {
    Denial::new(Stage::Context, ErrorKind::ContextMismatch, message)
}
