//! The node's connection: who it is to the orchestrator, and how calls fail.
//!
//! A node joins with the join token and gets a token of its own, kept in the state directory. When
//! that one is refused, or the node has changed, it joins again under the same name.

use std::fs;
use std::io;
use std::path::PathBuf;

use cynode_client::{Client, Error};
use cynode_runtime::secret_file::{self, SecretFileError};
use cynode_wire::nodes::{Capabilities, RegisterNode};
use secrecy::SecretString;
use tokio::sync::Mutex;

use super::AgentOptions;

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Call(#[from] Error),
    #[error("the node cannot join: {0}")]
    Join(#[source] Error),
    #[error("the join token cannot be read: {0}")]
    JoinToken(#[from] SecretFileError),
    #[error("the node's own token cannot be kept: {0}")]
    OwnToken(#[from] io::Error),
}

impl LinkError {
    /// Whether the orchestrator has understood the call and will never accept it.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Call(error) => error.status().is_some_and(|status| {
                (400..500).contains(&status) && ![401, 408, 429].contains(&status)
            }),
            Self::Join(_) | Self::JoinToken(_) | Self::OwnToken(_) => false,
        }
    }
}

impl LinkError {
    /// Whether the orchestrator refused to let the node join: its token or what it says of itself.
    pub(super) fn is_refused_join(&self) -> bool {
        matches!(self, Self::Join(error) if matches!(error.status(), Some(400 | 401 | 403 | 422)))
    }
}

#[derive(Debug)]
pub(super) struct Link {
    anonymous: Client,
    join_token_file: PathBuf,
    state_dir: PathBuf,
    body: RegisterNode,
    /// The present identity; its number tells a stale refusal from a fresh one.
    session: Mutex<Session>,
}

#[derive(Debug, Default)]
struct Session {
    number: u64,
    client: Option<Client>,
}

impl Link {
    pub(super) fn new(options: &AgentOptions, capabilities: Capabilities) -> Result<Self, Error> {
        let body = RegisterNode { node_slug: options.slug.clone(), capabilities };
        let link = Self {
            anonymous: Client::anonymous(&options.orchestrator_url)?,
            join_token_file: options.join_token_file.clone(),
            state_dir: options.sandbox.state_dir.clone(),
            body,
            session: Mutex::default(),
        };
        let client = link.remembered().map(|token| link.anonymous.clone().with_token(token));
        Ok(Self { session: Mutex::new(Session { number: 0, client }), ..link })
    }

    /// Calls with the node's identity; a refused identity is renewed once.
    pub(super) async fn call<T, F>(&self, call: impl Fn(Client) -> F) -> Result<T, LinkError>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let (number, client) = self.client().await?;
        match call(client).await {
            Err(error) if error.status() == Some(401) => {
                self.forget(number).await;
                let (_, client) = self.client().await?;
                Ok(call(client).await?)
            }
            result => Ok(result?),
        }
    }

    async fn client(&self) -> Result<(u64, Client), LinkError> {
        let mut session = self.session.lock().await;
        let client = match &session.client {
            Some(client) => client.clone(),
            None => self.join().await?,
        };
        session.client = Some(client.clone());
        Ok((session.number, client))
    }

    async fn forget(&self, number: u64) {
        let mut session = self.session.lock().await;
        if session.number == number {
            *session = Session { number: number + 1, client: None };
        }
    }

    async fn join(&self) -> Result<Client, LinkError> {
        let token = secret_file::read(&self.join_token_file)?;
        let joining = self.anonymous.clone().with_token(token);
        let joined = joining.node_register(&self.body).await.map_err(LinkError::Join)?;
        let token = SecretString::from(joined.node_token);
        secret_file::replace(self.token_file(), &token)?;
        fs::write(self.identity_file(), self.identity())?;
        tracing::info!(node.id = %joined.node_id, "joined as {}", self.body.node_slug);
        Ok(self.anonymous.clone().with_token(token))
    }

    /// The token of an earlier start, if the node is still what it was when it joined.
    fn remembered(&self) -> Option<SecretString> {
        let identity = fs::read_to_string(self.identity_file()).ok()?;
        (identity == self.identity()).then(|| secret_file::read(self.token_file()).ok())?
    }

    /// Everything the orchestrator was told, so that a change is noticed.
    fn identity(&self) -> String {
        let body = serde_json::to_string(&self.body).unwrap_or_default();
        format!("{}\n{body}\n", self.anonymous.base_url())
    }

    fn token_file(&self) -> PathBuf {
        self.state_dir.join("node.token")
    }

    fn identity_file(&self) -> PathBuf {
        self.state_dir.join("node.identity")
    }
}
