//! What is shown to a provider so that it answers: a secret, and what sort of secret it is.

use cynode_domain::model::CredentialKind;
use secrecy::{ExposeSecret, SecretString};

/// A secret for a provider. Its sort decides in which header it goes.
#[derive(Debug, Clone)]
pub struct Key {
    kind: CredentialKind,
    secret: SecretString,
}

impl Key {
    /// A secret of this sort.
    pub fn new(kind: CredentialKind, secret: SecretString) -> Self {
        Self { kind, secret }
    }

    /// What sort of secret it is.
    pub fn kind(&self) -> CredentialKind {
        self.kind
    }
}

/// A key of an API.
impl From<SecretString> for Key {
    fn from(secret: SecretString) -> Self {
        Self::new(CredentialKind::ApiKey, secret)
    }
}

/// A key of an API.
impl From<&str> for Key {
    fn from(secret: &str) -> Self {
        SecretString::from(secret).into()
    }
}

impl ExposeSecret<str> for Key {
    fn expose_secret(&self) -> &str {
        self.secret.expose_secret()
    }
}
