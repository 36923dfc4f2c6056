//! Chat over a real store, with those who answer played by the test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_ops::Caller;
use cynode_ops::chat::{Chat, ChatCall, ChatError, ChatOptions, Models};
use cynode_ops::egress::{EgressError, EgressStream, Inference};
use cynode_ops::handoff::{ChatEvents, HandoffError, HandoffOptions, Handoffs, ProjectManager};
use cynode_ops::secrets::CleanRequest;
use cynode_runtime::tasks::Tasks;
use cynode_store::{ChatRecord, ChatRecordStore};
use cynode_wire::handoff::{ChatEvent, FailureKind, HandoffKind, HandoffUsage};
use cynode_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, ChatMessage, ChatRequest, Choice, Delta, Usage,
};
use cynode_wire::page::PageQuery;
use cynode_wire::providers::{ModelView, ModelsView};
use cynode_wire::threads::{ThreadMessageView, ThreadQuery, ThreadView};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::Notify;

use crate::world::World;

pub(super) const MODEL: &str = "local/tiny";
/// How many pieces a flood has.
const FLOOD: usize = 200;

/// How those who answer behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// They answer with `Hello there.`
    Answer,
    /// They say `Hello`, and then nothing more.
    Hang,
    /// They say `Hello`, and then fail.
    Break,
    /// They refuse.
    Refuse,
    /// They say more than a reader is waited for.
    Flood,
    /// They are not there.
    Away,
}

/// What those who answer were asked, and how they behave.
pub(super) struct Script {
    manner: Manner,
    asked: Mutex<Vec<Value>>,
    /// Told when an answer that hangs was given up.
    pub(super) given_up: Arc<Notify>,
}

impl Script {
    /// Everything that was asked, as text.
    pub(super) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    fn hear(&self, asked: Value) {
        self.asked.lock().unwrap().push(asked);
    }
}

/// Tells when it is dropped.
struct OnDrop(Arc<Notify>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

pub(super) struct Model(pub(super) Arc<Script>);
pub(super) struct Manager(pub(super) Arc<Script>);

#[async_trait]
impl Models for Model {
    async fn models(&self, _: &Caller) -> Result<ModelsView, EgressError> {
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
        request: CleanRequest,
    ) -> Result<ChatCompletion, EgressError> {
        let mut pieces = self.stream(inference, request).await?;
        let mut text = String::new();
        while let Some(piece) = pieces.next().await {
            text.push_str(piece?.text());
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
        request: CleanRequest,
    ) -> Result<EgressStream, EgressError> {
        assert_eq!(inference.purpose, "chat");
        self.0.hear(serde_json::to_value(&*request).unwrap());
        let name = request.model.clone().unwrap_or_default();
        if name != MODEL {
            return Err(EgressError::UnknownModel(name));
        }
        let piece = |text: &str| Ok(ChatChunk::of(Delta::text(text), None));
        let end = Ok(ChatChunk::of(Delta::default(), Some("stop".to_owned())));
        let cost = Ok(ChatChunk { usage: Some(Usage::new(3, 2)), ..ChatChunk::default() });
        let failed = Err(EgressError::Denied("the provider went away".to_owned()));
        Ok(match self.0.manner {
            Manner::Answer => Box::pin(stream::iter([piece("Hello"), piece(" there."), end, cost])),
            Manner::Break => Box::pin(stream::iter([piece("Hello"), failed])),
            Manner::Hang => {
                let guard = OnDrop(Arc::clone(&self.0.given_up));
                let never = stream::once(async move {
                    let _guard = guard;
                    std::future::pending().await
                });
                Box::pin(stream::iter([piece("Hello")]).chain(never))
            }
            Manner::Flood => {
                let words = (0..FLOOD).map(move |_| Ok(ChatChunk::of(Delta::text("x"), None)));
                Box::pin(stream::iter(words.chain([end, cost]).collect::<Vec<_>>()))
            }
            Manner::Refuse | Manner::Away => {
                return Err(EgressError::Denied("not for you".to_owned()));
            }
        })
    }
}

#[async_trait]
impl ProjectManager for Manager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn hand(&self, _: HandoffKind, _: Value, _: Duration) -> Result<Value, HandoffError> {
        Err(HandoffError::Away("chat hands over nothing else".to_owned()))
    }

    async fn chat(&self, handoff: Value, _: Duration) -> Result<ChatEvents, HandoffError> {
        self.0.hear(handoff);
        let delta = |text: &str| Ok(ChatEvent::Delta { text: text.to_owned() });
        let tool = Ok(ChatEvent::Tool {
            name: "task.list".to_owned(),
            succeeded: Some(true),
            summary: "2 tasks".to_owned(),
        });
        let usage = HandoffUsage { prompt_tokens: 5, completion_tokens: 4 };
        let done = Ok(ChatEvent::Done { usage, decisions: vec![] });
        let (kind, decisions) = (FailureKind::Other, vec![]);
        let message = "no luck".to_owned();
        let failed = ChatEvent::Failed { message, may_retry: true, kind, decisions };
        Ok(match self.0.manner {
            Manner::Answer => {
                Box::pin(stream::iter([tool, delta("Hello"), delta(" there."), done]))
            }
            Manner::Break => Box::pin(stream::iter([delta("Hello"), Ok(failed)])),
            Manner::Hang => {
                let guard = OnDrop(Arc::clone(&self.0.given_up));
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
            Manner::Away => return Err(HandoffError::Away("it starts".to_owned())),
        })
    }
}

pub(super) struct ChatWorld {
    pub(super) world: World,
    pub(super) chat: Chat,
    /// Where turns and handoffs go on.
    pub(super) background: Tasks,
    pub(super) model: Arc<Script>,
    pub(super) manager: Arc<Script>,
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
            let (asked, given_up) = (Mutex::default(), Arc::default());
            Arc::new(Script { manner, asked, given_up })
        };
        let (model, manager) = (script(), script());
        let shared = (world.store.clone(), world.clock.clone() as _, world.signals());
        let background = Tasks::new();
        let handoffs = Handoffs::new(shared, Arc::new(Manager(Arc::clone(&manager))), handing)
            .in_background(background.clone());
        let chat = Chat::new(
            (world.store.clone(), world.clock.clone(), background.clone()),
            Arc::new(Model(Arc::clone(&model))),
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

    /// All pieces of a streamed answer; the last may be an error.
    pub(super) async fn pieces(
        &self,
        request: ChatRequest,
    ) -> Result<Vec<Result<ChatChunk, ChatError>>, ChatError> {
        let pieces = self.chat.stream(self.call(), request).await?;
        Ok(pieces.collect().await)
    }

    pub(super) async fn threads(&self) -> Vec<ThreadView> {
        let query = ThreadQuery::default();
        self.chat.thread_list(&self.world.bob, query).await.unwrap().items
    }

    /// What is kept of the newest thread.
    pub(super) async fn kept(&self) -> Vec<ThreadMessageView> {
        let Some(thread) = self.threads().await.into_iter().next() else { return vec![] };
        let query = PageQuery::default();
        self.chat.thread_messages(&self.world.bob, thread.id, &query).await.unwrap().items
    }

    /// Who said what, as it is kept.
    pub(super) async fn said(&self) -> Vec<(String, String)> {
        self.kept().await.into_iter().map(|message| (message.role, message.content)).collect()
    }

    /// How turns went, newest first.
    pub(super) async fn records(&self) -> Vec<ChatRecord> {
        let user = self.world.bob.user;
        self.world
            .store
            .read(move |tx| Box::pin(async move { tx.chat_record_list(user, None, 50).await }))
            .await
            .unwrap()
    }

    /// The record of a turn whose reader went away, which is written after that.
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
