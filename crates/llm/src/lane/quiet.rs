//! Leaving a provider alone for as long as it asks for.
//!
//! Providers count requests by account and model. So does this: whoever asks with another credential,
//! or for another model, is not held up.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;

use tokio::time::Instant;

use crate::{Key, ProviderError};

/// Who is to stay away, and until when.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    until: Mutex<HashMap<Who, Instant>>,
    hasher: RandomState,
}

/// An account and a model, told apart without keeping a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Who(u64);

impl Quiet {
    pub(super) fn who(&self, model: Option<&str>, secret: Option<&Key>) -> Who {
        Who(self.hasher.hash_one((model, secret.map(ExposeSecret::expose_secret))))
    }

    /// The provider asks not to be asked again for a while.
    pub(super) fn keep(&self, who: Who, wait: Duration) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        until.retain(|_, at| *at > now);
        let Some(asked) = now.checked_add(wait) else { return };
        let at = until.entry(who).or_insert(asked);
        *at = asked.max(*at);
    }

    /// Refuses what the provider would refuse, since it asked not to be asked.
    pub(super) fn heed(&self, who: Who) -> Result<(), ProviderError> {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = until.get(&who) else { return Ok(()) };
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        Err(ProviderError::RateLimited { retry_after: Some(left) })
    }
}
