//! A project manager whose answers a test scripts.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::ProjectManager,
};
use cynode_wire::handoff::{ChatEvent, HandoffKind};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

type ScriptedHandoffAnswer = Result<Value, HandoffError>;

/// Returns scripted answers, last first, and records the handoffs.
#[derive(Default)]
pub(super) struct ScriptedHandoffTarget {
    pub(super) says: Mutex<Vec<ScriptedHandoffAnswer>>,
    pub(super) events: Mutex<Vec<ChatEvent>>,
    pub(super) handed: Mutex<Vec<(HandoffKind, Value)>>,
    /// Whether it never answers.
    pub(super) is_silent: bool,
}

#[async_trait]
impl ProjectManager for ScriptedHandoffTarget {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> ScriptedHandoffAnswer {
        self.handed.lock().unwrap().push((kind, handoff));
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        self.says.lock().unwrap().pop().unwrap()
    }

    async fn chat(&self, handoff: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        self.handed.lock().unwrap().push((HandoffKind::Chat, handoff));
        let events: Vec<_> = self.events.lock().unwrap().drain(..).map(Ok).collect();
        Ok(stream::iter(events).chain(stream::pending()).boxed())
    }
}
