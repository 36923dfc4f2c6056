//! Content digests: `sha256:` and 64 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

const PREFIX: &str = "sha256:";

/// A SHA-256 digest of content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Digest([u8; 32]);

/// A text that is not a SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a digest such as sha256: with 64 hexadecimal digits")]
pub struct InvalidDigest(String);

impl Sha256Digest {
    pub(crate) fn compute(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    pub(crate) fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    pub(crate) fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The name of the directory of an image.
    pub(crate) fn directory_name(&self) -> String {
        format!("sha256-{}", self.hex())
    }

    pub(crate) fn from_directory_name(name: &str) -> Option<Self> {
        format!("{PREFIX}{}", name.strip_prefix("sha256-")?).parse().ok()
    }
}

impl FromStr for Sha256Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let mut bytes = [0; 32];
        let is_lower = |digits: &str| !digits.bytes().any(|byte| byte.is_ascii_uppercase());
        text.strip_prefix(PREFIX)
            .filter(|digits| is_lower(digits))
            .and_then(|digits| hex::decode_to_slice(digits, &mut bytes).ok())
            .map(|()| Self(bytes))
            .ok_or_else(|| InvalidDigest(text.chars().take(100).collect()))
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.hex())
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Sha256Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_one_spelling_and_one_algorithm() {
        let text = format!("sha256:{}", "0a".repeat(32));
        let digest: Sha256Digest = text.parse().unwrap();

        assert_eq!(digest.to_string(), text);
        assert_eq!(Sha256Digest::from_directory_name(&digest.directory_name()), Some(digest));
        for invalid in [
            format!("sha512:{}", "0a".repeat(64)),
            format!("sha256:{}", "0A".repeat(32)),
            format!("sha256:{}", "0a".repeat(31)),
            "sha256:../../etc/passwd".to_owned(),
        ] {
            assert!(invalid.parse::<Sha256Digest>().is_err(), "{invalid}");
        }
    }
}
