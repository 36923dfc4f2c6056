//! Access rules: what the installation allows and denies.

use chrono::{DateTime, Utc};
use cynode_domain::ids::RuleId;
use cynode_domain::policy::allowlist::seeded;
use cynode_domain::policy::pattern::{BadPattern, Pattern};
use cynode_domain::policy::rules::{Conditions, INVOKE, Rule, Subject, TOOL};
use cynode_domain::policy::{Effect, Principal};
use cynode_runtime::clock::SharedClock;
use cynode_store::{
    AccessChange, GroupStore, RuleStore, Setting, SettingStore, Store, StoredRule, Tx,
};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::rules::{CreateRule, RuleView};
use serde_json::json;

use crate::signals::Topic;
use crate::{BadCursor, Caller, Signals, changes};

/// Says that the rules of a new installation were written; without it they are written again.
const SEEDED: &str = "access.rules.seeded";
/// What the record of changes calls a rule.
const RULE: &str = "access_control_rule";

/// Why an operation on rules was refused.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// There is no such rule.
    #[error("there is no such rule")]
    NotFound,
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// The group of the rule does not exist.
    #[error("there is no such group")]
    NoGroup,
    /// The pattern is none.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Access rules. Cheap to clone.
#[derive(Clone)]
pub struct Rules {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Rules {
    /// Rules kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Every rule, oldest first. Administrators only.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<RuleView>, RuleError> {
        admin(caller)?;
        let rules = self
            .store
            .read(|tx| Box::pin(async move { Ok::<_, RuleError>(tx.rule_list().await?) }))
            .await?;
        Ok(rules.into_iter().map(view).collect())
    }

    /// Adds a rule. Administrators only.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateRule,
    ) -> Result<RuleView, RuleError> {
        admin(caller)?;
        let or = |given: Option<Pattern>, usual: &str| given.map_or_else(|| usual.parse(), Ok);
        let now = self.clock.now();
        let stored = StoredRule {
            rule: Rule {
                id: RuleId::generate(),
                subject: request.subject,
                action: or(request.action, INVOKE)?,
                resource_type: or(request.resource_type, TOOL)?,
                resource: request.resource_pattern,
                effect: request.effect,
                priority: request.priority,
                conditions: request.conditions,
            },
            updated_by: Some(caller.user),
            created_at: now,
            updated_at: now,
        };
        let (row, by) = (stored.clone(), caller.clone());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    // A rule about nobody would look as if it held.
                    if let Subject::Group(group) = row.rule.subject
                        && tx.group_get(group).await?.is_none()
                    {
                        return Err(RuleError::NoGroup);
                    }
                    tx.rule_insert(&row).await?;
                    record(tx, &by, "rule.create", &row, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(view(stored))
    }

    /// Who made and removed a rule, newest first. Administrators only; a rule that is gone keeps its
    /// history.
    pub async fn changes(
        &self,
        caller: &Caller,
        id: RuleId,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, RuleError> {
        admin(caller)?;
        changes::of_access(&self.store, changes::of_one(RULE, &id.to_string()), query).await
    }

    /// Removes a rule. Administrators only.
    pub async fn remove(&self, caller: &Caller, id: RuleId) -> Result<(), RuleError> {
        admin(caller)?;
        let (by, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let rule = tx.rule_get(id).await?.ok_or(RuleError::NotFound)?;
                    tx.rule_delete(id).await?;
                    record(tx, &by, "rule.remove", &rule, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

fn admin(caller: &Caller) -> Result<(), RuleError> {
    if caller.is_admin { Ok(()) } else { Err(RuleError::NotAdmin) }
}

async fn record(
    tx: &mut Tx,
    by: &Caller,
    action: &'static str,
    stored: &StoredRule,
    at: DateTime<Utc>,
) -> Result<(), RuleError> {
    tx.policy_touch().await?;
    let Rule { id, effect, subject, resource, .. } = &stored.rule;
    let change = AccessChange {
        by: Some(by.user),
        action,
        resource_type: RULE,
        resource: id.to_string(),
        allowed: true,
        reason: Some(format!("{effect} {subject:?} {resource}")),
        task: None,
        at,
    };
    Ok(tx.access_change_append(&change).await?)
}

/// Writes the rules of a new installation, once: each role may call what its allowlist names and
/// what stays inside the installation. True if they were written.
pub(crate) async fn seed(tx: &mut Tx, now: DateTime<Utc>) -> Result<bool, cynode_store::Error> {
    match tx.setting_lock(SEEDED).await {
        // It is there, whatever it holds.
        Err(error) if error.is_unreadable() => return Ok(false),
        found => {
            if found?.is_some() {
                return Ok(false);
            }
        }
    }
    let mark = Setting {
        key: SEEDED.to_owned(),
        value: json!(true),
        version: 1,
        updated_at: now,
        updated_by: None,
    };
    // Another process may be first.
    if !tx.setting_put(&mark).await? {
        return Ok(false);
    }
    for caller in Principal::ALL {
        for pattern in seeded(*caller) {
            if let Ok(stored) = seed_rule(*caller, pattern, now) {
                tx.rule_insert(&stored).await?;
            }
        }
    }
    Ok(true)
}

fn seed_rule(
    caller: Principal,
    pattern: &str,
    now: DateTime<Utc>,
) -> Result<StoredRule, BadPattern> {
    let (subject, callers) = match caller {
        Principal::Agent(agent) => (Subject::Agent(agent), vec![]),
        Principal::User => (Subject::System, vec![Principal::User]),
    };
    let rule = Rule {
        id: RuleId::generate(),
        subject,
        action: INVOKE.parse()?,
        resource_type: TOOL.parse()?,
        resource: pattern.parse()?,
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions { callers },
    };
    Ok(StoredRule { rule, updated_by: None, created_at: now, updated_at: now })
}

fn view(stored: StoredRule) -> RuleView {
    let StoredRule { rule, updated_by, created_at, updated_at } = stored;
    RuleView {
        id: rule.id,
        subject: rule.subject,
        action: rule.action,
        resource_type: rule.resource_type,
        resource_pattern: rule.resource,
        effect: rule.effect,
        priority: rule.priority,
        conditions: rule.conditions,
        updated_by,
        created_at,
        updated_at,
    }
}
