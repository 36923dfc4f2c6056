//! The registry: every tool, server, rule and setting that the gateway decides by.
//!
//! Start at [`Registry::load`]. Every change is one transaction with a higher revision in it, so that
//! other processes see it at their next poll; this one hears of it at once.

mod definition;
mod manage;
mod sync;

use std::collections::BTreeMap;
use std::time::Duration;

use cynode_domain::policy::ToolScope;
use cynode_domain::policy::rules::Rule;
use cynode_runtime::clock::SharedClock;
use cynode_store::{RuleStore, ServerStore, SettingStore, Store, ToolStore, Tx};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use manage::is_seen;

pub use cynode_store::{Definition, McpServer, McpTool, ServerTransport};

use crate::signals::{Listener, Topic};
use crate::{BadCursor, Signals};

/// Why an operation on tools was refused.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// There is no such tool, or the caller may not see it.
    #[error("there is no tool \"{0}\"")]
    NotFound(String),
    /// There is no such server.
    #[error("there is no server \"{0}\"")]
    NoServer(String),
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// The name is taken.
    #[error("there is a server \"{0}\" already")]
    Taken(String),
    /// The tool changed since its definition was read.
    #[error("the tool changed since you read it: look at it again")]
    Changed,
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// All that the gateway decides by, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistryState {
    /// Grows with every change of what follows, and with every revoked token.
    pub revision: i64,
    /// Every tool.
    pub tools: Vec<McpTool>,
    /// Every installed server.
    pub servers: Vec<McpServer>,
    /// Every rule.
    pub rules: Vec<Rule>,
    /// Every setting.
    pub settings: BTreeMap<String, Value>,
}

/// A tool that is built in.
#[derive(Debug, Clone, PartialEq)]
pub struct BuiltinTool {
    /// Its canonical name.
    pub name: String,
    /// Where it may be called from, until an administrator says otherwise.
    pub scope: ToolScope,
    /// What it says about itself.
    pub definition: Definition,
}

/// A tool that an installed server offers.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedTool {
    /// The server's own name for it.
    pub name: String,
    /// What it says about itself.
    pub definition: Definition,
}

/// The registry. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Registry {
    /// The registry kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }

    /// All that the gateway decides by, as of one moment.
    pub async fn load(&self) -> Result<RegistryState, ToolError> {
        self.store.read(|tx| Box::pin(async move { load(tx).await })).await
    }

    /// The revision of what [`Registry::load`] would give: cheap enough to ask every second.
    pub async fn revision(&self) -> Result<i64, ToolError> {
        self.store
            .read(|tx| Box::pin(async move { Ok::<_, ToolError>(tx.policy_revision().await?) }))
            .await
    }

    /// Begins to listen for changes: what changes from now on is not missed.
    pub fn changes(&self) -> PolicyChanges {
        PolicyChanges(self.signals.listen(Topic::Policy))
    }
}

async fn load(tx: &mut Tx) -> Result<RegistryState, ToolError> {
    let revision = tx.policy_revision().await?;
    let mut tools = tx.tool_list().await?;
    tools.retain(|tool| tool.present);
    let servers = tx.server_list().await?;
    let rules = tx.rule_list_enforced().await?;
    let settings = tx.setting_list("", None, u32::MAX).await?;
    let settings = settings.into_iter().map(|setting| (setting.key, setting.value)).collect();
    Ok(RegistryState { revision, tools, servers, rules, settings })
}

/// Hears of changes to the registry.
#[derive(Debug)]
pub struct PolicyChanges(Listener);

impl PolicyChanges {
    /// Waits until something changed in this process, or for `at_most`.
    pub async fn next(&mut self, at_most: Duration) {
        self.0.wait(Instant::now() + at_most).await;
    }
}
