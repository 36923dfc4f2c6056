//! Who is asking: each group of routes accepts one kind of token, checked before any handler runs.
//!
//! A handler that takes a [`User`], [`Runner`] or [`Node`] holds the proof; without the layer in
//! front of it the extractor refuses, so a forgotten layer fails closed.

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use cynode_domain::ids::IncarnationId;
use cynode_ops::{Accounts, Caller, NodeCaller, Nodes};
use cynode_runtime::problem::Kind;
use cynode_wire::nodes::INCARNATION_HEADER;
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::ApiError;

/// The secrets that runners and joining nodes present; only their hashes are kept.
#[derive(Clone)]
pub struct ServiceTokens {
    runner: [u8; 32],
    join: [u8; 32],
}

impl ServiceTokens {
    /// The tokens that are accepted from now on.
    pub fn new(runner: &SecretString, join: &SecretString) -> Self {
        Self { runner: hash(runner.expose_secret()), join: hash(join.expose_secret()) }
    }
}

/// A signed-in user.
#[derive(Clone)]
pub(crate) struct User(pub(crate) Caller);

/// A workflow runner.
#[derive(Clone, Copy)]
pub(crate) struct Runner;

/// A registered worker node.
#[derive(Clone)]
pub(crate) struct Node(pub(crate) NodeCaller);

/// Somebody who may register a node.
#[derive(Clone, Copy)]
pub(crate) struct Joining;

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

proofs!(User, Runner, Node, Joining);

pub(crate) async fn require_user(
    State(accounts): State<Accounts>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let caller = accounts.authenticate(bearer(request.headers())?).await?;
    request.extensions_mut().insert(User(caller));
    Ok(next.run(request).await)
}

pub(crate) async fn require_node(
    State(nodes): State<Nodes>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let token = bearer(request.headers())?;
    let node = nodes.authenticate(token, incarnation(request.headers())?).await?;
    request.extensions_mut().insert(Node(node));
    Ok(next.run(request).await)
}

pub(crate) async fn require_runner(
    State(tokens): State<ServiceTokens>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    present(bearer(request.headers())?, &tokens.runner)?;
    request.extensions_mut().insert(Runner);
    Ok(next.run(request).await)
}

pub(crate) async fn require_join(
    State(tokens): State<ServiceTokens>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    present(bearer(request.headers())?, &tokens.join)?;
    request.extensions_mut().insert(Joining);
    Ok(next.run(request).await)
}

fn present(token: &str, expected: &[u8; 32]) -> Result<(), ApiError> {
    if bool::from(hash(token).ct_eq(expected)) {
        Ok(())
    } else {
        Err(ApiError::new(Kind::Authentication, "the token is not accepted here"))
    }
}

pub(crate) fn bearer(headers: &HeaderMap) -> Result<&str, ApiError> {
    let value = headers.get(AUTHORIZATION).ok_or_else(missing)?;
    let text = value.to_str().map_err(|_| missing())?;
    let (scheme, token) = text.split_once(' ').ok_or_else(missing)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err(missing()) }
}

/// Which process of a node calls.
fn incarnation(headers: &HeaderMap) -> Result<IncarnationId, ApiError> {
    let named = headers.get(INCARNATION_HEADER).and_then(|value| value.to_str().ok());
    named.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let detail = format!(
            "send the id of the calling process as `{INCARNATION_HEADER}: <UUID>`; a node that sends \
             none is of an older version: update it"
        );
        ApiError::new(Kind::Validation, detail)
    })
}

fn missing() -> ApiError {
    ApiError::new(Kind::Authentication, "send a token as `Authorization: Bearer …`")
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether a status asks the client to authenticate.
pub(crate) fn asks_for_token(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED
}
