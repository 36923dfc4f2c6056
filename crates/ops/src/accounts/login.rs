//! Signing in with a password, bounded per handle and per address.

use std::num::NonZeroU32;

use cynode_domain::ids::UserId;
use cynode_store::{AuthEvent, User, UserStore};
use cynode_wire::auth::{Login, SessionView};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::{AccountError, Accounts};

/// Attempts a minute for one handle.
const PER_HANDLE: u32 = 10;
/// Attempts a minute from one address.
const PER_ADDRESS: u32 = 60;
/// A handle longer than this is nobody's, and must not fill the limiter's memory.
const MAX_HANDLE_BYTES: usize = 128;

/// Where a request came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin(pub String);

/// How often somebody may try to sign in.
pub(super) struct LoginLimits {
    handles: DefaultKeyedRateLimiter<String>,
    addresses: DefaultKeyedRateLimiter<Origin>,
}

impl LoginLimits {
    pub(super) fn new() -> Self {
        let per_minute =
            |count| Quota::per_minute(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN));
        Self {
            handles: RateLimiter::keyed(per_minute(PER_HANDLE)),
            addresses: RateLimiter::keyed(per_minute(PER_ADDRESS)),
        }
    }

    /// Whether this address may be listened to once more.
    pub(super) fn allows_address(&self, origin: &Origin) -> bool {
        self.addresses.check_key(origin).is_ok()
    }

    fn allows_handle(&self, handle: &str) -> bool {
        self.handles.check_key(&handle.to_owned()).is_ok()
    }
}

impl Accounts {
    /// Signs in: a session for a handle and its password.
    pub async fn login(&self, login: Login, origin: &Origin) -> Result<SessionView, AccountError> {
        if login.handle.len() > MAX_HANDLE_BYTES {
            return Err(AccountError::WrongCredentials);
        }
        // Beyond this bound not even the refusal is written down, or anybody could fill the disk.
        if !self.limits.allows_address(origin) {
            return Err(AccountError::TooManyAttempts);
        }
        if !self.limits.allows_handle(&login.handle) {
            self.record(origin, Attempt::failed("login_failure", &login.handle, "rate limit"))
                .await?;
            return Err(AccountError::TooManyAttempts);
        }
        match self.check_password(&login).await? {
            Ok(user) => {
                let session = self.open_session(user.id).await?;
                self.record(origin, Attempt::by("login_success", &user)).await?;
                Ok(session)
            }
            Err(reason) => {
                self.record(origin, Attempt::failed("login_failure", &login.handle, reason))
                    .await?;
                Err(AccountError::WrongCredentials)
            }
        }
    }

    /// Forgets attempts that no longer matter, so that the limiter's memory stays bounded.
    pub fn forget_old_attempts(&self) {
        self.limits.handles.retain_recent();
        self.limits.addresses.retain_recent();
    }

    async fn check_password(
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
        let matches = self.passwords.matches(login.password.clone().into(), hash).await?;
        Ok(match user {
            None => Err("unknown handle"),
            Some(_) if !matches => Err("wrong password"),
            Some(user) if !user.is_active => Err("account is disabled"),
            Some(user) => Ok(user),
        })
    }

    pub(super) async fn record(
        &self,
        origin: &Origin,
        attempt: Attempt<'_>,
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
            .append(move |tx| Box::pin(async move { Ok(tx.auth_event_append(&event).await?) }))
            .await
    }
}

/// Something somebody tried, for the record.
pub(super) struct Attempt<'a> {
    event_type: &'static str,
    user: Option<UserId>,
    handle: &'a str,
    refusal: Option<&'a str>,
}

impl<'a> Attempt<'a> {
    /// A known user did something.
    pub(super) fn by(event_type: &'static str, user: &'a User) -> Self {
        Self { event_type, user: Some(user.id), handle: &user.handle, refusal: None }
    }

    /// Somebody was refused.
    pub(super) fn failed(event_type: &'static str, handle: &'a str, refusal: &'a str) -> Self {
        Self { event_type, user: None, handle, refusal: Some(refusal) }
    }
}
