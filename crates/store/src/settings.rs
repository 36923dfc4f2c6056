//! Settings of the installation, and the revision of all that access is decided by.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use serde_json::Value;
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The setting's name.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Grows with every change; 1 at first.
    pub version: i64,
    /// When it was set.
    pub updated_at: DateTime<Utc>,
    /// Who set it.
    pub updated_by: Option<UserId>,
}

/// A change of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    /// The setting's name.
    pub key: String,
    /// What it was; nothing if it is new.
    pub old: Option<Value>,
    /// What it is; nothing if it was removed.
    pub new: Option<Value>,
    /// Who changed it.
    pub by: Option<UserId>,
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    pub reason: Option<String>,
}

/// Settings.
#[async_trait]
pub trait SettingStore {
    /// The setting with this name; locked until the transaction ends.
    async fn setting_lock(&mut self, key: &str) -> Result<Option<Setting>, Error>;
    /// Settings whose name begins with `prefix`, by name, after `after`.
    async fn setting_list(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Setting>, Error>;
    /// Sets a setting whose version was `version - 1`, or is new with 1; false if it is not that.
    async fn setting_put(&mut self, setting: &Setting) -> Result<bool, Error>;
    /// Removes a setting; false if there is none.
    async fn setting_delete(&mut self, key: &str) -> Result<bool, Error>;
    /// Records a change; they are read with [`crate::ChangeStore`].
    async fn setting_change_append(&mut self, change: &SettingChange) -> Result<(), Error>;
    /// How often what access is decided by has changed.
    async fn policy_revision(&mut self) -> Result<i64, Error>;
    /// Says that what access is decided by has changed.
    async fn policy_touch(&mut self) -> Result<(), Error>;
}

#[async_trait]
impl SettingStore for Tx {
    async fn setting_lock(&mut self, key: &str) -> Result<Option<Setting>, Error> {
        let sql = "SELECT * FROM system_settings WHERE key = $1 /*pg FOR UPDATE */";
        self.one(&tables::SETTINGS, sql, params![key], setting).await
    }

    async fn setting_list(
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

    async fn setting_put(&mut self, setting: &Setting) -> Result<bool, Error> {
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

    async fn setting_delete(&mut self, key: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM system_settings WHERE key = $1";
        Ok(self.execute(sql, params![key]).await? == 1)
    }

    async fn setting_change_append(&mut self, change: &SettingChange) -> Result<(), Error> {
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

    async fn policy_revision(&mut self) -> Result<i64, Error> {
        let row = self.row("SELECT revision FROM policy_revision", &[]).await?;
        row.map_or(Ok(0), |row| row.get("revision"))
    }

    async fn policy_touch(&mut self) -> Result<(), Error> {
        let sql = "UPDATE policy_revision SET revision = revision + 1";
        self.execute(sql, &[]).await.map(drop)
    }
}

/// The type of a value, in words.
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
    /// The type of its value, in words.
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
