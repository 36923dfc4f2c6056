//! Text that goes through the hands of a client and must come back as it left: HMAC-SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;

/// A key that only this server has.
#[derive(Debug)]
pub(crate) struct Seal {
    key: [u8; BLOCK],
}

impl Seal {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; BLOCK];
        getrandom::fill(&mut key)?;
        Ok(Self { key })
    }

    /// `text` for `purpose`, with the proof that it is ours.
    pub(crate) fn close(&self, purpose: &str, text: &str) -> String {
        format!("{}.{}", BASE64.encode(text), self.proof(purpose, text))
    }

    /// The text, if it was closed here for the same purpose and nobody changed it.
    pub(crate) fn open(&self, purpose: &str, sealed: &str) -> Option<String> {
        let (encoded, proof) = sealed.split_once('.')?;
        let text = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
        (self.proof(purpose, &text) == proof).then_some(text)
    }

    fn proof(&self, purpose: &str, text: &str) -> String {
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
        let seal = Seal::new().unwrap();
        let sealed = seal.close("tool", "round 1");

        assert_eq!(seal.open("tool", &sealed).as_deref(), Some("round 1"));
        assert_eq!(seal.open("other", &sealed), None);
        assert_eq!(seal.open("tool", &format!("{sealed}-TAMPERED")), None);
        assert_eq!(Seal::new().unwrap().open("tool", &sealed), None);
    }
}
