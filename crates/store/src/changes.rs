//! The record of changes, for reading: who changed what, when and why, whatever it was.
//!
//! Changes are added where the thing is written ([`crate::PreferenceStore`], [`crate::SettingStore`],
//! [`crate::RuleStore`]), in the same transaction. Here they are read, all in one shape.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChangeId, UserId};
use cynode_domain::preference::Scope;
use serde_json::Value;
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its id; newer changes have greater ones.
    pub id: ChangeId,
    /// When.
    pub at: DateTime<Utc>,
    /// Who; nobody if the system did it.
    pub by: Option<UserId>,
    /// What was done, such as `rule.create`.
    pub action: String,
    /// To what kind of thing, such as `preference`.
    pub resource_type: String,
    /// To which: its key, name or id.
    pub resource: String,
    /// What it was; nothing if it is new, or has no value that may be shown.
    pub old: Option<Value>,
    /// What it is; nothing if it was removed, or has no value that may be shown.
    pub new: Option<Value>,
    /// Why, or what it was about.
    pub reason: Option<String>,
}

/// Which changes of what access is decided by are wanted; everything that is not said is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessChangeFilter {
    /// Of this kind of thing.
    pub resource_type: Option<String>,
    /// Of this thing.
    pub resource: Option<String>,
    /// Made by this user.
    pub by: Option<UserId>,
}

/// Changes, newest first, older than `before`. Those of things that are gone are there as well.
#[async_trait]
pub trait ChangeStore {
    /// Changes of the preference that a scope has, or had, for a key.
    async fn preference_changes(
        &mut self,
        scope: Scope,
        key: &str,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<Change>, Error>;
    /// Changes of a setting.
    async fn setting_changes(
        &mut self,
        key: &str,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<Change>, Error>;
    /// Changes of what access is decided by: rules, credentials, providers, servers and tools.
    async fn access_changes(
        &mut self,
        filter: &AccessChangeFilter,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<Change>, Error>;
}

#[async_trait]
impl ChangeStore for Tx {
    async fn preference_changes(
        &mut self,
        scope: Scope,
        key: &str,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<Change>, Error> {
        let sql = "SELECT * FROM preference_audit_log WHERE scope_type = $1
                   AND (scope_id = $2 OR (scope_id IS NULL AND $2 /*pg ::uuid */ IS NULL))
                   AND key = $3 AND ($4 /*pg ::uuid */ IS NULL OR id < $4)
                   ORDER BY id DESC LIMIT $5";
        let params = params![scope.kind().as_str(), scope.id(), key, before, limit];
        self.page(&tables::PREFERENCE_CHANGES, sql, params, of_preference).await
    }

    async fn setting_changes(
        &mut self,
        key: &str,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<Change>, Error> {
        let sql = "SELECT * FROM system_settings_audit_log WHERE key = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        let params = params![key, before, limit];
        self.page(&tables::SETTING_CHANGES, sql, params, of_setting).await
    }

    async fn access_changes(
        &mut self,
        filter: &AccessChangeFilter,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<Change>, Error> {
        let sql = "SELECT * FROM access_control_audit_log
                   WHERE ($1 /*pg ::text */ IS NULL OR resource_type = $1)
                   AND ($2 /*pg ::text */ IS NULL OR resource = $2)
                   AND ($3 /*pg ::text */ IS NULL OR (subject_type = 'user' AND subject_id = $3))
                   AND ($4 /*pg ::uuid */ IS NULL OR id < $4) ORDER BY id DESC LIMIT $5";
        let params = params![
            filter.resource_type.clone(),
            filter.resource.clone(),
            filter.by.map(|user| user.to_string()),
            before,
            limit,
        ];
        self.page(&tables::ACCESS_CHANGES, sql, params, of_access).await
    }
}

pub(crate) fn of_preference(row: &Row) -> Result<Change, Error> {
    of_value(row, "preference")
}

pub(crate) fn of_setting(row: &Row) -> Result<Change, Error> {
    of_value(row, "setting")
}

/// A change of something that has a value.
fn of_value(row: &Row, kind: &str) -> Result<Change, Error> {
    let (old, new) =
        (row.get::<Option<Value>>("old_value")?, row.get::<Option<Value>>("new_value")?);
    let verb = match (&old, &new) {
        (None, _) => "create",
        (Some(_), Some(_)) => "update",
        (Some(_), None) => "remove",
    };
    Ok(Change {
        id: row.id("id")?,
        at: row.get("changed_at")?,
        by: row.id_opt("changed_by")?,
        action: format!("{kind}.{verb}"),
        resource_type: kind.to_owned(),
        resource: row.get("key")?,
        old,
        new,
        reason: row.get("reason")?,
    })
}

pub(crate) fn of_access(row: &Row) -> Result<Change, Error> {
    let unreadable = |error: uuid::Error| Error::unreadable("subject_id", error.to_string());
    let by = match (row.get::<String>("subject_type")?, row.get::<Option<String>>("subject_id")?) {
        (kind, Some(id)) if kind == "user" => Some(Uuid::parse_str(&id).map_err(unreadable)?),
        _ => None,
    };
    Ok(Change {
        id: row.id("id")?,
        at: row.get("created_at")?,
        by: by.map(UserId::from),
        action: row.get("action")?,
        resource_type: row.get("resource_type")?,
        resource: row.get("resource")?,
        old: None,
        new: None,
        reason: row.get("reason")?,
    })
}
