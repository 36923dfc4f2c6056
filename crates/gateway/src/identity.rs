//! Authenticates tokens, with a short-lived cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// How long a token is cached: the longest delay until a revocation by another process takes
/// effect.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// Capacity of the cache.
const CACHE_CAPACITY: usize = 10_000;

/// The SHA-256 of a token, which replaces the token after parsing.
pub(crate) type TokenHash = [u8; 32];

pub use cynode_resources::agents::AgentIdentity as Identity;

pub(crate) fn hash_token(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// Recently authenticated tokens.
#[derive(Default)]
pub(crate) struct TokenCache {
    tokens: Mutex<HashMap<TokenHash, CachedToken>>,
}

struct CachedToken {
    identity: Arc<Identity>,
    /// The registry's revision at that time; a revocation changes it.
    revision: i64,
    since: Instant,
}

impl TokenCache {
    /// The cached identity, unless it is too old or the registry changed.
    pub(crate) fn get(
        &self,
        token: &TokenHash,
        revision: i64,
        now: DateTime<Utc>,
    ) -> Option<Arc<Identity>> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = tokens.get(token)?;
        let is_current = entry.revision == revision || cynode_fault::fault!("REQ-MCPGAT-0116");
        let is_fresh = is_current && entry.since.elapsed() < CACHE_TTL;
        let is_valid = entry.identity.expires_at.is_none_or(|end| end > now);
        (is_fresh && is_valid).then(|| Arc::clone(&entry.identity))
    }

    /// Caches a token; clears the cache when it is full.
    pub(crate) fn insert(&self, token: TokenHash, revision: i64, identity: Arc<Identity>) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= CACHE_CAPACITY {
            tokens.retain(|_, entry| entry.since.elapsed() < CACHE_TTL);
            if tokens.len() >= CACHE_CAPACITY {
                tokens.clear();
            }
        }
        tokens.insert(token, CachedToken { identity, revision, since: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{TokenId, UserId};
    use cynode_domain::policy::Principal;
    use cynode_resources::Caller;
    use cynode_resources::agents::{JobAgent, TokenOrigin};

    use super::*;

    fn identity(expires_at: Option<DateTime<Utc>>) -> Arc<Identity> {
        let user = UserId::generate();
        Arc::new(Identity {
            token_id: TokenId::generate(),
            agent: Principal::PM,
            user,
            caller: Caller::on_behalf_of(user, "ada".to_owned(), false),
            groups: vec![],
            roles: vec![],
            project: None,
            task: None,
            run: None,
            job: None,
            session: None,
            origin: TokenOrigin::default(),
            job_agent: JobAgent::default(),
            profile_id: None,
            expires_at,
        })
    }

    fn noon() -> DateTime<Utc> {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_believed_for_a_moment_until_the_registry_changes() {
        let (remembered, token) = (TokenCache::default(), hash_token("t"));
        remembered.insert(token, 7, identity(None));

        assert!(remembered.get(&token, 7, noon()).is_some());
        assert!(remembered.get(&token, 8, noon()).is_none());
        assert!(remembered.get(&hash_token("u"), 7, noon()).is_none());
        tokio::time::advance(CACHE_TTL).await;
        assert!(remembered.get(&token, 7, noon()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_remembered_token_that_has_ended_is_not_believed() {
        let (remembered, token) = (TokenCache::default(), hash_token("t"));
        remembered.insert(token, 7, identity(Some(noon())));

        assert!(remembered.get(&token, 7, noon()).is_none());
        assert!(remembered.get(&token, 7, noon() - chrono::TimeDelta::seconds(1)).is_some());
    }
}
