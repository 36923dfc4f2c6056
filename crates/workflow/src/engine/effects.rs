//! Journalled effects: a recorded answer is replayed, and its effect never repeated.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;

use async_trait::async_trait;
use cynode_runtime::failpoint;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{NodeHeartbeat, NodeQuestion, WorkflowNodeError};

/// Persists the answers of effects.
#[async_trait]
pub trait EffectJournal: Send + Sync {
    /// Returns once the answer is durable.
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError>;

    /// Reports what the running node waits for. Informational only.
    fn report_waiting(&self, _node: &str, _what: &str) {}
}

/// Why the journal rejected a record. Implementations retry an unavailable journal themselves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// Nothing may be written any more.
    #[error("the lease was lost")]
    LeaseLost,
    /// Permanent.
    #[error("the journal rejected the record: {0}")]
    Rejected(String),
}

impl From<JournalError> for WorkflowNodeError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::LeaseLost => Self::LeaseLost,
            JournalError::Rejected(reason) => Self::Denied(reason),
        }
    }
}

/// Answers of effects performed since the last checkpoint.
#[derive(Debug, Default)]
pub struct EffectAnswers(BTreeMap<String, JournalledAnswer>);

#[derive(Debug)]
struct JournalledAnswer {
    value: Value,
    /// False until the journal has confirmed it: the attempt may have been cut off in between.
    recorded: bool,
}

impl EffectAnswers {
    /// Drops all answers after a checkpoint has replaced them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl FromIterator<(String, Value)> for EffectAnswers {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(recorded: I) -> Self {
        let answers = recorded.into_iter();
        Self(
            answers.map(|(key, value)| (key, JournalledAnswer { value, recorded: true })).collect(),
        )
    }
}

/// The interface of a running node to the outside.
pub struct NodeContext<'a> {
    /// Prefix that makes keys unique in the run: transition number and node.
    scope: String,
    answers: &'a mut EffectAnswers,
    heartbeat: NodeHeartbeat<'a>,
}

impl<'a> NodeContext<'a> {
    /// Creates the context of the node of transition number `sequence`.
    pub(super) fn new(
        sequence: i64,
        heartbeat: NodeHeartbeat<'a>,
        answers: &'a mut EffectAnswers,
    ) -> Self {
        Self { scope: format!("{sequence}/{}", heartbeat.node), answers, heartbeat }
    }

    /// Handle for reporting progress, which restarts the node's timeout.
    pub fn heartbeat(&self) -> NodeHeartbeat<'a> {
        self.heartbeat
    }

    /// Performs an effect and records its answer before the node continues.
    ///
    /// A recorded answer is returned again, and `effect` is never polled.
    /// A failed effect records nothing. `key` must be unique in the node.
    pub async fn effect<T, F>(&mut self, key: &str, effect: F) -> Result<T, WorkflowNodeError>
    where
        T: Serialize + DeserializeOwned + Send,
        F: Future<Output = Result<T, WorkflowNodeError>> + Send,
    {
        let key = format!("{}/{key}", self.scope);
        if !self.answers.0.contains_key(&key) || cynode_fault::fault!("WFL-11") {
            let value = serde_json::to_value(effect.await?).map_err(|error| {
                WorkflowNodeError::Denied(format!(
                    "the answer of {key} cannot be recorded: {error}"
                ))
            })?;
            failpoint::hit("effect_done", self.heartbeat.node);
            self.answers.0.insert(key.clone(), JournalledAnswer { value, recorded: false });
        }
        self.record_and_decode(&key).await
    }

    /// Returns the answer of a person to a question of this node.
    ///
    /// Without an answer the node stops here, and the run waits without a runner. The node is entered
    /// again, with its effects replayed, once there is an answer. `key` must be unique in the node.
    pub fn require_answer<T: DeserializeOwned>(
        &self,
        key: &str,
        question: &impl Serialize,
    ) -> Result<T, WorkflowNodeError> {
        let key = format!("{}/ask/{key}", self.scope);
        let unfit = |error: serde_json::Error| WorkflowNodeError::Denied(format!("{key}: {error}"));
        if let Some(answer) = self.answers.0.get(&key) {
            return serde_json::from_value(answer.value.clone()).map_err(unfit);
        }
        let question = serde_json::to_value(question).map_err(unfit)?;
        let node = self.heartbeat.node.to_owned();
        Err(WorkflowNodeError::NeedsAnswer(Box::new(NodeQuestion { key, node, question })))
    }

    /// Records the answer under `key` unless it is recorded, and decodes it.
    async fn record_and_decode<T: DeserializeOwned>(
        &mut self,
        key: &str,
    ) -> Result<T, WorkflowNodeError> {
        let Some(answer) = self.answers.0.get_mut(key) else {
            return Err(WorkflowNodeError::Transient(format!("{key} has no answer")));
        };
        if !answer.recorded {
            self.heartbeat.journal.record_effect(key, &answer.value).await?;
            failpoint::hit("effect_recorded", self.heartbeat.node);
            answer.recorded = true;
        }
        serde_json::from_value(answer.value.clone()).map_err(|error| {
            WorkflowNodeError::Denied(format!(
                "the recorded answer of {key} cannot be read: {error}"
            ))
        })
    }
}

impl fmt::Debug for NodeContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeCx").field("scope", &self.scope).finish_non_exhaustive()
    }
}
