//! Access rules, and the record of who changed what access is decided by.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{RuleId, TaskId, UserId};
use cynode_domain::policy::Effect;
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::rules::{Rule, Subject};
use serde_json::json;
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A rule, and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRule {
    /// The rule.
    pub rule: Rule,
    /// Who wrote it; nobody if it came with the installation.
    pub updated_by: Option<UserId>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A change of what access is decided by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessChange {
    /// Who; nobody if the system did it.
    pub by: Option<UserId>,
    /// What was done, such as `rule.create`.
    pub action: &'static str,
    /// To what kind of thing, such as `mcp.tool`.
    pub resource_type: &'static str,
    /// To which.
    pub resource: String,
    /// Whether it was allowed.
    pub allowed: bool,
    /// Details for people.
    pub reason: Option<String>,
    /// For which task.
    pub task: Option<TaskId>,
    /// When.
    pub at: DateTime<Utc>,
}

/// Access rules, and the record of changes.
#[async_trait]
pub trait RuleStore {
    /// Adds a rule.
    async fn rule_insert(&mut self, rule: &StoredRule) -> Result<(), Error>;
    /// The rule with this id.
    async fn rule_get(&mut self, id: RuleId) -> Result<Option<StoredRule>, Error>;
    /// Every rule, oldest first.
    async fn rule_list(&mut self) -> Result<Vec<StoredRule>, Error>;
    /// Every rule as decisions are to follow it. What cannot be read of a rule that may deny counts as
    /// covering everything; a rule that allows and cannot be read is left out.
    async fn rule_list_enforced(&mut self) -> Result<Vec<Rule>, Error>;
    /// Removes a rule; false if there is none.
    async fn rule_delete(&mut self, id: RuleId) -> Result<bool, Error>;
    /// Records a change; they are read with [`crate::ChangeStore`].
    async fn access_change_append(&mut self, change: &AccessChange) -> Result<(), Error>;
}

#[async_trait]
impl RuleStore for Tx {
    async fn rule_insert(&mut self, stored: &StoredRule) -> Result<(), Error> {
        let sql = "INSERT INTO access_control_rules (id, subject_type, subject_id, action,
                   resource_type, resource_pattern, effect, priority, conditions, updated_by,
                   created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
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
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn rule_get(&mut self, id: RuleId) -> Result<Option<StoredRule>, Error> {
        let sql = "SELECT * FROM access_control_rules WHERE id = $1";
        self.one(&tables::RULES, sql, params![id], stored_rule).await
    }

    async fn rule_list(&mut self) -> Result<Vec<StoredRule>, Error> {
        let sql = "SELECT * FROM access_control_rules ORDER BY id";
        self.list(&tables::RULES, sql, &[], stored_rule).await
    }

    async fn rule_list_enforced(&mut self) -> Result<Vec<Rule>, Error> {
        let sql = "SELECT * FROM access_control_rules ORDER BY id";
        let rows = self.rows(sql, &[]).await?;
        let rules =
            rows.iter().filter_map(|row| match self.decode(&tables::RULES, row, stored_rule) {
                Ok(stored) => Some(stored.rule),
                Err(_) => widened(row),
            });
        Ok(rules.collect())
    }

    async fn rule_delete(&mut self, id: RuleId) -> Result<bool, Error> {
        let sql = "DELETE FROM access_control_rules WHERE id = $1";
        Ok(self.execute(sql, params![id]).await? == 1)
    }

    async fn access_change_append(&mut self, change: &AccessChange) -> Result<(), Error> {
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

fn subject_columns(subject: Subject) -> (&'static str, Option<String>) {
    match subject {
        Subject::System => ("system", None),
        Subject::User(id) => ("user", Some(id.to_string())),
        Subject::Group(id) => ("group", Some(id.to_string())),
        Subject::Project(id) => ("project", Some(id.to_string())),
        Subject::Task(id) => ("task", Some(id.to_string())),
        Subject::Agent(agent) => ("agent", Some(agent.to_string())),
    }
}

/// What is enforced of a rule that cannot be decoded. One that allows is not enforced. Any other denies,
/// and each part of it that cannot be read covers everything: it may be wider than its author meant, and
/// never narrower.
fn widened(row: &Row) -> Option<Rule> {
    if row.word("effect").is_ok_and(|effect: Effect| effect == Effect::Allow) {
        return None;
    }
    let pattern = |name| row.word(name).or_else(|_| "*".parse::<Pattern>()).ok();
    Some(Rule {
        id: row.id("id").unwrap_or_else(|_| RuleId::generate()),
        subject: subject(row).unwrap_or(Subject::System),
        action: pattern("action")?,
        resource_type: pattern("resource_type")?,
        resource: pattern("resource_pattern")?,
        effect: Effect::Deny,
        priority: row.get("priority").unwrap_or(i64::MAX),
        conditions: row.json("conditions").unwrap_or_default(),
    })
}

fn subject(row: &Row) -> Result<Subject, Error> {
    let subject = json!({
        "subject_type": row.get::<String>("subject_type")?,
        "subject_id": row.get::<Option<String>>("subject_id")?,
    });
    serde_json::from_value(subject)
        .map_err(|error| Error::unreadable("subject_id", error.to_string()))
}

pub(crate) fn stored_rule(row: &Row) -> Result<StoredRule, Error> {
    let rule = Rule {
        id: row.id("id")?,
        subject: subject(row)?,
        action: row.word("action")?,
        resource_type: row.word("resource_type")?,
        resource: row.word("resource_pattern")?,
        effect: row.word("effect")?,
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
