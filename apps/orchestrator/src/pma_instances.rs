//! Connects to the project manager's processes over Unix sockets or local ports.
//!
//! Start at [`PmaInstances`]. A [`Coordinator`] assigns each handoff to a process, round-robin; one that did not accept
//! a connection is tried last for a second. Nothing is sent to a second process once the first has accepted a connection.

mod connection;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::ProjectManager,
};
use cynode_roles::{Coordinator, PooledWorker};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::handoff::{ChatEvent, HandoffKind};
use futures_util::stream;
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use self::connection::{PmaHandoffRequest, PmaResponse};

/// How long a process that did not accept a connection is tried last.
const UNAVAILABLE_FOR: Duration = Duration::from_secs(1);
/// Maximum length of an event line.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Address of a project manager process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PmaAddress {
    Unix(PathBuf),
    Tcp(String),
}

impl PmaAddress {
    /// Parses `unix:/path` or `host:port`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Path::new(path).is_absolute().then(|| Self::Unix(PathBuf::from(path)));
        }
        let (host, port) = text.rsplit_once(':')?;
        let is_address = !host.is_empty() && port.parse::<u16>().is_ok();
        is_address.then(|| Self::Tcp(text.to_owned()))
    }
}

/// A process of the project manager.
struct PmaInstance {
    address: PmaAddress,
    /// The end of the time in which it is tried last.
    unavailable_until: Mutex<Option<Instant>>,
}

impl PmaInstance {
    fn set_unavailable(&self, until: Option<Instant>) {
        *self.unavailable_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

impl PooledWorker for PmaInstance {
    fn is_available(&self) -> bool {
        let until = self.unavailable_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_none_or(|until| until <= Instant::now())
    }
}

/// All processes of the project manager.
pub(crate) struct PmaInstances {
    coordinator: Coordinator<PmaInstance>,
    secret: SecretString,
    /// Tasks that drive the connections.
    tasks: BackgroundTasks,
}

impl PmaInstances {
    /// The processes at `addresses`; requests are authenticated with `secret`.
    pub(crate) fn new(addresses: Vec<PmaAddress>, secret: SecretString) -> Self {
        let instance = |address| PmaInstance { address, unavailable_until: Mutex::new(None) };
        let coordinator = Coordinator::new(addresses.into_iter().map(instance).collect());
        Self { coordinator, secret, tasks: BackgroundTasks::new() }
    }

    /// Sends to the process whose turn it is, or to the next that accepts a connection.
    async fn send(&self, sending: &PmaHandoffRequest<'_>) -> Result<PmaResponse, HandoffError> {
        let unreachable = |reason: String| HandoffError::Unreachable(reason);
        let mut reasons = vec![];
        for instance in self.coordinator.assign().map_err(|error| unreachable(error.to_string()))? {
            match connection::connect(&instance.address, &self.tasks).await {
                Ok(link) => {
                    instance.set_unavailable(None);
                    return link.send(sending).await;
                }
                Err(reason) => {
                    instance.set_unavailable(Some(Instant::now() + UNAVAILABLE_FOR));
                    reasons.push(reason);
                }
            }
        }
        Err(unreachable(reasons.join("; ")))
    }
}

#[async_trait]
impl ProjectManager for PmaInstances {
    fn is_configured(&self) -> bool {
        !self.coordinator.workers().is_empty()
    }

    async fn is_reachable(&self) -> bool {
        for instance in self.coordinator.workers() {
            if connection::connect(&instance.address, &self.tasks).await.is_ok() {
                return true;
            }
        }
        false
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        timeout: Duration,
    ) -> Result<Value, HandoffError> {
        let body = handoff.to_string();
        let sending = PmaHandoffRequest { kind, body, timeout, secret: &self.secret };
        let text = self.send(&sending).await?.read_body().await?;
        serde_json::from_slice(&text)
            .map_err(|error| HandoffError::Failed(format!("its answer cannot be read: {error}")))
    }

    async fn chat(
        &self,
        handoff: Value,
        timeout: Duration,
    ) -> Result<HandoffChatEvents, HandoffError> {
        let body = handoff.to_string();
        let sending =
            PmaHandoffRequest { kind: HandoffKind::Chat, body, timeout, secret: &self.secret };
        let answer = self.send(&sending).await?;
        Ok(Box::pin(stream::try_unfold((answer, Vec::new()), next_event)))
    }
}

/// Reads the next event: a line of the response.
async fn next_event(
    (mut answer, mut pending): (PmaResponse, Vec<u8>),
) -> Result<Option<(ChatEvent, (PmaResponse, Vec<u8>))>, HandoffError> {
    loop {
        if let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let event = serde_json::from_slice(&line).map_err(|error| {
                HandoffError::Failed(format!("an event cannot be read: {error}"))
            })?;
            return Ok(Some((event, (answer, pending))));
        }
        if pending.len() > MAX_LINE_BYTES {
            return Err(HandoffError::Failed("an event is too long".to_owned()));
        }
        match answer.read_chunk().await? {
            Some(chunk) => pending.extend_from_slice(&chunk),
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
