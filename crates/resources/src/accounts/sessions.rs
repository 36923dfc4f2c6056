//! Sign-in sessions: short-lived access tokens and single-use refresh tokens.

use chrono::{DateTime, Duration, Utc};
use cynode_domain::ids::{SessionId, UserId};
use cynode_store::{ApiToken, Session, Tx, User};
use cynode_wire::auth::SessionView;
use secrecy::ExposeSecret;

use super::login::{AuthAttempt, VerifiedPassword};
use super::tokens::record_use;
use super::{AccountError, Accounts, ClientAddress};
use crate::Caller;
use crate::{tokens, tokens::OpaqueToken, tokens::TokenKind};

const ACCESS_LIFETIME: Duration = Duration::minutes(15);
const REFRESH_LIFETIME: Duration = Duration::days(7);

/// Outcome of a refresh.
enum RefreshOutcome {
    Renewed(User),
    /// The token was used before, so it may be stolen: the session is ended.
    Replayed,
    Unknown,
}

/// A presented access or API token, kept so that long-lived responses can re-check it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresentedToken {
    hash: Vec<u8>,
    is_api_token: bool,
}

impl PresentedToken {
    fn from_token(token: &str) -> Self {
        let is_api_token = token.starts_with(TokenKind::Api.prefix());
        Self { hash: tokens::hash_token(token), is_api_token }
    }

    /// The SHA-256 hash of the token.
    pub(super) fn hash(&self) -> &[u8] {
        &self.hash
    }

    /// The owner; `None` if the token has expired or was revoked, or the user was disabled.
    pub async fn load_owner(
        &self,
        tx: &mut Tx,
        now: DateTime<Utc>,
    ) -> Result<Option<User>, cynode_store::Error> {
        Ok(self.load_valid(tx, now).await?.map(|(user, _)| user))
    }

    /// The owner of a valid token, with the row of an API token.
    async fn load_valid(
        &self,
        tx: &mut Tx,
        now: DateTime<Utc>,
    ) -> Result<Option<(User, Option<ApiToken>)>, cynode_store::Error> {
        let found = if self.is_api_token {
            let found = tx.token_with_user(&self.hash).await?;
            found.filter(|(token, _)| token.is_valid(now)).map(|(token, user)| (user, Some(token)))
        } else {
            let found = tx.session_with_user(&self.hash).await?;
            found
                .filter(|(session, _)| session.is_active && session.access_expires_at > now)
                .map(|(_, user)| (user, None))
        };
        Ok(found.filter(|(user, _)| user.is_active))
    }
}

impl Accounts {
    /// Resolves an access or API token to its user.
    pub async fn authenticate(&self, token: &str) -> Result<Caller, AccountError> {
        let (credential, now) = (PresentedToken::from_token(token), self.clock.now());
        let presented = credential.clone();
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, AccountError>(presented.load_valid(tx, now).await?) })
            })
            .await?;
        let (user, api_token) = found.ok_or(AccountError::BadToken)?;
        if let Some(token) = api_token {
            record_use(&self.store, &token, now).await;
        }
        let credential = Some(credential);
        Ok(Caller { user: user.id, handle: user.handle, is_admin: user.is_admin, credential })
    }

    pub(super) async fn open_session(
        &self,
        verified: &VerifiedPassword,
    ) -> Result<SessionView, AccountError> {
        let (session, view) = self.generate_session(SessionId::generate(), verified.user.id)?;
        let verified = verified.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    if !verified.still_holds(tx).await? {
                        return Err(AccountError::WrongCredentials);
                    }
                    Ok(tx.session_insert(&session).await?)
                })
            })
            .await?;
        Ok(view)
    }

    /// Exchanges a refresh token for the next pair of tokens. Reusing a token ends its session.
    pub async fn refresh(
        &self,
        refresh_token: &str,
        origin: &ClientAddress,
    ) -> Result<SessionView, AccountError> {
        let hash = tokens::hash_token(refresh_token);
        // The ids are replaced by the session's own below; only the tokens are new.
        let (new, view) = self.generate_session(SessionId::generate(), UserId::generate())?;
        let now = self.clock.now();
        let exchange = self
            .store
            .write(move |tx| {
                Box::pin(async move { exchange_refresh_token(tx, &hash, &new, now).await })
            })
            .await?;
        match exchange {
            RefreshOutcome::Renewed(user) => {
                self.record_attempt(origin, AuthAttempt::succeeded("refresh_success", &user))
                    .await?;
                Ok(view)
            }
            RefreshOutcome::Replayed => {
                let reason = "refresh token used twice: session ended";
                self.record_attempt(origin, AuthAttempt::failed("refresh_failure", "", reason))
                    .await?;
                Err(AccountError::BadToken)
            }
            RefreshOutcome::Unknown => {
                // Unauthenticated input: recorded only within the rate limit.
                if self.limits.allows_address(origin) {
                    let reason = "unknown token";
                    self.record_attempt(origin, AuthAttempt::failed("refresh_failure", "", reason))
                        .await?;
                }
                Err(AccountError::BadToken)
            }
        }
    }

    /// Ends the session of a refresh token. An unknown token changes nothing.
    pub async fn logout(
        &self,
        refresh_token: &str,
        origin: &ClientAddress,
    ) -> Result<(), AccountError> {
        let hash = tokens::hash_token(refresh_token);
        let user = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let Some(session) = tx.session_by_refresh(&hash).await? else {
                        return Ok::<_, AccountError>(None);
                    };
                    tx.session_end(session.id).await?;
                    Ok(tx.user_get(session.user).await?)
                })
            })
            .await?;
        match user {
            Some(user) => {
                self.record_attempt(origin, AuthAttempt::succeeded("logout", &user)).await
            }
            None => Ok(()),
        }
    }

    fn generate_session(
        &self,
        id: SessionId,
        user: UserId,
    ) -> Result<(Session, SessionView), AccountError> {
        let (access, refresh) =
            (OpaqueToken::generate(TokenKind::Access)?, OpaqueToken::generate(TokenKind::Refresh)?);
        let now = self.clock.now();
        let session = Session {
            id,
            user,
            refresh_hash: refresh.hash(),
            access_hash: access.hash(),
            access_expires_at: now + ACCESS_LIFETIME,
            expires_at: now + REFRESH_LIFETIME,
            is_active: true,
            created_at: now,
        };
        let view = SessionView {
            access_token: access.reveal().expose_secret().to_owned(),
            refresh_token: refresh.reveal().expose_secret().to_owned(),
            token_type: "Bearer".to_owned(),
            expires_in: ACCESS_LIFETIME.num_seconds().unsigned_abs(),
        };
        Ok((session, view))
    }
}

async fn exchange_refresh_token(
    tx: &mut Tx,
    hash: &[u8],
    new: &Session,
    now: DateTime<Utc>,
) -> Result<RefreshOutcome, AccountError> {
    // First, because it waits for a concurrent exchange of the same token.
    let Some(session) = tx.session_by_refresh(hash).await? else {
        let Some(session) = tx.session_by_spent_refresh(hash).await? else {
            return Ok(RefreshOutcome::Unknown);
        };
        tx.session_end(session).await?;
        return Ok(RefreshOutcome::Replayed);
    };
    if !session.is_active || session.expires_at <= now {
        return Ok(RefreshOutcome::Unknown);
    }
    let user = tx.user_get(session.user).await?;
    let Some(user) = user.filter(|user| user.is_active) else {
        return Ok(RefreshOutcome::Unknown);
    };
    tx.session_rotate(&session, new).await?;
    Ok(RefreshOutcome::Renewed(user))
}
