//! Access rules, and the change log of the access policy.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{RuleId, TaskId, UserId};
use cynode_domain::policy::Effect;
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::rules::{AccessRule, RuleSubject};
use serde_json::json;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// An access rule with its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRule {
    pub rule: AccessRule,
    /// `None` for a rule of the installation.
    pub updated_by: Option<UserId>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// A change of the access policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessChange {
    /// `None` if the system made the change.
    pub by: Option<UserId>,
    /// The action, such as `rule.create`.
    pub action: &'static str,
    /// The kind of resource, such as `mcp.tool`.
    pub resource_type: &'static str,
    /// The key, name or id of the resource.
    pub resource: String,
    pub allowed: bool,
    /// Details for people.
    pub reason: Option<String>,
    pub task: Option<TaskId>,
    pub at: DateTime<Utc>,
}

/// Access rules, and the change log.
impl Tx {
    pub async fn rule_insert(&mut self, stored: &StoredRule) -> Result<(), Error> {
        let sql = "INSERT INTO access_control_rules (id, subject_type, subject_id, action,
                   resource_type, resource_pattern, effect, priority, conditions, updated_by,
                   created_at, updated_at, server_id)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let rule = &stored.rule;
        let (subject_type, subject_id) = subject_columns(rule.subject);
        let params = params![
            rule.id,
            subject_type,
            subject_id,
            &rule.action,
            &rule.resource_type,
            &rule.resource,
            rule.effect,
            rule.priority,
            json!(rule.conditions),
            stored.updated_by,
            stored.created_at,
            stored.updated_at,
            rule.server,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn rule_get(&mut self, id: RuleId) -> Result<Option<StoredRule>, Error> {
        let sql = "SELECT * FROM access_control_rules WHERE id = $1";
        self.one(&tables::RULES, sql, params![id], stored_rule).await
    }

    /// Lists all rules, oldest first.
    pub async fn rule_list(&mut self) -> Result<Vec<StoredRule>, Error> {
        let sql = "SELECT * FROM access_control_rules ORDER BY id";
        self.list(&tables::RULES, sql, &[], stored_rule).await
    }

    /// Lists the rules to enforce. If a deny rule cannot be decoded, its unreadable parts match everything; an
    /// allow rule that cannot be decoded is skipped.
    pub async fn rule_list_enforced(&mut self) -> Result<Vec<AccessRule>, Error> {
        let sql = "SELECT * FROM access_control_rules ORDER BY id";
        let rows = self.rows(sql, &[]).await?;
        let rules =
            rows.iter().filter_map(|row| match self.decode(&tables::RULES, row, stored_rule) {
                Ok(stored) => Some(stored.rule),
                Err(_) => widened_deny_rule(row),
            });
        Ok(rules.collect())
    }

    /// Removes a rule; returns false if it does not exist.
    pub async fn rule_delete(&mut self, id: RuleId) -> Result<bool, Error> {
        let sql = "DELETE FROM access_control_rules WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }

    /// Records a change; [`crate::Tx::access_changes`] reads it.
    pub async fn access_change_append(&mut self, change: &AccessChange) -> Result<(), Error> {
        let sql = "INSERT INTO access_control_audit_log (id, subject_type, subject_id, action,
                   resource_type, resource, decision, reason, task_id, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let params = params![
            Uuid::now_v7(),
            if change.by.is_some() { "user" } else { "system" },
            change.by.map(|user| user.to_string()),
            change.action,
            change.resource_type,
            &change.resource,
            if change.allowed { "allow" } else { "deny" },
            change.reason.clone(),
            change.task,
            change.at,
        ];
        self.execute(sql, params).await.map(drop)
    }
}

fn subject_columns(subject: RuleSubject) -> (&'static str, Option<String>) {
    match subject {
        RuleSubject::System => ("system", None),
        RuleSubject::User(id) => ("user", Some(id.to_string())),
        RuleSubject::Group(id) => ("group", Some(id.to_string())),
        RuleSubject::Project(id) => ("project", Some(id.to_string())),
        RuleSubject::Task(id) => ("task", Some(id.to_string())),
        RuleSubject::Agent(agent) => ("agent", Some(agent.to_string())),
    }
}

/// The rule to enforce for a row that cannot be decoded. An allow rule is not enforced. Any other denies, and
/// each unreadable part matches everything: it may be broader than intended, and never narrower.
fn widened_deny_rule(row: &Row) -> Option<AccessRule> {
    if row.keyword("effect").is_ok_and(|effect: Effect| effect == Effect::Allow) {
        return None;
    }
    let pattern = |name| row.keyword(name).or_else(|_| "*".parse::<Pattern>()).ok();
    Some(AccessRule {
        id: row.id("id").unwrap_or_else(|_| RuleId::generate()),
        subject: subject(row).unwrap_or(RuleSubject::System),
        action: pattern("action")?,
        resource_type: pattern("resource_type")?,
        resource: pattern("resource_pattern")?,
        server: row.id_opt("server_id").unwrap_or_default(),
        effect: Effect::Deny,
        priority: row.get("priority").unwrap_or(i64::MAX),
        conditions: row.json("conditions").unwrap_or_default(),
    })
}

fn subject(row: &Row) -> Result<RuleSubject, Error> {
    let subject = json!({
        "subject_type": row.get::<String>("subject_type")?,
        "subject_id": row.get::<Option<String>>("subject_id")?,
    });
    serde_json::from_value(subject)
        .map_err(|error| Error::unreadable("subject_id", error.to_string()))
}

pub(crate) fn stored_rule(row: &Row) -> Result<StoredRule, Error> {
    let rule = AccessRule {
        id: row.id("id")?,
        subject: subject(row)?,
        action: row.keyword("action")?,
        resource_type: row.keyword("resource_type")?,
        resource: row.keyword("resource_pattern")?,
        server: row.id_opt("server_id")?,
        effect: row.keyword("effect")?,
        priority: row.get("priority")?,
        conditions: row.json("conditions")?,
    };
    Ok(StoredRule {
        rule,
        updated_by: row.id_opt("updated_by")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
