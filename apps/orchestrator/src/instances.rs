//! The project manager's processes, reached over unix sockets or ports of this machine.
//!
//! Start at [`Instances`]. Several processes take turns; one that does not answer its door is passed
//! over for a moment. Nothing is sent to a second process once the first has accepted a connection.

mod link;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_ops::handoff::{ChatEvents, HandoffError, ProjectManager};
use cynode_runtime::tasks::Tasks;
use cynode_wire::handoff::{ChatEvent, HandoffKind};
use futures_util::stream;
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;

use self::link::{Answer, Sending};

/// How long a process that did not open its door is passed over, if others are there.
const PASSED_OVER: Duration = Duration::from_secs(1);
/// The longest line of a stream of events.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Where a process is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port.
    Tcp(String),
}

impl Address {
    /// Reads `unix:/path` or `host:port`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Path::new(path).is_absolute().then(|| Self::Unix(PathBuf::from(path)));
        }
        let (host, port) = text.rsplit_once(':')?;
        let is_address = !host.is_empty() && port.parse::<u16>().is_ok();
        is_address.then(|| Self::Tcp(text.to_owned()))
    }
}

/// All processes of the project manager.
pub(crate) struct Instances {
    addresses: Vec<Address>,
    /// When each may be asked first again.
    away_until: Mutex<Vec<Option<Instant>>>,
    /// Whose turn it is.
    turn: AtomicUsize,
    secret: SecretString,
    /// Drives connections.
    tasks: Tasks,
}

impl Instances {
    /// The processes at `addresses`, which are told apart from others by `secret`.
    pub(crate) fn new(addresses: Vec<Address>, secret: SecretString) -> Self {
        let away_until = Mutex::new(vec![None; addresses.len()]);
        Self { addresses, away_until, turn: AtomicUsize::new(0), secret, tasks: Tasks::new() }
    }

    /// Sends to the first process in turn that opens its door.
    async fn send(&self, sending: &Sending<'_>) -> Result<Answer, HandoffError> {
        let mut reasons = vec![];
        for index in self.in_turn() {
            match link::connect(&self.addresses[index], &self.tasks).await {
                Ok(link) => {
                    self.set_away(index, None);
                    return link.send(sending).await;
                }
                Err(reason) => {
                    self.set_away(index, Some(Instant::now() + PASSED_OVER));
                    reasons.push(reason);
                }
            }
        }
        Err(HandoffError::Away(reasons.join("; ")))
    }

    /// The next in turn first; those that were away a moment ago last.
    fn in_turn(&self) -> Vec<usize> {
        let count = self.addresses.len();
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut order: Vec<_> = (0..count).map(|n| (first + n) % count.max(1)).collect();
        let away = self.away_until.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        order.sort_by_key(|index| away[*index].is_some_and(|until| until > now));
        order
    }

    fn set_away(&self, index: usize, until: Option<Instant>) {
        self.away_until.lock().unwrap_or_else(PoisonError::into_inner)[index] = until;
    }
}

#[async_trait]
impl ProjectManager for Instances {
    fn is_configured(&self) -> bool {
        !self.addresses.is_empty()
    }

    async fn is_there(&self) -> bool {
        for address in &self.addresses {
            if link::connect(address, &self.tasks).await.is_ok() {
                return true;
            }
        }
        false
    }

    async fn hand(
        &self,
        kind: HandoffKind,
        handoff: Value,
        within: Duration,
    ) -> Result<Value, HandoffError> {
        let body = handoff.to_string();
        let sending = Sending { kind, body, within, secret: &self.secret };
        let text = self.send(&sending).await?.whole().await?;
        serde_json::from_slice(&text)
            .map_err(|error| HandoffError::Failed(format!("its answer cannot be read: {error}")))
    }

    async fn chat(&self, handoff: Value, within: Duration) -> Result<ChatEvents, HandoffError> {
        let body = handoff.to_string();
        let sending = Sending { kind: HandoffKind::Chat, body, within, secret: &self.secret };
        let answer = self.send(&sending).await?;
        Ok(Box::pin(stream::try_unfold((answer, Vec::new()), next)))
    }
}

/// The next event: a line of the answer.
async fn next(
    (mut answer, mut pending): (Answer, Vec<u8>),
) -> Result<Option<(ChatEvent, (Answer, Vec<u8>))>, HandoffError> {
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
        match answer.chunk().await? {
            Some(chunk) => pending.extend_from_slice(&chunk),
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
