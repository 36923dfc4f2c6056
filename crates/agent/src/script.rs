//! Scripted tools and models for tests.
//!
//! Only the answers of tools are scripted: arguments are validated against the schemas of the real tools, like in
//! the gateway.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_client::{Client, McpClientError, McpResult, McpTool};
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_llm_wire::openai::{
    ChatChunk, ChatCompletion, ChatRequest, Delta, FunctionDelta, ToolCallDelta, Usage,
};
use cynode_schema::{CompiledSchema, ValueQuoting};
use cynode_wire::handoff::AgentRole;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::agent::HandoffAgentOptions;
use crate::brain::{BrainOptions, ChatModel, ModelError, ModelExchange, ModelStream};
use crate::context::Instructions;
use crate::session::HandoffSession;
use crate::tools::ToolClient;

/// The schemas of the built-in tools. A test of the gateway compares the file with the tools.
const SCHEMAS: &str = include_str!("../../../docs/reference/tool-schemas.json");

/// Rejects arguments that the real tool would reject. A tool that does not exist fails the test.
fn validate_arguments(tool: &str, arguments: &Value) -> Result<(), McpClientError> {
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap();
    let schema = &schemas[tool]["inputSchema"];
    assert!(schema.is_object(), "there is no built-in tool {tool}");
    let schema = CompiledSchema::compile(schema).unwrap();
    let faults: Vec<_> = schema
        .violations(arguments, ValueQuoting::Quoted, usize::MAX)
        .into_iter()
        .map(|violation| violation.reason)
        .collect();
    if faults.is_empty() {
        return Ok(());
    }
    let (stage, kind) = (Stage::Arguments, ErrorKind::InvalidArguments);
    Err(McpClientError::Refused { stage, kind, message: faults.join("; ") })
}

/// Tools with scripted answers that record their calls.
#[derive(Default)]
pub(crate) struct ScriptedTools {
    answers: Mutex<Vec<(String, Result<Value, McpClientError>)>>,
    called: Mutex<Vec<(String, Value)>>,
}

impl ScriptedTools {
    /// Creates tools with these answers, each returned once; other calls return an empty list.
    pub(crate) fn new<const N: usize>(
        answers: [(&str, Result<Value, McpClientError>); N],
    ) -> Arc<Self> {
        let answers = answers.map(|(tool, answer)| (tool.to_owned(), answer)).into();
        Arc::new(Self { answers: Mutex::new(answers), called: Mutex::default() })
    }

    /// The calls so far.
    pub(crate) fn called(&self) -> Vec<(String, Value)> {
        self.called.lock().unwrap().clone()
    }

    /// The names of the tools called so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.called().into_iter().map(|(name, _)| name).collect()
    }
}

#[async_trait]
impl ToolClient for ScriptedTools {
    async fn list(&self) -> Result<Vec<McpTool>, McpClientError> {
        let tool = |name: &str| McpTool {
            name: name.to_owned(),
            description: "A tool.".to_owned(),
            input_schema: json!({ "type": "object" }),
            is_read_only: false,
        };
        let looks = ["db.task.list", "sandbox.get_file"]
            .map(|name| McpTool { is_read_only: true, ..tool(name) });
        Ok(looks.into_iter().chain(["db.task.create", "db.task.cancel"].map(tool)).collect())
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpClientError> {
        validate_arguments(tool, arguments)?;
        self.called.lock().unwrap().push((tool.to_owned(), arguments.clone()));
        let mut answers = self.answers.lock().unwrap();
        let at = answers.iter().position(|(name, _)| name == tool);
        let answer = at.map_or_else(|| Ok(json!({ "items": [] })), |at| answers.remove(at).1);
        answer.map(|value| McpResult {
            text: value.to_string(),
            structured: Some(value),
            instructions: vec![],
        })
    }
}

pub(crate) fn refused(stage: &str) -> McpClientError {
    let (kind, message) = (ErrorKind::AgentAllowlistDenied, "not for you".to_owned());
    McpClientError::Refused { stage: stage.parse().unwrap(), kind, message }
}

pub(crate) fn tool_error(message: &str) -> McpClientError {
    McpClientError::ToolFailed { kind: ErrorKind::Conflict, message: message.to_owned() }
}

/// A model that streams scripted answers and records its requests.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    answers: Mutex<VecDeque<Vec<Result<ChatChunk, ModelError>>>>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl ScriptedModel {
    pub(crate) fn new<const N: usize>(lines: [Vec<Result<ChatChunk, ModelError>>; N]) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(lines.into()), requests: Mutex::default() })
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl ChatModel for ScriptedModel {
    async fn complete(&self, _: &ModelExchange) -> Result<ChatCompletion, ModelError> {
        Err(ModelError::NoModel)
    }

    async fn stream(&self, exchange: &ModelExchange) -> Result<ModelStream, ModelError> {
        self.requests.lock().unwrap().push(exchange.request.clone());
        let line = self.answers.lock().unwrap().pop_front().expect("the script goes on");
        match line.first() {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(stream::iter(line).boxed()),
        }
    }
}

/// An answer of text in these chunks.
pub(crate) fn text_answer(chunks: &[&str]) -> Vec<Result<ChatChunk, ModelError>> {
    let mut line: Vec<_> =
        chunks.iter().map(|&text| Ok(ChatChunk::new(Delta::text(text), None))).collect();
    line.push(Ok(ChatChunk { usage: Some(Usage::new(10, 5)), ..ChatChunk::default() }));
    line
}

/// An answer of tool calls: function and arguments.
pub(crate) fn call_answer(all: &[(&str, &str)]) -> Vec<Result<ChatChunk, ModelError>> {
    let call = |(index, (name, arguments)): (usize, &(&str, &str))| ToolCallDelta {
        index: u32::try_from(index).unwrap(),
        id: Some(format!("call_{index}")),
        function: Some(FunctionDelta {
            name: Some((*name).to_owned()),
            arguments: Some((*arguments).to_owned()),
        }),
        ..ToolCallDelta::default()
    };
    let tool_calls = all.iter().enumerate().map(call).collect();
    vec![Ok(ChatChunk::new(
        Delta { tool_calls, ..Delta::default() },
        Some("tool_calls".to_owned()),
    ))]
}

/// A handoff with these tools and this model.
pub(crate) fn scripted_session(
    tools: &Arc<ScriptedTools>,
    model: Option<Arc<dyn ChatModel>>,
) -> HandoffSession {
    let options = HandoffAgentOptions {
        role: AgentRole::ProjectManager,
        instructions: Instructions::default(),
        orchestrator: Client::anonymous("http://127.0.0.1:9").unwrap(),
        brain: BrainOptions::default(),
    };
    HandoffSession::from_parts(
        Arc::clone(tools) as Arc<dyn ToolClient>,
        model,
        "SYSTEM".to_owned(),
        &options,
    )
}
