//! Rules about git repositories: who may have which one cloned, and pushed to.

use super::Principal;
use super::pattern::Pattern;
use super::rules::{Access, AccessRule, RuleVerdict, evaluate};
use crate::git::RepositoryUrl;
use crate::ids::{GroupId, ProjectId, TaskId, UserId};

/// The resource type of repositories. A resource is the host and the path, such as `git.example.com/team/shop`, or the
/// path on a worker node; see [`RepositoryUrl::resource_name`].
pub const REPOSITORY_RESOURCE: &str = "git.repository";

words! {
    /// What is done with a repository, as rules name it.
    RepositoryAction("repository action") {
        /// It is checked out for a task.
        Clone = "git.clone",
        /// Commits are pushed to it.
        Push = "git.push",
    }
}

/// An access to a repository, in the name of a user.
#[derive(Debug, Clone, Copy)]
pub struct RepositoryAccess<'a> {
    pub action: RepositoryAction,
    pub url: &'a RepositoryUrl,
    pub user: UserId,
    pub groups: &'a [GroupId],
    pub project: Option<ProjectId>,
    /// The task that works on the repository, if it exists already.
    pub task: Option<TaskId>,
}

impl RepositoryAccess<'_> {
    /// Evaluates the rules: default deny, and any deny wins. Patterns and names are compared without case, because most
    /// hosts do not distinguish it.
    pub fn decide(&self, rules: &[AccessRule]) -> RuleVerdict {
        let action = self.action.as_str();
        let is_relevant = |rule: &&AccessRule| {
            rule.action.matches(action) && rule.resource_type.matches(REPOSITORY_RESOURCE)
        };
        let relevant: Vec<AccessRule> = rules
            .iter()
            .filter(is_relevant)
            .map(|rule| AccessRule { resource: rule.resource.to_lowercase(), ..rule.clone() })
            .collect();
        let resource = self.url.resource_name();
        let access = Access {
            caller: Principal::User,
            user: Some(self.user),
            groups: self.groups,
            project: self.project,
            task: self.task,
            action,
            resource_type: REPOSITORY_RESOURCE,
            resource: &resource,
            server: None,
        };
        evaluate(&relevant, &access)
    }
}

impl Pattern {
    /// The pattern in lower case.
    fn to_lowercase(&self) -> Self {
        // Patterns are ASCII, so the result is a valid pattern.
        self.as_str().to_ascii_lowercase().parse().unwrap_or_else(|_| self.clone())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::RuleId;
    use crate::policy::Effect;
    use crate::policy::rules::{Conditions, RuleSubject};

    fn rule(number: u128, effect: Effect, action: &str, resource: &str) -> AccessRule {
        AccessRule {
            id: RuleId::from(Uuid::from_u128(number)),
            subject: RuleSubject::System,
            action: action.parse().unwrap(),
            resource_type: REPOSITORY_RESOURCE.parse().unwrap(),
            resource: resource.parse().unwrap(),
            server: None,
            effect,
            priority: 0,
            conditions: Conditions::default(),
        }
    }

    fn decide(rules: &[AccessRule], action: RepositoryAction, url: &str) -> RuleVerdict {
        let url = url.to_owned().try_into().unwrap();
        let user = UserId::from(Uuid::from_u128(9));
        let access =
            RepositoryAccess { action, url: &url, user, groups: &[], project: None, task: None };
        access.decide(rules)
    }

    #[test]
    fn a_rule_can_allow_clone_and_deny_push_on_one_host_whatever_the_address() {
        let rules = [
            rule(1, Effect::Allow, "git.*", "*"),
            rule(2, Effect::Deny, "git.push", "Git.example.com/*"),
        ];

        for url in [
            "https://git.example.com/team/shop",
            "https://git.example.com./team/shop.git",
            "ssh://git@GIT.example.com/team/shop",
            "git@git.example.com:team/shop",
        ] {
            let denied = RuleVerdict::Denied(RuleId::from(Uuid::from_u128(2)));
            assert_eq!(decide(&rules, RepositoryAction::Push, url), denied, "{url}");
            assert!(decide(&rules, RepositoryAction::Clone, url).is_allowed(), "{url}");
        }
        assert!(decide(&rules, RepositoryAction::Push, "https://example.com/x").is_allowed());
    }

    #[test]
    fn what_no_rule_about_repositories_allows_is_denied() {
        let mut tools = rule(1, Effect::Allow, "git.push", "*");
        tools.resource_type = "mcp.tool".parse().unwrap();

        let verdict = decide(&[tools], RepositoryAction::Push, "https://example.com/x");

        assert_eq!(verdict, RuleVerdict::NoMatch);
    }
}
