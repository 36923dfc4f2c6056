//! Accounts: the first administrator, signing in, sessions, API tokens, and their end.

mod administration;
mod bootstrap;
mod login;
mod passwords;
mod sessions;
pub(crate) mod tokens;
mod users;

use std::sync::Arc;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_runtime::clock::SharedClock;
use cynode_store::Store;

pub use bootstrap::{BootstrapOutcome, InitialAdminSecrets};
pub use login::ClientAddress;
use login::LoginLimits;
use passwords::PasswordHashing;
pub use sessions::PresentedToken;

use crate::{PageError, Signals};

/// Errors of account operations.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("handle or password is wrong")]
    WrongCredentials,
    #[error("too many sign-in attempts: wait a minute and try again")]
    TooManyAttempts,
    #[error("the token is unknown, expired or revoked: sign in again")]
    BadToken,
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("the handle \"{0}\" is taken")]
    HandleTaken(String),
    #[error("there is no such token")]
    NoSuchToken,
    #[error("there is no user \"{0}\"")]
    NoSuchUser(String),
    #[error("the user \"system\" cannot be changed")]
    SystemUser,
    #[error("this would leave no active administrator: make another user an administrator first")]
    LastAdmin,
    #[error("the current password is wrong")]
    WrongPassword,
    #[error(transparent)]
    Page(#[from] PageError),
    /// The system random number generator or the password hash failed.
    #[error("could not generate a secret")]
    Secret(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for AccountError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::WrongCredentials | Self::BadToken => {
                Classification::new(ErrorClass::Unauthenticated, self)
            }
            Self::TooManyAttempts => Classification::new(ErrorClass::RateLimited, self),
            Self::NotAdmin | Self::SystemUser | Self::WrongPassword => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::HandleTaken(_) | Self::LastAdmin => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::NoSuchToken | Self::NoSuchUser(_) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Secret(_) => Classification::internal(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
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
    signals: Signals,
    /// Bounds how many password hashes are computed at once: each takes 19 MiB.
    passwords: PasswordHashing,
    /// Bounds how often one handle or address may try to sign in.
    limits: Arc<LoginLimits>,
}

impl Accounts {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        let limits = Arc::new(LoginLimits::new());
        Self { store, clock, signals, passwords: PasswordHashing::default(), limits }
    }
}
