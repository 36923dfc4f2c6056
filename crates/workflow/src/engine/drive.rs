//! The loop that carries a run from one checkpoint to the next.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep, timeout};

use super::graph::Station;
use super::{Answers, EffectLog, Failure, Graph, JournalError, NodeCx, NodeError, UnknownPosition};

/// One move of a run: a node completed, and an edge was taken out of it.
#[derive(Debug)]
pub struct Transition<'a, S> {
    /// The number of this move, from 1.
    pub sequence: i64,
    /// The node that completed, or failed for good.
    pub node: &'static str,
    /// The edge that is taken.
    pub edge: &'static str,
    /// The whole state after both.
    pub state: &'a S,
    /// How long the node took, all attempts together.
    pub duration: Duration,
    /// Whether the run ends here.
    pub is_last: bool,
}

/// Where transitions are written down.
#[async_trait]
pub trait Checkpoints<S>: EffectLog {
    /// Returns once the transition will survive a crash; saving the same one again changes nothing.
    async fn save(&self, transition: &Transition<'_, S>) -> Result<(), JournalError>;
}

/// Where a run goes on.
#[derive(Debug)]
pub struct Resume<S> {
    state: S,
    sequence: i64,
    next: Option<&'static str>,
    answers: Answers,
}

impl<S: Send + Sync + 'static> Resume<S> {
    /// A run that has not begun.
    pub fn fresh(graph: &Graph<S>, state: S) -> Self {
        Self { state, sequence: 0, next: Some(graph.start()), answers: Answers::default() }
    }

    /// A run that goes on after transition number `sequence`: `edge` was taken out of `node`.
    pub fn after(
        graph: &Graph<S>,
        (sequence, node, edge): (i64, &str, &str),
        state: S,
    ) -> Result<Self, UnknownPosition> {
        let next = graph.successor(node, edge)?;
        Ok(Self { state, sequence, next, answers: Answers::default() })
    }

    /// The same run, knowing the answers of effects that happened since.
    #[must_use]
    pub fn with_answers(self, answers: Answers) -> Self {
        Self { answers, ..self }
    }
}

/// How a drive ended with the run in good order.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended<S> {
    /// The run has reached its last node.
    Finished(S),
    /// It was asked to pause and stands at a checkpoint; anybody may go on from there.
    Paused,
}

/// Why a drive stopped without ending the run. Nothing was written after the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// Somebody stopped the run.
    #[error("the run was canceled")]
    Cancelled,
    /// Somebody else may drive it now.
    #[error("the lease was lost")]
    LeaseLost,
    /// The journal does not take its records.
    #[error("{0}")]
    Rejected(String),
    /// The failure node itself failed.
    #[error("{node} failed: {reason}")]
    Stuck {
        /// The failure node.
        node: &'static str,
        /// Why, in words.
        reason: String,
    },
}

impl From<JournalError> for Stopped {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::LeaseLost => Self::LeaseLost,
            JournalError::Rejected(reason) => Self::Rejected(reason),
        }
    }
}

/// Drives a run until it ends, `should_pause` says so between two nodes, or it must stop.
///
/// Dropping the future is a crash: the run goes on from its last checkpoint.
pub async fn drive<S: Send + Sync + 'static>(
    graph: &Graph<S>,
    journal: &dyn Checkpoints<S>,
    from: Resume<S>,
    should_pause: &(dyn Fn() -> bool + Send + Sync),
) -> Result<Ended<S>, Stopped> {
    let Resume { mut state, mut sequence, mut next, mut answers } = from;
    while let Some(station) = next.and_then(|name| graph.station(name)) {
        if should_pause() {
            return Ok(Ended::Paused);
        }
        sequence += 1;
        let started = Instant::now();
        let mut attempts = Attempts { station, sequence, log: journal, answers: &mut answers };
        let edge = match attempts.run(&mut state).await {
            Ok(edge) => edge,
            Err(error) => fail(graph, &mut state, station.name, error)?,
        };
        next = graph.successor(station.name, edge).map_err(|e| Stopped::Rejected(e.to_string()))?;
        let transition = Transition {
            sequence,
            node: station.name,
            edge,
            state: &state,
            duration: started.elapsed(),
            is_last: next.is_none(),
        };
        journal.save(&transition).await?;
        log_transition(&transition);
        answers.clear();
    }
    Ok(Ended::Finished(state))
}

/// Decides what a node's last error means for the run.
fn fail<S: Send + Sync + 'static>(
    graph: &Graph<S>,
    state: &mut S,
    node: &'static str,
    error: NodeError,
) -> Result<&'static str, Stopped> {
    match error {
        NodeError::Cancelled => Err(Stopped::Cancelled),
        NodeError::LeaseLost => Err(Stopped::LeaseLost),
        NodeError::Transient(reason) | NodeError::BadOutput(reason) | NodeError::Denied(reason) => {
            tracing::warn!(node, %reason, "{node} failed for good: {reason}");
            graph
                .fail(state, Failure { node, reason })
                .map_err(|Failure { node, reason }| Stopped::Stuck { node, reason })
        }
    }
}

fn log_transition<S>(transition: &Transition<'_, S>) {
    let Transition { sequence, node, edge, duration, .. } = transition;
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(node, edge, ms, sequence, "node {node} completed in {ms} ms, edge {edge}");
}

/// The attempts at one node.
struct Attempts<'a, S> {
    station: &'a Station<S>,
    sequence: i64,
    log: &'a dyn EffectLog,
    answers: &'a mut Answers,
}

impl<S: Send + Sync + 'static> Attempts<'_, S> {
    /// Runs the node within its policy and leaves it by an edge.
    async fn run(&mut self, state: &mut S) -> Result<&'static str, NodeError> {
        let Station { name, policy, .. } = self.station;
        let mut failures = 0;
        loop {
            let Err(error) = self.once(state).await else {
                return self.station.leave(state);
            };
            failures += 1;
            if !error.is_retryable() || failures >= policy.attempts {
                return Err(error);
            }
            let pause = policy.backoff.delay(failures);
            tracing::warn!(node = name, failures, %error, "node {name} is tried again: {error}");
            sleep(pause).await;
        }
    }

    async fn once(&mut self, state: &mut S) -> Result<(), NodeError> {
        let Station { name, work, policy, .. } = self.station;
        let mut cx = NodeCx::new(self.sequence, name, self.log, self.answers);
        let attempt = work.run(&mut cx, state);
        match policy.timeout {
            None => attempt.await,
            Some(limit) => timeout(limit, attempt).await.unwrap_or_else(|_| {
                Err(NodeError::Transient(format!("no result within {} s", limit.as_secs())))
            }),
        }
    }
}
