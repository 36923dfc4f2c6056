//! Leases as text: signed, verified, narrowed.
//!
//! A lease is `cyn_lease_` and its tokens, separated by `~`. The first token is signed by the orchestrator, and its footer names
//! the key. Each further token is signed by the holder of the one before it, together with the text up to there, so that it
//! cannot be moved to another lease.

use chrono::{DateTime, TimeDelta, Utc};
use pasetors::Public;
use pasetors::token::UntrustedToken;
use pasetors::version4::{PublicToken, V4};
use serde::de::DeserializeOwned;

use crate::{
    CLOCK_TOLERANCE, InvalidLeaseKey, LeaseClaims, LeaseKey, LeaseKeyId, LeasePublicKey,
    LeaseRestriction, MAX_LIFETIME, MAX_LINKS, MAX_TOKEN_BYTES,
};

/// The start of every lease.
pub const TOKEN_PREFIX: &str = "cyn_lease_";
const SEPARATOR: char = '~';

/// Why a lease is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    #[error("this is not a capability lease")]
    Malformed,
    #[error("the lease was signed with a key that is not trusted here")]
    UnknownKey,
    #[error("the signature of the lease is wrong")]
    BadSignature,
    #[error("the lease has expired")]
    Expired,
    #[error("the lease is not valid yet: compare the clocks of node and orchestrator")]
    NotYetValid,
    #[error("the lease is valid for longer than leases may be")]
    TooLong,
    #[error("a part of the lease permits more than the part before it")]
    Widened,
    #[error("the lease names no key that may narrow it")]
    NoHolder,
    #[error("the lease was narrowed too often")]
    TooManyLinks,
    /// Without this, a receiver of a narrowed lease could cut it back to the wider one.
    #[error("the lease names a holder, who must narrow it before use: the last part names none")]
    NotFinal,
}

/// A lease whose signatures, times and restrictions were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedLease {
    claims: LeaseClaims,
    key: LeaseKeyId,
}

impl VerifiedLease {
    /// What it permits, after all restrictions.
    pub fn claims(&self) -> &LeaseClaims {
        &self.claims
    }

    /// The key of the orchestrator that signed it.
    pub fn key(&self) -> &LeaseKeyId {
        &self.key
    }
}

impl LeaseKey {
    /// Signs a lease.
    pub fn sign(&self, claims: &LeaseClaims) -> Result<String, InvalidLeaseKey> {
        let message = serde_json::to_vec(claims).map_err(|_| InvalidLeaseKey)?;
        let footer = self.public_key().id().0;
        let token = PublicToken::sign(self.secret(), &message, Some(footer.as_bytes()), None);
        Ok(format!("{TOKEN_PREFIX}{}", token.map_err(|_| InvalidLeaseKey)?))
    }
}

/// Narrows a lease with the key that it names as its holder. A lease with a holder is valid only after this, also for the
/// holder itself: a narrowed lease without its last part is refused.
///
/// Does not check the restriction: [`verify`] refuses a lease that was widened.
pub fn narrow(
    lease: &str,
    holder: &LeaseKey,
    restriction: &LeaseRestriction,
) -> Result<String, InvalidLeaseKey> {
    let message = serde_json::to_vec(restriction).map_err(|_| InvalidLeaseKey)?;
    let token = PublicToken::sign(holder.secret(), &message, None, Some(lease.as_bytes()));
    Ok(format!("{lease}{SEPARATOR}{}", token.map_err(|_| InvalidLeaseKey)?))
}

/// Verifies a lease with the keys of the orchestrator that are trusted.
pub fn verify(
    lease: &str,
    trusted: &[LeasePublicKey],
    now: DateTime<Utc>,
) -> Result<VerifiedLease, LeaseError> {
    if lease.len() > MAX_TOKEN_BYTES {
        return Err(LeaseError::Malformed);
    }
    let tokens = lease.strip_prefix(TOKEN_PREFIX).ok_or(LeaseError::Malformed)?;
    let mut links = tokens.split(SEPARATOR);
    let root = links.next().unwrap_or_default();
    let (mut claims, key) = verify_root(root, trusted)?;
    let mut verified_bytes = TOKEN_PREFIX.len() + root.len();
    for (index, link) in links.enumerate() {
        if index + 2 > MAX_LINKS {
            return Err(LeaseError::TooManyLinks);
        }
        let holder = claims.holder.take().ok_or(LeaseError::NoHolder)?;
        let parent = lease.get(..verified_bytes).ok_or(LeaseError::Malformed)?;
        let restriction = verify_token(link, &holder, Some(parent.as_bytes()))?;
        claims = claims.restrict(restriction).ok_or(LeaseError::Widened)?;
        verified_bytes += SEPARATOR.len_utf8() + link.len();
    }
    if claims.holder.is_some() {
        return Err(LeaseError::NotFinal);
    }
    check_times(&claims, now)?;
    Ok(VerifiedLease { claims, key })
}

fn verify_root(
    root: &str,
    trusted: &[LeasePublicKey],
) -> Result<(LeaseClaims, LeaseKeyId), LeaseError> {
    let token = parse(root)?;
    let named = std::str::from_utf8(token.untrusted_footer()).map_err(|_| LeaseError::Malformed)?;
    let key = trusted.iter().find(|key| key.id().0 == named).ok_or(LeaseError::UnknownKey)?;
    Ok((verify_token(root, key, None)?, key.id()))
}

fn verify_token<T: DeserializeOwned>(
    token: &str,
    key: &LeasePublicKey,
    assertion: Option<&[u8]>,
) -> Result<T, LeaseError> {
    let key = key.to_paseto().map_err(|_| LeaseError::BadSignature)?;
    let verified = PublicToken::verify(&key, &parse(token)?, None, assertion)
        .map_err(|_| LeaseError::BadSignature)?;
    serde_json::from_str(verified.payload()).map_err(|_| LeaseError::Malformed)
}

fn parse(token: &str) -> Result<UntrustedToken<Public, V4>, LeaseError> {
    UntrustedToken::try_from(token).map_err(|_| LeaseError::Malformed)
}

fn check_times(claims: &LeaseClaims, now: DateTime<Utc>) -> Result<(), LeaseError> {
    let longest = TimeDelta::from_std(MAX_LIFETIME).unwrap_or_default();
    let tolerance = TimeDelta::from_std(CLOCK_TOLERANCE).unwrap_or_default();
    if claims.expires_at - claims.issued_at > longest {
        return Err(LeaseError::TooLong);
    }
    if claims.issued_at > now + tolerance {
        return Err(LeaseError::NotYetValid);
    }
    if claims.expires_at <= now {
        return Err(LeaseError::Expired);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
