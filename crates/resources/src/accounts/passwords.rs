//! Password hashing: argon2id, off the async threads, with bounded concurrency.
//!
//! A hash needs 19 MiB. Each is computed on its own thread, which frees the memory when it ends; a
//! pooled thread would keep it while idle.

use std::sync::Arc;
use std::thread;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Semaphore, oneshot};

use super::AccountError;

const MAX_CONCURRENT_HASHES: usize = 2;

/// Hashes and verifies passwords.
#[derive(Debug, Clone)]
pub(super) struct PasswordHashing {
    permits: Arc<Semaphore>,
}

impl Default for PasswordHashing {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(MAX_CONCURRENT_HASHES)) }
    }
}

impl PasswordHashing {
    pub(super) async fn hash(&self, password: SecretString) -> Result<String, AccountError> {
        self.run_on_thread(move || {
            let hash = Argon2::default().hash_password(password.expose_secret().as_bytes());
            hash.map(|hash| hash.to_string()).map_err(|error| AccountError::Secret(Box::new(error)))
        })
        .await?
    }

    /// Whether a password matches a stored hash. Without a hash it does the same work, so that response
    /// time does not distinguish an unknown handle from a wrong password.
    pub(super) async fn verify(
        &self,
        password: SecretString,
        hash: Option<String>,
    ) -> Result<bool, AccountError> {
        self.run_on_thread(move || {
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

    async fn run_on_thread<T: Send + 'static>(
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
            // The caller may have been canceled meanwhile.
            let _ = reply.send(done);
        };
        thread::Builder::new()
            .name("passwords".to_owned())
            .spawn(compute)
            .map_err(|error| AccountError::Secret(Box::new(error)))?;
        answer.await.map_err(|error| AccountError::Secret(Box::new(error)))
    }
}
