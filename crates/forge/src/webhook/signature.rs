//! Signatures (GitHub, Gitea) and tokens (GitLab) of deliveries. Every comparison takes the same time.

use aws_lc_rs::hmac;
use http::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::WebhookError;
use crate::address::ForgeKind;

/// Headers with `sha256=` and hexadecimal digits, and headers with the digits only, of which the first present one counts.
const GITHUB_HEADERS: [&str; 1] = ["x-hub-signature-256"];
const GITEA_HEADERS: [&str; 3] =
    ["x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256"];
const GITLAB_HEADER: &str = "x-gitlab-token";

/// Verifies that the sender knows the secret.
pub(super) fn verify(
    kind: ForgeKind,
    headers: &HeaderMap,
    body: &[u8],
    secret: &SecretString,
) -> Result<(), WebhookError> {
    if secret.expose_secret().is_empty() {
        return Err(WebhookError::NoSecret);
    }
    match kind {
        ForgeKind::Github => verify_hmac(&GITHUB_HEADERS, headers, body, secret),
        ForgeKind::Gitea => verify_hmac(&GITEA_HEADERS, headers, body, secret),
        ForgeKind::Gitlab => {
            let token = headers.get(GITLAB_HEADER).ok_or(WebhookError::Unsigned)?;
            // Digests have one length, so that the time does not depend on the length of the secret.
            let given = Sha256::digest(token.as_bytes());
            let expected = Sha256::digest(secret.expose_secret().as_bytes());
            let is_same = bool::from(given.as_slice().ct_eq(expected.as_slice()));
            is_same.then_some(()).ok_or(WebhookError::WrongSignature)
        }
    }
}

fn verify_hmac(
    names: &[&str],
    headers: &HeaderMap,
    body: &[u8],
    secret: &SecretString,
) -> Result<(), WebhookError> {
    let value = names.iter().find_map(|name| headers.get(*name)).ok_or(WebhookError::Unsigned)?;
    let value = value.to_str().map_err(|_| WebhookError::WrongSignature)?;
    let digits = value.strip_prefix("sha256=").unwrap_or(value);
    let tag = hex::decode(digits).map_err(|_| WebhookError::WrongSignature)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    // Compares in constant time.
    hmac::verify(&key, body, &tag).map_err(|_| WebhookError::WrongSignature)
}
