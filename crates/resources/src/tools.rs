//! The tool registry: every tool, server, rule and setting that the policy snapshot is built from.
//!
//! Start at [`ToolRegistry::load`]. Every change is one transaction that increments the policy revision;
//! other processes see it at their next poll, this one is signalled immediately.

mod definition;
mod manage;
mod sync;

use std::collections::BTreeMap;
use std::time::Duration;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::policy::ToolScope;
use cynode_domain::policy::rules::AccessRule;
use cynode_runtime::clock::SharedClock;
use cynode_store::{NarrowingProfile, Store, Tx};
use serde_json::Value;
use tokio::time::Instant;

pub use manage::is_tool_visible;

pub use cynode_store::{McpServer, McpToolDefinition, ServerTransport, StoredTool};

use crate::{PageError, Signals};
use crate::{signals::Topic, signals::TopicSubscription};

/// Errors of tool and server operations.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no such tool, or the caller may not see it.
    #[error("there is no tool \"{0}\"")]
    NotFound(String),
    #[error("there is no server \"{0}\"")]
    NoServer(String),
    #[error("only an administrator may do this")]
    NotAdmin,
    /// There are tools of this name on servers of several users.
    #[error(
        "several servers have a tool \"{0}\": give the id of one; see: cynork tools list --output json"
    )]
    Ambiguous(String),
    /// Several users have a server of this name.
    #[error("several users have a server \"{0}\": give the id of one; see: cynork servers list")]
    AmbiguousServer(String),
    #[error("there is a server \"{0}\" already")]
    Taken(String),
    #[error("\"{0}\" is the name of a server for all users: choose another name")]
    SystemName(String),
    #[error("the tool changed since you read it: read it again")]
    Changed,
    #[error("you have 64 servers, which is the limit: remove one first")]
    TooManyServers,
    /// The secrets of a server cannot be encrypted.
    #[error("the secrets cannot be stored: {0}")]
    Sealing(#[from] crate::servers::SealingError),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ToolError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::NoServer(_) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::Ambiguous(_)
            | Self::AmbiguousServer(_)
            | Self::Taken(_)
            | Self::SystemName(_)
            | Self::Changed
            | Self::TooManyServers => Classification::new(ErrorClass::Conflict, self),
            Self::Sealing(_) => Classification::new(ErrorClass::Outage, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The inputs of a policy snapshot, read in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistryState {
    /// Incremented with every change of the fields below, and with every revoked token.
    pub revision: i64,
    pub tools: Vec<StoredTool>,
    pub servers: Vec<McpServer>,
    pub rules: Vec<AccessRule>,
    pub settings: BTreeMap<String, Value>,
    /// The profiles that narrow something.
    pub profiles: Vec<NarrowingProfile>,
}

/// A built-in tool.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltinTool {
    pub name: String,
    /// Default scope; an administrator can change it.
    pub scope: ToolScope,
    pub definition: McpToolDefinition,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ObservedTool {
    /// The name on the server, without the server's slug.
    pub name: String,
    pub definition: McpToolDefinition,
}

/// The tool registry. Cheap to clone.
#[derive(Clone)]
pub struct ToolRegistry {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl ToolRegistry {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// Loads the inputs of a policy snapshot in one transaction.
    pub async fn load(&self) -> Result<RegistryState, ToolError> {
        self.store.read(|tx| Box::pin(async move { load_registry(tx).await })).await
    }

    /// The current policy revision; cheap enough to poll every second.
    pub async fn revision(&self) -> Result<i64, ToolError> {
        self.store
            .read(|tx| Box::pin(async move { Ok::<_, ToolError>(tx.policy_revision().await?) }))
            .await
    }

    /// Subscribes to changes: no change after this call is missed.
    pub fn changes(&self) -> PolicyChanges {
        PolicyChanges(self.signals.subscribe(Topic::Policy))
    }
}

async fn load_registry(tx: &mut Tx) -> Result<RegistryState, ToolError> {
    let revision = tx.policy_revision().await?;
    let mut tools = tx.tool_list().await?;
    tools.retain(|tool| tool.present);
    let servers = tx.server_list().await?;
    let rules = tx.rule_list_enforced().await?;
    let settings = tx.setting_list("", None, u32::MAX).await?;
    let settings = settings.into_iter().map(|setting| (setting.key, setting.value)).collect();
    let profiles = tx.profile_list_narrowing().await?;
    Ok(RegistryState { revision, tools, servers, rules, settings, profiles })
}

/// Subscription to changes of the registry.
#[derive(Debug)]
pub struct PolicyChanges(TopicSubscription);

impl PolicyChanges {
    /// Waits until something changes in this process, or for `at_most`.
    pub async fn next(&mut self, at_most: Duration) {
        self.0.wait(Instant::now() + at_most).await;
    }
}
