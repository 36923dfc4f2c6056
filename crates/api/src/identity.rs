//! Authentication: each group of routes accepts one kind of token, checked before any handler runs.
//!
//! The extractors [`AuthenticatedUser`], [`AuthenticatedRunner`] and [`AuthenticatedNode`] prove the authentication; without the layer in
//! front of the route they reject, so a forgotten layer fails closed.

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use cynode_domain::ids::IncarnationId;
use cynode_execution::{JoinCredential, NodeService};
use cynode_resources::request_limits::{RequestLimits, Requester};
use cynode_resources::{Accounts, Caller, NodeCaller, TokenKind};
use cynode_runtime::problem::ProblemKind;
use cynode_wire::nodes::INCARNATION_HEADER;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::admission::{refuse_with_problem, serve_within_limits};
use crate::error::ApiError;

/// Hashes of the shared secrets of runners and joining nodes.
#[derive(Clone)]
pub struct ServiceTokens {
    runner: [u8; 32],
    join: [u8; 32],
}

impl ServiceTokens {
    pub fn new(runner: &SecretString, join: &SecretString) -> Self {
        Self { runner: hash_token(runner.expose_secret()), join: hash_token(join.expose_secret()) }
    }
}

/// A signed-in user.
#[derive(Clone)]
pub(crate) struct AuthenticatedUser(pub(crate) Caller);

/// A workflow runner.
#[derive(Clone, Copy)]
pub(crate) struct AuthenticatedRunner;

/// A registered worker node.
#[derive(Clone)]
pub(crate) struct AuthenticatedNode(pub(crate) NodeCaller);

/// A client with a join token. The shared one is checked; a one-time token is checked when the node registers.
#[derive(Clone)]
pub(crate) struct AuthenticatedJoin(pub(crate) JoinCredential);

macro_rules! proofs {
    ($($proof:ty),*) => {$(
        impl<S: Send + Sync> FromRequestParts<S> for $proof {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
                parts.extensions.get::<Self>().cloned().ok_or_else(missing)
            }
        }
    )*};
}

proofs!(AuthenticatedUser, AuthenticatedRunner, AuthenticatedNode, AuthenticatedJoin);

/// What the routes of users need to admit a request.
#[derive(Clone)]
pub(crate) struct UserAdmission {
    pub(crate) accounts: Accounts,
    pub(crate) limits: RequestLimits,
}

pub(crate) async fn require_user(
    State(admission): State<UserAdmission>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let caller = admission.accounts.authenticate(bearer_token(request.headers())?).await?;
    let requester = Requester::from(&caller);
    request.extensions_mut().insert(AuthenticatedUser(caller));
    let served = serve_within_limits(&admission.limits, requester, request, next).await;
    Ok(served.unwrap_or_else(refuse_with_problem))
}

pub(crate) async fn require_node(
    State(nodes): State<NodeService>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let token = bearer_token(request.headers())?;
    let node = nodes.authenticate(token, incarnation_id(request.headers())?).await?;
    request.extensions_mut().insert(AuthenticatedNode(node));
    Ok(next.run(request).await)
}

pub(crate) async fn require_runner(
    State(tokens): State<ServiceTokens>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    check_token(bearer_token(request.headers())?, &tokens.runner)?;
    request.extensions_mut().insert(AuthenticatedRunner);
    Ok(next.run(request).await)
}

pub(crate) async fn require_join(
    State(tokens): State<ServiceTokens>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let token = bearer_token(request.headers())?;
    let credential = match check_token(token, &tokens.join) {
        Ok(()) => JoinCredential::Shared,
        Err(_) if token.starts_with(TokenKind::Join.prefix()) => {
            JoinCredential::OneTime(hash_token(token).to_vec())
        }
        Err(error) => return Err(error),
    };
    request.extensions_mut().insert(AuthenticatedJoin(credential));
    Ok(next.run(request).await)
}

fn check_token(token: &str, expected: &[u8; 32]) -> Result<(), ApiError> {
    if bool::from(hash_token(token).ct_eq(expected)) {
        Ok(())
    } else {
        Err(ApiError::new(ProblemKind::Authentication, "the token is not valid for this route"))
    }
}

pub(crate) fn bearer_token(headers: &HeaderMap) -> Result<&str, ApiError> {
    let value = headers.get(AUTHORIZATION).ok_or_else(missing)?;
    let text = value.to_str().map_err(|_| missing())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(missing()) }
}

/// The calling process of a node.
fn incarnation_id(headers: &HeaderMap) -> Result<IncarnationId, ApiError> {
    let named = headers.get(INCARNATION_HEADER).and_then(|value| value.to_str().ok());
    named.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let detail = format!(
            "send the id of the calling process as `{INCARNATION_HEADER}: <UUID>`; a node that does \
             not send it has an older version: update it"
        );
        ApiError::new(ProblemKind::Validation, detail)
    })
}

fn missing() -> ApiError {
    ApiError::new(ProblemKind::Authentication, "send a token as `Authorization: Bearer …`")
}

fn hash_token(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

pub(crate) fn requires_authentication(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED
}
