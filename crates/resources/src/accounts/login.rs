//! Password sign-in, rate limited per handle and per address.

use std::num::NonZeroU32;

use cynode_domain::ids::UserId;
use cynode_store::{AuthEvent, User};
use cynode_wire::auth::{Login, SessionView};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::{AccountError, Accounts};

/// Attempts a minute for one handle.
const ATTEMPTS_PER_HANDLE: u32 = 10;
/// Attempts a minute from one address.
const ATTEMPTS_PER_ADDRESS: u32 = 60;
/// No handle is longer; longer input is rejected before it takes memory in the rate limiter.
const MAX_HANDLE_BYTES: usize = 128;

/// The client address of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub String);

/// Rate limits for sign-in attempts.
pub(super) struct LoginLimits {
    handles: DefaultKeyedRateLimiter<String>,
    addresses: DefaultKeyedRateLimiter<ClientAddress>,
}

impl LoginLimits {
    pub(super) fn new() -> Self {
        let per_minute =
            |count| Quota::per_minute(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN));
        Self {
            handles: RateLimiter::keyed(per_minute(ATTEMPTS_PER_HANDLE)),
            addresses: RateLimiter::keyed(per_minute(ATTEMPTS_PER_ADDRESS)),
        }
    }

    /// Consumes one attempt of this address; false if it is over the limit.
    pub(super) fn allows_address(&self, origin: &ClientAddress) -> bool {
        self.addresses.check_key(origin).is_ok()
    }

    fn allows_handle(&self, handle: &str) -> bool {
        self.handles.check_key(&handle.to_owned()).is_ok()
    }
}

impl Accounts {
    /// Opens a session for a handle and its password.
    pub async fn login(
        &self,
        login: Login,
        origin: &ClientAddress,
    ) -> Result<SessionView, AccountError> {
        if login.handle.len() > MAX_HANDLE_BYTES {
            return Err(AccountError::WrongCredentials);
        }
        // Rejections over this limit are not recorded, so that a client cannot fill the disk.
        if !self.limits.allows_address(origin) {
            return Err(AccountError::TooManyAttempts);
        }
        if !self.limits.allows_handle(&login.handle) {
            self.record_attempt(
                origin,
                AuthAttempt::failed("login_failure", &login.handle, "rate limit"),
            )
            .await?;
            return Err(AccountError::TooManyAttempts);
        }
        match self.verify_password(&login).await? {
            Ok(user) => {
                let session = self.open_session(user.id).await?;
                self.record_attempt(origin, AuthAttempt::succeeded("login_success", &user)).await?;
                Ok(session)
            }
            Err(reason) => {
                self.record_attempt(
                    origin,
                    AuthAttempt::failed("login_failure", &login.handle, reason),
                )
                .await?;
                Err(AccountError::WrongCredentials)
            }
        }
    }

    /// Whether this is the password of a signed-in user. Limited and recorded like a sign-in, so that a
    /// stolen token cannot be used to guess it.
    pub(super) async fn is_own_password(
        &self,
        handle: &str,
        password: String,
        origin: &ClientAddress,
    ) -> Result<bool, AccountError> {
        if !self.limits.allows_address(origin) || !self.limits.allows_handle(handle) {
            return Err(AccountError::TooManyAttempts);
        }
        let login = Login { handle: handle.to_owned(), password };
        let Err(reason) = self.verify_password(&login).await? else { return Ok(true) };
        let attempt = AuthAttempt::failed("password_change_failure", handle, reason);
        self.record_attempt(origin, attempt).await?;
        Ok(false)
    }

    /// Evicts old attempts, which bounds the limiter's memory.
    pub fn evict_old_attempts(&self) {
        self.limits.handles.retain_recent();
        self.limits.addresses.retain_recent();
    }

    async fn verify_password(
        &self,
        login: &Login,
    ) -> Result<Result<User, &'static str>, AccountError> {
        let handle = login.handle.clone();
        let (user, hash) = self
            .store
            .read(|tx| {
                Box::pin(async move {
                    let Some(user) = tx.user_by_handle(&handle).await? else {
                        return Ok::<_, AccountError>((None, None));
                    };
                    let hash = tx.password_get(user.id).await?;
                    Ok((Some(user), hash))
                })
            })
            .await?;
        let matches = self.passwords.verify(login.password.clone().into(), hash).await?;
        Ok(match user {
            None => Err("unknown handle"),
            Some(_) if !matches => Err("wrong password"),
            Some(user) if !user.is_active => Err("account is disabled"),
            Some(user) => Ok(user),
        })
    }

    pub(super) async fn record_attempt(
        &self,
        origin: &ClientAddress,
        attempt: AuthAttempt<'_>,
    ) -> Result<(), AccountError> {
        let event = AuthEvent {
            event_type: attempt.event_type,
            user: attempt.user,
            handle: Some(attempt.handle.to_owned()),
            success: attempt.refusal.is_none(),
            ip_address: Some(origin.0.clone()),
            reason: attempt.refusal.map(ToOwned::to_owned),
            at: self.clock.now(),
        };
        self.store
            .write(move |tx| Box::pin(async move { Ok(tx.auth_event_append(&event).await?) }))
            .await
    }
}

/// An authentication attempt to record.
pub(super) struct AuthAttempt<'a> {
    event_type: &'static str,
    user: Option<UserId>,
    handle: &'a str,
    refusal: Option<&'a str>,
}

impl<'a> AuthAttempt<'a> {
    /// A successful attempt.
    pub(super) fn succeeded(event_type: &'static str, user: &'a User) -> Self {
        Self { event_type, user: Some(user.id), handle: &user.handle, refusal: None }
    }

    /// A rejected attempt.
    pub(super) fn failed(event_type: &'static str, handle: &'a str, refusal: &'a str) -> Self {
        Self { event_type, user: None, handle, refusal: Some(refusal) }
    }
}
