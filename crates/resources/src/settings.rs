//! Settings of the installation.

use cynode_domain::config_keys::{self, ConfigKeyKind};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::ChangeId;
use cynode_planning::assignment::{AgentRoster, ROSTER_SETTING};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Setting, SettingChange, Store, Tx};
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::settings::{MAX_KEY_BYTES, SetSetting, SettingView};
use serde_json::Value;

use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::{Caller, PageError, Signals, changes, skills};

const MAX_VALUE_BYTES: usize = 64 * 1024;

/// Errors of setting operations.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error("there is no setting \"{0}\"")]
    NotFound(String),
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("the setting has version {found}: read it again")]
    Conflict {
        /// The current version; 0 if the setting does not exist.
        found: i64,
    },
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for SettingError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::Conflict { .. } => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Settings. Cheap to clone.
#[derive(Clone)]
pub struct InstallationSettings {
    pub(crate) store: Store,
    pub(crate) clock: SharedClock,
    pub(crate) signals: Signals,
}

impl InstallationSettings {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Lists the settings whose name begins with `prefix`, by name.
    pub async fn list(
        &self,
        prefix: &str,
        query: &PageQuery,
    ) -> Result<Page<SettingView>, SettingError> {
        let request = PageRequest::<String>::parse(query)?;
        let (prefix, after, fetch) = (prefix.to_owned(), request.before.clone(), request.fetch);
        let settings = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, SettingError>(tx.setting_list(&prefix, after.as_deref(), fetch).await?)
                })
            })
            .await?;
        Ok(request.page(settings, |setting| setting.key.clone(), setting_view))
    }

    pub async fn get(&self, key: &str) -> Result<SettingView, SettingError> {
        let wanted = key.to_owned();
        let found = self
            .store
            .read(move |tx| {
                Box::pin(
                    async move { Ok::<_, SettingError>(tx.setting_list(&wanted, None, 1).await?) },
                )
            })
            .await?;
        let found = found.into_iter().find(|setting| setting.key == key);
        found.map(setting_view).ok_or_else(|| not_found(key))
    }

    /// Lists the changes of a setting, newest first. Administrators only; a deleted setting keeps its
    /// history.
    pub async fn changes(
        &self,
        caller: &Caller,
        key: &str,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, SettingError> {
        require_admin(caller)?;
        let request = PageRequest::<ChangeId>::parse(query)?;
        let (key, before, fetch) = (key.to_owned(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.setting_changes(&key, before, fetch).await?;
                    Ok::<_, SettingError>(changes::resolve_authors(tx, found).await?)
                })
            })
            .await?;
        Ok(changes::page(&request, found))
    }

    /// Sets a setting. Administrators only.
    pub async fn set(
        &self,
        caller: &Caller,
        key: &str,
        request: SetSetting,
    ) -> Result<SettingView, SettingError> {
        require_admin(caller)?;
        validate_setting(key, &request)?;
        let (key, by, now) = (key.to_owned(), caller.user, self.clock.now());
        let set = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    if key == ROSTER_SETTING {
                        check_roster(tx, &request.value).await?;
                    }
                    let old = tx.setting_lock(&key).await?;
                    let found = old.as_ref().map_or(0, |old| old.version);
                    if request.expected_version.is_some_and(|expected| expected != found) {
                        return Err(SettingError::Conflict { found });
                    }
                    let setting = Setting {
                        key: key.clone(),
                        value: request.value.clone(),
                        version: found + 1,
                        updated_at: now,
                        updated_by: Some(by),
                    };
                    if !tx.setting_put(&setting).await? {
                        return Err(SettingError::Conflict { found });
                    }
                    let change = SettingChange {
                        key,
                        old: old.map(|old| old.value),
                        new: Some(request.value),
                        by: Some(by),
                        at: now,
                        reason: request.reason,
                    };
                    tx.setting_change_append(&change).await?;
                    tx.policy_bump_revision().await?;
                    Ok(setting)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(setting_view(set))
    }

    /// Deletes a setting. Administrators only.
    pub async fn remove(
        &self,
        caller: &Caller,
        key: &str,
        expected_version: Option<i64>,
    ) -> Result<(), SettingError> {
        require_admin(caller)?;
        let (key, by, now) = (key.to_owned(), caller.user, self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let old = tx.setting_lock(&key).await?.ok_or_else(|| not_found(&key))?;
                    if expected_version.is_some_and(|expected| expected != old.version) {
                        return Err(SettingError::Conflict { found: old.version });
                    }
                    tx.setting_delete(&key).await?;
                    let change = SettingChange {
                        key,
                        old: Some(old.value),
                        new: None,
                        by: Some(by),
                        at: now,
                        reason: None,
                    };
                    tx.setting_change_append(&change).await?;
                    Ok(tx.policy_bump_revision().await?)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(())
    }
}

fn require_admin(caller: &Caller) -> Result<(), SettingError> {
    if caller.is_admin { Ok(()) } else { Err(SettingError::NotAdmin) }
}

fn not_found(key: &str) -> SettingError {
    SettingError::NotFound(key.chars().take(100).collect())
}

fn validate_setting(key: &str, request: &SetSetting) -> Result<(), SettingError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // A key of dots only cannot be a URL path segment.
    let is_named = !key.chars().all(|c| c == '.');
    if !is_named || key.len() > MAX_KEY_BYTES || !key.chars().all(is_known) {
        let rule = format!("a key has 1 to {MAX_KEY_BYTES} letters, digits, and . _ -");
        return Err(SettingError::Invalid(rule));
    }
    if request.value.to_string().len() > MAX_VALUE_BYTES {
        return Err(SettingError::Invalid(format!(
            "a value may have at most {MAX_VALUE_BYTES} bytes"
        )));
    }
    config_keys::validate_value(ConfigKeyKind::Setting, key, &request.value)
        .map_err(|fault| SettingError::Invalid(fault.to_string()))?;
    skills::validate_scan_setting(key, &request.value).map_err(SettingError::Invalid)
}

/// Rejects a roster with agents that do not exist.
async fn check_roster(tx: &mut Tx, value: &Value) -> Result<(), SettingError> {
    let profiles = tx.agent_profile_list().await?;
    let names: Vec<String> = profiles.iter().map(|profile| profile.name.to_string()).collect();
    AgentRoster::parse(value, &names).map(drop).map_err(SettingError::Invalid)
}

fn setting_view(setting: Setting) -> SettingView {
    SettingView {
        value_type: setting.value_type().to_owned(),
        key: setting.key,
        value: setting.value,
        version: setting.version,
        updated_by: setting.updated_by,
        updated_at: setting.updated_at,
    }
}
