//! Tools and a model that follow a script, for tests.
//!
//! The tools are scripted in what they answer, not in what they accept: arguments are validated against the
//! schemas of the real tools, as the gateway would.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_client::{Client, McpError, McpResult, McpTool};
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_wire::handoff::AgentRole;
use cynode_wire::openai::{
    ChatChunk, ChatCompletion, ChatRequest, Delta, FunctionDelta, ToolCallDelta, Usage,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::agent::AgentOptions;
use crate::brain::{BrainOptions, Exchange, Model, ModelError, ModelStream};
use crate::context::Instructions;
use crate::tools::Tools;
use crate::work::Work;

/// The schemas of the built-in tools. A test of the gateway compares the file with the tools.
const SCHEMAS: &str = include_str!("../../../docs/reference/tool-schemas.json");

/// Rejects arguments that the real tool would reject. A tool that does not exist fails the test.
fn validate_arguments(tool: &str, arguments: &Value) -> Result<(), McpError> {
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap();
    let schema = &schemas[tool]["inputSchema"];
    assert!(schema.is_object(), "there is no built-in tool {tool}");
    let validator = jsonschema::validator_for(schema).unwrap();
    let faults: Vec<_> = validator.iter_errors(arguments).map(|fault| fault.to_string()).collect();
    if faults.is_empty() {
        return Ok(());
    }
    let (stage, kind) = (Stage::Arguments, ErrorKind::InvalidArguments);
    Err(McpError::Refused { stage, kind, message: faults.join("; ") })
}

/// Tools that answer as they are told, and remember what they were asked.
#[derive(Default)]
pub(crate) struct Shelf {
    answers: Mutex<Vec<(String, Result<Value, McpError>)>>,
    called: Mutex<Vec<(String, Value)>>,
}

impl Shelf {
    /// Tools with these answers, each given once; others answer an empty list.
    pub(crate) fn new<const N: usize>(answers: [(&str, Result<Value, McpError>); N]) -> Arc<Self> {
        let answers = answers.map(|(tool, answer)| (tool.to_owned(), answer)).into();
        Arc::new(Self { answers: Mutex::new(answers), called: Mutex::default() })
    }

    /// What was called so far.
    pub(crate) fn called(&self) -> Vec<(String, Value)> {
        self.called.lock().unwrap().clone()
    }

    /// The names of what was called so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.called().into_iter().map(|(name, _)| name).collect()
    }
}

#[async_trait]
impl Tools for Shelf {
    async fn list(&self) -> Result<Vec<McpTool>, McpError> {
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

    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpError> {
        validate_arguments(tool, arguments)?;
        self.called.lock().unwrap().push((tool.to_owned(), arguments.clone()));
        let mut answers = self.answers.lock().unwrap();
        let at = answers.iter().position(|(name, _)| name == tool);
        let answer = at.map_or_else(|| Ok(json!({ "items": [] })), |at| answers.remove(at).1);
        answer.map(|value| McpResult { text: value.to_string(), structured: Some(value) })
    }
}

pub(crate) fn refused(stage: &str) -> McpError {
    let (kind, message) = (ErrorKind::AgentAllowlistDenied, "not for you".to_owned());
    McpError::Refused { stage: stage.parse().unwrap(), kind, message }
}

pub(crate) fn tool_error(message: &str) -> McpError {
    McpError::Tool { kind: ErrorKind::Conflict, message: message.to_owned() }
}

/// A model that says its lines in pieces, and remembers what it was told.
#[derive(Default)]
pub(crate) struct Actor {
    lines: Mutex<VecDeque<Vec<Result<ChatChunk, ModelError>>>>,
    heard: Mutex<Vec<ChatRequest>>,
}

impl Actor {
    pub(crate) fn new<const N: usize>(lines: [Vec<Result<ChatChunk, ModelError>>; N]) -> Arc<Self> {
        Arc::new(Self { lines: Mutex::new(lines.into()), heard: Mutex::default() })
    }

    /// What it was told so far.
    pub(crate) fn heard(&self) -> Vec<ChatRequest> {
        self.heard.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for Actor {
    async fn ask(&self, _: &Exchange) -> Result<ChatCompletion, ModelError> {
        Err(ModelError::NoModel)
    }

    async fn stream(&self, exchange: &Exchange) -> Result<ModelStream, ModelError> {
        self.heard.lock().unwrap().push(exchange.request.clone());
        let line = self.lines.lock().unwrap().pop_front().expect("the script goes on");
        match line.first() {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(stream::iter(line).boxed()),
        }
    }
}

/// A line of words, in these pieces.
pub(crate) fn words(pieces: &[&str]) -> Vec<Result<ChatChunk, ModelError>> {
    let mut line: Vec<_> =
        pieces.iter().map(|&text| Ok(ChatChunk::of(Delta::text(text), None))).collect();
    line.push(Ok(ChatChunk { usage: Some(Usage::new(10, 5)), ..ChatChunk::default() }));
    line
}

/// A line of calls: function and arguments.
pub(crate) fn calls(all: &[(&str, &str)]) -> Vec<Result<ChatChunk, ModelError>> {
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
    vec![Ok(ChatChunk::of(Delta { tool_calls, ..Delta::default() }, Some("tool_calls".to_owned())))]
}

/// Work with these means.
pub(crate) fn work(tools: &Arc<Shelf>, model: Option<Arc<dyn Model>>) -> Work {
    let options = AgentOptions {
        role: AgentRole::ProjectManager,
        instructions: Instructions::default(),
        orchestrator: Client::anonymous("http://127.0.0.1:9").unwrap(),
        brain: BrainOptions::default(),
    };
    Work::with(Arc::clone(tools) as Arc<dyn Tools>, model, "SYSTEM".to_owned(), &options)
}
