//! Secrets of servers, sealed at rest: the values of variables and headers, and the query of a URL.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_store::{McpServer, ServerSecrets, ServerTransport};
use futures_util::future::BoxFuture;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use tracing::{info, warn};

use super::InstalledServers;
use crate::tools::ToolError;

/// The name of a URL's query among the secrets; no header can have it.
const QUERY: &str = "?";

/// Encrypts with keys outside the database.
pub trait SecretSealer: Send + Sync {
    /// Encrypts `secret`, bound to `context`.
    fn seal<'a>(
        &'a self,
        context: &'a [u8],
        secret: &'a SecretString,
    ) -> BoxFuture<'a, Result<SealedText, SealingError>>;

    /// Decrypts what was sealed with the same context.
    fn open(&self, context: &[u8], sealed: &SealedText) -> Result<SecretString, SealingError>;
}

/// An encrypted text, and the id of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedText {
    pub key: String,
    pub bytes: Vec<u8>,
}

/// Why a secret cannot be sealed or opened. The text has no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SealingError(pub String);

impl InstalledServers {
    /// Seals the secrets that an earlier version stored in plain text. Those that cannot be sealed stay as they are, and
    /// are logged: the orchestrator works without the key.
    pub async fn seal_plain_secrets(&self) -> Result<(), ToolError> {
        let servers = self
            .store
            .read(|tx| Box::pin(async move { Ok::<_, ToolError>(tx.server_list().await?) }))
            .await?;
        for mut server in servers {
            if !matches!(server.transport.secrets(), ServerSecrets::Plain(_)) {
                continue;
            }
            let plain = server.transport.clone();
            if let Err(error) = seal_secrets(&mut server, self.sealer.as_ref()).await {
                let error = &error as &dyn std::error::Error;
                warn!(error, server.slug = %server.slug, "secrets of a server cannot be encrypted");
                continue;
            }
            info!(server.slug = %server.slug, "secrets of a server encrypted");
            self.store
                .write(move |tx| {
                    Box::pin(async move {
                        tx.policy_lock().await?;
                        let found = tx.server_get(server.id).await?;
                        // Unless it was changed meanwhile, which sealed it.
                        if let Some(found) = found.filter(|found| found.transport == plain) {
                            let transport = server.transport;
                            tx.server_update(&McpServer { transport, ..found }).await?;
                        }
                        Ok::<_, ToolError>(())
                    })
                })
                .await?;
        }
        Ok(())
    }
}

/// Encrypts the secrets of a server that are in plain text.
pub(super) async fn seal_secrets(
    server: &mut McpServer,
    sealer: &dyn SecretSealer,
) -> Result<(), ToolError> {
    move_query(&mut server.transport);
    let ServerSecrets::Plain(values) = server.transport.secrets() else { return Ok(()) };
    let text = SecretString::from(serde_json::json!(values).to_string());
    let names = values.keys().cloned().collect();
    let SealedText { key, bytes } = sealer.seal(&sealing_context(server), &text).await?;
    *server.transport.secrets_mut() =
        ServerSecrets::Sealed { names, key, sealed: STANDARD.encode(bytes) };
    Ok(())
}

/// The transport of a server as its caller gave it.
pub fn open_transport(
    server: &McpServer,
    sealer: &dyn SecretSealer,
) -> Result<cynode_wire::servers::Transport, SealingError> {
    use cynode_wire::servers::Transport;
    let mut values = open_secrets(server, sealer)?;
    Ok(match server.transport.clone() {
        ServerTransport::Stdio { command, args, allow_network, allowed_hosts, .. } => {
            Transport::Stdio { command, args, env: values, allow_network, allowed_hosts }
        }
        ServerTransport::Http { url, .. } => {
            let query = values.remove(QUERY).map(|query| format!("?{query}")).unwrap_or_default();
            Transport::Http { url: url + &query, headers: values }
        }
    })
}

fn open_secrets(
    server: &McpServer,
    sealer: &dyn SecretSealer,
) -> Result<BTreeMap<String, String>, SealingError> {
    let (key, encoded) = match server.transport.secrets() {
        ServerSecrets::Plain(values) => return Ok(values.clone()),
        ServerSecrets::Sealed { key, sealed, .. } => (key.clone(), sealed),
    };
    let damaged = || SealingError("its stored secrets are damaged; set them again".to_owned());
    let bytes = STANDARD.decode(encoded).map_err(|_| damaged())?;
    let opened = sealer.open(&sealing_context(server), &SealedText { key, bytes })?;
    serde_json::from_str(opened.expose_secret()).map_err(|_| damaged())
}

/// Encrypts the secrets of a server again, with the newest key.
pub fn reseal(
    server: &mut McpServer,
    sealer: &dyn SecretSealer,
    seal: impl FnOnce(&[u8], &SecretString) -> Result<SealedText, SealingError>,
) -> Result<(), SealingError> {
    let ServerSecrets::Sealed { names, .. } = server.transport.secrets().clone() else {
        return Ok(());
    };
    let values = Zeroizing::new(serde_json::json!(open_secrets(server, sealer)?).to_string());
    let SealedText { key, bytes } =
        seal(&sealing_context(server), &SecretString::from(values.as_str()))?;
    *server.transport.secrets_mut() =
        ServerSecrets::Sealed { names, key, sealed: STANDARD.encode(bytes) };
    Ok(())
}

/// What the secrets are bound to: the server, and where they are sent. A row whose command, address or allowed
/// hosts were changed in the database does not receive them.
fn sealing_context(server: &McpServer) -> Vec<u8> {
    let id = server.id.to_string();
    let network: String;
    let mut parts = vec!["cynode.mcp_server", &id];
    match &server.transport {
        ServerTransport::Stdio { command, args, allow_network, allowed_hosts, .. } => {
            let flag = if *allow_network { "network" } else { "" };
            let words = std::iter::once(flag).chain(allowed_hosts.iter().map(String::as_str));
            network = words.collect::<Vec<_>>().join(" ");
            parts.extend(["stdio", command, &network]);
            parts.extend(args.iter().map(String::as_str));
        }
        ServerTransport::Http { url, may_be_internal, .. } => {
            parts.extend(["http", url, if *may_be_internal { "internal" } else { "" }]);
        }
    }
    let mut bytes = vec![];
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

/// Moves the query of a URL, which may contain a key, to the secrets.
fn move_query(transport: &mut ServerTransport) {
    if let ServerTransport::Http { url, headers: ServerSecrets::Plain(values), .. } = transport
        && let Some((base, query)) = url.split_once('?')
    {
        values.insert(QUERY.to_owned(), query.to_owned());
        *url = base.to_owned();
    }
}

/// The names of a server's secrets, for display.
pub(super) fn secret_names(secrets: &ServerSecrets) -> Vec<String> {
    let names: Vec<String> = match secrets {
        ServerSecrets::Sealed { names, .. } => names.clone(),
        ServerSecrets::Plain(values) => values.keys().cloned().collect(),
    };
    names.into_iter().filter(|name| name != QUERY).collect()
}
