//! API tokens of a user.

use chrono::{DateTime, Duration, Utc};
use cynode_domain::ids::TokenId;
use cynode_store::{ApiToken, Store};
use cynode_wire::auth::{CreateToken, NewTokenView, TokenView};
use cynode_wire::page::{Page, PageQuery};
use secrecy::ExposeSecret;

use super::{AccountError, Accounts};
use crate::Caller;
use crate::paging::PageRequest;
use crate::signals::Topic;
use crate::{tokens::OpaqueToken, tokens::TokenKind};

const MAX_NAME_CHARS: usize = 100;
const MAX_DAYS: u32 = 3650;
/// Lifetime unless the request names another, or none.
const DEFAULT_DAYS: u32 = 90;
/// A use sooner after the recorded one is not recorded: the time of use costs no write per request.
const USE_INTERVAL: Duration = Duration::minutes(5);

impl Accounts {
    /// Creates a token for the caller. Only this response contains its secret.
    pub async fn token_create(
        &self,
        caller: &Caller,
        request: CreateToken,
    ) -> Result<NewTokenView, AccountError> {
        validate_token_request(&request)?;
        let secret = OpaqueToken::generate(TokenKind::Api)?;
        let now = self.clock.now();
        let token = ApiToken {
            id: TokenId::generate(),
            user: caller.user,
            name: request.name.trim().to_owned(),
            hash: secret.hash(),
            created_at: now,
            expires_at: lifetime(&request).map(|lifetime| now + lifetime),
            revoked_at: None,
            last_used_at: None,
        };
        let row = token.clone();
        self.store
            .write(move |tx| {
                Box::pin(async move { Ok::<_, AccountError>(tx.token_insert(&row).await?) })
            })
            .await?;
        let secret = secret.reveal().expose_secret().to_owned();
        Ok(NewTokenView { token: token_view(token), secret })
    }

    /// Lists the caller's tokens, newest first.
    pub async fn token_list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<TokenView>, AccountError> {
        let request = PageRequest::<TokenId>::parse(query)?;
        let (user, before, fetch) = (caller.user, request.before, request.fetch);
        let tokens = self
            .store
            .read(move |tx| {
                Box::pin(
                    async move { Ok::<_, AccountError>(tx.token_list(user, before, fetch).await?) },
                )
            })
            .await?;
        Ok(request.page(tokens, |token| token.id.to_string(), token_view))
    }

    /// Revokes one of the caller's tokens immediately and permanently.
    pub async fn token_revoke(&self, caller: &Caller, id: TokenId) -> Result<(), AccountError> {
        let (user, now) = (caller.user, self.clock.now());
        let known = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let known = tx.token_revoke(user, id, now).await?;
                    // The gateway caches tokens until the policy revision changes.
                    tx.policy_bump_revision().await?;
                    Ok::<_, AccountError>(known)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        if known { Ok(()) } else { Err(AccountError::NoSuchToken) }
    }
}

/// Records the use of a token. A failure is logged and does not reject the request, which may be a read
/// while the disk is full.
pub(crate) async fn record_use(store: &Store, token: &ApiToken, now: DateTime<Utc>) {
    let since = now - USE_INTERVAL;
    if token.last_used_at.is_some_and(|used| used >= since) {
        return;
    }
    let id = token.id;
    let recorded: Result<(), cynode_store::Error> = store
        .write(move |tx| Box::pin(async move { tx.token_mark_used(id, now, since).await }))
        .await;
    if let Err(error) = recorded {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(token.id = %id, error, "recording the use of a token failed");
    }
}

fn validate_token_request(request: &CreateToken) -> Result<(), AccountError> {
    let mut faults = vec![];
    let name = request.name.trim();
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        faults.push(format!("name needs 1 to {MAX_NAME_CHARS} characters"));
    }
    if name.chars().any(char::is_control) {
        faults.push("name must not contain control characters".to_owned());
    }
    if request.expires_in_days.is_some_and(|days| !(1..=MAX_DAYS).contains(&days)) {
        faults.push(format!("expires_in_days is 1 to {MAX_DAYS}, or absent"));
    }
    if request.never_expires && request.expires_in_days.is_some() {
        faults.push("give expires_in_days or never_expires, not both".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(AccountError::Invalid(faults)) }
}

/// The lifetime that a request asks for; `None` for no expiry.
fn lifetime(request: &CreateToken) -> Option<Duration> {
    let days = request.expires_in_days.unwrap_or(DEFAULT_DAYS);
    (!request.never_expires).then(|| Duration::days(i64::from(days)))
}

fn token_view(token: ApiToken) -> TokenView {
    TokenView {
        id: token.id,
        name: token.name,
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
        last_used_at: token.last_used_at,
    }
}
