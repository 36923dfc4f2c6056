//! Stage `context`: whether the ids in the arguments belong to the caller.
//!
//! An id that the token is bound to needs no lookup: it must be equal. Any other id is looked up
//! and must exist, be visible to the user, and be consistent with the other ids.

use cynode_domain::ids::{GroupId, JobId, ProjectId, RunId, TaskId, UserId};
use cynode_domain::policy::{ErrorKind, Stage};
use serde_json::Value;

use super::{CallScope, Denial};
use crate::identity::Identity;
use crate::snapshot::ScopedIds;

/// The scoped ids in a call's arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallIds {
    pub task: Option<TaskId>,
    pub job: Option<JobId>,
    pub run: Option<RunId>,
    pub project: Option<ProjectId>,
    /// `scope_id` of a user.
    pub user: Option<UserId>,
    /// `scope_id` of a group.
    pub group: Option<GroupId>,
}

/// The lookups that the context stage needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdLookups {
    pub task: Option<TaskId>,
    pub job: Option<JobId>,
    pub run: Option<RunId>,
    pub project: Option<ProjectId>,
}

impl IdLookups {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The results of the lookups. `None`: does not exist, or not for this user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdLookupResults {
    /// The task's project.
    pub task: Option<ProjectId>,
    /// The job's task and project.
    pub job: Option<(TaskId, ProjectId)>,
    /// The run's task and project.
    pub run: Option<(TaskId, ProjectId)>,
    pub project: Option<ProjectId>,
}

/// Reads the scoped ids from a tool's arguments.
pub fn parse_ids(scoped: ScopedIds, arguments: &Value) -> Result<CallIds, Denial> {
    let mut ids = CallIds {
        task: parse_id(scoped.task, arguments, "task_id")?,
        job: parse_id(scoped.job, arguments, "job_id")?,
        run: parse_id(scoped.run, arguments, "run_id")?,
        project: parse_id(scoped.project, arguments, "project_id")?,
        ..CallIds::default()
    };
    // A scope is one of the ids above under another name. The schema admits no other kinds.
    match arguments.get("scope_type").and_then(Value::as_str).filter(|_| scoped.scope) {
        Some("task") => ids.task = parse_id(true, arguments, "scope_id")?,
        Some("project") => ids.project = parse_id(true, arguments, "scope_id")?,
        Some("user") => ids.user = parse_id(true, arguments, "scope_id")?,
        Some("group") => ids.group = parse_id(true, arguments, "scope_id")?,
        _ => {}
    }
    Ok(ids)
}

fn parse_id<Id: std::str::FromStr>(
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
            id.map(Some).ok_or_else(|| context_denial(format!("{name} is not a valid id")))
        }
    }
}

/// The lookups for these ids.
pub fn needed_lookups(identity: &Identity, ids: &CallIds) -> IdLookups {
    let is_bound_job = ids.job.is_some() && ids.job == identity.job;
    let is_bound_run = ids.run.is_some() && ids.run == identity.run;
    let is_bound_task = ids.task.is_none() || ids.task == identity.task;
    IdLookups {
        task: ids.task.filter(|_| identity.task.is_none()),
        // A bound job or run needs no lookup, unless another task is named beside it.
        job: ids.job.filter(|_| !(is_bound_job && is_bound_task)),
        run: ids.run.filter(|_| !(is_bound_run && is_bound_task)),
        project: ids.project.filter(|_| identity.project.is_none()),
    }
}

/// Whether the ids belong to the caller and to each other.
pub fn check(
    identity: &Identity,
    ids: &CallIds,
    facts: &IdLookupResults,
) -> Result<CallScope, Denial> {
    check_bound("task_id", ids.task, identity.task)?;
    check_bound("job_id", ids.job, identity.job)?;
    check_bound("run_id", ids.run, identity.run)?;
    check_bound("project_id", ids.project, identity.project)?;
    // Administrators manage what belongs to others; their agents do not.
    if !identity.caller.is_admin {
        check_bound("scope_id", ids.user, Some(identity.user))?;
        if ids.group.is_some_and(|group| !identity.groups.contains(&group)) {
            return Err(context_denial("scope_id is not a group of this caller"));
        }
    }
    let needed = needed_lookups(identity, ids);
    let mut setting =
        CallScope { task: ids.task.or(identity.task), project: ids.project.or(identity.project) };
    if needed.project.is_some() && facts.project != needed.project {
        return Err(context_denial("project not found"));
    }
    if needed.task.is_some() {
        let unknown = || cynode_fault::fault!("REQ-MCPGAT-0106").then(ProjectId::generate);
        let found = facts.task.or_else(unknown);
        let project = found.ok_or_else(|| context_denial("task not found"))?;
        setting.project = Some(check_consistent(
            "the task belongs to another project",
            setting.project,
            project,
        )?);
    }
    if needed.job.is_some() {
        let (task, project) = facts.job.ok_or_else(|| context_denial("job not found"))?;
        setting.task =
            Some(check_consistent("the job belongs to another task", setting.task, task)?);
        setting.project =
            Some(check_consistent("the job belongs to another project", setting.project, project)?);
    }
    if needed.run.is_some() {
        let (task, project) = facts.run.ok_or_else(|| context_denial("run not found"))?;
        setting.task =
            Some(check_consistent("the run belongs to another task", setting.task, task)?);
        setting.project =
            Some(check_consistent("the run belongs to another project", setting.project, project)?);
    }
    Ok(setting)
}

fn check_bound<Id: PartialEq>(
    name: &str,
    given: Option<Id>,
    bound: Option<Id>,
) -> Result<(), Denial> {
    match (given, bound) {
        (Some(given), Some(bound)) if given != bound => {
            Err(context_denial(format!("{name} is not the one this token is bound to")))
        }
        _ => Ok(()),
    }
}

fn check_consistent<Id: PartialEq>(
    refused: &str,
    wanted: Option<Id>,
    found: Id,
) -> Result<Id, Denial> {
    if wanted.is_none_or(|wanted| wanted == found) || cynode_fault::fault!("REQ-MCPGAT-0001") {
        Ok(found)
    } else {
        Err(context_denial(refused))
    }
}

fn context_denial(message: impl Into<String>) -> Denial {
    Denial::new(Stage::Context, ErrorKind::ContextMismatch, message)
}
