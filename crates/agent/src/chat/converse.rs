//! Answering with a model: it says what it needs, the gateway decides, the person sees it.
//!
//! Invariant: a model reaches only tools that the gateway lists for this work, by a list that is
//! made before its first word and never changes; what of it is offered may grow. A refusal of the gateway ends
//! the turn.

use std::time::Duration;

use cynode_client::McpError;
use cynode_llm::Collector;
use cynode_wire::handoff::{HandoffUsage, Turn};
use cynode_wire::openai::{
    AssistantMessage, ChatCompletion, ChatMessage, ChatRequest, Content, ToolCall,
};
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::functions::{Behind, FIND, Functions};
use super::teller::Teller;
use super::withheld::Withheld;
use crate::AgentError;
use crate::brain::{BrainOptions, Exchange, Filter, Model, ModelError};
use crate::context::{cut, messages, untrusted};
use crate::tools::Tools;

/// How many calls of one message are made.
const MAX_CALLS: usize = 8;
/// How many turns tell which tools fit, and how much of each.
const RECENT: usize = 3;
const RECENT_BYTES: usize = 2000;
/// How much of a result a model sees.
const RESULT_BYTES: usize = 16 * 1024;
const HINT: &str = "balanced";

/// Everything that a turn needs.
pub(super) struct Conversation<'a> {
    pub(super) tools: &'a dyn Tools,
    pub(super) model: &'a dyn Model,
    pub(super) options: &'a BrainOptions,
    pub(super) system: &'a str,
    pub(super) teller: &'a Teller,
}

/// How a turn went.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) usage: HandoffUsage,
    /// The model that answered.
    pub(super) model: String,
    /// What was changed, for people.
    pub(super) changes: Vec<String>,
    /// How often the model was asked.
    pub(super) rounds: u32,
    /// Whether the person has seen anything of it.
    pub(super) has_shown: bool,
}

/// Why a turn has no whole answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The model.
    Model(ModelError),
    /// A tool, or the way to it.
    Agent(AgentError),
}

impl Conversation<'_> {
    /// Answers the last turn. What was done so far is in `ended`, also when it goes wrong.
    pub(super) async fn run(&self, turns: &[Turn], ended: &mut Ended) -> Result<(), Trouble> {
        let listed = self.tools.list().await;
        let listed = listed.map_err(|error| Trouble::Agent(AgentError::of("tools/list", error)))?;
        let mut functions = Functions::new(listed, &recent_words(turns));
        let mut said = vec![ChatMessage::text("system", self.system)];
        said.extend(messages(turns));
        for round in 1..=self.options.max_steps {
            ended.rounds = round;
            let may_call = round < self.options.max_steps && !is_chore(turns);
            let (answer, calls) = self.ask(&said, &functions, may_call, ended).await?;
            if calls.is_empty() || !may_call {
                return Ok(());
            }
            said.push(repeated(answer.message(), &calls));
            said.extend(self.call_all(&calls, &mut functions, ended).await?);
        }
        Ok(())
    }

    /// Asks once; its words are shown as they come. The calls are those that the model asks for, also as text.
    async fn ask(
        &self,
        said: &[ChatMessage],
        functions: &Functions,
        may_call: bool,
        ended: &mut Ended,
    ) -> Result<(ChatCompletion, Vec<ToolCall>), Trouble> {
        let exchange = Exchange::new("chat", Value::Null, self.request(said, functions, may_call));
        // The client of egress measures silence: a slow model that reads or writes is not silent.
        let longest = self.options.longest;
        let until = Instant::now() + longest;
        let mut pieces = by(until, longest, self.model.stream(&exchange)).await?;
        let (mut whole, mut filter) = (Collector::default(), Filter::default());
        let mut withheld = Withheld::new(may_call);
        while let Some(piece) = by(until, longest, async { Ok(pieces.next().await) }).await? {
            let piece = piece.map_err(Trouble::Model)?;
            whole.push(&piece);
            self.show(withheld.push(filter.push(piece.text())), ended).await;
        }
        self.show(withheld.push(filter.finish()), ended).await;
        let answer = whole.finish();
        let mut calls = answer.message().map(|it| it.tool_calls.clone()).unwrap_or_default();
        match withheld.finish(|name| functions.is_known(name)) {
            Ok(written) if calls.is_empty() => calls = written,
            Ok(_) => {}
            Err(words) => self.show(words, ended).await,
        }
        if let Some(usage) = &answer.usage {
            ended.usage.prompt_tokens += usage.prompt_tokens;
            ended.usage.completion_tokens += usage.completion_tokens;
        }
        ended.model.clone_from(&answer.model);
        Ok((answer, calls))
    }

    fn request(&self, said: &[ChatMessage], functions: &Functions, may_call: bool) -> ChatRequest {
        let tools = if may_call { functions.offered() } else { vec![] };
        ChatRequest {
            model: Some(HINT.to_owned()),
            messages: said.to_vec(),
            stream: true,
            tools,
            max_tokens: Some(self.options.max_tokens),
            temperature: Some(self.options.temperature),
            ..ChatRequest::default()
        }
    }

    async fn show(&self, text: String, ended: &mut Ended) {
        ended.has_shown |= !text.trim().is_empty();
        self.teller.say(text).await;
    }

    /// Makes all calls of a message at once; their results, in order.
    async fn call_all(
        &self,
        calls: &[ToolCall],
        functions: &mut Functions,
        ended: &mut Ended,
    ) -> Result<Vec<ChatMessage>, Trouble> {
        let mut made = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            made.push(self.call(index, call, functions));
        }
        let mut results = Vec::new();
        let mut refused = None;
        for (call, outcome) in calls.iter().zip(join_all(made).await) {
            match outcome {
                Ok(Called { text, change, found }) => {
                    functions.offer(found);
                    ended.has_shown |= change.is_some();
                    ended.changes.extend(change);
                    results.push(ChatMessage::tool_result(&call.id, text));
                }
                // The other calls of the message were made: what they changed is still told.
                Err(fault) => refused = refused.or(Some(fault)),
            }
        }
        refused.map_or(Ok(results), |fault| Err(Trouble::Agent(fault)))
    }

    async fn call(
        &self,
        index: usize,
        call: &ToolCall,
        functions: &Functions,
    ) -> Result<Called, AgentError> {
        let Some(function) = &call.function else { return Ok(Called::useless("no function")) };
        if function.name == FIND {
            return Ok(Called::search(functions, &function.arguments));
        }
        let Some(Behind { tool, only_looks }) = functions.behind(&function.name) else {
            return Ok(Called::useless("there is no such function"));
        };
        if index >= MAX_CALLS {
            return Ok(Called::useless("too many calls at once: call it again"));
        }
        let arguments =
            if function.arguments.trim().is_empty() { "{}" } else { &function.arguments };
        let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
            return Ok(Called::useless("the arguments are no JSON"));
        };
        match self.tools.call(tool, &arguments).await {
            Ok(result) => {
                let value = result.structured.unwrap_or_else(|| json!(result.text));
                let summary = summary(tool, &value);
                self.teller.tool(tool, Some(true), &summary).await;
                let text = untrusted::quote("tool result", &value.to_string(), RESULT_BYTES);
                let change = (!only_looks).then_some(summary);
                Ok(Called { text, change, found: vec![] })
            }
            Err(error @ McpError::Refused { .. }) if !error.is_about_arguments() => {
                self.teller.tool(tool, Some(false), &error.to_string()).await;
                Err(AgentError::of(tool, error))
            }
            Err(error @ McpError::Away(_)) => Err(AgentError::of(tool, error)),
            Err(error) => {
                self.teller.tool(tool, Some(false), &error.to_string()).await;
                Ok(Called::useless(&error.to_string()))
            }
        }
    }
}

/// Whether an application asks about a conversation instead of a person in one: chat windows ask the
/// model of a conversation for its title or tags in the background, and quote what the person said.
/// Nothing must be done a second time because of that. The form is that of `Open WebUI`.
fn is_chore(turns: &[Turn]) -> bool {
    let words = super::last_words(turns);
    words.starts_with("### Task:") && words.contains("<chat_history>")
}

/// What came of a call.
struct Called {
    /// For the model.
    text: String,
    /// For people, if something was changed.
    change: Option<String>,
    /// The places of tools to be offered from now on.
    found: Vec<usize>,
}

impl Called {
    fn useless(why: &str) -> Self {
        Self { text: json!({ "error": why }).to_string(), change: None, found: vec![] }
    }

    fn search(functions: &Functions, arguments: &str) -> Self {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let found = functions.search(arguments["query"].as_str().unwrap_or_default());
        Self { text: functions.describe(&found).to_string(), change: None, found }
    }
}

/// What a call did, in a line.
fn summary(tool: &str, value: &Value) -> String {
    let name = ["task_name", "slug", "display_name", "name", "id"]
        .into_iter()
        .find_map(|field| value[field].as_str());
    name.map_or_else(|| tool.to_owned(), |name| format!("{tool}: {}", untrusted::inline(name)))
}

/// What the model said, with its calls in the place of any that it wrote as text.
fn repeated(message: Option<&AssistantMessage>, calls: &[ToolCall]) -> ChatMessage {
    let is_text = message.is_some_and(|it| it.tool_calls.is_empty());
    let words = message.and_then(|it| it.content.clone()).filter(|_| !is_text);
    ChatMessage {
        role: "assistant".to_owned(),
        content: words.map(Content::Text),
        tool_calls: calls.to_vec(),
        ..ChatMessage::default()
    }
}

/// What the request is about: what was said last, and shortly before.
fn recent_words(turns: &[Turn]) -> String {
    let recent = turns.iter().rev().take(RECENT).map(|turn| cut(&turn.content, RECENT_BYTES));
    recent.collect::<Vec<_>>().join("\n")
}

/// Waits for a model until then.
async fn by<T>(
    until: Instant,
    longest: Duration,
    work: impl Future<Output = Result<T, ModelError>>,
) -> Result<T, Trouble> {
    let Ok(outcome) = tokio::time::timeout_at(until, work).await else {
        let message = format!("its answer was not whole after {} s", longest.as_secs());
        return Err(Trouble::Model(ModelError::Away { message, retry_after: None }));
    };
    outcome.map_err(Trouble::Model)
}
