//! Administration of accounts: list, disable, enable, promote, reset a password, end sessions and tokens.
//!
//! Invariants: every change is recorded in the same transaction, and at least one active administrator
//! remains.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{AuthEvent, Tx, User};
use cynode_wire::auth::{ChangePassword, EndedCount, UpdateUser, UserView};
use cynode_wire::page::{Page, PageQuery};

use super::bootstrap::SYSTEM_HANDLE;
use super::sessions::PresentedToken;
use super::users::{password_fault, user_view};
use super::{AccountError, Accounts, ClientAddress};
use crate::Caller;
use crate::paging::PageRequest;
use crate::signals::Topic;

impl Accounts {
    /// Lists users by handle. Administrators only.
    pub async fn user_list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<UserView>, AccountError> {
        require_admin(caller)?;
        let request = PageRequest::<String>::parse(query)?;
        let (after, fetch) = (request.before.clone(), request.fetch);
        let users = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, AccountError>(tx.user_list(after.as_deref(), fetch).await?)
                })
            })
            .await?;
        Ok(request.page(users, |user| user.handle.clone(), user_view))
    }

    /// Changes a user. Administrators only. A disabled user cannot sign in, its sessions end, and its API
    /// and agent tokens are rejected until it is enabled again; a new password ends its sessions too.
    pub async fn user_update(
        &self,
        caller: &Caller,
        user: &NameOrId<UserId>,
        request: UpdateUser,
        origin: &ClientAddress,
    ) -> Result<UserView, AccountError> {
        require_admin(caller)?;
        let UpdateUser { is_active, is_admin, password } = request;
        let new_hash = match password {
            Some(password) => Some(self.hash_new_password(password).await?),
            None => None,
        };
        let (user, change) = (user.clone(), self.change_by(caller, origin));
        let updated = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let before = change.lock_subject(tx, &user).await?;
                    let after = User {
                        is_active: is_active.unwrap_or(before.is_active),
                        is_admin: is_admin.unwrap_or(before.is_admin),
                        ..before.clone()
                    };
                    change.apply(tx, &before, &after).await?;
                    if let Some(hash) = new_hash {
                        tx.password_set(after.id, &hash, change.at).await?;
                        tx.session_end_all(after.id, None).await?;
                        change.record(tx, "password_reset", &after).await?;
                    }
                    Ok::<_, AccountError>(after)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(user_view(updated))
    }

    /// Replaces the caller's own password and ends the caller's other sessions. Rate limited like a
    /// sign-in.
    pub async fn password_change(
        &self,
        caller: &Caller,
        request: ChangePassword,
        origin: &ClientAddress,
    ) -> Result<(), AccountError> {
        let change = self.change_by(caller, origin);
        let current = request.current_password;
        let verified = self.verify_own_password(&caller.handle, current, origin).await?;
        let verified = verified.ok_or(AccountError::WrongPassword)?;
        let hash = self.hash_new_password(request.new_password).await?;
        let (id, presented) = (caller.user, caller.credential.clone());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if !verified.still_holds(tx).await? {
                        return Err(AccountError::WrongPassword);
                    }
                    tx.password_set(id, &hash, change.at).await?;
                    let kept = presented.as_ref().map(PresentedToken::hash);
                    tx.session_end_all(id, kept).await?;
                    change.record(tx, "password_changed", &verified.user).await
                })
            })
            .await
    }

    /// Ends all sessions of a user. For administrators and the user.
    pub async fn sessions_end(
        &self,
        caller: &Caller,
        user: &NameOrId<UserId>,
        origin: &ClientAddress,
    ) -> Result<EndedCount, AccountError> {
        let (user, caller, change) = (user.clone(), caller.clone(), self.change_by(caller, origin));
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let user = find_own_or_any(tx, &caller, &user).await?;
                    let ended = tx.session_end_all(user.id, None).await?;
                    change.record(tx, "sessions_ended", &user).await?;
                    Ok(EndedCount { ended })
                })
            })
            .await
    }

    /// Revokes all API tokens of a user. For administrators and the user.
    pub async fn tokens_revoke_all(
        &self,
        caller: &Caller,
        user: &NameOrId<UserId>,
        origin: &ClientAddress,
    ) -> Result<EndedCount, AccountError> {
        let (user, caller, change) = (user.clone(), caller.clone(), self.change_by(caller, origin));
        let ended = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let user = find_own_or_any(tx, &caller, &user).await?;
                    let ended = tx.token_revoke_all(user.id, change.at).await?;
                    tx.policy_bump_revision().await?;
                    change.record(tx, "tokens_revoked", &user).await?;
                    Ok::<_, AccountError>(EndedCount { ended })
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(ended)
    }

    async fn hash_new_password(&self, password: String) -> Result<String, AccountError> {
        if let Some(fault) = password_fault(&password) {
            return Err(AccountError::Invalid(vec![fault]));
        }
        self.passwords.hash(password.into()).await
    }

    fn change_by(&self, caller: &Caller, origin: &ClientAddress) -> AccountChange {
        AccountChange {
            by: caller.user,
            by_handle: caller.handle.clone(),
            address: origin.clone(),
            at: self.clock.now(),
        }
    }
}

/// A change of an account, with who made it.
struct AccountChange {
    by: UserId,
    by_handle: String,
    address: ClientAddress,
    at: DateTime<Utc>,
}

impl AccountChange {
    /// Finds the user to change, and locks the set of administrators, of whom the caller must still be
    /// one.
    async fn lock_subject(
        &self,
        tx: &mut Tx,
        user: &NameOrId<UserId>,
    ) -> Result<User, AccountError> {
        if !tx.user_lock_admins().await?.contains(&self.by) {
            return Err(AccountError::NotAdmin);
        }
        let found = find_user(tx, user).await?;
        // A sign-in that verified the old password waits for this transaction.
        tx.user_lock(found.id).await?.ok_or_else(|| AccountError::NoSuchUser(user.excerpt()))
    }

    /// Writes what differs between `before` and `after`.
    async fn apply(&self, tx: &mut Tx, before: &User, after: &User) -> Result<(), AccountError> {
        if before == after {
            return Ok(());
        }
        tx.user_update(after, self.at).await?;
        if tx.user_lock_admins().await?.is_empty() {
            return Err(AccountError::LastAdmin);
        }
        if before.is_active && !after.is_active {
            tx.session_end_all(after.id, None).await?;
        }
        // The gateway caches tokens and rights until the policy revision changes.
        tx.policy_bump_revision().await?;
        for (was, is, events) in [
            (before.is_active, after.is_active, ["user_disabled", "user_enabled"]),
            (before.is_admin, after.is_admin, ["admin_revoked", "admin_granted"]),
        ] {
            if was != is {
                self.record(tx, events[usize::from(is)], after).await?;
            }
        }
        Ok(())
    }

    async fn record(
        &self,
        tx: &mut Tx,
        event_type: &'static str,
        user: &User,
    ) -> Result<(), AccountError> {
        let event = AuthEvent {
            event_type,
            user: Some(user.id),
            handle: Some(user.handle.clone()),
            success: true,
            ip_address: Some(self.address.0.clone()),
            reason: Some(format!("by {}", self.by_handle)),
            at: self.at,
        };
        Ok(tx.auth_event_append(&event).await?)
    }
}

/// Finds a user that may be changed.
async fn find_user(tx: &mut Tx, user: &NameOrId<UserId>) -> Result<User, AccountError> {
    let found = match user {
        NameOrId::Id(id) => tx.user_get(*id).await?,
        NameOrId::Name(handle) => tx.user_by_handle(&lookup_name(handle)).await?,
    };
    let found = found.ok_or_else(|| AccountError::NoSuchUser(user.excerpt()))?;
    if found.handle == SYSTEM_HANDLE { Err(AccountError::SystemUser) } else { Ok(found) }
}

/// Finds the caller's own account, or any for an administrator. Others learn nothing from the answer.
async fn find_own_or_any(
    tx: &mut Tx,
    caller: &Caller,
    user: &NameOrId<UserId>,
) -> Result<User, AccountError> {
    if matches!(user, NameOrId::Name(name) if name == "me") {
        return find_user(tx, &NameOrId::Id(caller.user)).await;
    }
    match find_user(tx, user).await {
        Ok(found) if caller.may_see(found.id) => Ok(found),
        _ if !caller.is_admin => Err(AccountError::NotAdmin),
        found => found,
    }
}

fn require_admin(caller: &Caller) -> Result<(), AccountError> {
    if caller.is_admin { Ok(()) } else { Err(AccountError::NotAdmin) }
}
