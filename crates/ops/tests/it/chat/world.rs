//! Chat over a real store with a scripted model and project manager.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::trace::TraceEvents;
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::ProjectManager,
};
use cynode_llm_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, ChatMessage, ChatRequest, Choice, Delta, Usage,
};
use cynode_models::{egress::EgressError, egress::EgressStream, egress::Inference};
use cynode_ops::{
    chat::Chat, chat::ChatCall, chat::ChatError, chat::ChatOptions, chat::ModelSource,
};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactedRequest;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::ChatRecord;
use cynode_wire::handoff::{ChatEvent, FailureKind, HandoffKind, HandoffUsage};
use cynode_wire::page::PageQuery;
use cynode_wire::providers::{ModelView, ModelsView};
use cynode_wire::threads::{ThreadMessageView, ThreadQuery, ThreadView};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::Notify;

use crate::world::World;

pub(super) const MODEL: &str = "local/tiny";
/// Number of chunks of a flood.
const FLOOD: usize = 200;

/// Behaviour of the scripted model and project manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Answers with `Hello there.`
    Answer,
    /// Sends `Hello` and hangs.
    Hang,
    /// Sends `Hello` and fails.
    Break,
    Refuse,
    /// Sends more than a slow reader is waited for.
    Flood,
    /// Unreachable.
    Away,
}

/// Recorded requests and the behaviour.
pub(super) struct ChatScript {
    manner: Manner,
    requests: Mutex<Vec<Value>>,
    /// Notified when a hanging answer is aborted.
    pub(super) given_up: Arc<Notify>,
}

impl ChatScript {
    /// All requests, as text.
    pub(super) fn received_requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    fn record_request(&self, request: Value) {
        self.requests.lock().unwrap().push(request);
    }
}

/// Notifies on drop.
struct NotifyOnDrop(Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

pub(super) struct ScriptedChatModel(pub(super) Arc<ChatScript>);
pub(super) struct ScriptedChatManager(pub(super) Arc<ChatScript>);

#[async_trait]
impl ModelSource for ScriptedChatModel {
    async fn list_models(&self, _: &Caller) -> Result<ModelsView, EgressError> {
        let model = ModelView {
            id: MODEL.to_owned(),
            provider: "local".to_owned(),
            model: "tiny".to_owned(),
            is_local: true,
            hints: vec!["fast".to_owned()],
        };
        Ok(ModelsView { models: vec![model], silent: vec![] })
    }

    async fn chat(
        &self,
        inference: &Inference,
        request: RedactedRequest,
    ) -> Result<ChatCompletion, EgressError> {
        let mut chunks = self.stream(inference, request).await?;
        let mut text = String::new();
        while let Some(chunk) = chunks.next().await {
            text.push_str(chunk?.text());
        }
        let message = AssistantMessage { content: Some(text), ..AssistantMessage::default() };
        let finish_reason = Some("stop".to_owned());
        let choice = Choice { message, finish_reason, ..Choice::default() };
        let usage = Some(Usage::new(3, 2));
        Ok(ChatCompletion { choices: vec![choice], usage, ..ChatCompletion::default() })
    }

    async fn stream(
        &self,
        inference: &Inference,
        request: RedactedRequest,
    ) -> Result<EgressStream, EgressError> {
        assert_eq!(inference.purpose, "chat");
        self.0.record_request(serde_json::to_value(&*request).unwrap());
        let name = request.model.clone().unwrap_or_default();
        if name != MODEL {
            return Err(EgressError::UnknownModel(name));
        }
        let chunk = |text: &str| Ok(ChatChunk::new(Delta::text(text), None));
        let end = Ok(ChatChunk::new(Delta::default(), Some("stop".to_owned())));
        let cost = Ok(ChatChunk { usage: Some(Usage::new(3, 2)), ..ChatChunk::default() });
        let failed = Err(EgressError::Denied("the provider went away".to_owned()));
        Ok(match self.0.manner {
            Manner::Answer => Box::pin(stream::iter([chunk("Hello"), chunk(" there."), end, cost])),
            Manner::Break => Box::pin(stream::iter([chunk("Hello"), failed])),
            Manner::Hang => {
                let guard = NotifyOnDrop(Arc::clone(&self.0.given_up));
                let never = stream::once(async move {
                    let _guard = guard;
                    std::future::pending().await
                });
                Box::pin(stream::iter([chunk("Hello")]).chain(never))
            }
            Manner::Flood => {
                let words = (0..FLOOD).map(move |_| Ok(ChatChunk::new(Delta::text("x"), None)));
                Box::pin(stream::iter(words.chain([end, cost]).collect::<Vec<_>>()))
            }
            Manner::Refuse | Manner::Away => {
                return Err(EgressError::Denied("not for you".to_owned()));
            }
        })
    }
}

#[async_trait]
impl ProjectManager for ScriptedChatManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        _: HandoffKind,
        _: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        Err(HandoffError::Unreachable("chat hands over nothing else".to_owned()))
    }

    async fn chat(&self, handoff: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        self.0.record_request(handoff);
        let delta = |text: &str| Ok(ChatEvent::Delta { text: text.to_owned() });
        let tool = Ok(ChatEvent::Tool {
            name: "task.list".to_owned(),
            succeeded: Some(true),
            summary: "2 tasks".to_owned(),
        });
        let usage = HandoffUsage { prompt_tokens: 5, completion_tokens: 4 };
        let done = Ok(ChatEvent::Done { usage, decisions: vec![], trace: TraceEvents::default() });
        let (kind, decisions) = (FailureKind::Other, vec![]);
        let message = "no luck".to_owned();
        let failed = ChatEvent::Failed {
            message,
            may_retry: true,
            kind,
            decisions,
            trace: TraceEvents::default(),
        };
        Ok(match self.0.manner {
            Manner::Answer => {
                Box::pin(stream::iter([tool, delta("Hello"), delta(" there."), done]))
            }
            Manner::Break => Box::pin(stream::iter([delta("Hello"), Ok(failed)])),
            Manner::Hang => {
                let guard = NotifyOnDrop(Arc::clone(&self.0.given_up));
                let never = stream::once(async move {
                    let _guard = guard;
                    std::future::pending().await
                });
                Box::pin(stream::iter([delta("Hello")]).chain(never))
            }
            Manner::Flood => {
                let words = (0..FLOOD).map(|_| Ok(ChatEvent::Delta { text: "x".to_owned() }));
                Box::pin(stream::iter(words.chain([done]).collect::<Vec<_>>()))
            }
            Manner::Refuse => return Err(HandoffError::Failed("not today".to_owned())),
            Manner::Away => return Err(HandoffError::Unreachable("it starts".to_owned())),
        })
    }
}

pub(super) struct ChatWorld {
    pub(super) world: World,
    pub(super) chat: Chat,
    /// Background tasks of turns and handoffs.
    pub(super) background: BackgroundTasks,
    pub(super) model: Arc<ChatScript>,
    pub(super) manager: Arc<ChatScript>,
}

impl ChatWorld {
    pub(super) async fn new(manner: Manner) -> Self {
        Self::with(manner, ChatOptions::default()).await
    }

    pub(super) async fn with(manner: Manner, options: ChatOptions) -> Self {
        Self::with_both(manner, options, HandoffOptions::default()).await
    }

    pub(super) async fn with_both(
        manner: Manner,
        options: ChatOptions,
        handing: HandoffOptions,
    ) -> Self {
        let world = World::new().await;
        let script = || {
            let (requests, given_up) = (Mutex::default(), Arc::default());
            Arc::new(ChatScript { manner, requests, given_up })
        };
        let (model, manager) = (script(), script());
        let background = BackgroundTasks::new();
        let handoffs = HandoffService::new(
            world.store.clone(),
            world.clock.clone(),
            world.signals(),
            Arc::new(ScriptedChatManager(Arc::clone(&manager))),
            handing,
        )
        .with_background(background.clone());
        let chat = Chat::new(
            world.store.clone(),
            world.clock.clone(),
            background.clone(),
            Arc::new(ScriptedChatModel(Arc::clone(&model))),
            handoffs,
            options,
        );
        Self { world, chat, background, model, manager }
    }

    pub(super) fn call(&self) -> ChatCall {
        ChatCall {
            caller: self.world.bob.clone(),
            project: None,
            trace_id: "trace-1".to_owned(),
            is_repeat: false,
            link: None,
        }
    }

    pub(super) async fn ask(&self, model: &str, text: &str) -> Result<ChatCompletion, ChatError> {
        self.chat.complete(self.call(), request(model, text)).await
    }

    /// All chunks of a streamed answer; the last may be an error.
    pub(super) async fn pieces(
        &self,
        request: ChatRequest,
    ) -> Result<Vec<Result<ChatChunk, ChatError>>, ChatError> {
        let chunks = self.chat.stream(self.call(), request).await?;
        Ok(chunks.collect().await)
    }

    pub(super) async fn threads(&self) -> Vec<ThreadView> {
        let query = ThreadQuery::default();
        self.chat.thread_list(&self.world.bob, query).await.unwrap().items
    }

    /// The persisted messages of the newest thread.
    pub(super) async fn stored_messages(&self) -> Vec<ThreadMessageView> {
        let Some(thread) = self.threads().await.into_iter().next() else { return vec![] };
        let query = PageQuery::default();
        self.chat.thread_messages(&self.world.bob, thread.id, &query).await.unwrap().items
    }

    /// Persisted messages as (role, content).
    pub(super) async fn stored_texts(&self) -> Vec<(String, String)> {
        self.stored_messages()
            .await
            .into_iter()
            .map(|message| (message.role, message.content))
            .collect()
    }

    /// Turn records, newest first.
    pub(super) async fn records(&self) -> Vec<ChatRecord> {
        let user = self.world.bob.user;
        self.world
            .store
            .read(move |tx| Box::pin(async move { tx.chat_record_list(user, None, 50).await }))
            .await
            .unwrap()
    }

    /// The record of a turn whose client disconnected, which is written later.
    pub(super) async fn record_to_come(&self) -> ChatRecord {
        loop {
            if let Some(record) = self.records().await.into_iter().next() {
                return record;
            }
            tokio::task::yield_now().await;
        }
    }
}

pub(super) fn request(model: &str, text: &str) -> ChatRequest {
    ChatRequest {
        model: Some(model.to_owned()),
        messages: vec![ChatMessage::text("user", text)],
        ..ChatRequest::default()
    }
}

pub(super) fn turn(role: &str, content: &str) -> (String, String) {
    (role.to_owned(), content.to_owned())
}
