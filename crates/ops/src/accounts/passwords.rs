//! Password hashing: argon2id, off the async threads, a few at a time.
//!
//! A hash needs 19 MiB for a moment. It is computed on a thread of its own, which gives them back when
//! it ends; a thread of a pool would keep them for as long as it waits for more work.

use std::sync::Arc;
use std::thread;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Semaphore, oneshot};

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
        let permits = Arc::clone(&self.permits);
        let permit =
            permits.acquire_owned().await.map_err(|error| AccountError::Secret(Box::new(error)))?;
        let (reply, answer) = oneshot::channel();
        let compute = move || {
            let done = work();
            drop(permit);
            // Whoever asked may have gone away in the meantime.
            let _ = reply.send(done);
        };
        thread::Builder::new()
            .name("passwords".to_owned())
            .spawn(compute)
            .map_err(|error| AccountError::Secret(Box::new(error)))?;
        answer.await.map_err(|error| AccountError::Secret(Box::new(error)))
    }
}
