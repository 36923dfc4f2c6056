//! Encryption of secrets: AES-256-GCM with a random nonce, bound to the row that holds them.

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use cynode_store::Credential;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::CredentialError;
use super::keys::CredentialKey;

/// Version byte at the start of the sealed bytes.
const FORMAT: u8 = 1;

/// Encrypts `secret`, bound to this row.
pub(super) fn seal(
    key: &CredentialKey,
    row: &Credential,
    secret: &SecretString,
) -> Result<Vec<u8>, CredentialError> {
    seal_text(key, &associated_data(row), secret)
}

/// Encrypts `secret`, bound to `context`.
pub(super) fn seal_text(
    key: &CredentialKey,
    context: &[u8],
    secret: &SecretString,
) -> Result<Vec<u8>, CredentialError> {
    let broken = |_| CredentialError::Seal("encryption failed".to_owned());
    let cipher = cipher(key)?;
    let mut buffer = Zeroizing::new(secret.expose_secret().as_bytes().to_vec());
    let nonce =
        cipher.seal_in_place_append_tag(Aad::from(context), &mut *buffer).map_err(broken)?;
    let mut sealed = vec![FORMAT];
    sealed.extend_from_slice(nonce.as_ref());
    sealed.extend_from_slice(&buffer);
    Ok(sealed)
}

/// Decrypts the secret of this row.
pub(super) fn open(key: &CredentialKey, row: &Credential) -> Result<SecretString, CredentialError> {
    open_text(key, &associated_data(row), &row.sealed)
        .ok_or_else(|| CredentialError::Unopenable { id: row.id, key: key.id.clone() })
}

/// Decrypts what was sealed with this key and context; `None` if it was not.
pub(super) fn open_text(
    key: &CredentialKey,
    context: &[u8],
    sealed: &[u8],
) -> Option<SecretString> {
    let (format, rest) = sealed.split_first()?;
    let (nonce, body) = rest.split_at_checked(NONCE_LEN)?;
    if *format != FORMAT {
        return None;
    }
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut buffer = Zeroizing::new(body.to_vec());
    let opened = cipher(key).ok()?.open_in_place(nonce, Aad::from(context), &mut buffer).ok()?;
    Some(SecretString::from(std::str::from_utf8(opened).ok()?))
}

fn cipher(key: &CredentialKey) -> Result<RandomizedNonceKey, CredentialError> {
    RandomizedNonceKey::new(&AES_256_GCM, key.bytes.expose_secret())
        .map_err(|_| CredentialError::Seal("the key does not fit the cipher".to_owned()))
}

/// Additional authenticated data of a row: sealed bytes that were copied to another row fail to
/// decrypt.
fn associated_data(row: &Credential) -> Vec<u8> {
    let owner = row.owner_id.map(|id| id.to_string()).unwrap_or_default();
    let id = row.id.to_string();
    let parts = ["cynode.credential", &id, row.owner.as_str(), &owner, &row.provider, &row.name];
    let mut bytes = vec![];
    for part in parts {
        // Length-prefixed, so that no two rows produce the same bytes.
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::CredentialId;
    use cynode_domain::model::{CredentialKind, CredentialOwner};
    use uuid::Uuid;

    use super::super::keys::CredentialKeySet;
    use super::*;

    fn row() -> Credential {
        Credential {
            id: CredentialId::generate(),
            owner: CredentialOwner::User,
            owner_id: Some(Uuid::from_u128(7)),
            provider: "here".to_owned(),
            kind: CredentialKind::ApiKey,
            name: "default".to_owned(),
            sealed: vec![],
            key: "k".to_owned(),
            is_active: true,
            expires_at: None,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
            updated_by: None,
        }
    }

    #[test]
    fn a_sealed_secret_opens_in_its_own_row_only() {
        let keys = CredentialKeySet::generate().unwrap();
        let key = keys.newest().unwrap();
        let secret = SecretString::from("open sesame");
        let mut sealed = row();
        sealed.sealed = seal(key, &sealed, &secret).unwrap();

        assert_eq!(open(key, &sealed).unwrap().expose_secret(), "open sesame");

        let others = [
            Credential { id: CredentialId::generate(), ..sealed.clone() },
            Credential { owner_id: Some(Uuid::from_u128(8)), ..sealed.clone() },
            Credential { owner: CredentialOwner::Group, ..sealed.clone() },
            Credential { provider: "there".to_owned(), ..sealed.clone() },
            Credential { name: "spare".to_owned(), ..sealed.clone() },
        ];
        for other in others {
            assert!(open(key, &other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn every_changed_byte_and_every_other_key_is_noticed() {
        let keys = CredentialKeySet::generate().unwrap();
        let key = keys.newest().unwrap();
        let mut sealed = row();
        sealed.sealed = seal(key, &sealed, &SecretString::from("open sesame")).unwrap();

        for index in 0..sealed.sealed.len() {
            let mut changed = sealed.clone();
            changed.sealed[index] ^= 1;
            assert!(open(key, &changed).is_err(), "{index}");
            changed.sealed.truncate(index);
            assert!(open(key, &changed).is_err(), "{index}");
        }
        assert!(open(CredentialKeySet::generate().unwrap().newest().unwrap(), &sealed).is_err());
    }

    #[test]
    fn the_same_secret_is_never_sealed_alike() {
        let keys = CredentialKeySet::generate().unwrap();
        let (key, secret) = (keys.newest().unwrap(), SecretString::from("open sesame"));

        assert_ne!(seal(key, &row(), &secret).unwrap(), seal(key, &row(), &secret).unwrap());
        let (a, b) = (row(), row());
        assert_ne!(seal(key, &a, &secret).unwrap()[1..13], seal(key, &b, &secret).unwrap()[1..13]);
    }
}
