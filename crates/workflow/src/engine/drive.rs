//! The loop that drives a run from one checkpoint to the next.

use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::failpoint;
use cynode_runtime::trace_recorder::log_event;
use tokio::time::{Instant, sleep};

use super::graph::GraphNode;
use super::heartbeat::HeartbeatTimer;
use super::{
    EffectAnswers, EffectJournal, Graph, JournalError, NodeContext, NodeHeartbeat,
    NodePermanentFailure, NodeQuestion, NodeRetryPolicy, UnknownPosition, WorkflowNodeError,
};

/// One transition of a run: a node completed and an edge was taken out of it.
#[derive(Debug)]
pub struct NodeTransition<'a, S> {
    /// From 1.
    pub sequence: i64,
    /// The node that completed or failed permanently.
    pub node: &'static str,
    pub edge: &'static str,
    /// The full state after node and edge.
    pub state: &'a S,
    /// Total time of all attempts.
    pub duration: Duration,
    pub is_last: bool,
}

/// Persists transitions.
#[async_trait]
pub trait TransitionJournal<S>: EffectJournal {
    /// Returns once the transition is durable. Idempotent.
    async fn save_transition(&self, transition: &NodeTransition<'_, S>)
    -> Result<(), JournalError>;
}

/// The position and state from which a run is driven.
#[derive(Debug)]
pub struct ResumePoint<S> {
    state: S,
    sequence: i64,
    next: Option<&'static str>,
    answers: EffectAnswers,
}

impl<S: Send + Sync + 'static> ResumePoint<S> {
    /// Starts a new run.
    pub fn from_start(graph: &Graph<S>, state: S) -> Self {
        Self { state, sequence: 0, next: Some(graph.start()), answers: EffectAnswers::default() }
    }

    /// Resumes after transition number `sequence`: `edge` was taken out of `node`.
    pub fn after_transition(
        graph: &Graph<S>,
        (sequence, node, edge): (i64, &str, &str),
        state: S,
    ) -> Result<Self, UnknownPosition> {
        let next = graph.successor(node, edge)?;
        Ok(Self { state, sequence, next, answers: EffectAnswers::default() })
    }

    /// Adds the answers of effects recorded since the checkpoint.
    #[must_use]
    pub fn with_answers(self, answers: EffectAnswers) -> Self {
        Self { answers, ..self }
    }
}

/// Why a drive returned without an error.
#[derive(Debug, PartialEq, Eq)]
pub enum DriveOutcome<S> {
    Finished(S),
    /// The run was asked to pause and is at a checkpoint; any runner may resume it.
    Paused,
}

/// Why a drive stopped before the end of the run. Nothing was written after the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    #[error("the run was canceled")]
    Cancelled,
    /// Another runner may drive the run now.
    #[error("the lease was lost")]
    LeaseLost,
    /// The run is at a checkpoint and waits for an answer.
    #[error("waiting for an answer")]
    NeedsAnswer(Box<NodeQuestion>),
    /// The run is at a checkpoint and waits for a result requested elsewhere.
    #[error("it waits for {0}")]
    WaitingFor(String),
    /// The journal rejects the run's records.
    #[error("{0}")]
    Rejected(String),
    /// The failure node itself failed.
    #[error("{node} failed: {reason}")]
    Stuck { node: &'static str, reason: String },
}

impl From<JournalError> for DriveError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::LeaseLost => Self::LeaseLost,
            JournalError::Rejected(reason) => Self::Rejected(reason),
        }
    }
}

/// Drives a run until it ends, `should_pause` returns true between two nodes, or an error stops it.
///
/// Dropping the future is equivalent to a crash: the run resumes from its last checkpoint.
pub async fn drive<S: Send + Sync + 'static>(
    graph: &Graph<S>,
    journal: &dyn TransitionJournal<S>,
    from: ResumePoint<S>,
    should_pause: &(dyn Fn() -> bool + Send + Sync),
) -> Result<DriveOutcome<S>, DriveError> {
    let ResumePoint { mut state, mut sequence, mut next, mut answers } = from;
    while let Some(station) = next.and_then(|name| graph.find_node(name)) {
        if should_pause() {
            return Ok(DriveOutcome::Paused);
        }
        sequence += 1;
        failpoint::hit("node_entered", station.name);
        let started = Instant::now();
        let policy = graph.effective_policy(station, &state);
        let mut attempts = NodeAttempts {
            node: station,
            policy,
            sequence,
            journal,
            answers: &mut answers,
            made: 0,
        };
        let edge = match attempts.run(&mut state).await {
            Ok(edge) => edge,
            Err(error) => {
                let attempts = attempts.made;
                handle_node_error(graph, &mut state, (station.name, attempts), error)?
            }
        };
        next =
            graph.successor(station.name, edge).map_err(|e| DriveError::Rejected(e.to_string()))?;
        let transition = NodeTransition {
            sequence,
            node: station.name,
            edge,
            state: &state,
            duration: started.elapsed(),
            is_last: next.is_none(),
        };
        failpoint::hit("node_done", station.name);
        let saved = journal.save_transition(&transition).await;
        if !cynode_fault::fault!("WFL-04") {
            saved?;
        }
        failpoint::hit("node_saved", station.name);
        log_transition(&transition);
        answers.clear();
    }
    Ok(DriveOutcome::Finished(state))
}

/// Maps a node's last error to the failure edge or to the end of the drive.
fn handle_node_error<S: Send + Sync + 'static>(
    graph: &Graph<S>,
    state: &mut S,
    (node, attempts): (&'static str, u32),
    error: WorkflowNodeError,
) -> Result<&'static str, DriveError> {
    let class = error.class();
    match error {
        WorkflowNodeError::Cancelled => Err(DriveError::Cancelled),
        WorkflowNodeError::LeaseLost => Err(DriveError::LeaseLost),
        WorkflowNodeError::WaitingFor(what) => Err(DriveError::WaitingFor(what)),
        WorkflowNodeError::NeedsAnswer(ask) => Err(DriveError::NeedsAnswer(ask)),
        WorkflowNodeError::Transient(reason)
        | WorkflowNodeError::BadOutput(reason)
        | WorkflowNodeError::Denied(reason) => {
            // The reason may quote people; it is on record with the run.
            tracing::warn!(node, class = ?class, attempts, "node failed");
            let error = TraceEntry::new(TraceEventKind::Error).with(TraceField::ErrorKind, node);
            log_event(None, TraceActor::Coordinator, &error);
            graph
                .take_failure_edge(state, NodePermanentFailure { node, reason, class, attempts })
                .map_err(|NodePermanentFailure { node, reason, .. }| DriveError::Stuck {
                    node,
                    reason,
                })
        }
    }
}

fn log_transition<S>(transition: &NodeTransition<'_, S>) {
    let NodeTransition { sequence, node, edge, duration, .. } = transition;
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(node, edge, ms, sequence, "node completed");
}

struct NodeAttempts<'a, S> {
    node: &'a GraphNode<S>,
    policy: NodeRetryPolicy,
    sequence: i64,
    journal: &'a dyn EffectJournal,
    answers: &'a mut EffectAnswers,
    /// Number of attempts so far.
    made: u32,
}

impl<S: Send + Sync + 'static> NodeAttempts<'_, S> {
    /// Runs the node within its policy and takes an edge out of it.
    async fn run(&mut self, state: &mut S) -> Result<&'static str, WorkflowNodeError> {
        let name = self.node.name;
        loop {
            self.made += 1;
            let Err(error) = self.run_once(state).await else {
                return self.node.take_edge(state);
            };
            let pause = self.policy.delay_after(error.class(), self.made);
            let Some(pause) = pause.filter(|_| self.made < self.policy.attempts) else {
                return Err(error);
            };
            let failures = self.made;
            tracing::warn!(
                node = name,
                failures,
                error = &error as &dyn std::error::Error,
                "node attempt failed, retrying: {error}"
            );
            sleep(pause).await;
        }
    }

    async fn run_once(&mut self, state: &mut S) -> Result<(), WorkflowNodeError> {
        let GraphNode { name, node: work, .. } = self.node;
        let policy = self.policy;
        let heart = HeartbeatTimer::new();
        let life = NodeHeartbeat { node: name, timer: &heart, journal: self.journal };
        let mut cx = NodeContext::new(self.sequence, life, self.answers);
        let attempt = work.run(&mut cx, state);
        let Some(limit) = policy.timeout else { return attempt.await };
        tokio::select! {
            biased;
            done = attempt => done,
            () = heart.wait_stalled(limit) => {
                Err(WorkflowNodeError::Transient(format!("no result within {} s", limit.as_secs())))
            }
        }
    }
}
