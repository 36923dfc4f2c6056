//! The node's connection to the orchestrator: its identity, and how calls fail.
//!
//! A node joins with a join token and its own key, and receives a node token, which it stores in the state directory.
//! When the node token is rejected, or the node's description has changed, it joins again under the same
//! name; its key then proves that the name is its own. With either token, a process registers before its first call, and is rejected while another
//! process is registered under the node's name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cynode_client::{Client, ClientError, NodeKey};
use cynode_runtime::durable_file;
use cynode_runtime::problem::ProblemKind;
use cynode_runtime::secret_file::{self, SecretFileError};
use cynode_wire::nodes::{Capabilities, NodeSettings, RegisterNode};
use secrecy::SecretString;
use tokio::sync::Mutex;

use super::NodeDaemonOptions;
use super::lineage::ProcessLineage;

/// How long a stopping node waits for the orchestrator's confirmation.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub(super) enum OrchestratorCallError {
    #[error(transparent)]
    Call(#[from] ClientError),
    #[error("the node cannot join: {0}")]
    Join(#[source] ClientError),
    #[error("the join token cannot be read: {0}")]
    JoinToken(#[from] SecretFileError),
    #[error("the node's state files cannot be written: {0}")]
    StateFiles(#[from] io::Error),
}

impl OrchestratorCallError {
    /// Whether retrying is pointless: a 4xx other than 401, 408 and 429.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Call(error) => error.status().is_some_and(|status| {
                (400..500).contains(&status) && ![401, 408, 429].contains(&status)
            }),
            Self::Join(_) | Self::JoinToken(_) | Self::StateFiles(_) => false,
        }
    }

    /// Whether the files of a user or a project would take more bytes than allowed.
    pub(super) fn is_storage_limit(&self) -> bool {
        match self {
            Self::Call(error) => error.status() == Some(ProblemKind::StorageLimit.status()),
            Self::Join(_) | Self::JoinToken(_) | Self::StateFiles(_) => false,
        }
    }

    /// Whether another process is registered under the node's name.
    pub(super) fn is_name_in_use(&self) -> bool {
        matches!(self, Self::Join(error) if error.status() == Some(409))
    }

    /// Whether the orchestrator returned a response.
    pub(super) fn is_response(&self) -> bool {
        match self {
            Self::Call(error) | Self::Join(error) => error.status().is_some(),
            Self::JoinToken(_) | Self::StateFiles(_) => false,
        }
    }

    /// Whether the orchestrator rejected the join: the token or the node's description.
    pub(super) fn is_join_rejected(&self) -> bool {
        matches!(self, Self::Join(error) if matches!(error.status(), Some(400 | 401 | 403 | 422)))
    }
}

/// Reads the key of the node; generates it on first use. It is durable before it is used: a name that the
/// orchestrator binds to a lost key could not be registered again.
pub(super) fn load_key(state_dir: &Path) -> io::Result<NodeKey> {
    let path = state_dir.join("node.key");
    if !path.exists() {
        let (key, stored) = NodeKey::generate().map_err(io::Error::other)?;
        secret_file::replace(&path, &stored)?;
        return Ok(key);
    }
    let stored = secret_file::read(&path).map_err(io::Error::other)?;
    NodeKey::parse(&stored).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

#[derive(Debug)]
pub(super) struct OrchestratorConnection {
    anonymous: Client,
    join_token_file: PathBuf,
    state_dir: PathBuf,
    /// Capabilities may change while the node runs.
    registration: std::sync::Mutex<RegisterNode>,
    lineage: ProcessLineage,
    /// Whether the orchestrator may have registered this process.
    may_be_registered: AtomicBool,
    /// The current identity; its number distinguishes a stale rejection from a fresh one.
    identity: Mutex<NodeIdentity>,
}

#[derive(Debug, Default)]
struct NodeIdentity {
    number: u64,
    /// Present once the orchestrator has accepted this process.
    client: Option<Client>,
}

impl OrchestratorConnection {
    pub(super) fn new(
        options: &NodeDaemonOptions,
        capabilities: Capabilities,
        lineage: ProcessLineage,
        key: &NodeKey,
    ) -> Result<Self, ClientError> {
        let incarnation = lineage.incarnation().clone();
        let anonymous =
            Client::anonymous(&options.orchestrator_url)?.with_incarnation(incarnation.id);
        Ok(Self {
            anonymous,
            join_token_file: options.join_token_file.clone(),
            state_dir: options.sandbox.state_dir.clone(),
            registration: std::sync::Mutex::new(RegisterNode {
                node_slug: options.slug.clone(),
                capabilities,
                proof: key.prove(&options.slug, incarnation.id),
                incarnation,
            }),
            lineage,
            may_be_registered: AtomicBool::new(false),
            identity: Mutex::default(),
        })
    }

    /// Address of the orchestrator.
    pub(super) fn base_url(&self) -> &str {
        self.anonymous.base_url()
    }

    /// Calls with the node's identity; renews a rejected identity once.
    pub(super) async fn call<T, F>(
        &self,
        call: impl Fn(Client) -> F,
    ) -> Result<T, OrchestratorCallError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let (number, client) = self.authenticated_client().await?;
        match call(client).await {
            Err(error) if error.status() == Some(401) => {
                self.drop_identity(number).await;
                let (_, client) = self.authenticated_client().await?;
                Ok(call(client).await?)
            }
            result => Ok(result?),
        }
    }

    /// Drops the identity after another process registered under the node's name.
    pub(super) async fn reset_identity(&self) {
        let number = self.identity.lock().await.number;
        self.drop_identity(number).await;
    }

    /// Whether a job was assigned to this process.
    pub(super) fn is_for_this_process(&self, job: &cynode_wire::nodes::Assignment) -> bool {
        job.incarnation.is_none_or(|incarnation| incarnation == self.registration().incarnation.id)
    }

    /// Releases the node's name, so that another process can register at once. If this fails, the
    /// orchestrator releases it after the node's heartbeat times out.
    pub(super) async fn release_name(&self) {
        if !self.may_be_registered.load(Ordering::Relaxed) {
            return;
        }
        let stop = async {
            // Shutdown may have cut off the response to the first registration; this repeats it.
            let (_, client) = self.authenticated_client().await?;
            Ok::<_, OrchestratorCallError>(client.node_stop().await?)
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, stop).await;
    }

    async fn authenticated_client(&self) -> Result<(u64, Client), OrchestratorCallError> {
        let mut session = self.identity.lock().await;
        let client = match &session.client {
            Some(client) => client.clone(),
            None => self.register_process().await?,
        };
        session.client = Some(client.clone());
        Ok((session.number, client))
    }

    async fn drop_identity(&self, number: u64) {
        let mut session = self.identity.lock().await;
        if session.number == number {
            *session = NodeIdentity { number: number + 1, client: None };
        }
    }

    /// Registers this process, with the stored node token or by joining again.
    async fn register_process(&self) -> Result<Client, OrchestratorCallError> {
        self.may_be_registered.store(true, Ordering::Relaxed);
        if let Some(token) = self.stored_token() {
            let client = self.anonymous.clone().with_token(token);
            match client.node_start(&self.registration().incarnation).await {
                Err(error) if error.status() == Some(401) => {}
                Err(error) => return Err(OrchestratorCallError::Join(error)),
                Ok(()) => {
                    self.lineage.confirm()?;
                    return Ok(client);
                }
            }
        }
        self.join().await
    }

    async fn join(&self) -> Result<Client, OrchestratorCallError> {
        let token = secret_file::read(&self.join_token_file)?;
        let joining = self.anonymous.clone().with_token(token);
        let registration = self.registration();
        let joined =
            joining.node_register(&registration).await.map_err(OrchestratorCallError::Join)?;
        let token = SecretString::from(joined.node_token);
        secret_file::replace(self.token_file(), &token)?;
        durable_file::replace(self.identity_file(), self.describe_node().as_bytes())?;
        self.lineage.confirm()?;
        tracing::info!(node.id = %joined.node_id, slug = %registration.node_slug, "node joined");
        Ok(self.anonymous.clone().with_token(token))
    }

    /// Returns the stored node token if the node's description has not changed since it joined.
    fn stored_token(&self) -> Option<SecretString> {
        let identity = fs::read_to_string(self.identity_file()).ok()?;
        (identity == self.describe_node()).then(|| secret_file::read(self.token_file()).ok())?
    }

    /// Serializes everything the orchestrator stores about the node, to detect changes.
    fn describe_node(&self) -> String {
        let RegisterNode { node_slug, capabilities, proof, incarnation: _ } = self.registration();
        let body = serde_json::json!({
            "node_slug": node_slug, "capabilities": capabilities, "public_key": proof.public_key,
        });
        format!("{}\n{body}\n", self.anonymous.base_url())
    }

    /// Changes what the node registers with.
    pub(super) fn change_settings(&self, settings: &NodeSettings) {
        let mut registration = self.registration.lock().unwrap_or_else(PoisonError::into_inner);
        registration.capabilities.max_concurrency = settings.max_concurrency;
        registration.capabilities.labels.clone_from(&settings.labels);
    }

    /// Records that the orchestrator knows the description, so that the next process need not join again.
    pub(super) fn record_description(&self) {
        let written = durable_file::replace(self.identity_file(), self.describe_node().as_bytes());
        if let Err(error) = written {
            tracing::warn!(%error, "description of the node not recorded");
        }
    }

    fn registration(&self) -> RegisterNode {
        self.registration.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn token_file(&self) -> PathBuf {
        self.state_dir.join("node.token")
    }

    fn identity_file(&self) -> PathBuf {
        self.state_dir.join("node.identity")
    }
}
