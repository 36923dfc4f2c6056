//! Kinds of secrets.

use std::fmt;

/// The kind of a secret. Records contain the kind, never the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKind {
    /// A key of a provider or cloud.
    ApiKey,
    /// An authentication token: bearer, session, JWT, cookie.
    Token,
    /// A password or passphrase.
    Password,
    PrivateKey,
    /// A secret of unknown kind.
    Secret,
}

impl SecretKind {
    /// The spelling in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Token => "token",
            Self::Password => "password",
            Self::PrivateKey => "private_key",
            Self::Secret => "secret",
        }
    }

    /// The kind that a name such as `DB_PASSWORD` or `x-api-key` implies.
    pub(super) fn from_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let is = |word: &str| name.contains(word);
        if is("private") {
            Self::PrivateKey
        } else if is("pass") || is("pwd") {
            Self::Password
        } else if is("token") || is("authorization") || is("cookie") {
            Self::Token
        } else if is("key") {
            Self::ApiKey
        } else {
            Self::Secret
        }
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
