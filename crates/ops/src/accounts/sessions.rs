//! Sessions: short access tokens, and refresh tokens that work once.

use chrono::{DateTime, Duration, Utc};
use cynode_domain::ids::{SessionId, UserId};
use cynode_store::{Session, SessionStore, Tx, User, UserStore};
use cynode_wire::auth::SessionView;
use secrecy::ExposeSecret;

use super::login::Attempt;
use super::{AccountError, Accounts, Origin};
use crate::Caller;
use crate::tokens::{self, Token, TokenKind};

const ACCESS_LIFETIME: Duration = Duration::minutes(15);
const REFRESH_LIFETIME: Duration = Duration::days(7);

/// What came of presenting a refresh token.
enum Exchange {
    Renewed(User),
    /// The token was exchanged before: it was stolen, or its owner's was. The session is over.
    Replayed,
    Unknown,
}

/// An access or API token that was presented: enough to ask again whether it still counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    hash: Vec<u8>,
    is_api_token: bool,
}

impl Credential {
    fn of(token: &str) -> Self {
        let is_api_token = token.starts_with(TokenKind::Api.prefix());
        Self { hash: tokens::hash(token), is_api_token }
    }

    /// Whose it is; nobody's, once it has expired or was revoked or its user was disabled.
    pub(crate) async fn owner(
        &self,
        tx: &mut Tx,
        now: DateTime<Utc>,
    ) -> Result<Option<User>, cynode_store::Error> {
        let owner = if self.is_api_token {
            let found = tx.token_with_user(&self.hash).await?;
            found
                .filter(|(token, _)| token.revoked_at.is_none())
                .filter(|(token, _)| token.expires_at.is_none_or(|end| end > now))
                .map(|(_, user)| user)
        } else {
            let found = tx.session_with_user(&self.hash).await?;
            found
                .filter(|(session, _)| session.is_active && session.access_expires_at > now)
                .map(|(_, user)| user)
        };
        Ok(owner.filter(|user| user.is_active))
    }
}

impl Accounts {
    /// Who presents this access or API token.
    pub async fn authenticate(&self, token: &str) -> Result<Caller, AccountError> {
        let (credential, now) = (Credential::of(token), self.clock.now());
        let presented = credential.clone();
        let user = self
            .store
            .read_alone(move |tx| {
                Box::pin(async move { Ok::<_, AccountError>(presented.owner(tx, now).await?) })
            })
            .await?;
        let user = user.ok_or(AccountError::BadToken)?;
        let credential = Some(credential);
        Ok(Caller { user: user.id, handle: user.handle, is_admin: user.is_admin, credential })
    }

    pub(super) async fn open_session(&self, user: UserId) -> Result<SessionView, AccountError> {
        let (session, view) = self.new_session(SessionId::generate(), user)?;
        self.store
            .write(move |tx| {
                Box::pin(async move { Ok::<_, AccountError>(tx.session_insert(&session).await?) })
            })
            .await?;
        Ok(view)
    }

    /// Exchanges a refresh token for the next pair of tokens. A token that was exchanged before
    /// ends its session.
    pub async fn refresh(
        &self,
        refresh_token: &str,
        origin: &Origin,
    ) -> Result<SessionView, AccountError> {
        let hash = tokens::hash(refresh_token);
        // The ids are replaced by the session's own below; only the tokens are new.
        let (new, view) = self.new_session(SessionId::generate(), UserId::generate())?;
        let now = self.clock.now();
        let exchange = self
            .store
            .write(move |tx| Box::pin(async move { exchange(tx, &hash, &new, now).await }))
            .await?;
        match exchange {
            Exchange::Renewed(user) => {
                self.record(origin, Attempt::by("refresh_success", &user)).await?;
                Ok(view)
            }
            Exchange::Replayed => {
                let reason = "refresh token used twice: session ended";
                self.record(origin, Attempt::failed("refresh_failure", "", reason)).await?;
                Err(AccountError::BadToken)
            }
            Exchange::Unknown => {
                // Anybody can send nonsense: only so much of it is written down.
                if self.limits.allows_address(origin) {
                    let reason = "unknown token";
                    self.record(origin, Attempt::failed("refresh_failure", "", reason)).await?;
                }
                Err(AccountError::BadToken)
            }
        }
    }

    /// Ends the session of a refresh token. An unknown token changes nothing.
    pub async fn logout(&self, refresh_token: &str, origin: &Origin) -> Result<(), AccountError> {
        let hash = tokens::hash(refresh_token);
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
            Some(user) => self.record(origin, Attempt::by("logout", &user)).await,
            None => Ok(()),
        }
    }

    fn new_session(
        &self,
        id: SessionId,
        user: UserId,
    ) -> Result<(Session, SessionView), AccountError> {
        let (access, refresh) =
            (Token::generate(TokenKind::Access)?, Token::generate(TokenKind::Refresh)?);
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

async fn exchange(
    tx: &mut Tx,
    hash: &[u8],
    new: &Session,
    now: DateTime<Utc>,
) -> Result<Exchange, AccountError> {
    // Looked for first, because it waits for whoever exchanges the same token at this moment.
    let Some(session) = tx.session_by_refresh(hash).await? else {
        let Some(session) = tx.session_by_spent_refresh(hash).await? else {
            return Ok(Exchange::Unknown);
        };
        tx.session_end(session).await?;
        return Ok(Exchange::Replayed);
    };
    if !session.is_active || session.expires_at <= now {
        return Ok(Exchange::Unknown);
    }
    let user = tx.user_get(session.user).await?;
    let Some(user) = user.filter(|user| user.is_active) else {
        return Ok(Exchange::Unknown);
    };
    tx.session_rotate(&session, new).await?;
    Ok(Exchange::Renewed(user))
}
