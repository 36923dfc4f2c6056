//! Answers a turn with a model that calls the gateway's tools.
//!
//! Invariant: a model can call only the tools that the gateway lists for this handoff. The list is fixed at the
//! start of the turn; only the part that is offered may grow. A rejection by the gateway ends the turn.

mod tool_calls;

use std::ops::ControlFlow;
use std::time::Duration;

use cynode_domain::text::truncate_at_line;
use cynode_domain::trace::TraceStop;
use cynode_llm::ChunkCollector;
use cynode_llm_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, ChatRequest, Content, ToolCall,
};
use cynode_roles::{PlanMetadata, StepWorker, WorkerEnd, run_worker};
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::handoff::{HandoffUsage, Turn};
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::call_buffer::CallBuffer;
use super::event_sender::ChatEventSender;
use super::functions::{RANKED_LIMIT, ToolFunctions};
use crate::HandoffAgentError;
use crate::brain::{BrainOptions, ChatModel, ModelError, ModelExchange, ThinkFilter};
use crate::context;
use crate::tools::ToolClient;

/// The number of recent turns that select tools, and the most bytes of each.
const RECENT_TURNS: usize = 3;
const RECENT_BYTES: usize = 2000;
const HINT: &str = "balanced";

/// The inputs of a turn.
pub(super) struct ModelTurn<'a> {
    pub(super) tools: &'a dyn ToolClient,
    pub(super) model: &'a dyn ChatModel,
    pub(super) options: &'a BrainOptions,
    pub(super) system: &'a str,
    /// Precedes the newest message.
    pub(super) excerpts: Option<&'a ChatMessage>,
    pub(super) events: &'a ChatEventSender,
    pub(super) trace: &'a TraceRecorder,
}

/// The outcome of a turn so far.
#[derive(Debug, Default)]
pub(super) struct ModelTurnOutcome {
    pub(super) usage: HandoffUsage,
    pub(super) model: String,
    /// Summaries of the changes.
    pub(super) changes: Vec<String>,
    /// The number of model requests.
    pub(super) rounds: u32,
    /// Whether the user has seen any output.
    pub(super) has_shown: bool,
}

/// Why a turn has no complete answer.
#[derive(Debug)]
pub(super) enum ModelTurnError {
    Model(ModelError),
    /// A tool call failed.
    Agent(HandoffAgentError),
}

/// How a turn ended.
enum ModelTurnEnd {
    /// The model answered by itself.
    Answered,
    /// The model answered because no further tool calls were permitted.
    StepsUsed,
    Failed(ModelTurnError),
}

impl WorkerEnd for ModelTurnEnd {
    fn stop(&self) -> TraceStop {
        match self {
            Self::Answered => TraceStop::GoalMet,
            Self::StepsUsed => TraceStop::MaxSteps,
            Self::Failed(ModelTurnError::Model(_)) => TraceStop::ModelFailure,
            Self::Failed(ModelTurnError::Agent(_)) => TraceStop::ToolFailure,
        }
    }

    fn error_kind(&self) -> Option<&str> {
        match self {
            Self::Failed(ModelTurnError::Model(_)) => Some("model"),
            Self::Failed(ModelTurnError::Agent(fault)) => Some(fault.kind()),
            Self::Answered | Self::StepsUsed => None,
        }
    }
}

/// The project manager at work on a turn: the model decides, the gateway's tools act.
struct ChatWorker<'a> {
    turn: &'a ModelTurn<'a>,
    functions: ToolFunctions,
    messages: Vec<ChatMessage>,
    is_background: bool,
    outcome: &'a mut ModelTurnOutcome,
}

/// Whether the model may call tools in this step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolUse {
    Permitted,
    Forbidden,
}

impl StepWorker for ChatWorker<'_> {
    type Observation = ToolUse;
    type Decision = (ChatCompletion, Vec<ToolCall>);
    type End = ModelTurnEnd;

    async fn observe(&mut self) -> ControlFlow<ModelTurnEnd, ToolUse> {
        let limit = self.turn.options.max_steps;
        if self.outcome.rounds >= limit {
            return ControlFlow::Break(ModelTurnEnd::StepsUsed);
        }
        self.outcome.rounds += 1;
        let may_call = self.outcome.rounds < limit && !self.is_background;
        ControlFlow::Continue(if may_call { ToolUse::Permitted } else { ToolUse::Forbidden })
    }

    async fn reason(
        &mut self,
        permission: ToolUse,
    ) -> ControlFlow<ModelTurnEnd, Option<(ChatCompletion, Vec<ToolCall>)>> {
        let may_call = permission == ToolUse::Permitted;
        let asked =
            self.turn.request_answer(&self.messages, &self.functions, may_call, self.outcome);
        match asked.await {
            Ok((answer, calls)) if may_call && !calls.is_empty() => {
                ControlFlow::Continue(Some((answer, calls)))
            }
            Ok(_) if may_call || self.is_background => ControlFlow::Break(ModelTurnEnd::Answered),
            Ok(_) => ControlFlow::Break(ModelTurnEnd::StepsUsed),
            Err(error) => ControlFlow::Break(ModelTurnEnd::Failed(error)),
        }
    }

    fn tools(&self, (_, calls): &Self::Decision) -> Vec<String> {
        let functions = calls.iter().filter_map(|call| call.function.as_ref());
        let tool = |name: &str| self.functions.tool_of(name).map(|behind| behind.tool.clone());
        functions.map(|it| tool(&it.name).unwrap_or_else(|| it.name.clone())).collect()
    }

    async fn act(
        &mut self,
        (answer, calls): (ChatCompletion, Vec<ToolCall>),
    ) -> ControlFlow<ModelTurnEnd> {
        self.messages.push(assistant_message(answer.message(), &calls));
        match self.turn.execute_calls(&calls, &mut self.functions, self.outcome).await {
            Ok(results) => {
                self.messages.extend(results);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(ModelTurnEnd::Failed(error)),
        }
    }
}

impl ModelTurn<'_> {
    /// Answers the last turn. `outcome` holds the outcome so far even after an error.
    pub(super) async fn answer(
        &self,
        turns: &[Turn],
        outcome: &mut ModelTurnOutcome,
    ) -> Result<(), ModelTurnError> {
        let listed = self.tools.list().await;
        let listed = listed.map_err(|error| {
            ModelTurnError::Agent(HandoffAgentError::from_mcp("tools/list", error))
        })?;
        let metadata = PlanMetadata { trace: self.trace.clone(), max_steps: RANKED_LIMIT };
        let functions = ToolFunctions::plan(listed, &recent_text(turns), &metadata).await;
        let is_background = is_background_request(turns);
        let mut messages = vec![ChatMessage::text("system", self.system)];
        messages.extend(context::messages(turns));
        let excerpts = self.excerpts.filter(|_| !is_background).cloned();
        let newest = messages.pop();
        messages.extend(excerpts.into_iter().chain(newest));
        let mut worker = ChatWorker { turn: self, functions, messages, is_background, outcome };
        match run_worker(&mut worker, self.trace).await {
            ModelTurnEnd::Answered | ModelTurnEnd::StepsUsed => Ok(()),
            ModelTurnEnd::Failed(error) => Err(error),
        }
    }

    /// Sends one model request and streams its text. Returns the tool calls, including those written as text.
    async fn request_answer(
        &self,
        messages: &[ChatMessage],
        functions: &ToolFunctions,
        may_call: bool,
        ended: &mut ModelTurnOutcome,
    ) -> Result<(ChatCompletion, Vec<ToolCall>), ModelTurnError> {
        let exchange = ModelExchange::new(
            "chat",
            Value::Null,
            self.build_request(messages, functions, may_call),
        );
        // The egress client enforces the silence timeout; this limits the total duration.
        let longest = self.options.max_request_duration;
        let until = Instant::now() + longest;
        let mut chunks = until_deadline(until, longest, self.model.stream(&exchange)).await?;
        let (mut whole, mut filter) = (ChunkCollector::default(), ThinkFilter::default());
        let mut withheld = CallBuffer::new(may_call);
        while let Some(chunk) =
            until_deadline(until, longest, async { Ok(chunks.next().await) }).await?
        {
            let chunk = chunk.map_err(ModelTurnError::Model)?;
            whole.push(&chunk);
            self.show_text(withheld.push(filter.push(chunk.text())), ended).await;
        }
        self.show_text(withheld.push(filter.finish()), ended).await;
        let answer = whole.finish();
        let mut calls = answer.message().map(|it| it.tool_calls.clone()).unwrap_or_default();
        match withheld.finish(|name| functions.is_known(name)) {
            Ok(written) if calls.is_empty() => calls = written,
            Ok(_) => {}
            Err(words) => self.show_text(words, ended).await,
        }
        if let Some(usage) = &answer.usage {
            ended.usage.prompt_tokens += usage.prompt_tokens;
            ended.usage.completion_tokens += usage.completion_tokens;
        }
        ended.model.clone_from(&answer.model);
        Ok((answer, calls))
    }

    fn build_request(
        &self,
        messages: &[ChatMessage],
        functions: &ToolFunctions,
        may_call: bool,
    ) -> ChatRequest {
        let tools = if may_call { functions.offered_definitions() } else { vec![] };
        ChatRequest {
            model: Some(HINT.to_owned()),
            messages: messages.to_vec(),
            stream: true,
            tools,
            max_tokens: Some(self.options.max_tokens),
            temperature: Some(self.options.temperature),
            ..ChatRequest::default()
        }
    }

    async fn show_text(&self, text: String, ended: &mut ModelTurnOutcome) {
        ended.has_shown |= !text.trim().is_empty();
        self.events.send_text(text).await;
    }
}

/// Whether the turn is a background request of a chat application for a title or tags. It quotes the user's
/// messages, which must not be executed again. The format is that of `Open WebUI`.
fn is_background_request(turns: &[Turn]) -> bool {
    let words = super::last_user_message(turns);
    words.starts_with("### Task:") && words.contains("<chat_history>")
}

/// Renders the model's message, with parsed tool calls in place of those written as text.
fn assistant_message(message: Option<&AssistantMessage>, calls: &[ToolCall]) -> ChatMessage {
    let is_text = message.is_some_and(|it| it.tool_calls.is_empty());
    let words = message.and_then(|it| it.content.clone()).filter(|_| !is_text);
    ChatMessage {
        role: "assistant".to_owned(),
        content: words.map(Content::Text),
        tool_calls: calls.to_vec(),
        ..ChatMessage::default()
    }
}

/// The text of the most recent turns.
fn recent_text(turns: &[Turn]) -> String {
    let recent = turns
        .iter()
        .rev()
        .take(RECENT_TURNS)
        .map(|turn| truncate_at_line(&turn.content, RECENT_BYTES));
    recent.collect::<Vec<_>>().join("\n")
}

/// Waits for a model until the deadline.
async fn until_deadline<T>(
    until: Instant,
    longest: Duration,
    work: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, ModelTurnError> {
    let Ok(outcome) = tokio::time::timeout_at(until, work).await else {
        let message = format!("its answer was not complete after {} s", longest.as_secs());
        return Err(ModelTurnError::Model(ModelError::Unavailable { message, retry_after: None }));
    };
    outcome.map_err(ModelTurnError::Model)
}
