//! Opaque tokens: 256 random bits behind a prefix that says what they are for.
//!
//! Only the SHA-256 of a token is ever stored: a stolen database opens no door.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cynode_domain::policy::AgentType;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A user's session, for minutes.
    Access,
    /// Exchanges for the next session tokens, once.
    Refresh,
    /// A user's long-lived token.
    Api,
    /// A worker node.
    Node,
    /// A workflow runner.
    Runner,
    /// Lets a new worker node register.
    Join,
    /// The orchestrator, as the project manager knows it.
    Handoff,
    /// An agent.
    Agent(AgentType),
}

impl TokenKind {
    /// What tokens of this kind begin with.
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

/// A token in clear: shown once to its owner, then forgotten.
#[derive(Debug)]
pub struct Token(SecretString);

impl Token {
    /// A new token; fails only if the system has no randomness to give.
    pub fn generate(kind: TokenKind) -> Result<Self, getrandom::Error> {
        let mut bits = [0_u8; 32];
        getrandom::fill(&mut bits)?;
        Ok(Self(format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(bits)).into()))
    }

    /// The token in clear.
    pub fn reveal(&self) -> &SecretString {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> Vec<u8> {
        hash(self.0.expose_secret())
    }
}

/// What is stored of a token that somebody presented.
pub(crate) fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_shows_its_kind_and_hides_in_debug_output() {
        let token = Token::generate(TokenKind::Api).unwrap();

        assert!(token.reveal().expose_secret().starts_with("cyn_api_"));
        assert_eq!(token.reveal().expose_secret().len(), "cyn_api_".len() + 43);
        assert!(!format!("{token:?}").contains("cyn_api_"));
    }

    #[test]
    fn no_two_tokens_are_alike() {
        let (one, other) =
            (Token::generate(TokenKind::Node).unwrap(), Token::generate(TokenKind::Node).unwrap());

        assert_ne!(one.hash(), other.hash());
    }
}
