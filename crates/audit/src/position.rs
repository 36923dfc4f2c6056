//! Positions in chains, and their signatures by a key that is not in the database.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use cynode_domain::ids::ChainId;

use crate::ChainHead;
use crate::chain::RecordHasher;

/// A record of a chain, by its position and hash. The hash covers every record before it too.
///
/// Its text is `chain:seq:hash`, for values that are kept outside the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainPosition {
    pub chain: ChainId,
    pub seq: i64,
    pub hash: Vec<u8>,
}

/// What a signature says about a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedClaim {
    /// The newest record of the chain is here.
    Head,
    /// Retention deleted the records up to here.
    Anchor,
}

/// A text that is not a position.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not a position of an audit chain, which has the form CHAIN:SEQ:HASH")]
pub struct InvalidPosition {
    text: String,
}

/// A stored key that is not one.
#[derive(Debug, thiserror::Error)]
#[error("it is not an Ed25519 key: 32 bytes in base64")]
pub struct InvalidAuditKey;

/// The key of this installation, and the public keys that it also trusts.
pub struct AuditKeys {
    own: Ed25519KeyPair,
    trusted: Vec<Vec<u8>>,
}

impl ChainPosition {
    /// The start of a chain, before its first record.
    pub fn start(chain: ChainId) -> Self {
        ChainHead::new(chain).position()
    }
}

impl ChainHead {
    /// The position of the newest record.
    pub fn position(&self) -> ChainPosition {
        ChainPosition { chain: self.chain, seq: self.seq, hash: self.hash.clone() }
    }
}

impl fmt::Display for ChainPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.chain, self.seq, hex::encode(&self.hash))
    }
}

impl FromStr for ChainPosition {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let parse = || {
            let mut parts = text.trim().splitn(3, ':');
            let chain = parts.next()?.parse().ok()?;
            let seq = parts.next()?.parse().ok().filter(|seq| *seq >= 0)?;
            let hash = hex::decode(parts.next()?).ok().filter(|hash| hash.len() == 32)?;
            Some(Self { chain, seq, hash })
        };
        parse().ok_or_else(|| InvalidPosition { text: text.chars().take(120).collect() })
    }
}

impl AuditKeys {
    /// The key of `seed`, with the public keys of earlier keys and other installations.
    pub fn new(seed: &[u8], trusted: Vec<Vec<u8>>) -> Result<Self, InvalidAuditKey> {
        let own = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| InvalidAuditKey)?;
        Ok(Self { own, trusted })
    }

    /// The public key, which verifies the signatures of this installation.
    pub fn public_key(&self) -> &[u8] {
        self.own.public_key().as_ref()
    }

    pub fn sign(&self, claim: SignedClaim, position: &ChainPosition) -> Vec<u8> {
        self.own.sign(&signed_message(claim, position)).as_ref().to_vec()
    }

    /// Whether a trusted key signed this claim about this position.
    pub fn verify(&self, claim: SignedClaim, position: &ChainPosition, signature: &[u8]) -> bool {
        let message = signed_message(claim, position);
        let own = std::iter::once(self.public_key());
        own.chain(self.trusted.iter().map(Vec::as_slice))
            .any(|key| UnparsedPublicKey::new(&ED25519, key).verify(&message, signature).is_ok())
    }
}

impl fmt::Debug for AuditKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditKeys")
            .field("own", &hex::encode(self.public_key()))
            .finish_non_exhaustive()
    }
}

fn signed_message(claim: SignedClaim, position: &ChainPosition) -> Vec<u8> {
    let mut hasher = RecordHasher::new(match claim {
        SignedClaim::Head => "cynode audit head 1",
        SignedClaim::Anchor => "cynode audit anchor 1",
    });
    hasher.id(Some(position.chain));
    hasher.number(Some(position.seq));
    hasher.bytes(Some(&position.hash));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(seq: i64) -> ChainPosition {
        let chain = ChainId::from(uuid::Uuid::from_u128(7));
        ChainPosition { chain, seq, hash: vec![3; 32] }
    }

    #[test]
    fn a_position_is_the_same_after_it_was_kept_as_text() {
        assert_eq!(position(12).to_string().parse(), Ok(position(12)));
        let whole = position(12).to_string();
        for text in ["", "1", "a:b:c", &whole[..whole.len() - 2], &whole.replace(":12:", ":-1:")] {
            assert!(
                text.parse::<ChainPosition>().unwrap_err().to_string().contains("CHAIN:SEQ:HASH")
            );
        }
    }

    #[test]
    fn a_signature_holds_for_one_claim_one_position_and_trusted_keys() {
        let (ours, theirs) =
            (AuditKeys::new(&[1; 32], vec![]).unwrap(), AuditKeys::new(&[2; 32], vec![]).unwrap());
        let signature = ours.sign(SignedClaim::Head, &position(5));

        assert!(ours.verify(SignedClaim::Head, &position(5), &signature));
        assert!(!ours.verify(SignedClaim::Anchor, &position(5), &signature));
        assert!(!ours.verify(SignedClaim::Head, &position(6), &signature));
        assert!(!ours.verify(SignedClaim::Head, &position(5), &[]));
        assert!(!theirs.verify(SignedClaim::Head, &position(5), &signature));
        let trusting = AuditKeys::new(&[2; 32], vec![ours.public_key().to_vec()]).unwrap();
        assert!(trusting.verify(SignedClaim::Head, &position(5), &signature));
        assert!(AuditKeys::new(&[1; 31], vec![]).is_err());
    }
}
