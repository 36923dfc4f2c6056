//! The loop that carries a run from one checkpoint to the next.

use std::time::Duration;

use async_trait::async_trait;
use cynode_runtime::failpoint;
use tokio::time::{Instant, sleep};

use super::graph::Station;
use super::life::Heart;
use super::{
    Answers, Ask, EffectLog, Failure, Graph, JournalError, Life, NodeCx, NodeError, Policy,
    UnknownPosition,
};

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
    /// Somebody must answer a question first; it stands at a checkpoint.
    #[error("somebody must answer first")]
    Asks(Box<Ask>),
    /// What a node needs is being made elsewhere; it stands at a checkpoint.
    #[error("it waits for {0}")]
    Waits(String),
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
        failpoint::hit("node_entered", station.name);
        let started = Instant::now();
        let policy = graph.policy(station, &state);
        let mut attempts =
            Attempts { station, policy, sequence, log: journal, answers: &mut answers, made: 0 };
        let edge = match attempts.run(&mut state).await {
            Ok(edge) => edge,
            Err(error) => {
                let attempts = attempts.made;
                fail(graph, &mut state, (station.name, attempts), error)?
            }
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
        failpoint::hit("node_done", station.name);
        journal.save(&transition).await?;
        failpoint::hit("node_saved", station.name);
        log_transition(&transition);
        answers.clear();
    }
    Ok(Ended::Finished(state))
}

/// Decides what a node's last error means for the run.
fn fail<S: Send + Sync + 'static>(
    graph: &Graph<S>,
    state: &mut S,
    (node, attempts): (&'static str, u32),
    error: NodeError,
) -> Result<&'static str, Stopped> {
    let class = error.class();
    match error {
        NodeError::Cancelled => Err(Stopped::Cancelled),
        NodeError::LeaseLost => Err(Stopped::LeaseLost),
        NodeError::Waits(what) => Err(Stopped::Waits(what)),
        NodeError::Asks(ask) => Err(Stopped::Asks(ask)),
        NodeError::Transient(reason) | NodeError::BadOutput(reason) | NodeError::Denied(reason) => {
            tracing::warn!(node, %reason, "{node} failed for good: {reason}");
            graph
                .fail(state, Failure { node, reason, class, attempts })
                .map_err(|Failure { node, reason, .. }| Stopped::Stuck { node, reason })
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
    policy: Policy,
    sequence: i64,
    log: &'a dyn EffectLog,
    answers: &'a mut Answers,
    /// How many were made.
    made: u32,
}

impl<S: Send + Sync + 'static> Attempts<'_, S> {
    /// Runs the node within its policy and leaves it by an edge.
    async fn run(&mut self, state: &mut S) -> Result<&'static str, NodeError> {
        let name = self.station.name;
        loop {
            self.made += 1;
            let Err(error) = self.once(state).await else {
                return self.station.leave(state);
            };
            let pause = error.class().pause(self.policy.backoff, self.made);
            let Some(pause) = pause.filter(|_| self.made < self.policy.attempts) else {
                return Err(error);
            };
            let failures = self.made;
            tracing::warn!(
                node = name,
                failures,
                error = &error as &dyn std::error::Error,
                "node {name} is tried again: {error}"
            );
            sleep(pause).await;
        }
    }

    async fn once(&mut self, state: &mut S) -> Result<(), NodeError> {
        let Station { name, work, .. } = self.station;
        let policy = self.policy;
        let heart = Heart::new();
        let life = Life { node: name, heart: &heart, log: self.log };
        let mut cx = NodeCx::new(self.sequence, life, self.answers);
        let attempt = work.run(&mut cx, state);
        let Some(limit) = policy.timeout else { return attempt.await };
        tokio::select! {
            biased;
            done = attempt => done,
            () = heart.stops(limit) => {
                Err(NodeError::Transient(format!("no result within {} s", limit.as_secs())))
            }
        }
    }
}
