//! Setting, rotating and removing credentials, and rotating the encryption key.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use cynode_domain::ids::CredentialId;
use cynode_domain::model::{CredentialKind, CredentialOwner};
use cynode_store::{AccessChange, Credential, Tx};
use cynode_wire::credentials::{
    CredentialView, Expiry, GivenSecret, RotateCredential, RotatedKeyView, SetCredential,
};
use secrecy::SecretString;
use uuid::Uuid;

use super::git_lease::GIT_PREFIX;
use super::keys::CredentialKeySet;
use super::server_secrets::{reseal_servers, reseal_values, server_keys, value_keys};
use super::update::validate_expiry;
use super::{CREDENTIAL, CredentialError, CredentialManager, credential_view, seal};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

const MAX_NAME_CHARS: usize = 100;
const MAX_SECRET_BYTES: usize = 16 * 1024;

impl CredentialManager {
    /// Lists the credentials that the caller may manage: their own, or all for an administrator.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<CredentialView>, CredentialError> {
        let mut rows = self.load_all().await?;
        rows.retain(|row| may_manage(caller, row));
        Ok(rows.into_iter().map(credential_view).collect())
    }

    /// Creates a credential; fails if one of that name exists.
    pub async fn set(
        &self,
        caller: &Caller,
        request: SetCredential,
    ) -> Result<CredentialView, CredentialError> {
        let now = self.clock.now();
        let (owner, owner_id) = resolve_owner(caller, &request)?;
        let kind = request.credential_type.unwrap_or(CredentialKind::ApiKey);
        let secret = validate_secret(request.secret, kind)?;
        let mut row = Credential {
            id: CredentialId::generate(),
            owner,
            owner_id,
            provider: validate_provider(request.provider, kind)?,
            kind,
            name: validate_name("name", request.name.unwrap_or_else(|| "default".to_owned()))?,
            sealed: vec![],
            key: String::new(),
            is_active: true,
            expires_at: validate_expiry(request.expires_at, Expiry::Kept, now)?,
            version: 1,
            created_at: now,
            updated_at: now,
            updated_by: Some(caller.user),
        };
        let _alone = self.sealing_lock.lock().await;
        self.seal(&mut row, &secret).await?;
        let stored = row.clone();
        self.write_change(move |tx| {
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
                append_change(tx, "credential.set", &stored, now).await
            })
        })
        .await?;
        Ok(credential_view(row))
    }

    /// Replaces the secret; later calls send the new one. `is_active` is unchanged, `expires_at`
    /// too unless the request sets it.
    pub async fn rotate(
        &self,
        caller: &Caller,
        id: CredentialId,
        request: RotateCredential,
    ) -> Result<CredentialView, CredentialError> {
        let now = self.clock.now();
        let _alone = self.sealing_lock.lock().await;
        let old = self.find_manageable(caller, id).await?;
        let secret = validate_secret(request.secret, old.kind)?;
        let mut row = Credential {
            expires_at: validate_expiry(old.expires_at, request.expires_at, now)?,
            version: old.version + 1,
            updated_at: now,
            updated_by: Some(caller.user),
            ..old
        };
        self.seal(&mut row, &secret).await?;
        let stored = row.clone();
        self.write_change(move |tx| {
            Box::pin(async move {
                if !tx.credential_update(&stored).await? {
                    return Err(CredentialError::Conflict);
                }
                append_change(tx, "credential.rotate", &stored, now).await
            })
        })
        .await?;
        Ok(credential_view(row))
    }

    pub async fn remove(&self, caller: &Caller, id: CredentialId) -> Result<(), CredentialError> {
        let (mut row, now) = (self.find_manageable(caller, id).await?, self.clock.now());
        row.updated_by = Some(caller.user);
        self.write_change(move |tx| {
            Box::pin(async move {
                if !tx.credential_delete(id).await? {
                    return Err(CredentialError::NotFound);
                }
                append_change(tx, "credential.remove", &row, now).await
            })
        })
        .await
    }

    /// Reseals every credential, and the secrets of every installed server, with a new key. Administrators only. If interrupted at any point,
    /// every credential can still be decrypted, and the next rotation finishes the work.
    ///
    /// The previous key stays in the file until the next rotation, because another process may be
    /// about to commit a row that it sealed with that key.
    pub async fn rotate_key(&self, caller: &Caller) -> Result<RotatedKeyView, CredentialError> {
        if !caller.is_admin {
            return Err(CredentialError::Forbidden("only an administrator may rotate the key"));
        }
        let _alone = self.sealing_lock.lock().await;
        self.load_or_create_keys().await?;
        let new = Arc::new(self.load_needed_keys().await?.with_new()?);
        // Write the file with old and new keys first: after a crash each row opens with one of
        // them.
        new.replace(&self.key_file)?;
        self.read_keys()?;
        let (keys, now, by) = (Arc::clone(&new), self.clock.now(), caller.user);
        let path = self.key_file.to_path_buf();
        let credentials = self
            .write_change(move |tx| {
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
                        append_change(tx, "credential.rekey", &row, now).await?;
                    }
                    reseal_servers(tx, &keys).await?;
                    reseal_values(tx, &keys).await?;
                    Ok(count)
                })
            })
            .await?;
        let key_id = new.newest().map(|key| key.id.clone()).unwrap_or_default();
        tracing::info!(credentials, "credential key rotated");
        Ok(RotatedKeyView { key_id, credentials })
    }

    /// Returns the sealing key and those that stored secrets were sealed with.
    async fn load_needed_keys(&self) -> Result<CredentialKeySet, CredentialError> {
        let needed = self.needed_keys().await?;
        let (path, count) = (self.key_file.to_path_buf(), needed.len());
        let keys =
            CredentialKeySet::read(&path)?.ok_or(CredentialError::KeyMissing { path, count })?;
        Ok(keys.retain_needed(|id| needed.iter().any(|key| key == id)))
    }

    /// The id of the key of each stored credential and server.
    async fn needed_keys(&self) -> Result<Vec<String>, CredentialError> {
        self.store
            .read(|tx| {
                Box::pin(async move {
                    let rows = tx.credential_list().await?.into_iter();
                    let mut keys: Vec<String> = rows.map(|row| row.key).collect();
                    keys.extend(server_keys(tx).await?);
                    keys.extend(value_keys(tx).await?);
                    Ok(keys)
                })
            })
            .await
    }

    /// Loads all credentials, still sealed.
    pub async fn load_all(&self) -> Result<Vec<Credential>, CredentialError> {
        self.store
            .read(|tx| {
                Box::pin(async move { Ok::<_, CredentialError>(tx.credential_list().await?) })
            })
            .await
    }

    pub(super) async fn find_manageable(
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
        reseal(&*self.load_or_create_keys().await?, row, secret)
    }

    /// Returns the keys and creates the key file for the first credential. A missing file is not
    /// replaced while stored credentials need it: a new file would hide that the old one must be
    /// restored.
    pub(super) async fn load_or_create_keys(
        &self,
    ) -> Result<Arc<CredentialKeySet>, CredentialError> {
        if let Some(keys) = self.read_keys()? {
            return Ok(keys);
        }
        let count = self.needed_keys().await?.len();
        let path = self.key_file.to_path_buf();
        if count > 0 {
            return Err(CredentialError::KeyMissing { path, count });
        }
        // Another process may create the file first; then its key is used.
        if CredentialKeySet::generate()?.write_new(&path)? {
            tracing::info!(path = %path.display(), "credential key file created: back it up");
        }
        self.read_keys()?.ok_or(CredentialError::KeyMissing { path, count })
    }

    pub(super) async fn write_change<T: Send + 'static>(
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

fn reseal(
    keys: &CredentialKeySet,
    row: &mut Credential,
    secret: &SecretString,
) -> Result<(), CredentialError> {
    let empty = || CredentialError::Seal("the key file contains no key".to_owned());
    let key = keys.newest().ok_or_else(empty)?;
    row.sealed = seal::seal(key, row, secret)?;
    row.key.clone_from(&key.id);
    Ok(())
}

/// Returns the owner of a new credential. Users set their own credentials; administrators set those of every user and
/// group, and those of the installation.
fn resolve_owner(
    caller: &Caller,
    request: &SetCredential,
) -> Result<(CredentialOwner, Option<Uuid>), CredentialError> {
    let owner = request.owner_type.unwrap_or(CredentialOwner::User);
    let is_own = owner == CredentialOwner::User
        && request.owner_id.is_none_or(|id| id == caller.user.as_uuid());
    if !is_own && !caller.is_admin {
        return Err(CredentialError::Forbidden(
            "only an administrator may set credentials of other owners",
        ));
    }
    match (owner, request.owner_id) {
        (CredentialOwner::System, None) => Ok((owner, None)),
        (CredentialOwner::System, Some(_)) => Err(CredentialError::Invalid(
            "owner_id is not allowed for credentials of the installation".to_owned(),
        )),
        (CredentialOwner::Group, None) => Err(CredentialError::Invalid(
            "owner_id is required for a group's credential".to_owned(),
        )),
        (CredentialOwner::User, id) => Ok((owner, Some(id.unwrap_or(caller.user.as_uuid())))),
        (CredentialOwner::Group, id) => Ok((owner, id)),
    }
}

fn may_manage(caller: &Caller, row: &Credential) -> bool {
    let is_own = row.owner == CredentialOwner::User && row.owner_id == Some(caller.user.as_uuid());
    caller.is_admin || is_own
}

fn validate_name(what: &str, text: String) -> Result<String, CredentialError> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if (1..=MAX_NAME_CHARS).contains(&text.len()) && text.chars().all(is_known) {
        return Ok(text);
    }
    let rule =
        format!("`{what}` must have 1 to {MAX_NAME_CHARS} characters: letters, digits, and . _ -");
    Err(CredentialError::Invalid(rule))
}

/// Returns the provider of a credential: a git host for passwords and ssh keys, a model provider for the others.
fn validate_provider(provider: String, kind: CredentialKind) -> Result<String, CredentialError> {
    let is_git = matches!(kind, CredentialKind::Password | CredentialKind::SshKey);
    let Some(host) = provider.strip_prefix(GIT_PREFIX) else {
        if is_git {
            let rule =
                format!("a {kind} is for a git host: use {GIT_PREFIX}HOST, such as git:github.com");
            return Err(CredentialError::Invalid(rule));
        }
        return validate_name("provider", provider);
    };
    if !is_git {
        let rule = format!("{provider} takes a password or an ssh_key, no {kind}");
        return Err(CredentialError::Invalid(rule));
    }
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    validate_name("provider", name.to_owned())?;
    if !is_port {
        let rule = format!("{provider} has no valid port: use git:HOST or git:HOST:PORT");
        return Err(CredentialError::Invalid(rule));
    }
    Ok(provider.to_ascii_lowercase())
}

fn validate_secret(
    given: GivenSecret,
    kind: CredentialKind,
) -> Result<SecretString, CredentialError> {
    let text = given.0.trim();
    let secret = SecretString::from(text);
    let (is_sound, rule) = if kind == CredentialKind::SshKey {
        let is_key = text.starts_with("-----BEGIN ") && text.ends_with("PRIVATE KEY-----");
        (is_key, "an ssh_key must be a private key file, from -----BEGIN to PRIVATE KEY-----")
    } else {
        let is_sayable = text.chars().all(|c| c.is_ascii_graphic());
        (
            is_sayable,
            "a secret must be visible ASCII characters without spaces, as in an HTTP header",
        )
    };
    // Zeroize the copy that came over the wire.
    drop(secrecy::zeroize::Zeroizing::new(given.0));
    let size = secrecy::ExposeSecret::expose_secret(&secret).len();
    if !is_sound || !(1..=MAX_SECRET_BYTES).contains(&size) {
        return Err(CredentialError::Invalid(rule.to_owned()));
    }
    Ok(secret)
}

/// Appends a change-log row, without the secret.
pub(super) async fn append_change(
    tx: &mut Tx,
    action: &'static str,
    row: &Credential,
    at: DateTime<Utc>,
) -> Result<(), CredentialError> {
    tx.policy_bump_revision().await?;
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
