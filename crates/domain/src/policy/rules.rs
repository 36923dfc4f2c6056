//! The installation's access rules: default deny, any deny wins.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::{AgentType, Effect, Principal};
use crate::ids::{GroupId, ProjectId, RuleId, TaskId, UserId};

/// Calling a tool, as rules name it.
pub const INVOKE: &str = "mcp.tool.invoke";
/// Tools, as rules name them.
pub const TOOL: &str = "mcp.tool";

/// Whom a rule is about.
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
pub enum Subject {
    /// Everybody.
    System,
    /// Whoever acts for this user.
    User(UserId),
    /// Whoever acts for a member of this group.
    Group(GroupId),
    /// Whoever acts in this project.
    Project(ProjectId),
    /// Whoever acts for this task.
    Task(TaskId),
    /// Agents of this type.
    Agent(AgentType),
}

/// What must hold beside the subject.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// Only for these callers; for all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<Principal>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The rule's id.
    pub id: RuleId,
    /// Whom it is about.
    pub subject: Subject,
    /// What they do, such as [`INVOKE`]; may hold `*`.
    pub action: Pattern,
    /// What kind of thing they do it to, such as [`TOOL`]; may hold `*`.
    pub resource_type: Pattern,
    /// Which of those.
    pub resource: Pattern,
    /// What then happens.
    pub effect: Effect,
    /// Which of several matching rules is named as the reason: the highest. It decides nothing else.
    pub priority: i64,
    /// What must hold beside the subject.
    pub conditions: Conditions,
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access<'a> {
    /// In which role.
    pub caller: Principal,
    /// For which user.
    pub user: Option<UserId>,
    /// The user's groups.
    pub groups: &'a [GroupId],
    /// In which project.
    pub project: Option<ProjectId>,
    /// For which task.
    pub task: Option<TaskId>,
    /// What.
    pub action: &'a str,
    /// To what kind of thing.
    pub resource_type: &'a str,
    /// To which.
    pub resource: &'a str,
}

/// What the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// This rule allows it and none denies it.
    Allowed(RuleId),
    /// This rule denies it.
    Denied(RuleId),
    /// No rule is about it.
    Unmentioned,
}

impl Verdict {
    /// Whether it may be done.
    pub const fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

impl Rule {
    /// Whether the rule is about this access.
    pub fn covers(&self, access: &Access<'_>) -> bool {
        let is_subject = match self.subject {
            Subject::System => true,
            Subject::User(user) => access.user == Some(user),
            Subject::Group(group) => access.groups.contains(&group),
            Subject::Project(project) => access.project == Some(project),
            Subject::Task(task) => access.task == Some(task),
            Subject::Agent(agent) => access.caller.agent() == Some(agent),
        };
        let callers = &self.conditions.callers;
        is_subject
            && (callers.is_empty() || callers.contains(&access.caller))
            && self.action.matches(access.action)
            && self.resource_type.matches(access.resource_type)
            && self.resource.matches(access.resource)
    }
}

/// What `rules` say about `access`: any deny wins over every allow, and silence is no.
pub fn evaluate<'r>(rules: impl IntoIterator<Item = &'r Rule>, access: &Access<'_>) -> Verdict {
    let mut best: Option<&Rule> = None;
    for rule in rules.into_iter().filter(|rule| rule.covers(access)) {
        let rank = |rule: &Rule| (rule.effect == Effect::Deny, rule.priority);
        if best.is_none_or(|best| rank(rule) > rank(best)) {
            best = Some(rule);
        }
    }
    match best {
        Some(rule) if rule.effect == Effect::Allow => Verdict::Allowed(rule.id),
        Some(rule) => Verdict::Denied(rule.id),
        None => Verdict::Unmentioned,
    }
}

#[cfg(test)]
mod tests;
