//! Join tokens: what a node without a known key needs to register.

use chrono::{DateTime, Duration, Utc};
use cynode_domain::ids::TokenId;
use cynode_domain::name::Slug;
use cynode_store::{JoinToken, Tx};
use cynode_wire::nodes::{CreateJoinToken, JoinTokenView, NewJoinTokenView};
use cynode_wire::page::{Page, PageQuery};
use secrecy::ExposeSecret;

use super::{NodeError, NodeService};
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_resources::{tokens::OpaqueToken, tokens::TokenKind};

const DEFAULT_MINUTES: u32 = 60;
const MAX_MINUTES: u32 = 7 * 24 * 60;
/// How long expired tokens are listed.
const KEEP_EXPIRED: Duration = Duration::days(30);

/// What a registering node presents beside its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JoinCredential {
    /// The join token of the installation, which registers any new node.
    Shared,
    /// The hash of a one-time token.
    OneTime(Vec<u8>),
}

/// Why a node may register.
pub(super) enum JoinPermission {
    /// It proved the key that the name is bound to.
    OwnKey,
    Shared,
    /// The token must be marked as used.
    OneTime(TokenId),
}

impl JoinCredential {
    /// Whether the credential registers a key for this name. `is_key_revoked`: the name had a key that was revoked,
    /// so only a token for that name may register the next one.
    pub(super) async fn permit(
        &self,
        tx: &mut Tx,
        slug: &str,
        is_key_revoked: bool,
        now: DateTime<Utc>,
    ) -> Result<JoinPermission, NodeError> {
        let hash = match self {
            Self::Shared if is_key_revoked => return Err(NodeError::BadJoinToken),
            Self::Shared => return Ok(JoinPermission::Shared),
            Self::OneTime(hash) => hash,
        };
        let token = tx.join_token_lock(hash).await?.ok_or(NodeError::BadJoinToken)?;
        let is_for_name = match &token.node_slug {
            Some(name) => name == slug,
            None => !is_key_revoked,
        };
        let is_valid =
            token.used_at.is_none() && token.revoked_at.is_none() && token.expires_at > now;
        if is_valid && is_for_name {
            Ok(JoinPermission::OneTime(token.id))
        } else {
            Err(NodeError::BadJoinToken)
        }
    }
}

impl NodeService {
    /// Creates a one-time join token. Administrators only. Only this response contains its secret.
    pub async fn join_token_create(
        &self,
        caller: &Caller,
        request: CreateJoinToken,
    ) -> Result<NewJoinTokenView, NodeError> {
        require_admin(caller)?;
        let minutes = request.expires_in_minutes.unwrap_or(DEFAULT_MINUTES);
        let mut faults = vec![];
        if !(1..=MAX_MINUTES).contains(&minutes) {
            faults.push(format!("expires_in_minutes is 1 to {MAX_MINUTES}"));
        }
        let is_slug = |name: &String| Slug::normalise(name).is_ok_and(|slug| slug.as_str() == name);
        if !request.node_slug.as_ref().is_none_or(is_slug) {
            let fault = "node_slug may contain lowercase letters, digits and single dashes";
            faults.push(fault.to_owned());
        }
        if !faults.is_empty() {
            return Err(NodeError::Invalid(faults));
        }
        let (token, view) = new_join_token(caller, request.node_slug, minutes, self.clock.now())?;
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.join_token_delete_expired(token.created_at - KEEP_EXPIRED).await?;
                    Ok::<_, NodeError>(tx.join_token_insert(&token).await?)
                })
            })
            .await?;
        Ok(view)
    }

    /// Lists one-time join tokens, newest first. Administrators only.
    pub async fn join_token_list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<JoinTokenView>, NodeError> {
        require_admin(caller)?;
        let request = PageRequest::<TokenId>::parse(query)?;
        let (before, fetch) = (request.before, request.fetch);
        let tokens = self
            .store
            .read(move |tx| {
                Box::pin(
                    async move { Ok::<_, NodeError>(tx.join_token_list(before, fetch).await?) },
                )
            })
            .await?;
        Ok(request.page(tokens, |token| token.id.to_string(), join_token_view))
    }

    /// Revokes a one-time join token. Administrators only.
    pub async fn join_token_revoke(&self, caller: &Caller, id: TokenId) -> Result<(), NodeError> {
        require_admin(caller)?;
        let now = self.clock.now();
        let known = self
            .store
            .write(move |tx| {
                Box::pin(async move { Ok::<_, NodeError>(tx.join_token_revoke(id, now).await?) })
            })
            .await?;
        if known { Ok(()) } else { Err(NodeError::NoSuchJoinToken) }
    }
}

/// Generates a token; returns its row, and its view with the secret.
pub(super) fn new_join_token(
    caller: &Caller,
    node_slug: Option<String>,
    minutes: u32,
    now: DateTime<Utc>,
) -> Result<(JoinToken, NewJoinTokenView), NodeError> {
    let secret = OpaqueToken::generate(TokenKind::Join)?;
    let token = JoinToken {
        id: TokenId::generate(),
        hash: secret.hash(),
        node_slug,
        created_by: caller.user,
        created_at: now,
        expires_at: now + Duration::minutes(i64::from(minutes)),
        used_at: None,
        used_by: None,
        revoked_at: None,
    };
    let secret = secret.reveal().expose_secret().to_owned();
    let view = NewJoinTokenView { token: join_token_view(token.clone()), secret };
    Ok((token, view))
}

/// The lifetime of the token that [`NodeService::rotate_key`] returns, in minutes.
pub(super) const ROTATION_MINUTES: u32 = 24 * 60;

pub(super) fn require_admin(caller: &Caller) -> Result<(), NodeError> {
    if caller.is_admin { Ok(()) } else { Err(NodeError::NotAdmin) }
}

fn join_token_view(token: JoinToken) -> JoinTokenView {
    JoinTokenView {
        id: token.id,
        node_slug: token.node_slug,
        created_at: token.created_at,
        expires_at: token.expires_at,
        used_at: token.used_at,
        used_by: token.used_by,
        revoked_at: token.revoked_at,
    }
}
