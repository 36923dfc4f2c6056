//! Secrets that belong to no other row, sealed at rest under a name.

use cynode_store::SealedValue;
use secrecy::SecretString;

use crate::servers::{SealedText, SealingError, SecretSealer};

/// Seals a value under a name.
pub async fn seal_value(
    sealer: &dyn SecretSealer,
    name: String,
    secret: &SecretString,
) -> Result<SealedValue, SealingError> {
    let SealedText { key, bytes } = sealer.seal(&sealing_context(&name), secret).await?;
    Ok(SealedValue { name, key, sealed: bytes })
}

/// Opens a sealed value.
pub fn open_value(
    sealer: &dyn SecretSealer,
    value: &SealedValue,
) -> Result<SecretString, SealingError> {
    let text = SealedText { key: value.key.clone(), bytes: value.sealed.clone() };
    sealer.open(&sealing_context(&value.name), &text)
}

/// What a value is bound to: its bytes under another name cannot be opened.
pub fn sealing_context(name: &str) -> Vec<u8> {
    [b"cynode.sealed_value\0", name.as_bytes()].concat()
}
