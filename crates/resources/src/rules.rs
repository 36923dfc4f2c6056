//! Access rules of the installation.

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{RuleId, ServerId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::allowlist::seeded_patterns;
use cynode_domain::policy::pattern::{Pattern, PatternError};
use cynode_domain::policy::rules::{AccessRule, Conditions, INVOKE, RuleSubject, TOOL};
use cynode_domain::policy::{Effect, Principal};
use cynode_runtime::clock::SharedClock;
use cynode_store::{AccessChange, Setting, Store, StoredRule, Tx};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::rules::{CreateRule, RuleView};
use serde_json::json;

use crate::repository_access::seed_repository_rules;
use crate::servers::resolve_name;
use crate::signals::Topic;
use crate::{Caller, PageError, Signals, changes};

/// Setting that marks the initial rules as seeded; without it they are seeded again.
const SEEDED_SETTING: &str = "access.rules.seeded";
/// Resource type of a rule in the access changes.
const RULE_RESOURCE_TYPE: &str = "access_control_rule";

/// Errors of rule operations.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("there is no such rule")]
    NotFound,
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("there is no such group")]
    NoGroup,
    #[error("there is no server \"{0}\"")]
    NoServer(String),
    #[error(
        "several users have a server \"{0}\": name one with --server ID; see: cynork servers list"
    )]
    AmbiguousServer(String),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for RuleError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound => Classification::new(ErrorClass::NotFound, self),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::NoGroup | Self::NoServer(_) | Self::AmbiguousServer(_) | Self::Pattern(_) => {
                Classification::new(ErrorClass::Invalid, self)
            }
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Access rules. Cheap to clone.
#[derive(Clone)]
pub struct AccessRules {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl AccessRules {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Lists all rules, oldest first. Administrators only.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<RuleView>, RuleError> {
        require_admin(caller)?;
        let rules = self
            .store
            .read(|tx| Box::pin(async move { Ok::<_, RuleError>(tx.rule_list().await?) }))
            .await?;
        Ok(rules.into_iter().map(rule_view).collect())
    }

    /// Adds a rule. Administrators only.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateRule,
    ) -> Result<RuleView, RuleError> {
        require_admin(caller)?;
        let or = |given: Option<Pattern>, usual: &str| given.map_or_else(|| usual.parse(), Ok);
        let now = self.clock.now();
        let named_server = request.server;
        let mut stored = StoredRule {
            rule: AccessRule {
                id: RuleId::generate(),
                subject: request.subject,
                action: or(request.action, INVOKE)?,
                resource_type: or(request.resource_type, TOOL)?,
                resource: request.resource_pattern,
                server: None,
                effect: request.effect,
                priority: request.priority,
                conditions: request.conditions,
            },
            updated_by: Some(caller.user),
            created_at: now,
            updated_at: now,
        };
        let (mut row, by) = (stored.clone(), caller.clone());
        stored.rule.server = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.policy_lock().await?;
                    // A rule for a missing group would never match, yet look effective.
                    if let RuleSubject::Group(group) = row.rule.subject
                        && tx.group_get(group).await?.is_none()
                    {
                        return Err(RuleError::NoGroup);
                    }
                    row.rule.server = match named_server {
                        Some(server) => Some(find_server(tx, &by, &server.into()).await?),
                        None => implied_server(tx, &by, &row.rule).await?,
                    };
                    tx.rule_insert(&row).await?;
                    record_change(tx, &by, "rule.create", &row, now).await?;
                    Ok(row.rule.server)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(rule_view(stored))
    }

    /// Lists the changes of a rule, newest first. Administrators only; a deleted rule keeps its history.
    pub async fn changes(
        &self,
        caller: &Caller,
        id: RuleId,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, RuleError> {
        require_admin(caller)?;
        changes::list_access_changes(
            &self.store,
            changes::resource_filter(RULE_RESOURCE_TYPE, &id.to_string()),
            query,
        )
        .await
    }

    /// Deletes a rule. Administrators only.
    pub async fn remove(&self, caller: &Caller, id: RuleId) -> Result<(), RuleError> {
        require_admin(caller)?;
        let (by, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.policy_lock().await?;
                    let rule = tx.rule_get(id).await?.ok_or(RuleError::NotFound)?;
                    tx.rule_delete(id).await?;
                    record_change(tx, &by, "rule.remove", &rule, now).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

async fn find_server(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ServerId>,
) -> Result<ServerId, RuleError> {
    let servers = tx.server_list().await?;
    let found = match name_or_id {
        NameOrId::Id(id) => servers.into_iter().find(|server| server.id == *id),
        NameOrId::Name(name) => resolve_name(caller, servers, &lookup_name(name))
            .map_err(|_| RuleError::AmbiguousServer(name_or_id.excerpt()))?,
    };
    let found = found.ok_or_else(|| RuleError::NoServer(name_or_id.excerpt()))?;
    Ok(found.id)
}

/// The server that the pattern of an allow rule begins with. Without one, the rule would not grant the server of a user
/// to others, yet look effective.
async fn implied_server(
    tx: &mut Tx,
    caller: &Caller,
    rule: &AccessRule,
) -> Result<Option<ServerId>, RuleError> {
    let slug = rule.resource.as_str().split_once('.').map(|(slug, _)| slug);
    let is_about_tools = rule.effect == Effect::Allow && rule.resource_type.as_str() == TOOL;
    let Some(slug) = slug.filter(|_| is_about_tools) else { return Ok(None) };
    let found = resolve_name(caller, tx.server_list().await?, slug)
        .map_err(|_| RuleError::AmbiguousServer(slug.to_owned()))?;
    Ok(found.map(|server| server.id))
}

fn require_admin(caller: &Caller) -> Result<(), RuleError> {
    if caller.is_admin { Ok(()) } else { Err(RuleError::NotAdmin) }
}

async fn record_change(
    tx: &mut Tx,
    by: &Caller,
    action: &'static str,
    stored: &StoredRule,
    at: DateTime<Utc>,
) -> Result<(), RuleError> {
    tx.policy_bump_revision().await?;
    let AccessRule { id, effect, subject, resource, server, .. } = &stored.rule;
    let server = server.map(|server| format!(" of server {server}")).unwrap_or_default();
    let change = AccessChange {
        by: Some(by.user),
        action,
        resource_type: RULE_RESOURCE_TYPE,
        resource: id.to_string(),
        allowed: true,
        reason: Some(format!("{effect} {subject:?} {resource}{server}")),
        task: None,
        at,
    };
    Ok(tx.access_change_append(&change).await?)
}

/// Seeds the rules of an installation once: each role may call the tools of its allowlist that do not leave it, and each
/// user may use repositories. Returns whether any were written.
pub async fn seed_rules(tx: &mut Tx, now: DateTime<Utc>) -> Result<bool, cynode_store::Error> {
    let about_tools = seed_tool_rules(tx, now).await?;
    Ok(seed_repository_rules(tx, now).await? || about_tools)
}

/// Marks rules as seeded; false if they are already, or if another process seeds them at the same time.
pub(crate) async fn mark_seeded(
    tx: &mut Tx,
    key: &str,
    now: DateTime<Utc>,
) -> Result<bool, cynode_store::Error> {
    let (key, value) = (key.to_owned(), json!(true));
    tx.setting_put(&Setting { key, value, version: 1, updated_at: now, updated_by: None }).await
}

async fn seed_tool_rules(tx: &mut Tx, now: DateTime<Utc>) -> Result<bool, cynode_store::Error> {
    match tx.setting_lock(SEEDED_SETTING).await {
        // The marker exists, even if its value is unreadable.
        Err(error) if error.is_unreadable() => return Ok(false),
        found => {
            if found?.is_some() {
                return Ok(false);
            }
        }
    }
    if !mark_seeded(tx, SEEDED_SETTING, now).await? {
        return Ok(false);
    }
    for caller in Principal::ALL {
        for pattern in seeded_patterns(*caller) {
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
) -> Result<StoredRule, PatternError> {
    let (subject, callers) = match caller {
        Principal::Agent(agent) => (RuleSubject::Agent(agent), vec![]),
        Principal::User => (RuleSubject::System, vec![Principal::User]),
    };
    let rule = AccessRule {
        id: RuleId::generate(),
        subject,
        action: INVOKE.parse()?,
        resource_type: TOOL.parse()?,
        resource: pattern.parse()?,
        server: None,
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions { callers },
    };
    Ok(StoredRule { rule, updated_by: None, created_at: now, updated_at: now })
}

fn rule_view(stored: StoredRule) -> RuleView {
    let StoredRule { rule, updated_by, created_at, updated_at } = stored;
    RuleView {
        id: rule.id,
        subject: rule.subject,
        action: rule.action,
        resource_type: rule.resource_type,
        resource_pattern: rule.resource,
        server_id: rule.server,
        effect: rule.effect,
        priority: rule.priority,
        conditions: rule.conditions,
        updated_by,
        created_at,
        updated_at,
    }
}
