//! Journalled effects: an answer that was recorded is replayed, and its effect never repeated.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;

use async_trait::async_trait;
use cynode_runtime::failpoint;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Ask, Life, NodeError};

/// Where the answers of effects are written down.
#[async_trait]
pub trait EffectLog: Send + Sync {
    /// Returns once the answer will survive a crash of this process.
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError>;

    /// Hears what the running node waits for, for people. Nothing depends on it.
    fn waiting(&self, _node: &str, _what: &str) {}
}

/// Why the journal did not take a record. Waiting for a journal that is away is its own business.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The right to write is gone; nothing may be written any more.
    #[error("the lease was lost")]
    LeaseLost,
    /// The journal will never take this record.
    #[error("the journal refused the record: {0}")]
    Rejected(String),
}

impl From<JournalError> for NodeError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::LeaseLost => Self::LeaseLost,
            JournalError::Rejected(reason) => Self::Denied(reason),
        }
    }
}

/// The answers of effects that happened since the last checkpoint.
#[derive(Debug, Default)]
pub struct Answers(BTreeMap<String, Answer>);

#[derive(Debug)]
struct Answer {
    value: Value,
    /// False while the journal has not confirmed it: the attempt may have been cut off in between.
    recorded: bool,
}

impl Answers {
    /// Forgets everything, because a checkpoint has taken its place.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl FromIterator<(String, Value)> for Answers {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(recorded: I) -> Self {
        let answers = recorded.into_iter();
        Self(answers.map(|(key, value)| (key, Answer { value, recorded: true })).collect())
    }
}

/// What a running node may do to the world.
pub struct NodeCx<'a> {
    /// Makes keys unique in the run: the number of the transition, and the node.
    scope: String,
    answers: &'a mut Answers,
    life: Life<'a>,
}

impl<'a> NodeCx<'a> {
    /// The context of the node that makes transition number `sequence`.
    pub(super) fn new(sequence: i64, life: Life<'a>, answers: &'a mut Answers) -> Self {
        Self { scope: format!("{sequence}/{}", life.node), answers, life }
    }

    /// How the node says that it waits and is well: from then on its time begins anew.
    pub fn life(&self) -> Life<'a> {
        self.life
    }

    /// Performs an effect and records its answer before the node goes on.
    ///
    /// When the answer is already recorded it is given again, and `effect` is never polled.
    /// A failed effect records nothing. `key` must be unique in the node.
    pub async fn effect<T, F>(&mut self, key: &str, effect: F) -> Result<T, NodeError>
    where
        T: Serialize + DeserializeOwned + Send,
        F: Future<Output = Result<T, NodeError>> + Send,
    {
        let key = format!("{}/{key}", self.scope);
        if !self.answers.0.contains_key(&key) {
            let value = serde_json::to_value(effect.await?).map_err(|error| {
                NodeError::Denied(format!("the answer of {key} cannot be recorded: {error}"))
            })?;
            failpoint::hit("effect_done", self.life.node);
            self.answers.0.insert(key.clone(), Answer { value, recorded: false });
        }
        self.settle(&key).await
    }

    /// The answer that somebody gave to a question of this node.
    ///
    /// Without one the node stops here, and the run waits without a runner. It is entered again, with
    /// its effects replayed, once there is an answer. `key` must be unique in the node.
    pub fn ask<T: DeserializeOwned>(
        &self,
        key: &str,
        question: &impl Serialize,
    ) -> Result<T, NodeError> {
        let key = format!("{}/ask/{key}", self.scope);
        let unfit = |error: serde_json::Error| NodeError::Denied(format!("{key}: {error}"));
        if let Some(answer) = self.answers.0.get(&key) {
            return serde_json::from_value(answer.value.clone()).map_err(unfit);
        }
        let question = serde_json::to_value(question).map_err(unfit)?;
        let node = self.life.node.to_owned();
        Err(NodeError::Asks(Box::new(Ask { key, node, question })))
    }

    /// Records the answer under `key` unless that is done, and reads it.
    async fn settle<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, NodeError> {
        let Some(answer) = self.answers.0.get_mut(key) else {
            return Err(NodeError::Transient(format!("{key} has no answer")));
        };
        if !answer.recorded {
            self.life.log.record_effect(key, &answer.value).await?;
            failpoint::hit("effect_recorded", self.life.node);
            answer.recorded = true;
        }
        serde_json::from_value(answer.value.clone()).map_err(|error| {
            NodeError::Denied(format!("the recorded answer of {key} cannot be read: {error}"))
        })
    }
}

impl fmt::Debug for NodeCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeCx").field("scope", &self.scope).finish_non_exhaustive()
    }
}
