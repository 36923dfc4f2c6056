//! One credential: looking at it, turning it on and off, saying when it ends, and its history.

use chrono::{DateTime, SecondsFormat, Utc};
use cynode_domain::ids::CredentialId;
use cynode_store::{Credential, CredentialStore};
use cynode_wire::changes::ChangeView;
use cynode_wire::credentials::{CredentialView, Expiry, UpdateCredential};
use cynode_wire::page::{Page, PageQuery};

use super::manage::record;
use super::{CREDENTIAL, CredentialError, Credentials, view};
use crate::{Caller, changes};

impl Credentials {
    /// One credential.
    pub async fn get(
        &self,
        caller: &Caller,
        id: CredentialId,
    ) -> Result<CredentialView, CredentialError> {
        self.find(caller, id).await.map(view)
    }

    /// Says whether a credential is used, and until when. Its secret stays.
    pub async fn update(
        &self,
        caller: &Caller,
        id: CredentialId,
        request: UpdateCredential,
    ) -> Result<CredentialView, CredentialError> {
        let now = self.clock.now();
        let _alone = self.changing.lock().await;
        let old = self.find(caller, id).await?;
        let action = match request.is_active {
            Some(true) => "credential.enable",
            Some(false) => "credential.disable",
            None => "credential.update",
        };
        let expires_at = match request.expires_at {
            Expiry::Kept => old.expires_at,
            changed @ (Expiry::Never | Expiry::At(_)) => end(None, changed, now)?,
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
        self.change(move |tx| {
            Box::pin(async move {
                if !tx.credential_update(&stored).await? {
                    return Err(CredentialError::Conflict);
                }
                record(tx, action, &stored, now).await
            })
        })
        .await?;
        Ok(view(row))
    }

    /// Who set, changed and removed a credential, newest first: for its owner and administrators. Of
    /// one that is gone, users see what they did themselves.
    pub async fn changes(
        &self,
        caller: &Caller,
        id: CredentialId,
        query: &PageQuery,
    ) -> Result<Page<ChangeView>, CredentialError> {
        let mut filter = changes::of_one(CREDENTIAL, &id.to_string());
        let is_there = match self.find(caller, id).await {
            Ok(_) => true,
            Err(CredentialError::NotFound) => false,
            Err(error) => return Err(error),
        };
        if !is_there {
            filter.by = caller.own();
        }
        let page = changes::of_access::<CredentialError>(&self.store, filter, query).await?;
        if page.items.is_empty() && !is_there {
            return Err(CredentialError::NotFound);
        }
        Ok(page)
    }
}

/// When a credential ends. An end that is past is refused: what was just set would never be used.
pub(super) fn end(
    old: Option<DateTime<Utc>>,
    wanted: Expiry,
    now: DateTime<Utc>,
) -> Result<Option<DateTime<Utc>>, CredentialError> {
    let end = if wanted.is_kept() { old } else { wanted.into() };
    match end {
        Some(end) if end <= now => {
            let at = end.to_rfc3339_opts(SecondsFormat::Secs, true);
            let rule =
                format!("the credential would have expired at {at}: name a later expires_at");
            Err(CredentialError::Invalid(rule))
        }
        end => Ok(end),
    }
}
