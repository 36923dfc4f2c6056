//! Backs off for as long as a provider's `Retry-After` demands.
//!
//! Providers limit rates by account and model, so the back-off is kept by credential and model: requests with
//! another credential or for another model are not delayed.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;

use tokio::time::Instant;

use crate::{ProviderCredential, ProviderError};

/// The active back-offs, by credential and model.
#[derive(Debug, Default)]
pub(super) struct RateLimitBackoff {
    until: Mutex<HashMap<BackoffKey, Instant>>,
    hasher: RandomState,
}

/// A hash of credential and model; holds no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct BackoffKey(u64);

impl RateLimitBackoff {
    pub(super) fn key_for(
        &self,
        model: Option<&str>,
        secret: Option<&ProviderCredential>,
    ) -> BackoffKey {
        BackoffKey(self.hasher.hash_one((model, secret.map(ExposeSecret::expose_secret))))
    }

    /// Records that the provider accepts no request for `wait`; a longer back-off stays in force.
    pub(super) fn record(&self, who: BackoffKey, wait: Duration) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        until.retain(|_, at| *at > now);
        let Some(retry_after) = now.checked_add(wait) else { return };
        let at = until.entry(who).or_insert(retry_after);
        *at = retry_after.max(*at);
    }

    /// Fails with `RateLimited` while a back-off is active.
    pub(super) fn check(&self, who: BackoffKey) -> Result<(), ProviderError> {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = until.get(&who) else { return Ok(()) };
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        Err(ProviderError::RateLimited { retry_after: Some(left) })
    }
}
