//! Password hashing: argon2id, off the async threads, a few at a time.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;

use super::AccountError;

const AT_ONCE: usize = 2;

/// Hashes and checks passwords.
#[derive(Debug, Clone)]
pub(super) struct Passwords {
    permits: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Passwords {
    /// The hash to store for a password.
    pub(super) async fn hash(&self, password: SecretString) -> Result<String, AccountError> {
        self.compute(move || {
            let hash = Argon2::default().hash_password(password.expose_secret().as_bytes());
            hash.map(|hash| hash.to_string()).map_err(|error| AccountError::Secret(Box::new(error)))
        })
        .await?
    }

    /// Whether a password belongs to a stored hash. Without a hash the same work is done, so that
    /// an unknown handle cannot be told from a wrong password by the time it takes.
    pub(super) async fn matches(
        &self,
        password: SecretString,
        hash: Option<String>,
    ) -> Result<bool, AccountError> {
        self.compute(move || {
            let Some(hash) = hash else {
                let _ = Argon2::default().hash_password(password.expose_secret().as_bytes());
                return false;
            };
            PasswordHash::new(&hash).is_ok_and(|hash| {
                let password = password.expose_secret().as_bytes();
                Argon2::default().verify_password(password, &hash).is_ok()
            })
        })
        .await
    }

    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, AccountError> {
        let _permit =
            self.permits.acquire().await.map_err(|error| AccountError::Secret(Box::new(error)))?;
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| AccountError::Secret(Box::new(error)))
    }
}
