//! The key of a worker node, which proves its identity when it registers again.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::IncarnationId;
use cynode_wire::nodes::{NodeKeyProof, registration_message};
use secrecy::{ExposeSecret as _, SecretString};

/// Bytes of the secret that a key is derived from.
const SEED_BYTES: usize = 32;

/// A stored key that is not one.
#[derive(Debug, thiserror::Error)]
#[error("it does not contain a node key: delete it, and register the node with a new join token")]
pub struct InvalidNodeKey;

/// An Ed25519 key pair.
pub struct NodeKey(Ed25519KeyPair);

impl NodeKey {
    /// Generates a key; returns it with the text to store.
    pub fn generate() -> Result<(Self, SecretString), InvalidNodeKey> {
        let mut seed = [0; SEED_BYTES];
        // Not `aws_lc_rs::rand`, whose first use measures the jitter of the processor for 40 ms.
        getrandom::fill(&mut seed).map_err(|_| InvalidNodeKey)?;
        Ok((Self::from_seed(&seed)?, STANDARD.encode(seed).into()))
    }

    /// Parses stored text.
    pub fn parse(stored: &SecretString) -> Result<Self, InvalidNodeKey> {
        let seed = STANDARD.decode(stored.expose_secret().trim()).map_err(|_| InvalidNodeKey)?;
        Self::from_seed(&seed.try_into().map_err(|_| InvalidNodeKey)?)
    }

    /// The key of this seed.
    pub fn from_seed(seed: &[u8; SEED_BYTES]) -> Result<Self, InvalidNodeKey> {
        Ed25519KeyPair::from_seed_unchecked(seed).map(Self).map_err(|_| InvalidNodeKey)
    }

    /// The public key, in base64.
    pub fn public_key(&self) -> String {
        STANDARD.encode(self.0.public_key())
    }

    /// Proves the key for the registration of a process.
    pub fn prove(&self, node_slug: &str, incarnation: IncarnationId) -> NodeKeyProof {
        let message = registration_message(node_slug, incarnation);
        let signature = STANDARD.encode(self.0.sign(message.as_bytes()));
        NodeKeyProof { public_key: self.public_key(), signature }
    }
}

impl std::fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NodeKey").field(&self.public_key()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_key_is_the_same_key() {
        let (key, stored) = NodeKey::generate().unwrap();
        let again = NodeKey::parse(&stored).unwrap();
        let process = IncarnationId::generate();

        assert_eq!(key.prove("anvil", process), again.prove("anvil", process));
        assert_ne!(key.public_key(), NodeKey::generate().unwrap().0.public_key());
        for text in ["", "AAAA", "no base64 at all"] {
            assert!(NodeKey::parse(&SecretString::from(text)).is_err());
        }
    }
}
