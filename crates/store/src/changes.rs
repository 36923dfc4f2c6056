//! The change log, for reading: who changed what, when and why.
//!
//! Changes are appended in the transaction that changes the preference, setting or rule. Here they are read in
//! one common shape.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChangeId, UserId};
use cynode_domain::preference::Scope;
use serde_json::Value;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRecord {
    /// Newer changes have greater ids.
    pub id: ChangeId,
    pub at: DateTime<Utc>,
    /// `None` if the system made the change.
    pub by: Option<UserId>,
    /// The action, such as `rule.create`.
    pub action: String,
    /// The kind of resource, such as `preference`.
    pub resource_type: String,
    /// The key, name or id of the resource.
    pub resource: String,
    /// The old value; `None` if it is new, or has no value that may be shown.
    pub old: Option<Value>,
    /// The new value; `None` if it was removed, or has no value that may be shown.
    pub new: Option<Value>,
    /// The reason, or a description.
    pub reason: Option<String>,
}

/// Selects changes of the access policy; absent fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessChangeFilter {
    pub resource_type: Option<String>,
    pub resource: Option<String>,
    pub by: Option<UserId>,
}

/// Changes, newest first, older than `before`, including those of deleted resources.
impl Tx {
    /// Lists changes of a preference by scope and key, also if it was deleted.
    pub async fn preference_changes(
        &mut self,
        scope: Scope,
        key: &str,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<ChangeRecord>, Error> {
        let sql = "SELECT * FROM preference_audit_log WHERE scope_type = $1
                   AND (scope_id = $2 OR (scope_id IS NULL AND $2 /*pg ::uuid */ IS NULL))
                   AND key = $3 AND ($4 /*pg ::uuid */ IS NULL OR id < $4)
                   ORDER BY id DESC LIMIT $5";
        let params = params![scope.kind().as_str(), scope.id(), key, before, limit];
        self.page(&tables::PREFERENCE_CHANGES, sql, params, preference_change).await
    }

    /// Lists changes of a setting.
    pub async fn setting_changes(
        &mut self,
        key: &str,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<ChangeRecord>, Error> {
        let sql = "SELECT * FROM system_settings_audit_log WHERE key = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        let params = params![key, before, limit];
        self.page(&tables::SETTING_CHANGES, sql, params, setting_change).await
    }

    /// Lists changes of the access policy: rules, credentials, providers, servers and tools.
    pub async fn access_changes(
        &mut self,
        filter: &AccessChangeFilter,
        before: Option<ChangeId>,
        limit: u32,
    ) -> Result<Vec<ChangeRecord>, Error> {
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
        self.page(&tables::ACCESS_CHANGES, sql, params, access_change).await
    }
}

pub(crate) fn preference_change(row: &Row) -> Result<ChangeRecord, Error> {
    value_change(row, "preference")
}

pub(crate) fn setting_change(row: &Row) -> Result<ChangeRecord, Error> {
    value_change(row, "setting")
}

/// Decodes a change of a resource that has a value.
fn value_change(row: &Row, kind: &str) -> Result<ChangeRecord, Error> {
    let (old, new) =
        (row.get::<Option<Value>>("old_value")?, row.get::<Option<Value>>("new_value")?);
    let verb = match (&old, &new) {
        (None, _) => "create",
        (Some(_), Some(_)) => "update",
        (Some(_), None) => "remove",
    };
    Ok(ChangeRecord {
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

pub(crate) fn access_change(row: &Row) -> Result<ChangeRecord, Error> {
    let unreadable = |error: uuid::Error| Error::unreadable("subject_id", error.to_string());
    let by = match (row.get::<String>("subject_type")?, row.get::<Option<String>>("subject_id")?) {
        (kind, Some(id)) if kind == "user" => Some(Uuid::parse_str(&id).map_err(unreadable)?),
        _ => None,
    };
    Ok(ChangeRecord {
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
