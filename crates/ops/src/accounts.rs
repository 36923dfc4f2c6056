//! Accounts: the first administrator, signing in, sessions and API tokens.

mod bootstrap;
mod login;
mod passwords;
mod sessions;
mod tokens;
mod users;

use std::sync::Arc;

use cynode_runtime::clock::SharedClock;
use cynode_store::Store;

pub use bootstrap::Bootstrap;
use login::LoginLimits;
pub use login::Origin;
use passwords::Passwords;
pub(crate) use sessions::Credential;

use crate::BadCursor;

/// Why an account operation was refused.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Handle and password do not belong together.
    #[error("handle or password is wrong")]
    WrongCredentials,
    /// Too many attempts.
    #[error("too many sign-in attempts: wait a minute and try again")]
    TooManyAttempts,
    /// The token is unknown, over or revoked.
    #[error("the token is unknown, expired or revoked: sign in again")]
    BadToken,
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The handle is taken.
    #[error("the handle \"{0}\" is taken")]
    HandleTaken(String),
    /// There is no such token.
    #[error("there is no such token")]
    NoSuchToken,
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The system gave no randomness, or hashing failed.
    #[error("no secret could be made")]
    Secret(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl From<getrandom::Error> for AccountError {
    fn from(error: getrandom::Error) -> Self {
        Self::Secret(Box::new(error))
    }
}

/// Accounts, sessions and tokens. Cheap to clone.
#[derive(Clone)]
pub struct Accounts {
    store: Store,
    clock: SharedClock,
    /// Bounds how many password hashes are computed at once: each takes 19 MiB.
    passwords: Passwords,
    /// Bounds how often one handle or address may try to sign in.
    limits: Arc<LoginLimits>,
}

impl Accounts {
    /// Accounts kept in `store`.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        let limits = Arc::new(LoginLimits::new());
        Self { store, clock, passwords: Passwords::default(), limits }
    }
}
