//! Password sign-in, rate limited by handle and address.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cynode_domain::ids::UserId;
use cynode_store::{AuthEvent, Tx, User};
use cynode_wire::auth::{Login, SessionView};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::{AccountError, Accounts};

/// Attempts a minute for one handle from one address.
const ATTEMPTS_PER_PAIR: u32 = 10;
/// Attempts a minute for one handle from all addresses together, except those where its user signed in before.
const ATTEMPTS_PER_HANDLE: u32 = 60;
/// Attempts a minute from one address, which many users may share.
const ATTEMPTS_PER_ADDRESS: u32 = 300;
/// No handle is longer; longer input is rejected before it takes memory in the rate limiter.
const MAX_HANDLE_BYTES: usize = 128;
/// How many pairs of handle and address are remembered.
const MAX_KNOWN_PAIRS: usize = 10_000;

/// The client address of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub String);

/// Rate limits for sign-in attempts.
///
/// Wrong passwords lock out the client that sends them, not the owner of the account: a user who signed in from an address
/// before, as far as this process knows, is limited there by the attempts of that pair alone. Clients behind a proxy
/// that is not trusted share its address.
pub(super) struct LoginLimits {
    pairs: DefaultKeyedRateLimiter<(String, ClientAddress)>,
    handles: DefaultKeyedRateLimiter<String>,
    addresses: DefaultKeyedRateLimiter<ClientAddress>,
    /// Where users signed in, in this process.
    known: Mutex<HashSet<(String, ClientAddress)>>,
}

impl LoginLimits {
    pub(super) fn new() -> Self {
        let per_minute =
            |count| Quota::per_minute(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN));
        Self {
            pairs: RateLimiter::keyed(per_minute(ATTEMPTS_PER_PAIR)),
            handles: RateLimiter::keyed(per_minute(ATTEMPTS_PER_HANDLE)),
            addresses: RateLimiter::keyed(per_minute(ATTEMPTS_PER_ADDRESS)),
            known: Mutex::default(),
        }
    }

    /// Consumes one attempt of this address; false if it is over the limit.
    pub(super) fn allows_address(&self, origin: &ClientAddress) -> bool {
        self.addresses.check_key(origin).is_ok()
    }

    /// Consumes one attempt of this handle from this address.
    pub(super) fn check(&self, handle: &str, origin: &ClientAddress) -> LoginAllowance {
        let pair = (handle.to_owned(), origin.clone());
        let is_known = self.lock_known().contains(&pair);
        if !is_known && !self.allows_address(origin) {
            return LoginAllowance::AddressExceeded;
        }
        let is_allowed = self.pairs.check_key(&pair).is_ok()
            && (is_known || self.handles.check_key(&pair.0).is_ok());
        if is_allowed {
            return LoginAllowance::Allowed;
        }
        LoginAllowance::HandleExceeded { is_recorded: !is_known || self.allows_address(origin) }
    }

    /// Remembers that the user of this handle signed in from this address.
    fn remember(&self, handle: &str, origin: &ClientAddress) {
        let mut known = self.lock_known();
        if known.len() >= MAX_KNOWN_PAIRS
            && let Some(any) = known.iter().next().cloned()
        {
            known.remove(&any);
        }
        known.insert((handle.to_owned(), origin.clone()));
    }

    fn lock_known(&self) -> MutexGuard<'_, HashSet<(String, ClientAddress)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an attempt may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoginAllowance {
    Allowed,
    /// Not recorded, so that a client cannot fill the disk.
    AddressExceeded,
    HandleExceeded {
        /// Whether the address is within its limit.
        is_recorded: bool,
    },
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
        match self.limits.check(&login.handle, origin) {
            LoginAllowance::Allowed => {}
            LoginAllowance::AddressExceeded => return Err(AccountError::TooManyAttempts),
            LoginAllowance::HandleExceeded { is_recorded } => {
                if is_recorded {
                    let attempt = AuthAttempt::failed("login_failure", &login.handle, "rate limit");
                    self.record_attempt(origin, attempt).await?;
                }
                return Err(AccountError::TooManyAttempts);
            }
        }
        match self.verify_password(&login).await? {
            Ok(verified) => {
                let user = &verified.user;
                self.limits.remember(&user.handle, origin);
                let session = self.open_session(&verified).await?;
                self.record_attempt(origin, AuthAttempt::succeeded("login_success", user)).await?;
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

    /// Verifies the password of a signed-in user; `None` if it is wrong. Limited and recorded like a sign-in, so that a
    /// stolen token cannot be used to guess it.
    pub(super) async fn verify_own_password(
        &self,
        handle: &str,
        password: String,
        origin: &ClientAddress,
    ) -> Result<Option<VerifiedPassword>, AccountError> {
        if self.limits.check(handle, origin) != LoginAllowance::Allowed {
            return Err(AccountError::TooManyAttempts);
        }
        let login = Login { handle: handle.to_owned(), password };
        let reason = match self.verify_password(&login).await? {
            Ok(verified) => return Ok(Some(verified)),
            Err(reason) => reason,
        };
        let attempt = AuthAttempt::failed("password_change_failure", handle, reason);
        self.record_attempt(origin, attempt).await?;
        Ok(None)
    }

    /// Evicts old attempts, which bounds the limiter's memory.
    pub fn evict_old_attempts(&self) {
        self.limits.pairs.retain_recent();
        self.limits.handles.retain_recent();
        self.limits.addresses.retain_recent();
    }

    async fn verify_password(
        &self,
        login: &Login,
    ) -> Result<Result<VerifiedPassword, &'static str>, AccountError> {
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
        let matches = self.passwords.verify(login.password.clone().into(), hash.clone()).await?;
        Ok(match user {
            None => Err("unknown handle"),
            Some(_) if !matches => Err("wrong password"),
            Some(user) if !user.is_active => Err("account is disabled"),
            Some(user) => Ok(VerifiedPassword { user, hash }),
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

/// A user whose password was verified, with the hash it matched. Hashing takes time, in which an administrator may
/// disable the user or reset the password, so a transaction that relies on it checks again.
#[derive(Clone)]
pub(super) struct VerifiedPassword {
    pub(super) user: User,
    hash: Option<String>,
}

impl VerifiedPassword {
    /// Whether the user is still active and has the same password; locks the user until the transaction ends.
    pub(super) async fn still_holds(&self, tx: &mut Tx) -> Result<bool, cynode_store::Error> {
        let user = tx.user_lock(self.user.id).await?;
        let is_active = user.is_some_and(|user| user.is_active);
        Ok(is_active && tx.password_get(self.user.id).await? == self.hash)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(name: &str) -> ClientAddress {
        ClientAddress(name.to_owned())
    }

    fn allowed(limits: &LoginLimits, handle: &str, from: &str, attempts: u32) -> u32 {
        let check = |_: &u32| limits.check(handle, &address(from)) == LoginAllowance::Allowed;
        u32::try_from((0..attempts).filter(check).count()).unwrap()
    }

    #[test]
    fn wrong_passwords_for_some_users_of_an_address_lock_out_no_other_user_there() {
        let limits = LoginLimits::new();

        assert_eq!(allowed(&limits, "ada", "proxy", 60), ATTEMPTS_PER_PAIR);

        assert_eq!(allowed(&limits, "bob", "proxy", 1), 1);
        assert_eq!(allowed(&limits, "ada", "elsewhere", 1), 1);
    }

    #[test]
    fn guesses_from_many_addresses_are_limited_and_do_not_lock_out_the_user() {
        let limits = LoginLimits::new();
        limits.remember("ada", &address("home"));

        let guesses: u32 = (0..200).map(|n| allowed(&limits, "ada", &format!("bot {n}"), 10)).sum();

        assert!(guesses <= ATTEMPTS_PER_HANDLE + 2, "{guesses}");
        assert_eq!(allowed(&limits, "ada", "home", 1), 1);
        assert_eq!(allowed(&limits, "ada", "a new place", 1), 0);
    }

    #[test]
    fn one_address_cannot_try_the_passwords_of_many_users() {
        let limits = LoginLimits::new();

        let tried: u32 = (0..500).map(|n| allowed(&limits, &format!("u{n}"), "bot", 1)).sum();

        assert!(tried <= ATTEMPTS_PER_ADDRESS + 5, "{tried}");
    }
}
