//! What sorts of secrets there are.

use std::fmt;

/// A sort of secret. Records name it; they never hold the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretKind {
    /// A key that a provider or cloud gave out.
    ApiKey,
    /// Something that proves who somebody is: bearer, session, web token, cookie.
    Token,
    /// A password or passphrase.
    Password,
    /// The private half of a key pair.
    PrivateKey,
    /// Something that is called a secret, and does not say of which sort.
    Secret,
}

impl SecretKind {
    /// The sort, as records name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Token => "token",
            Self::Password => "password",
            Self::PrivateKey => "private_key",
            Self::Secret => "secret",
        }
    }

    /// The sort that a name such as `DB_PASSWORD` or `x-api-key` promises.
    pub(super) fn of_name(name: &str) -> Self {
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
