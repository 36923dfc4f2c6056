//! Setting, rotating and removing credentials, and changing the key.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cynode_domain::ids::CredentialId;
use cynode_domain::model::{CredentialKind, CredentialOwner};
use cynode_store::{
    AccessChange, Credential, CredentialStore, GroupStore, RuleStore, SettingStore, Tx,
};
use cynode_wire::credentials::{
    CredentialView, Expiry, GivenSecret, RotateCredential, RotatedKeyView, SetCredential,
};
use secrecy::SecretString;
use uuid::Uuid;

use super::keys::Keys;
use super::update::end;
use super::{CREDENTIAL, CredentialError, Credentials, seal, view};
use crate::Caller;
use crate::signals::Topic;

const MAX_NAME_CHARS: usize = 100;
const MAX_SECRET_BYTES: usize = 16 * 1024;

impl Credentials {
    /// The credentials that a caller may manage: their own, and for an administrator all.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<CredentialView>, CredentialError> {
        let mut rows = self.rows().await?;
        rows.retain(|row| may_manage(caller, row));
        Ok(rows.into_iter().map(view).collect())
    }

    /// Keeps a credential that is not there yet.
    pub async fn set(
        &self,
        caller: &Caller,
        request: SetCredential,
    ) -> Result<CredentialView, CredentialError> {
        let now = self.clock.now();
        let (owner, owner_id) = owner_of(caller, &request)?;
        let secret = checked(request.secret)?;
        let mut row = Credential {
            id: CredentialId::generate(),
            owner,
            owner_id,
            provider: word("provider", request.provider)?,
            kind: request.credential_type.unwrap_or(CredentialKind::ApiKey),
            name: word("name", request.name.unwrap_or_else(|| "default".to_owned()))?,
            sealed: vec![],
            key: String::new(),
            is_active: true,
            expires_at: end(request.expires_at, Expiry::Kept, now)?,
            version: 1,
            created_at: now,
            updated_at: now,
            updated_by: Some(caller.user),
        };
        let _alone = self.changing.lock().await;
        self.seal(&mut row, &secret).await?;
        let stored = row.clone();
        self.change(move |tx| {
            Box::pin(async move {
                if let (CredentialOwner::Group, Some(id)) = (stored.owner, stored.owner_id)
                    && tx.group_get(id.into()).await?.is_none()
                {
                    return Err(CredentialError::Invalid("there is no such group".to_owned()));
                }
                if !tx.credential_insert(&stored).await? {
                    let Credential { provider, name, .. } = stored;
                    return Err(CredentialError::Exists { provider, name });
                }
                record(tx, "credential.set", &stored, now).await
            })
        })
        .await?;
        Ok(view(row))
    }

    /// Replaces the secret of a credential; calls from now on send the new one. Whether it is used
    /// stays as it is, and until when unless the request says otherwise.
    pub async fn rotate(
        &self,
        caller: &Caller,
        id: CredentialId,
        request: RotateCredential,
    ) -> Result<CredentialView, CredentialError> {
        let (secret, now) = (checked(request.secret)?, self.clock.now());
        let _alone = self.changing.lock().await;
        let old = self.find(caller, id).await?;
        let mut row = Credential {
            expires_at: end(old.expires_at, request.expires_at, now)?,
            version: old.version + 1,
            updated_at: now,
            updated_by: Some(caller.user),
            ..old
        };
        self.seal(&mut row, &secret).await?;
        let stored = row.clone();
        self.change(move |tx| {
            Box::pin(async move {
                if !tx.credential_update(&stored).await? {
                    return Err(CredentialError::Conflict);
                }
                record(tx, "credential.rotate", &stored, now).await
            })
        })
        .await?;
        Ok(view(row))
    }

    /// Removes a credential.
    pub async fn remove(&self, caller: &Caller, id: CredentialId) -> Result<(), CredentialError> {
        let (mut row, now) = (self.find(caller, id).await?, self.clock.now());
        row.updated_by = Some(caller.user);
        self.change(move |tx| {
            Box::pin(async move {
                if !tx.credential_delete(id).await? {
                    return Err(CredentialError::NotFound);
                }
                record(tx, "credential.remove", &row, now).await
            })
        })
        .await
    }

    /// Seals every credential with a new key. Administrators only. Interrupted anywhere, every credential
    /// still opens, and the next rotation finishes the work.
    ///
    /// The key before it seals nothing any more, but goes with the next rotation only: another process
    /// may have sealed something with it that it is just about to write.
    pub async fn rotate_key(&self, caller: &Caller) -> Result<RotatedKeyView, CredentialError> {
        if !caller.is_admin {
            return Err(CredentialError::Forbidden("only an administrator may change the key"));
        }
        let _alone = self.changing.lock().await;
        self.sealing_keys().await?;
        let new = Arc::new(self.needed_keys().await?.with_new()?);
        // First the file with all of them: whatever happens next, each row opens with one.
        new.replace(&self.key_file)?;
        self.read_keys()?;
        let (keys, now, by) = (Arc::clone(&new), self.clock.now(), caller.user);
        let path = self.key_file.to_path_buf();
        let credentials = self
            .change(move |tx| {
                Box::pin(async move {
                    let rows = tx.credential_list().await?;
                    let count = rows.len() as u64;
                    for mut row in rows {
                        let unknown = || CredentialError::KeyUnknown {
                            id: row.id,
                            key: row.key.clone(),
                            path: path.clone(),
                        };
                        let key = keys.find(&row.key).ok_or_else(unknown)?;
                        let secret = seal::open(key, &row)?;
                        reseal(&keys, &mut row, &secret)?;
                        (row.version, row.updated_at) = (row.version + 1, now);
                        row.updated_by = Some(by);
                        if !tx.credential_update(&row).await? {
                            return Err(CredentialError::Conflict);
                        }
                        record(tx, "credential.rekey", &row, now).await?;
                    }
                    Ok(count)
                })
            })
            .await?;
        let key_id = new.newest().map(|key| key.id.clone()).unwrap_or_default();
        tracing::info!(credentials, "{credentials} credentials were sealed with a new key");
        Ok(RotatedKeyView { key_id, credentials })
    }

    /// The key that seals, and those that credentials are sealed with.
    async fn needed_keys(&self) -> Result<Keys, CredentialError> {
        let rows = self.rows().await?;
        let (path, count) = (self.key_file.to_path_buf(), rows.len());
        let keys = Keys::read(&path)?.ok_or(CredentialError::KeyMissing { path, count })?;
        Ok(keys.needed(|id| rows.iter().any(|row| row.key == id)))
    }

    /// Every credential, still sealed.
    pub(crate) async fn rows(&self) -> Result<Vec<Credential>, CredentialError> {
        self.store
            .read(|tx| {
                Box::pin(async move { Ok::<_, CredentialError>(tx.credential_list().await?) })
            })
            .await
    }

    pub(super) async fn find(
        &self,
        caller: &Caller,
        id: CredentialId,
    ) -> Result<Credential, CredentialError> {
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, CredentialError>(tx.credential_get(id).await?) })
            })
            .await?;
        found.filter(|row| may_manage(caller, row)).ok_or(CredentialError::NotFound)
    }

    async fn seal(
        &self,
        row: &mut Credential,
        secret: &SecretString,
    ) -> Result<(), CredentialError> {
        reseal(&*self.sealing_keys().await?, row, secret)
    }

    /// The keys, made if this is the first credential. A file that is gone while credentials need it is
    /// not replaced: a new one would hide that the old one is to be put back.
    async fn sealing_keys(&self) -> Result<Arc<Keys>, CredentialError> {
        if let Some(keys) = self.read_keys()? {
            return Ok(keys);
        }
        let count = self.rows().await?.len();
        let path = self.key_file.to_path_buf();
        if count > 0 {
            return Err(CredentialError::KeyMissing { path, count });
        }
        // Another process may be first: then its key is the one.
        if Keys::generate()?.write_new(&path)? {
            tracing::info!("made the key of credentials in {}: keep a copy of it", path.display());
        }
        self.read_keys()?.ok_or(CredentialError::KeyMissing { path, count })
    }

    pub(super) async fn change<T: Send + 'static>(
        &self,
        body: impl for<'a> FnOnce(
            &'a mut Tx,
        )
            -> futures_util::future::BoxFuture<'a, Result<T, CredentialError>>
        + Send
        + 'static,
    ) -> Result<T, CredentialError> {
        let changed = self.store.write(body).await?;
        self.signals.send(Topic::Policy);
        Ok(changed)
    }
}

fn reseal(keys: &Keys, row: &mut Credential, secret: &SecretString) -> Result<(), CredentialError> {
    let empty = || CredentialError::Seal("there is no key".to_owned());
    let key = keys.newest().ok_or_else(empty)?;
    row.sealed = seal::seal(key, row, secret)?;
    row.key.clone_from(&key.id);
    Ok(())
}

/// Whom a new credential is for. Users set their own, administrators everybody's.
fn owner_of(
    caller: &Caller,
    request: &SetCredential,
) -> Result<(CredentialOwner, Option<Uuid>), CredentialError> {
    let owner = request.owner_type.unwrap_or(CredentialOwner::User);
    let is_own = owner == CredentialOwner::User
        && request.owner_id.is_none_or(|id| id == caller.user.as_uuid());
    if !is_own && !caller.is_admin {
        return Err(CredentialError::Forbidden(
            "only an administrator may set credentials of others",
        ));
    }
    match (owner, request.owner_id) {
        (CredentialOwner::System, None) => Ok((owner, None)),
        (CredentialOwner::System, Some(_)) => Err(CredentialError::Invalid(
            "the installation's credentials have no owner_id".to_owned(),
        )),
        (CredentialOwner::Group, None) => {
            Err(CredentialError::Invalid("a group's credential needs owner_id".to_owned()))
        }
        (CredentialOwner::User, id) => Ok((owner, Some(id.unwrap_or(caller.user.as_uuid())))),
        (CredentialOwner::Group, id) => Ok((owner, id)),
    }
}

fn may_manage(caller: &Caller, row: &Credential) -> bool {
    let is_own = row.owner == CredentialOwner::User && row.owner_id == Some(caller.user.as_uuid());
    caller.is_admin || is_own
}

fn word(what: &str, text: String) -> Result<String, CredentialError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if (1..=MAX_NAME_CHARS).contains(&text.len()) && text.chars().all(is_known) {
        return Ok(text);
    }
    let rule = format!("a {what} has 1 to {MAX_NAME_CHARS} letters, digits, and . _ -");
    Err(CredentialError::Invalid(rule))
}

fn checked(given: GivenSecret) -> Result<SecretString, CredentialError> {
    let secret = SecretString::from(given.0.trim());
    let is_sayable = given.0.trim().chars().all(|c| c.is_ascii_graphic());
    // The copy that came over the wire.
    drop(secrecy::zeroize::Zeroizing::new(given.0));
    let size = secrecy::ExposeSecret::expose_secret(&secret).len();
    if !is_sayable || !(1..=MAX_SECRET_BYTES).contains(&size) {
        let rule = "a secret is one word of visible ASCII characters, as headers need it";
        return Err(CredentialError::Invalid(rule.to_owned()));
    }
    Ok(secret)
}

/// Puts a change on record, without the secret.
pub(super) async fn record(
    tx: &mut Tx,
    action: &'static str,
    row: &Credential,
    at: DateTime<Utc>,
) -> Result<(), CredentialError> {
    tx.policy_touch().await?;
    let change = AccessChange {
        by: row.updated_by,
        action,
        resource_type: CREDENTIAL,
        resource: row.id.to_string(),
        allowed: true,
        reason: Some(format!("{} {} for {}", row.owner, row.name, row.provider)),
        task: None,
        at,
    };
    Ok(tx.access_change_append(&change).await?)
}
