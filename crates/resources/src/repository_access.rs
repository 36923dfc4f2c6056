//! Access rules about git repositories: the check before a clone or a push, and the record of a denial.
//!
//! A denial is recorded after the transaction that it ends, so that the record is not rolled back with it.

use chrono::{DateTime, Utc};
use cynode_domain::git::RepositoryUrl;
use cynode_domain::ids::{ProjectId, RuleId, TaskId, UserId};
use cynode_domain::policy::Effect;
use cynode_domain::policy::pattern::PatternError;
use cynode_domain::policy::repository_access::{
    REPOSITORY_RESOURCE, RepositoryAccess, RepositoryAction,
};
use cynode_domain::policy::rules::{AccessRule, Conditions, RuleSubject, RuleVerdict};
use cynode_domain::text::truncate_chars;
use cynode_store::{AccessChange, Store, StoredRule, Tx};

use crate::rules::mark_seeded;

/// Setting that marks the initial rules about repositories as seeded; without it they are seeded again.
const SEEDED_SETTING: &str = "access.rules.repositories_seeded";

/// The longest resource in a message.
const MAX_SHOWN_CHARS: usize = 300;

/// Who wants to clone or push, and where.
#[derive(Debug, Clone)]
pub struct RepositoryCheck {
    pub action: RepositoryAction,
    pub url: RepositoryUrl,
    /// The user in whose name the work runs.
    pub user: UserId,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
}

/// The rules do not allow an access to a repository.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", self.describe())]
pub struct RepositoryDenied {
    check: RepositoryCheck,
    /// The rule that denies it; `None` if none allows it.
    rule: Option<RuleId>,
}

impl RepositoryCheck {
    /// The decision of the rules.
    pub async fn decide(&self, tx: &mut Tx) -> Result<RuleVerdict, cynode_store::Error> {
        let (rules, groups) = (tx.rule_list_enforced().await?, tx.groups_of(self.user).await?);
        let access = RepositoryAccess {
            action: self.action,
            url: &self.url,
            user: self.user,
            groups: &groups,
            project: self.project,
            task: self.task,
        };
        Ok(access.decide(&rules))
    }

    /// The denial, if the rules do not allow the access.
    pub async fn find_denial(
        self,
        tx: &mut Tx,
    ) -> Result<Option<RepositoryDenied>, cynode_store::Error> {
        Ok(match self.decide(tx).await? {
            RuleVerdict::Allowed(_) => None,
            RuleVerdict::Denied(rule) => Some(RepositoryDenied { check: self, rule: Some(rule) }),
            RuleVerdict::NoMatch => Some(RepositoryDenied { check: self, rule: None }),
        })
    }
}

impl RepositoryDenied {
    fn describe(&self) -> String {
        let action = self.check.action;
        let resource = self.check.url.resource_name();
        let resource = truncate_chars(&resource, MAX_SHOWN_CHARS);
        match self.rule {
            Some(rule) => format!(
                "rule {rule} denies {action} in {resource}: ask an administrator, who finds it with `cynork rules list`"
            ),
            None => format!(
                "no rule allows {action} in {resource}: an administrator can add one with `cynork rules add allow '{resource}' --action {action}`"
            ),
        }
    }

    /// Records the denial in the access log.
    pub async fn record(
        &self,
        store: &Store,
        now: DateTime<Utc>,
    ) -> Result<(), cynode_store::Error> {
        let RepositoryCheck { action, url, user, task, .. } = &self.check;
        let change = AccessChange {
            by: Some(*user),
            action: action.as_str(),
            resource_type: REPOSITORY_RESOURCE,
            resource: url.resource_name(),
            allowed: false,
            reason: Some(match self.rule {
                Some(rule) => format!("denied by rule {rule}"),
                None => "denied: no rule allows it".to_owned(),
            }),
            task: *task,
            at: now,
        };
        store.write(move |tx| Box::pin(async move { tx.access_change_append(&change).await })).await
    }
}

/// Seeds the rules about repositories once, also of an installation that had none: every user may clone and push, as before
/// these rules existed. Returns whether they were written.
pub(crate) async fn seed_repository_rules(
    tx: &mut Tx,
    now: DateTime<Utc>,
) -> Result<bool, cynode_store::Error> {
    if !mark_seeded(tx, SEEDED_SETTING, now).await? {
        return Ok(false);
    }
    for action in RepositoryAction::ALL {
        if let Ok(stored) = seeded_rule(*action, now) {
            tx.rule_insert(&stored).await?;
        }
    }
    Ok(true)
}

fn seeded_rule(action: RepositoryAction, now: DateTime<Utc>) -> Result<StoredRule, PatternError> {
    let rule = AccessRule {
        id: RuleId::generate(),
        subject: RuleSubject::System,
        action: action.as_str().parse()?,
        resource_type: REPOSITORY_RESOURCE.parse()?,
        resource: "*".parse()?,
        server: None,
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions::default(),
    };
    Ok(StoredRule { rule, updated_by: None, created_at: now, updated_at: now })
}
