//! The node's connection: who it is to the orchestrator, and how calls fail.
//!
//! A node joins with the join token and gets a token of its own, kept in the state directory. When
//! that one is rejected, or the node has changed, it joins again under the same name. Whichever token
//! it has, a process begins before its first call, and is rejected while another process works under
//! the node's name.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cynode_client::{Client, Error};
use cynode_runtime::durable_file;
use cynode_runtime::secret_file::{self, SecretFileError};
use cynode_wire::nodes::{Capabilities, RegisterNode};
use secrecy::SecretString;
use tokio::sync::Mutex;

use super::AgentOptions;
use super::lineage::Lineage;

/// How long a stopping node waits for the orchestrator to confirm it.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error(transparent)]
    Call(#[from] Error),
    #[error("the node cannot join: {0}")]
    Join(#[source] Error),
    #[error("the join token cannot be read: {0}")]
    JoinToken(#[from] SecretFileError),
    #[error("the node's own files cannot be kept: {0}")]
    OwnFiles(#[from] io::Error),
}

impl LinkError {
    /// Whether the orchestrator has understood the call and will never accept it.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Call(error) => error.status().is_some_and(|status| {
                (400..500).contains(&status) && ![401, 408, 429].contains(&status)
            }),
            Self::Join(_) | Self::JoinToken(_) | Self::OwnFiles(_) => false,
        }
    }

    /// Whether another process works under the node's name.
    pub(super) fn is_name_in_use(&self) -> bool {
        matches!(self, Self::Join(error) if error.status() == Some(409))
    }

    /// Whether the orchestrator answered at all.
    pub(super) fn is_answer(&self) -> bool {
        match self {
            Self::Call(error) | Self::Join(error) => error.status().is_some(),
            Self::JoinToken(_) | Self::OwnFiles(_) => false,
        }
    }

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
    lineage: Lineage,
    /// Whether the orchestrator may know of this process.
    has_begun: AtomicBool,
    /// The present identity; its number tells a stale rejection from a fresh one.
    session: Mutex<Session>,
}

#[derive(Debug, Default)]
struct Session {
    number: u64,
    /// Present once the orchestrator has accepted this process.
    client: Option<Client>,
}

impl Link {
    pub(super) fn new(
        options: &AgentOptions,
        capabilities: Capabilities,
        lineage: Lineage,
    ) -> Result<Self, Error> {
        let incarnation = lineage.incarnation().clone();
        let anonymous =
            Client::anonymous(&options.orchestrator_url)?.with_incarnation(incarnation.id);
        Ok(Self {
            anonymous,
            join_token_file: options.join_token_file.clone(),
            state_dir: options.sandbox.state_dir.clone(),
            body: RegisterNode { node_slug: options.slug.clone(), capabilities, incarnation },
            lineage,
            has_begun: AtomicBool::new(false),
            session: Mutex::default(),
        })
    }

    /// Calls with the node's identity; a rejected identity is renewed once.
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

    /// Another process works under the node's name: this one has to begin again.
    pub(super) async fn lose_name(&self) {
        let number = self.session.lock().await.number;
        self.forget(number).await;
    }

    /// Whether a job was given to this process.
    pub(super) fn is_for_this_process(&self, job: &cynode_wire::nodes::Assignment) -> bool {
        job.incarnation.is_none_or(|incarnation| incarnation == self.body.incarnation.id)
    }

    /// Gives the node's name up, so that another process can have it at once. Should this fail, the
    /// orchestrator notices the silence.
    pub(super) async fn stop(&self) {
        if !self.has_begun.load(Ordering::Relaxed) {
            return;
        }
        let stop = async {
            // A stop may have cut off the answer to the first call: beginning again repeats it.
            let (_, client) = self.client().await?;
            Ok::<_, LinkError>(client.node_stop().await?)
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, stop).await;
    }

    async fn client(&self) -> Result<(u64, Client), LinkError> {
        let mut session = self.session.lock().await;
        let client = match &session.client {
            Some(client) => client.clone(),
            None => self.begin().await?,
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

    /// Begins to work under the node's name, with the token of an earlier start or a new one.
    async fn begin(&self) -> Result<Client, LinkError> {
        self.has_begun.store(true, Ordering::Relaxed);
        if let Some(token) = self.remembered() {
            let client = self.anonymous.clone().with_token(token);
            match client.node_start(&self.body.incarnation).await {
                Err(error) if error.status() == Some(401) => {}
                Err(error) => return Err(LinkError::Join(error)),
                Ok(()) => {
                    self.lineage.confirm()?;
                    return Ok(client);
                }
            }
        }
        self.join().await
    }

    async fn join(&self) -> Result<Client, LinkError> {
        let token = secret_file::read(&self.join_token_file)?;
        let joining = self.anonymous.clone().with_token(token);
        let joined = joining.node_register(&self.body).await.map_err(LinkError::Join)?;
        let token = SecretString::from(joined.node_token);
        secret_file::replace(self.token_file(), &token)?;
        durable_file::replace(self.identity_file(), self.identity().as_bytes())?;
        self.lineage.confirm()?;
        tracing::info!(node.id = %joined.node_id, "joined as {}", self.body.node_slug);
        Ok(self.anonymous.clone().with_token(token))
    }

    /// The token of an earlier start, if the node is still what it was when it joined.
    fn remembered(&self) -> Option<SecretString> {
        let identity = fs::read_to_string(self.identity_file()).ok()?;
        (identity == self.identity()).then(|| secret_file::read(self.token_file()).ok())?
    }

    /// Everything about the node that the orchestrator keeps, so that a change is noticed.
    fn identity(&self) -> String {
        let RegisterNode { node_slug, capabilities, incarnation: _ } = &self.body;
        let body = serde_json::json!({ "node_slug": node_slug, "capabilities": capabilities });
        format!("{}\n{body}\n", self.anonymous.base_url())
    }

    fn token_file(&self) -> PathBuf {
        self.state_dir.join("node.token")
    }

    fn identity_file(&self) -> PathBuf {
        self.state_dir.join("node.identity")
    }
}
