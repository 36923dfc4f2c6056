//! Stage `context`: whether the ids in the arguments belong to the caller.
//!
//! An id that the token is bound to needs no lookup: it must be equal. Any other id is looked up
//! and must exist, be visible to the user, and be consistent with the other ids. To an agent, a task
//! of another profile does not exist: [`is_profile_reachable`] decides it, here and wherever else an
//! agent names work.

use cynode_domain::ids::{GroupId, JobId, ProfileId, ProjectId, RunId, TaskId, UserId};
use cynode_domain::policy::{ErrorKind, Principal, Stage};
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
    pub task: Option<FoundTask>,
    /// The task of the job.
    pub job: Option<FoundTask>,
    /// The task of the run.
    pub run: Option<FoundTask>,
    pub project: Option<ProjectId>,
}

/// The task that an id belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundTask {
    pub task: TaskId,
    pub project: ProjectId,
    pub profile: ProfileId,
}

/// Whether the caller may name work of a profile. People name work of every profile. An agent names work of the profile of
/// its token; one that is bound to no project, work of the default profile of each.
pub fn is_profile_reachable(identity: &Identity, project: ProjectId, profile: ProfileId) -> bool {
    if identity.agent == Principal::User {
        return true;
    }
    // Tokens of earlier releases have no profile.
    let is_unbound = identity.project.is_none() || identity.profile_id.is_none();
    identity.profile_id == Some(profile)
        || (is_unbound && profile == ProfileId::default_of(project))
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
        let found = facts.task.filter(|found| is_reachable(identity, found));
        let unknown = || cynode_fault::fault!("REQ-MCPGAT-0106").then(ProjectId::generate);
        let project = found.map(|found| found.project).or_else(unknown);
        let project = project.ok_or_else(|| context_denial("task not found"))?;
        setting.project = Some(check_consistent(
            "the task belongs to another project",
            setting.project,
            project,
        )?);
    }
    if needed.job.is_some() {
        let found = facts.job.filter(|found| is_reachable(identity, found));
        let FoundTask { task, project, .. } =
            found.ok_or_else(|| context_denial("job not found"))?;
        setting.task =
            Some(check_consistent("the job belongs to another task", setting.task, task)?);
        setting.project =
            Some(check_consistent("the job belongs to another project", setting.project, project)?);
    }
    if needed.run.is_some() {
        let found = facts.run.filter(|found| is_reachable(identity, found));
        let FoundTask { task, project, .. } =
            found.ok_or_else(|| context_denial("run not found"))?;
        setting.task =
            Some(check_consistent("the run belongs to another task", setting.task, task)?);
        setting.project =
            Some(check_consistent("the run belongs to another project", setting.project, project)?);
    }
    Ok(setting)
}

/// Whether a task exists for the caller: its own does, and others of its profile.
fn is_reachable(identity: &Identity, found: &FoundTask) -> bool {
    identity.task == Some(found.task)
        || is_profile_reachable(identity, found.project, found.profile)
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
