//! Preferences by scope, and their change log.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{PreferenceId, UserId};
use cynode_domain::preference::Scope;
use serde_json::Value;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// A preference.
#[derive(Debug, Clone, PartialEq)]
pub struct Preference {
    pub id: PreferenceId,
    pub scope: Scope,
    /// The key, such as `output.format`.
    pub key: String,
    pub value: Value,
    /// The intended type. Any word is stored: an unknown type is ignored when preferences are resolved, not
    /// when they are read.
    pub value_type: String,
    /// Incremented by every change; starts at 1.
    pub version: i64,
    pub updated_at: DateTime<Utc>,
    pub updated_by: Option<UserId>,
}

/// A change of a preference.
#[derive(Debug, Clone, PartialEq)]
pub struct PreferenceChange {
    pub entry: PreferenceId,
    pub scope: Scope,
    pub key: String,
    /// `None` if it is new.
    pub old: Option<Value>,
    /// `None` if it was removed.
    pub new: Option<Value>,
    pub by: Option<UserId>,
    pub at: DateTime<Utc>,
    pub reason: Option<String>,
}

/// Preferences. Keys are unique per scope.
impl Tx {
    /// Returns the preference of a scope for a key.
    pub async fn preference_get(
        &mut self,
        scope: Scope,
        key: &str,
    ) -> Result<Option<Preference>, Error> {
        let sql = "SELECT * FROM preference_entries WHERE scope_type = $1
                   AND (scope_id = $2 OR (scope_id IS NULL AND $2 /*pg ::uuid */ IS NULL))
                   AND key = $3";
        let params = params![scope.kind().as_str(), scope.id(), key];
        self.one(&tables::PREFERENCES, sql, params, preference).await
    }

    /// Lists preferences of a scope whose key starts with `prefix`, by key, after `after`.
    pub async fn preference_list(
        &mut self,
        scope: Scope,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Preference>, Error> {
        let sql = "SELECT * FROM preference_entries WHERE scope_type = $1
                   AND (scope_id = $2 OR (scope_id IS NULL AND $2 /*pg ::uuid */ IS NULL))
                   AND substr(key, 1, length($3 /*pg ::text */)) = $3
                   AND ($4 /*pg ::text */ IS NULL OR key > $4)
                   ORDER BY key LIMIT $5";
        let params = params![scope.kind().as_str(), scope.id(), prefix, after, limit];
        self.page(&tables::PREFERENCES, sql, params, preference).await
    }

    /// Lists all preferences of these scopes, in the order of the scopes and then by key.
    pub async fn preference_list_scopes(
        &mut self,
        scopes: &[Scope],
    ) -> Result<Vec<Preference>, Error> {
        // Each arm uses its own index.
        let mut sql = String::new();
        let mut params: Vec<Param> = vec![];
        for (index, scope) in scopes.iter().enumerate() {
            if index > 0 {
                sql.push_str(" UNION ALL ");
            }
            let _ = write!(sql, "SELECT e.*, {index} AS place FROM preference_entries e WHERE ");
            if let Some(id) = scope.id() {
                params.extend([scope.kind().as_str().into(), id.into()]);
                let (kind, id) = (params.len() - 1, params.len());
                let _ = write!(sql, "scope_type = ${kind} AND scope_id = ${id}");
            } else {
                params.push(scope.kind().as_str().into());
                let _ = write!(sql, "scope_type = ${} AND scope_id IS NULL", params.len());
            }
        }
        if scopes.is_empty() {
            return Ok(vec![]);
        }
        sql.push_str(" ORDER BY place, key");
        self.list(&tables::PREFERENCES, &sql, &params, preference).await
    }

    /// Whether any scope has a preference with this key.
    pub async fn preference_is_set(&mut self, key: &str) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM preference_entries WHERE key = $1 LIMIT 1";
        Ok(self.row(sql, params![key]).await?.is_some())
    }

    /// Counts the preferences of a scope.
    pub async fn preference_count(&mut self, scope: Scope) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS entries FROM preference_entries WHERE scope_type = $1
                   AND (scope_id = $2 OR (scope_id IS NULL AND $2 /*pg ::uuid */ IS NULL))";
        let row = self.row(sql, params![scope.kind().as_str(), scope.id()]).await?;
        row.map_or(Ok(0), |row| row.get("entries"))
    }

    /// Adds a preference; returns false if the scope has one for the key.
    pub async fn preference_insert(&mut self, new: &Preference) -> Result<bool, Error> {
        let sql = "INSERT INTO preference_entries
                   (id, scope_type, scope_id, key, value, value_type, version, updated_at, updated_by)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
        let params = params![
            new.id,
            new.scope.kind().as_str(),
            new.scope.id(),
            &new.key,
            &new.value,
            &new.value_type,
            new.version,
            new.updated_at,
            new.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Updates a preference whose version was `version - 1`; returns false if the version differs.
    pub async fn preference_update(&mut self, changed: &Preference) -> Result<bool, Error> {
        let sql = "UPDATE preference_entries SET value = $3, value_type = $4, version = $2,
                   updated_at = $5, updated_by = $6 WHERE id = $1 AND version + 1 = $2";
        let params = params![
            changed.id,
            changed.version,
            &changed.value,
            &changed.value_type,
            changed.updated_at,
            changed.updated_by,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Deletes a preference of this version; returns false if the version differs.
    pub async fn preference_delete(
        &mut self,
        id: PreferenceId,
        version: i64,
    ) -> Result<bool, Error> {
        let sql = "DELETE FROM preference_entries WHERE id = $1 AND version = $2";
        Ok(self.execute(sql, params![id, version]).await? == 1)
    }

    /// Records a change; [`crate::Tx::preference_changes`] reads it.
    pub async fn preference_change_append(
        &mut self,
        change: &PreferenceChange,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO preference_audit_log (id, entry_id, scope_type, scope_id, key,
                   old_value, new_value, changed_by, changed_at, reason)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let params = params![
            Uuid::now_v7(),
            change.entry,
            change.scope.kind().as_str(),
            change.scope.id(),
            &change.key,
            change.old.clone(),
            change.new.clone(),
            change.by,
            change.at,
            change.reason.clone(),
        ];
        self.execute(sql, params).await.map(drop)
    }
}

fn scope(row: &Row) -> Result<Scope, Error> {
    Scope::new(row.keyword("scope_type")?, row.get("scope_id")?)
        .map_err(|error| Error::unreadable("scope_id", error.to_string()))
}

pub(crate) fn preference(row: &Row) -> Result<Preference, Error> {
    Ok(Preference {
        id: row.id("id")?,
        scope: scope(row)?,
        key: row.get("key")?,
        value: row.get("value")?,
        value_type: row.get("value_type")?,
        version: row.get("version")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.id_opt("updated_by")?,
    })
}
