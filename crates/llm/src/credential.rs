//! The credential of a provider request: a secret and its kind.

use cynode_domain::model::CredentialKind;
use secrecy::{ExposeSecret, SecretString};

/// A secret for a provider. Its kind decides which header carries it.
#[derive(Debug, Clone)]
pub struct ProviderCredential {
    kind: CredentialKind,
    secret: SecretString,
}

impl ProviderCredential {
    pub fn new(kind: CredentialKind, secret: SecretString) -> Self {
        Self { kind, secret }
    }

    pub fn kind(&self) -> CredentialKind {
        self.kind
    }
}

/// An API key.
impl From<SecretString> for ProviderCredential {
    fn from(secret: SecretString) -> Self {
        Self::new(CredentialKind::ApiKey, secret)
    }
}

/// An API key.
impl From<&str> for ProviderCredential {
    fn from(secret: &str) -> Self {
        SecretString::from(secret).into()
    }
}

impl ExposeSecret<str> for ProviderCredential {
    fn expose_secret(&self) -> &str {
        self.secret.expose_secret()
    }
}
