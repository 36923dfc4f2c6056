//! Reading, enabling, disabling and expiring one credential, and its change history.

use chrono::{DateTime, SecondsFormat, Utc};
use cynode_domain::ids::CredentialId;
use cynode_store::Credential;
use cynode_wire::changes::ChangeView;
use cynode_wire::credentials::{CredentialView, Expiry, UpdateCredential};
use cynode_wire::page::{Page, PageQuery};

use super::manage::append_change;
use super::{CREDENTIAL, CredentialError, CredentialManager, credential_view};
use cynode_resources::{Caller, changes};

impl CredentialManager {
    pub async fn get(
        &self,
        caller: &Caller,
        id: CredentialId,
    ) -> Result<CredentialView, CredentialError> {
        self.find_manageable(caller, id).await.map(credential_view)
    }

    /// Sets whether a credential is used, and until when. The secret is unchanged.
    pub async fn update(
        &self,
        caller: &Caller,
        id: CredentialId,
        request: UpdateCredential,
    ) -> Result<CredentialView, CredentialError> {
        let now = self.clock.now();
        let _alone = self.sealing_lock.lock().await;
        let old = self.find_manageable(caller, id).await?;
        let action = match request.is_active {
            Some(true) => "credential.enable",
            Some(false) => "credential.disable",
            None => "credential.update",
        };
        let expires_at = match request.expires_at {
            Expiry::Kept => old.expires_at,
            changed @ (Expiry::Never | Expiry::At(_)) => validate_expiry(None, changed, now)?,
        };
        let row = Credential {
            is_active: request.is_active.unwrap_or(old.is_active),
            expires_at,
            version: old.version + 1,
            updated_at: now,
            updated_by: Some(caller.user),
            ..old
        };
        let stored = row.clone();
        self.write_change(move |tx| {
            Box::pin(async move {
                if !tx.credential_update(&stored).await? {
                    return Err(CredentialError::Conflict);
                }
                append_change(tx, action, &stored, now).await
            })
        })
        .await?;
        Ok(credential_view(row))
    }

    /// Returns the change history, newest first, for the owner and administrators. For a removed
    /// credential, users see only their own changes.
    pub async fn changes(
        &self,
        caller: &Caller,
        id: CredentialId,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, CredentialError> {
        let mut filter = changes::resource_filter(CREDENTIAL, &id.to_string());
        let is_there = match self.find_manageable(caller, id).await {
            Ok(_) => true,
            Err(CredentialError::NotFound) => false,
            Err(error) => return Err(error),
        };
        if !is_there {
            filter.by = caller.own();
        }
        let page =
            changes::list_access_changes::<CredentialError>(&self.store, filter, query).await?;
        if page.items.is_empty() && !is_there {
            return Err(CredentialError::NotFound);
        }
        Ok(page)
    }
}

/// Returns the expiry of a credential. Rejects an expiry in the past: the credential would never be
/// used.
pub(super) fn validate_expiry(
    old: Option<DateTime<Utc>>,
    wanted: Expiry,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, CredentialError> {
    let end = if wanted.is_kept() { old } else { wanted.into() };
    match end {
        Some(end) if end <= now => {
            let at = end.to_rfc3339_opts(SecondsFormat::Secs, true);
            let rule = format!("expires_at must be in the future, but is {at}");
            Err(CredentialError::Invalid(rule))
        }
        end => Ok(end),
    }
}
