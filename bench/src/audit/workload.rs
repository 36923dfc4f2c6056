//! Synthetic calls of a busy installation: some users, many tasks, a few tools, some denials.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::{CallId, ProjectId, TaskId, TokenId, UserId};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use cynode_store::{AuditCall, AuditCaller, AuditOutcome, TokenBinding};

const USERS: usize = 100;
const PROJECTS: usize = 200;
const TASKS: usize = 10_000;
const TOOLS: usize = 40;
/// One call in this many is denied.
const REFUSED: usize = 20;

/// The users, projects and tasks that calls refer to.
pub(super) struct AuditWorkload {
    users: Vec<UserId>,
    projects: Vec<ProjectId>,
    tasks: Vec<TaskId>,
}

impl Default for AuditWorkload {
    fn default() -> Self {
        Self {
            users: (0..USERS).map(|_| UserId::generate()).collect(),
            projects: (0..PROJECTS).map(|_| ProjectId::generate()).collect(),
            tasks: (0..TASKS).map(|_| TaskId::generate()).collect(),
        }
    }
}

impl AuditWorkload {
    /// The call with this number; consecutive calls are a millisecond apart.
    pub(super) fn call(&self, number: u32) -> AuditCall {
        let index = number as usize;
        let is_refused = index.is_multiple_of(REFUSED);
        let task = index.wrapping_mul(7919) % TASKS;
        AuditCall {
            id: CallId::generate(),
            created_at: Self::call_time(number),
            caller: AuditCaller {
                kind: "pm".to_owned(),
                token: Some(TokenId::generate()),
                user: Some(self.users[task % USERS]),
                groups: vec![],
                roles: vec!["user".to_owned()],
            },
            binding: TokenBinding {
                project: Some(self.projects[task % PROJECTS]),
                task: Some(self.tasks[task]),
                ..TokenBinding::default()
            },
            tool: Self::tool(index),
            server: "builtin".to_owned(),
            decision: if is_refused { Effect::Deny } else { Effect::Allow },
            stage: if is_refused { Stage::Rules } else { Stage::Invoke },
            status: if is_refused { CallStatus::Error } else { CallStatus::Pending },
            error_type: is_refused.then(|| "policy_violation".to_owned()),
            duration_ms: None,
            origin: "gateway".to_owned(),
            request_id: format!("{number:032x}"),
        }
    }

    /// The outcome of that call.
    pub(super) fn outcome(call: CallId, number: u32) -> AuditOutcome {
        AuditOutcome {
            call,
            status: CallStatus::Success,
            error_type: None,
            duration_ms: Some(3),
            recorded_at: Self::call_time(number) + TimeDelta::milliseconds(3),
        }
    }

    /// A user with an average number of calls.
    pub(super) fn user(&self) -> UserId {
        self.users[USERS / 2]
    }

    /// A task with an average number of calls.
    pub(super) fn task(&self) -> TaskId {
        self.tasks[TASKS / 2]
    }

    /// A project with an average number of calls.
    pub(super) fn project(&self) -> ProjectId {
        self.projects[PROJECTS / 2]
    }

    pub(super) fn tool(index: usize) -> String {
        format!("db.tool_{:02}.get", index % TOOLS)
    }

    pub(super) fn call_time(number: u32) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::milliseconds(number.into())
    }

    /// Later than every generated call.
    pub(super) fn latest_time() -> DateTime<Utc> {
        Self::call_time(u32::MAX)
    }
}
