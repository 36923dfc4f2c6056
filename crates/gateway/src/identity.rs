//! Who calls: what a token stands for, and for how long that may be remembered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// How long a token is believed without asking the database again: the longest that a revocation
/// made elsewhere can go unnoticed.
const BELIEVED_FOR: Duration = Duration::from_secs(1);
/// How many tokens are remembered.
const REMEMBERED: usize = 10_000;

/// The SHA-256 of a token: what stands for it everywhere after it was read.
pub(crate) type TokenHash = [u8; 32];

/// What a token stands for.
pub use cynode_ops::agents::AgentIdentity as Identity;

/// The hash that stands for a token.
pub(crate) fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// Tokens that were looked up a moment ago.
#[derive(Default)]
pub(crate) struct Remembered {
    tokens: Mutex<HashMap<TokenHash, Entry>>,
}

struct Entry {
    identity: Arc<Identity>,
    /// The registry's revision then: a token revoked since has another.
    revision: i64,
    since: Instant,
}

impl Remembered {
    /// What the token stands for, if that was learnt a moment ago and nothing changed since.
    pub(crate) fn get(
        &self,
        token: &TokenHash,
        revision: i64,
        now: DateTime<Utc>,
    ) -> Option<Arc<Identity>> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = tokens.get(token)?;
        let is_fresh = entry.revision == revision && entry.since.elapsed() < BELIEVED_FOR;
        let is_valid = entry.identity.expires_at.is_none_or(|end| end > now);
        (is_fresh && is_valid).then(|| Arc::clone(&entry.identity))
    }

    /// Remembers a token; forgets all others when there are too many.
    pub(crate) fn put(&self, token: TokenHash, revision: i64, identity: Arc<Identity>) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= REMEMBERED {
            tokens.retain(|_, entry| entry.since.elapsed() < BELIEVED_FOR);
            if tokens.len() >= REMEMBERED {
                tokens.clear();
            }
        }
        tokens.insert(token, Entry { identity, revision, since: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{TokenId, UserId};
    use cynode_domain::policy::Principal;
    use cynode_ops::Caller;
    use cynode_ops::agents::TokenOrigin;

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
            expires_at,
        })
    }

    fn noon() -> DateTime<Utc> {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_believed_for_a_moment_until_the_registry_changes() {
        let (remembered, token) = (Remembered::default(), hash("t"));
        remembered.put(token, 7, identity(None));

        assert!(remembered.get(&token, 7, noon()).is_some());
        assert!(remembered.get(&token, 8, noon()).is_none());
        assert!(remembered.get(&hash("u"), 7, noon()).is_none());
        tokio::time::advance(BELIEVED_FOR).await;
        assert!(remembered.get(&token, 7, noon()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_remembered_token_that_has_ended_is_not_believed() {
        let (remembered, token) = (Remembered::default(), hash("t"));
        remembered.put(token, 7, identity(Some(noon())));

        assert!(remembered.get(&token, 7, noon()).is_none());
        assert!(remembered.get(&token, 7, noon() - chrono::TimeDelta::seconds(1)).is_some());
    }
}
