//! Authenticates state that a client echoes, with HMAC-SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;

/// The server's secret key.
#[derive(Debug)]
pub(crate) struct RequestStateSeal {
    key: [u8; BLOCK],
}

impl RequestStateSeal {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; BLOCK];
        getrandom::fill(&mut key)?;
        Ok(Self { key })
    }

    /// Appends the authentication code of `text` for `purpose`.
    pub(crate) fn seal(&self, purpose: &str, text: &str) -> String {
        format!("{}.{}", BASE64.encode(text), self.authentication_code(purpose, text))
    }

    /// Verifies and returns the text; `None` if it was changed or sealed for another purpose.
    pub(crate) fn verify(&self, purpose: &str, sealed: &str) -> Option<String> {
        let (encoded, proof) = sealed.split_once('.')?;
        let text = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
        (self.authentication_code(purpose, &text) == proof).then_some(text)
    }

    fn authentication_code(&self, purpose: &str, text: &str) -> String {
        let inner = Sha256::new()
            .chain_update(self.key.map(|byte| byte ^ 0x36))
            .chain_update(purpose)
            .chain_update([0])
            .chain_update(text)
            .finalize();
        let outer =
            Sha256::new().chain_update(self.key.map(|byte| byte ^ 0x5c)).chain_update(inner);
        hex::encode(outer.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_only_unchanged_and_for_its_purpose() {
        let seal = RequestStateSeal::new().unwrap();
        let sealed = seal.seal("tool", "round 1");

        assert_eq!(seal.verify("tool", &sealed).as_deref(), Some("round 1"));
        assert_eq!(seal.verify("other", &sealed), None);
        assert_eq!(seal.verify("tool", &format!("{sealed}-TAMPERED")), None);
        assert_eq!(RequestStateSeal::new().unwrap().verify("tool", &sealed), None);
    }
}
