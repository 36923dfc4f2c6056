//! Writing preferences, each change on record.

use cynode_domain::ids::PreferenceId;
use cynode_domain::known::{self, Place};
use cynode_domain::preference::{Scope, ValueType};
use cynode_store::{Preference, PreferenceChange, PreferenceStore, Tx};
use cynode_wire::preferences::{PreferenceKey, PreferenceView, RemovePreference, WritePreference};
use serde_json::Value;

use super::{PreferenceError, Preferences, may_read, not_found, scope_of, view};
use crate::Caller;
use crate::secrets::WithoutSecrets as _;

const MAX_KEY_BYTES: usize = 200;
const MAX_VALUE_BYTES: usize = 64 * 1024;
const MAX_REASON_CHARS: usize = 1000;
/// How many entries a scope has at most: a resolution reads all of them.
pub(super) const MAX_ENTRIES: u32 = 1000;

impl Preferences {
    /// Makes a preference that is not there yet.
    pub async fn create(
        &self,
        caller: &Caller,
        wanted: PreferenceKey,
        request: WritePreference,
    ) -> Result<PreferenceView, PreferenceError> {
        check(&wanted.key, &request.value, request.value_type)?;
        check_reason(request.reason.as_deref())?;
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let scope = may_write(tx, &caller, &wanted).await?;
                    if let Some(found) = tx.preference_get(scope, &wanted.key).await? {
                        return Err(exists(&found));
                    }
                    if tx.preference_count(scope).await? >= i64::from(MAX_ENTRIES) {
                        let rule = format!("a scope has {MAX_ENTRIES} preferences at most");
                        return Err(PreferenceError::Invalid(rule));
                    }
                    let new = Preference {
                        id: PreferenceId::generate(),
                        scope,
                        key: wanted.key,
                        value: request.value.without_secrets(),
                        value_type: request.value_type.to_string(),
                        version: 1,
                        updated_at: now,
                        updated_by: Some(caller.user),
                    };
                    if !tx.preference_insert(&new).await? {
                        return Err(exists(&new));
                    }
                    record(tx, &new, None, Some(new.value.clone()), request.reason).await?;
                    Ok(view(new))
                })
            })
            .await
    }

    /// Writes a preference, new or not; `expected_version` 0 means that it must be new.
    pub async fn put(
        &self,
        caller: &Caller,
        wanted: PreferenceKey,
        request: WritePreference,
    ) -> Result<PreferenceView, PreferenceError> {
        let new = WritePreference { expected_version: None, ..request.clone() };
        if request.expected_version == Some(0) {
            return self.create(caller, wanted, new).await;
        }
        match self.update(caller, wanted.clone(), request.clone()).await {
            Err(PreferenceError::NotFound { .. }) if request.expected_version.is_none() => {
                self.create(caller, wanted, new).await
            }
            written => written,
        }
    }

    /// Gives a preference another value.
    pub async fn update(
        &self,
        caller: &Caller,
        wanted: PreferenceKey,
        request: WritePreference,
    ) -> Result<PreferenceView, PreferenceError> {
        check(&wanted.key, &request.value, request.value_type)?;
        check_reason(request.reason.as_deref())?;
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old = current(tx, &caller, &wanted, request.expected_version).await?;
                    let new = Preference {
                        value: request.value.without_secrets(),
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
                    record(tx, &new, Some(old.value), Some(value), request.reason).await?;
                    Ok(view(new))
                })
            })
            .await
    }

    /// Removes a preference: what weaker scopes say shows again.
    pub async fn remove(
        &self,
        caller: &Caller,
        wanted: PreferenceKey,
        request: RemovePreference,
    ) -> Result<(), PreferenceError> {
        check_reason(request.reason.as_deref())?;
        let (caller, now) = (caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old = current(tx, &caller, &wanted, request.expected_version).await?;
                    if !tx.preference_delete(old.id, old.version).await? {
                        return Err(PreferenceError::Conflict { found: old.version });
                    }
                    let by = Some(caller.user);
                    let removed = Preference { updated_at: now, updated_by: by, ..old };
                    let value = removed.value.clone();
                    record(tx, &removed, Some(value), None, request.reason).await
                })
            })
            .await
    }
}

/// Refuses what the caller may not write.
pub(super) async fn may_write(
    tx: &mut Tx,
    caller: &Caller,
    wanted: &PreferenceKey,
) -> Result<Scope, PreferenceError> {
    let scope = scope_of(caller, wanted.scope_type, wanted.scope_id)?;
    if scope == Scope::System && !caller.is_admin {
        let rule = "only an administrator may write the system's preferences";
        return Err(PreferenceError::Forbidden(rule));
    }
    may_read(tx, caller, scope).await?;
    if matches!(scope, Scope::Group(_)) && !caller.is_admin {
        let rule = "only an administrator may write a group's preferences";
        return Err(PreferenceError::Forbidden(rule));
    }
    Ok(scope)
}

/// The entry that is to be changed, if it is the one expected.
async fn current(
    tx: &mut Tx,
    caller: &Caller,
    wanted: &PreferenceKey,
    expected_version: Option<i64>,
) -> Result<Preference, PreferenceError> {
    let scope = may_write(tx, caller, wanted).await?;
    let found = tx.preference_get(scope, &wanted.key).await?;
    let found = found.ok_or_else(|| not_found(scope, &wanted.key))?;
    if expected_version.is_some_and(|expected| expected != found.version) {
        return Err(PreferenceError::Conflict { found: found.version });
    }
    Ok(found)
}

/// Puts a change on record; who and when are the entry's.
async fn record(
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
        reason: reason.without_secrets(),
    };
    Ok(tx.preference_change_append(&change).await?)
}

fn exists(found: &Preference) -> PreferenceError {
    PreferenceError::Exists {
        scope: found.scope.kind(),
        key: found.key.chars().take(100).collect(),
        found: found.version,
    }
}

fn check(key: &str, value: &Value, value_type: ValueType) -> Result<(), PreferenceError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // A key of dots alone cannot be named in an address.
    let is_named = !key.chars().all(|c| c == '.');
    let fault = if !is_named || key.len() > MAX_KEY_BYTES || !key.chars().all(is_known) {
        format!("a key has 1 to {MAX_KEY_BYTES} letters, digits, and . _ -")
    } else if value.to_string().len() > MAX_VALUE_BYTES {
        format!("a value has {MAX_VALUE_BYTES} bytes at most")
    } else if !value_type.fits(value) {
        format!("the value is no {value_type}")
    } else if let Err(fault) = known::check(Place::Preference, key, value) {
        fault.to_string()
    } else {
        return Ok(());
    };
    Err(PreferenceError::Invalid(fault))
}

fn check_reason(reason: Option<&str>) -> Result<(), PreferenceError> {
    if reason.is_none_or(|reason| reason.chars().count() <= MAX_REASON_CHARS) {
        return Ok(());
    }
    Err(PreferenceError::Invalid(format!("a reason has {MAX_REASON_CHARS} characters at most")))
}
