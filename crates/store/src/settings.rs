//! Settings of the installation, and the revision of the access policy.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use serde_json::Value;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    /// Incremented by every change; starts at 1.
    pub version: i64,
    pub updated_at: DateTime<Utc>,
    pub updated_by: Option<UserId>,
}

/// A change of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    pub key: String,
    /// `None` if it is new.
    pub old: Option<Value>,
    /// `None` if it was removed.
    pub new: Option<Value>,
    pub by: Option<UserId>,
    pub at: DateTime<Utc>,
    pub reason: Option<String>,
}

impl Tx {
    pub async fn setting_get(&mut self, key: &str) -> Result<Option<Setting>, Error> {
        let sql = "SELECT * FROM system_settings WHERE key = $1";
        self.one(&tables::SETTINGS, sql, params![key], setting).await
    }

    /// Returns a setting; locked until the transaction ends.
    pub async fn setting_lock(&mut self, key: &str) -> Result<Option<Setting>, Error> {
        let sql = "SELECT * FROM system_settings WHERE key = $1 /*pg FOR UPDATE */";
        self.one(&tables::SETTINGS, sql, params![key], setting).await
    }

    /// Lists settings whose name starts with `prefix`, by name, after `after`.
    pub async fn setting_list(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Setting>, Error> {
        let sql = "SELECT * FROM system_settings
                   WHERE substr(key, 1, length($1 /*pg ::text */)) = $1
                   AND ($2 /*pg ::text */ IS NULL OR key > $2)
                   ORDER BY key LIMIT $3";
        self.page(&tables::SETTINGS, sql, params![prefix, after, limit], setting).await
    }

    /// Inserts a setting (version 1), or updates one whose version was `version - 1`; returns false if the
    /// version differs.
    pub async fn setting_put(&mut self, setting: &Setting) -> Result<bool, Error> {
        let sql =
            "INSERT INTO system_settings (key, value, value_type, version, updated_at, updated_by)
                   VALUES ($1, $2, $3, $4, $5, $6)
                   ON CONFLICT (key) DO UPDATE SET value = excluded.value,
                       value_type = excluded.value_type, version = excluded.version,
                       updated_at = excluded.updated_at, updated_by = excluded.updated_by
                   WHERE system_settings.version = excluded.version - 1";
        let params = params![
            &setting.key,
            &setting.value,
            value_type(&setting.value),
            setting.version,
            setting.updated_at,
            setting.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Removes a setting; returns false if it does not exist.
    pub async fn setting_delete(&mut self, key: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM system_settings WHERE key = $1";
        Ok(self.execute(sql, params![key]).await? == 1)
    }

    /// Records a change; [`crate::Tx::setting_changes`] reads it.
    pub async fn setting_change_append(&mut self, change: &SettingChange) -> Result<(), Error> {
        let sql = "INSERT INTO system_settings_audit_log
                   (id, key, old_value, new_value, changed_by, changed_at, reason)
                   VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let params = params![
            Uuid::now_v7(),
            &change.key,
            change.old.clone(),
            change.new.clone(),
            change.by,
            change.at,
            change.reason.clone(),
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Returns the revision of the access policy.
    pub async fn policy_revision(&mut self) -> Result<i64, Error> {
        let row = self.row("SELECT revision FROM policy_revision", &[]).await?;
        row.map_or(Ok(0), |row| row.get("revision"))
    }

    /// Lets no other transaction change the access policy until this one ends. Called before what is changed is read:
    /// a row that was read earlier may be out of date, and is written as a whole.
    pub async fn policy_lock(&mut self) -> Result<(), Error> {
        self.row("SELECT revision FROM policy_revision /*pg FOR UPDATE */", &[]).await.map(drop)
    }

    /// Increments the revision of the access policy.
    pub async fn policy_bump_revision(&mut self) -> Result<(), Error> {
        let sql = "UPDATE policy_revision SET revision = revision + 1";
        self.execute(sql, &[]).await.map(drop)
    }
}

/// The name of a value's type.
fn value_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Setting {
    /// The name of its value's type.
    pub fn value_type(&self) -> &'static str {
        value_type(&self.value)
    }
}

pub(crate) fn setting(row: &Row) -> Result<Setting, Error> {
    Ok(Setting {
        key: row.get("key")?,
        value: row.get("value")?,
        version: row.get("version")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.id_opt("updated_by")?,
    })
}
