//! The installation's access rules: default deny, any deny wins.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::{AgentType, Effect, Principal};
use crate::ids::{GroupId, ProjectId, RuleId, ServerId, TaskId, UserId};

/// Action of calling a tool.
pub const INVOKE: &str = "mcp.tool.invoke";
/// Resource type of tools.
pub const TOOL: &str = "mcp.tool";

/// The subject of a rule.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(tag = "subject_type", content = "subject_id", rename_all = "snake_case")]
#[schema(as = Subject)]
pub enum RuleSubject {
    /// Every caller.
    System,
    /// Callers acting for this user.
    User(UserId),
    /// Callers acting for a member of this group.
    Group(GroupId),
    /// Callers acting in this project.
    Project(ProjectId),
    /// Callers acting for this task.
    Task(TaskId),
    /// Agents of this type.
    Agent(AgentType),
}

/// Additional conditions of a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Applies to these callers only; to all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Principal>,
}

/// An access rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    pub id: RuleId,
    pub subject: RuleSubject,
    /// For example [`INVOKE`].
    pub action: Pattern,
    /// For example [`TOOL`].
    pub resource_type: Pattern,
    pub resource: Pattern,
    /// The only server whose tools it is about. An allow rule without one is not about the servers of other users.
    pub server: Option<ServerId>,
    pub effect: Effect,
    /// Selects which of several matching rules is reported as the reason (the highest); does not affect the decision.
    pub priority: i64,
    pub conditions: Conditions,
}

/// An access request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access<'a> {
    pub caller: Principal,
    pub user: Option<UserId>,
    pub groups: &'a [GroupId],
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub action: &'a str,
    pub resource_type: &'a str,
    pub resource: &'a str,
    /// The server that has the resource; `None` for resources of the installation.
    pub server: Option<AccessedServer>,
}

/// The server of an access request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessedServer {
    pub id: ServerId,
    pub owner: UserId,
    /// Whether an administrator installed it for every user.
    pub is_system: bool,
}

/// The decision of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleVerdict {
    /// This rule allows it, and none denies it.
    Allowed(RuleId),
    /// This rule denies it.
    Denied(RuleId),
    /// No rule matches.
    NoMatch,
}

impl RuleVerdict {
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

impl AccessRule {
    /// Whether the rule matches this access.
    pub fn matches(&self, access: &Access<'_>) -> bool {
        let is_subject = match self.subject {
            RuleSubject::System => true,
            RuleSubject::User(user) => access.user == Some(user),
            RuleSubject::Group(group) => access.groups.contains(&group),
            RuleSubject::Project(project) => access.project == Some(project),
            RuleSubject::Task(task) => access.task == Some(task),
            RuleSubject::Agent(agent) => access.caller.agent() == Some(agent),
        };
        let callers = &self.conditions.callers;
        is_subject
            && self.is_about_server(access)
            && (callers.is_empty() || callers.contains(&access.caller))
            && self.action.matches(access.action)
            && self.resource_type.matches(access.resource_type)
            && self.resource.matches(access.resource)
    }

    /// Whether the rule is about the server of this access. Names of servers are unique for each owner only, so that a
    /// name in an allow rule does not grant the server of another user; in a deny rule it denies every server of
    /// this name.
    fn is_about_server(&self, access: &Access<'_>) -> bool {
        match (self.server, access.server) {
            (Some(named), Some(server)) => named == server.id,
            (Some(_), None) => false,
            (None, Some(server)) => {
                self.effect == Effect::Deny || server.is_system || access.user == Some(server.owner)
            }
            (None, None) => true,
        }
    }
}

/// Evaluates `rules` for `access`: default deny, and any deny rule wins.
pub fn evaluate<'r>(
    rules: impl IntoIterator<Item = &'r AccessRule>,
    access: &Access<'_>,
) -> RuleVerdict {
    let mut best: Option<&AccessRule> = None;
    for rule in rules.into_iter().filter(|rule| rule.matches(access)) {
        let rank = |rule: &AccessRule| (rule.effect == Effect::Deny, rule.priority);
        if best.is_none_or(|best| rank(rule) > rank(best)) {
            best = Some(rule);
        }
    }
    match best {
        Some(rule) if rule.effect == Effect::Allow => RuleVerdict::Allowed(rule.id),
        Some(rule) => RuleVerdict::Denied(rule.id),
        None => RuleVerdict::NoMatch,
    }
}

#[cfg(test)]
mod tests;
