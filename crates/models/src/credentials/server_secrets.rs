//! Secrets of installed servers, and other sealed values, sealed with the keys of credentials.

use std::sync::PoisonError;

use cynode_resources::sealed_values::sealing_context;
use cynode_resources::servers::{SealedText, SealingError, SecretSealer, reseal};
use cynode_store::{McpServer, ServerSecrets, Tx};
use futures_util::future::BoxFuture;
use secrecy::SecretString;

use super::keys::CredentialKeySet;
use super::{CredentialError, CredentialManager, seal};

impl SecretSealer for CredentialManager {
    fn seal<'a>(
        &'a self,
        context: &'a [u8],
        secret: &'a SecretString,
    ) -> BoxFuture<'a, Result<SealedText, SealingError>> {
        Box::pin(async move {
            let _alone = self.sealing_lock.lock().await;
            let keys = self.load_or_create_keys().await.map_err(|error| describe(&error))?;
            seal_with(&keys, context, secret)
        })
    }

    fn open(&self, context: &[u8], sealed: &SealedText) -> Result<SecretString, SealingError> {
        let cached = self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let keys = match cached.filter(|keys| keys.find(&sealed.key).is_some()) {
            Some(keys) => Some(keys),
            // Another process may have rotated the key.
            None => self.read_keys().map_err(|error| describe(&error))?,
        };
        let missing = || {
            let path = self.key_file.display();
            SealingError(format!(
                "key {} is not in the key file {path}: restore the right file",
                sealed.key
            ))
        };
        open_with(&*keys.ok_or_else(missing)?, context, sealed).ok_or_else(missing)?
    }
}

/// The ids of the keys that sealed secrets of servers.
pub(super) async fn server_keys(tx: &mut Tx) -> Result<Vec<String>, CredentialError> {
    let servers = tx.server_list().await?.into_iter();
    let key = |server: McpServer| match server.transport.secrets() {
        ServerSecrets::Sealed { key, .. } => Some(key.clone()),
        ServerSecrets::Plain(_) => None,
    };
    Ok(servers.filter_map(key).collect())
}

/// Seals the secrets of every server with the newest key. Those that cannot be opened stay as they are.
pub(super) async fn reseal_servers(
    tx: &mut Tx,
    keys: &CredentialKeySet,
) -> Result<(), CredentialError> {
    tx.policy_lock().await?;
    for mut server in tx.server_list().await? {
        let sealed = reseal(&mut server, &KeySetSealer(keys), |context, secret| {
            seal_with(keys, context, secret)
        });
        match sealed {
            Ok(()) => tx.server_update(&server).await?,
            Err(error) => {
                tracing::warn!(server.slug = %server.slug, %error, "secrets of a server not encrypted again");
            }
        }
    }
    Ok(())
}

/// The ids of the keys of sealed values.
pub(super) async fn value_keys(tx: &mut Tx) -> Result<Vec<String>, CredentialError> {
    Ok(tx.sealed_value_list().await?.into_iter().map(|value| value.key).collect())
}

/// Seals every value with the newest key. Those that cannot be opened stay as they are.
pub(super) async fn reseal_values(
    tx: &mut Tx,
    keys: &CredentialKeySet,
) -> Result<(), CredentialError> {
    for value in tx.sealed_value_list().await? {
        let (context, sealer) = (sealing_context(&value.name), KeySetSealer(keys));
        let known = SealedText { key: value.key.clone(), bytes: value.sealed.clone() };
        let opened = sealer.open(&context, &known);
        match opened.and_then(|secret| seal_with(keys, &context, &secret)) {
            // A value that a person replaced meanwhile keeps its key, which is kept too.
            Ok(SealedText { key, bytes }) => {
                tx.sealed_value_replace(&value, &key, &bytes).await?;
            }
            Err(error) => {
                tracing::warn!(name = value.name, %error, "a sealed value was not encrypted again");
            }
        }
    }
    Ok(())
}

/// Opens with keys that were read already.
struct KeySetSealer<'k>(&'k CredentialKeySet);

impl SecretSealer for KeySetSealer<'_> {
    fn seal<'a>(
        &'a self,
        context: &'a [u8],
        secret: &'a SecretString,
    ) -> BoxFuture<'a, Result<SealedText, SealingError>> {
        Box::pin(async move { seal_with(self.0, context, secret) })
    }

    fn open(&self, context: &[u8], sealed: &SealedText) -> Result<SecretString, SealingError> {
        let missing = || SealingError(format!("key {} is not in the key file", sealed.key));
        open_with(self.0, context, sealed).ok_or_else(missing)?
    }
}

fn seal_with(
    keys: &CredentialKeySet,
    context: &[u8],
    secret: &SecretString,
) -> Result<SealedText, SealingError> {
    let empty = || SealingError("the key file contains no key".to_owned());
    let key = keys.newest().ok_or_else(empty)?;
    let bytes = seal::seal_text(key, context, secret).map_err(|error| describe(&error))?;
    Ok(SealedText { key: key.id.clone(), bytes })
}

/// `None` if the key is not among `keys`.
fn open_with(
    keys: &CredentialKeySet,
    context: &[u8],
    sealed: &SealedText,
) -> Option<Result<SecretString, SealingError>> {
    let key = keys.find(&sealed.key)?;
    let changed =
        || SealingError("its row was changed in the database: set the secrets again".to_owned());
    Some(seal::open_text(key, context, &sealed.bytes).ok_or_else(changed))
}

fn describe(error: &CredentialError) -> SealingError {
    SealingError(error.to_string())
}
