//! Writing preferences; every change is recorded.

use cynode_domain::config_keys::{self, ConfigKeyKind};
use cynode_domain::ids::PreferenceId;
use cynode_domain::preference::{Scope, ValueType};
use cynode_store::{Preference, PreferenceChange, Tx};
use cynode_wire::preferences::{
    MAX_KEY_BYTES, MAX_REASON_CHARS, PreferenceKey, PreferenceView, RemovePreference,
    WritePreference,
};
use serde_json::Value;

use super::{
    PreferenceError, PreferenceService, preference_not_found, preference_view, require_readable,
    resolve_scope,
};
use crate::Caller;
use crate::secrets::RedactSecrets as _;

const MAX_VALUE_BYTES: usize = 64 * 1024;
/// Maximum entries per scope: a resolution reads all of them.
pub(super) const MAX_ENTRIES: u32 = 1000;

impl PreferenceService {
    /// Creates a preference; fails if it exists.
    pub async fn create(
        &self,
        caller: &Caller,
        preference: PreferenceKey,
        request: WritePreference,
    ) -> Result<PreferenceView, PreferenceError> {
        validate_preference(&preference.key, &request.value, request.value_type)?;
        validate_reason(request.reason.as_deref())?;
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let scope = require_writable(tx, &caller, &preference).await?;
                    if let Some(found) = tx.preference_get(scope, &preference.key).await? {
                        return Err(already_exists(&found));
                    }
                    if tx.preference_count(scope).await? >= i64::from(MAX_ENTRIES) {
                        let rule =
                            format!("a scope may not have more than {MAX_ENTRIES} preferences");
                        return Err(PreferenceError::Invalid(rule));
                    }
                    let new = Preference {
                        id: PreferenceId::generate(),
                        scope,
                        key: preference.key,
                        value: request.value.redact_secrets(),
                        value_type: request.value_type.to_string(),
                        version: 1,
                        updated_at: now,
                        updated_by: Some(caller.user),
                    };
                    if !tx.preference_insert(&new).await? {
                        return Err(already_exists(&new));
                    }
                    record_change(tx, &new, None, Some(new.value.clone()), request.reason).await?;
                    Ok(preference_view(new))
                })
            })
            .await
    }

    /// Creates or updates a preference; `expected_version` 0 means that it must not exist.
    pub async fn put(
        &self,
        caller: &Caller,
        preference: PreferenceKey,
        request: WritePreference,
    ) -> Result<PreferenceView, PreferenceError> {
        let new = WritePreference { expected_version: None, ..request.clone() };
        if request.expected_version == Some(0) {
            return self.create(caller, preference, new).await;
        }
        match self.update(caller, preference.clone(), request.clone()).await {
            Err(PreferenceError::NotFound { .. }) if request.expected_version.is_none() => {
                self.create(caller, preference, new).await
            }
            written => written,
        }
    }

    /// Updates the value of a preference.
    pub async fn update(
        &self,
        caller: &Caller,
        preference: PreferenceKey,
        request: WritePreference,
    ) -> Result<PreferenceView, PreferenceError> {
        validate_preference(&preference.key, &request.value, request.value_type)?;
        validate_reason(request.reason.as_deref())?;
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old =
                        load_for_update(tx, &caller, &preference, request.expected_version).await?;
                    let new = Preference {
                        value: request.value.redact_secrets(),
                        value_type: request.value_type.to_string(),
                        version: old.version + 1,
                        updated_at: now,
                        updated_by: Some(caller.user),
                        ..old.clone()
                    };
                    if !tx.preference_update(&new).await? {
                        return Err(PreferenceError::Conflict { found: old.version });
                    }
                    let value = new.value.clone();
                    record_change(tx, &new, Some(old.value), Some(value), request.reason).await?;
                    Ok(preference_view(new))
                })
            })
            .await
    }

    /// Removes a preference: the value of a weaker scope becomes effective again.
    pub async fn remove(
        &self,
        caller: &Caller,
        preference: PreferenceKey,
        request: RemovePreference,
    ) -> Result<(), PreferenceError> {
        validate_reason(request.reason.as_deref())?;
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old =
                        load_for_update(tx, &caller, &preference, request.expected_version).await?;
                    if !tx.preference_delete(old.id, old.version).await? {
                        return Err(PreferenceError::Conflict { found: old.version });
                    }
                    let by = Some(caller.user);
                    let removed = Preference { updated_at: now, updated_by: by, ..old };
                    let value = removed.value.clone();
                    record_change(tx, &removed, Some(value), None, request.reason).await
                })
            })
            .await
    }
}

/// Returns the scope; fails if the caller may not write it.
pub(super) async fn require_writable(
    tx: &mut Tx,
    caller: &Caller,
    preference: &PreferenceKey,
) -> Result<Scope, PreferenceError> {
    let scope = resolve_scope(caller, preference.scope_type, preference.scope_id)?;
    if scope == Scope::System && !caller.is_admin {
        let rule = "only an administrator may write the system's preferences";
        return Err(PreferenceError::Forbidden(rule));
    }
    require_readable(tx, caller, scope).await?;
    if matches!(scope, Scope::Group(_)) && !caller.is_admin {
        let rule = "only an administrator may write a group's preferences";
        return Err(PreferenceError::Forbidden(rule));
    }
    Ok(scope)
}

/// Loads the entry to change; fails if its version differs from `expected_version`.
async fn load_for_update(
    tx: &mut Tx,
    caller: &Caller,
    preference: &PreferenceKey,
    expected_version: Option<i64>,
) -> Result<Preference, PreferenceError> {
    let scope = require_writable(tx, caller, preference).await?;
    let found = tx.preference_get(scope, &preference.key).await?;
    let found = found.ok_or_else(|| preference_not_found(scope, &preference.key))?;
    if expected_version.is_some_and(|expected| expected != found.version) {
        return Err(PreferenceError::Conflict { found: found.version });
    }
    Ok(found)
}

/// Records a change, with author and time of the entry.
async fn record_change(
    tx: &mut Tx,
    entry: &Preference,
    old: Option<Value>,
    new: Option<Value>,
    reason: Option<String>,
) -> Result<(), PreferenceError> {
    let change = PreferenceChange {
        entry: entry.id,
        scope: entry.scope,
        key: entry.key.clone(),
        old,
        new,
        by: entry.updated_by,
        at: entry.updated_at,
        reason: reason.redact_secrets(),
    };
    Ok(tx.preference_change_append(&change).await?)
}

fn already_exists(found: &Preference) -> PreferenceError {
    PreferenceError::Exists {
        scope: found.scope.kind(),
        key: found.key.chars().take(100).collect(),
        found: found.version,
    }
}

fn validate_preference(
    key: &str,
    value: &Value,
    value_type: ValueType,
) -> Result<(), PreferenceError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // A key of dots alone cannot be used in a URL path.
    let is_named = !key.chars().all(|c| c == '.');
    let fault = if !is_named || key.len() > MAX_KEY_BYTES || !key.chars().all(is_known) {
        format!("a key has 1 to {MAX_KEY_BYTES} letters, digits, and . _ -")
    } else if value.to_string().len() > MAX_VALUE_BYTES {
        format!("a value may not exceed {MAX_VALUE_BYTES} bytes")
    } else if !value_type.fits(value) {
        format!("the value is not of type {value_type}")
    } else if let Err(fault) = config_keys::validate_value(ConfigKeyKind::Preference, key, value) {
        fault.to_string()
    } else {
        return Ok(());
    };
    Err(PreferenceError::Invalid(fault))
}

fn validate_reason(reason: Option<&str>) -> Result<(), PreferenceError> {
    if reason.is_none_or(|reason| reason.chars().count() <= MAX_REASON_CHARS) {
        return Ok(());
    }
    Err(PreferenceError::Invalid(format!("reason may not exceed {MAX_REASON_CHARS} characters")))
}
