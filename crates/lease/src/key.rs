//! Keys that sign leases.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use pasetors::keys::{AsymmetricPublicKey, AsymmetricSecretKey};
use pasetors::version4::V4;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const SEED_BYTES: usize = 32;
const KEY_BYTES: usize = 32;

/// Bytes or text that are not an Ed25519 key.
#[derive(Debug, thiserror::Error)]
#[error("it is not an Ed25519 key: 32 bytes in hexadecimal digits")]
pub struct InvalidLeaseKey;

/// Names a public key: the start of its SHA-256, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseKeyId(pub String);

/// An Ed25519 public key; 64 hexadecimal digits as text.
#[derive(Clone, PartialEq, Eq)]
pub struct LeasePublicKey([u8; KEY_BYTES]);

/// A key pair that signs leases.
pub struct LeaseKey {
    public: LeasePublicKey,
    secret: AsymmetricSecretKey<V4>,
}

impl LeaseKey {
    /// Generates a key; returns it with the seed to store.
    pub fn generate() -> Result<(Self, [u8; SEED_BYTES]), InvalidLeaseKey> {
        let mut seed = [0; SEED_BYTES];
        getrandom::fill(&mut seed).map_err(|_| InvalidLeaseKey)?;
        Ok((Self::from_seed(&seed)?, seed))
    }

    /// The key of a stored seed.
    pub fn from_seed(seed: &[u8]) -> Result<Self, InvalidLeaseKey> {
        // The library panics for this seed.
        if seed.iter().all(|byte| *byte == 0) {
            return Err(InvalidLeaseKey);
        }
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| InvalidLeaseKey)?;
        let public = pair.public_key().as_ref();
        let bytes = [seed, public].concat();
        let secret = AsymmetricSecretKey::from(&bytes).map_err(|_| InvalidLeaseKey)?;
        Ok(Self { public: LeasePublicKey(public.try_into().map_err(|_| InvalidLeaseKey)?), secret })
    }

    pub fn public_key(&self) -> &LeasePublicKey {
        &self.public
    }

    pub(crate) fn secret(&self) -> &AsymmetricSecretKey<V4> {
        &self.secret
    }
}

impl fmt::Debug for LeaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LeaseKey").field(&self.public).finish()
    }
}

impl LeasePublicKey {
    pub fn parse(text: &str) -> Result<Self, InvalidLeaseKey> {
        let bytes = hex::decode(text).map_err(|_| InvalidLeaseKey)?;
        let bytes: [u8; KEY_BYTES] = bytes.try_into().map_err(|_| InvalidLeaseKey)?;
        Ok(Self(bytes))
    }

    pub fn id(&self) -> LeaseKeyId {
        let digest = Sha256::digest(self.0);
        LeaseKeyId(hex::encode(digest.get(..8).unwrap_or_default()))
    }

    pub(crate) fn to_paseto(&self) -> Result<AsymmetricPublicKey<V4>, InvalidLeaseKey> {
        AsymmetricPublicKey::from(&self.0).map_err(|_| InvalidLeaseKey)
    }
}

impl fmt::Display for LeasePublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(self.0))
    }
}

impl fmt::Debug for LeasePublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeasePublicKey({self})")
    }
}

impl Serialize for LeasePublicKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LeasePublicKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
