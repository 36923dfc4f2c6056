//! User accounts.

use cynode_domain::ids::UserId;
use cynode_domain::name::Slug;
use cynode_store::User;
use cynode_wire::auth::{CreateUser, UserView};

use super::bootstrap::SYSTEM_HANDLE;
use super::login::AuthAttempt;
use super::{AccountError, Accounts, ClientAddress};
use crate::Caller;

const MIN_PASSWORD_CHARS: usize = 12;
/// Bounds the time a hash takes.
const MAX_PASSWORD_BYTES: usize = 1024;

impl Accounts {
    /// Returns the caller's own account.
    pub async fn whoami(&self, caller: &Caller) -> Result<UserView, AccountError> {
        let id = caller.user;
        let user = self
            .store
            .read(move |tx| Box::pin(async move { Ok::<_, AccountError>(tx.user_get(id).await?) }))
            .await?;
        user.map(user_view).ok_or(AccountError::BadToken)
    }

    /// Creates a user. Administrators only.
    pub async fn user_create(
        &self,
        caller: &Caller,
        request: CreateUser,
        origin: &ClientAddress,
    ) -> Result<UserView, AccountError> {
        if !caller.is_admin {
            return Err(AccountError::NotAdmin);
        }
        validate_user_request(&request)?;
        let hash = self.passwords.hash(request.password.into()).await?;
        let now = self.clock.now();
        let user = User {
            id: UserId::generate(),
            handle: request.handle,
            is_admin: request.is_admin,
            is_active: true,
            created_at: now,
        };
        let (row, by) = (user.clone(), caller.user);
        let added = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    // The caller may have lost the right while the password was hashed.
                    if !tx.user_lock_admins().await?.contains(&by) {
                        return Err(AccountError::NotAdmin);
                    }
                    tx.user_insert(&row).await?;
                    Ok::<_, AccountError>(tx.password_set(row.id, &hash, now).await?)
                })
            })
            .await;
        match added {
            Ok(()) => {
                self.record_attempt(origin, AuthAttempt::succeeded("user_created", &user)).await?;
                Ok(user_view(user))
            }
            Err(AccountError::Store(error)) if error.is_duplicate() => {
                Err(AccountError::HandleTaken(user.handle))
            }
            Err(error) => Err(error),
        }
    }
}

fn validate_user_request(request: &CreateUser) -> Result<(), AccountError> {
    let mut faults = vec![];
    let is_plain =
        Slug::normalise(&request.handle).is_ok_and(|slug| slug.as_str() == request.handle);
    if !is_plain {
        faults
            .push("handle may contain only lowercase letters, digits and single dashes".to_owned());
    }
    // Requests use "me" for the caller, and read what looks like an id as one.
    if [SYSTEM_HANDLE, "me"].contains(&request.handle.as_str())
        || request.handle.parse::<UserId>().is_ok()
    {
        faults.push(format!("the handle \"{}\" is reserved", request.handle));
    }
    faults.extend(password_fault(&request.password));
    if faults.is_empty() { Ok(()) } else { Err(AccountError::Invalid(faults)) }
}

/// Why a new password is rejected.
pub(super) fn password_fault(password: &str) -> Option<String> {
    let is_valid =
        password.chars().count() >= MIN_PASSWORD_CHARS && password.len() <= MAX_PASSWORD_BYTES;
    (!is_valid).then(|| {
        format!(
            "password needs at least {MIN_PASSWORD_CHARS} characters and at most {MAX_PASSWORD_BYTES} bytes"
        )
    })
}

pub(super) fn user_view(user: User) -> UserView {
    UserView {
        id: user.id,
        handle: user.handle,
        is_admin: user.is_admin,
        is_active: user.is_active,
        created_at: user.created_at,
    }
}
