//! Opaque tokens: 256 random bits behind a prefix that identifies the kind.
//!
//! Only the SHA-256 of a token is stored: a stolen database contains no usable token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cynode_domain::policy::AgentType;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Short-lived access token of a sign-in session.
    Access,
    /// Single-use refresh token of a sign-in session.
    Refresh,
    /// Long-lived token of a user.
    Api,
    Node,
    Runner,
    /// Registers a new worker node.
    Join,
    /// Authenticates the orchestrator to the project manager.
    Handoff,
    Agent(AgentType),
}

impl TokenKind {
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Access => "cyn_at_",
            Self::Refresh => "cyn_rt_",
            Self::Api => "cyn_api_",
            Self::Node => "cyn_nd_",
            Self::Runner => "cyn_rn_",
            Self::Join => "cyn_jn_",
            Self::Handoff => "cyn_ho_",
            Self::Agent(AgentType::Pm) => "cyn_pm_",
            Self::Agent(AgentType::Pa) => "cyn_pa_",
            Self::Agent(AgentType::Sandbox) => "cyn_sb_",
        }
    }
}

/// A token in plain text: shown once to its owner and not stored.
#[derive(Debug)]
pub struct OpaqueToken(SecretString);

impl OpaqueToken {
    /// Generates a token; fails only if the system random number generator fails.
    pub fn generate(kind: TokenKind) -> Result<Self, getrandom::Error> {
        let mut bits = [0_u8; 32];
        getrandom::fill(&mut bits)?;
        Ok(Self(format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(bits)).into()))
    }

    /// The token in plain text.
    pub fn reveal(&self) -> &SecretString {
        &self.0
    }

    /// The hash to store.
    pub fn hash(&self) -> Vec<u8> {
        hash_token(self.0.expose_secret())
    }
}

/// The stored hash of a presented token.
pub fn hash_token(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_shows_its_kind_and_hides_in_debug_output() {
        let token = OpaqueToken::generate(TokenKind::Api).unwrap();

        assert!(token.reveal().expose_secret().starts_with("cyn_api_"));
        assert_eq!(token.reveal().expose_secret().len(), "cyn_api_".len() + 43);
        assert!(!format!("{token:?}").contains("cyn_api_"));
    }

    #[test]
    fn no_two_tokens_are_alike() {
        let (one, other) = (
            OpaqueToken::generate(TokenKind::Node).unwrap(),
            OpaqueToken::generate(TokenKind::Node).unwrap(),
        );

        assert_ne!(one.hash(), other.hash());
    }
}
