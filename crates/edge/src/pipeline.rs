//! The decision about a call under a lease: the stages of the gateway that a node can decide alone, in the same order.
//!
//! Enablement, review, allowlist, scope, settings and rules were decided by the orchestrator when it issued the lease, which
//! lists the tools that passed; the node compares the name. Arguments and ids are checked here, with the schemas of the gateway.

use std::collections::HashMap;

use cynode_domain::policy::{ErrorKind, Stage};
use cynode_lease::LeaseClaims;
use cynode_schema::{CompiledSchema, SchemaError, ValueQuoting};
use cynode_upstream::rpc::parse_strict;
use cynode_wire::tool_calls::{
    SandboxExec, SandboxGetFile, SandboxIds, SandboxPutFile, SandboxStreamLogs, ToolCall,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The longest arguments: a file of the largest size, in base64.
const MAX_ARGUMENT_BYTES: usize = 512 * 1024;
/// How many violations a denial lists.
const NAMED_FAULTS: usize = 5;

/// Why a call is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeDenial {
    pub stage: Stage,
    pub kind: ErrorKind,
    pub message: String,
}

/// A call that the lease permits.
#[derive(Debug, Clone)]
pub enum EdgeCall {
    Exec(SandboxExec),
    GetFile(SandboxGetFile),
    PutFile(SandboxPutFile),
    StreamLogs(SandboxStreamLogs),
}

impl EdgeCall {
    fn ids(&self) -> SandboxIds {
        match self {
            Self::Exec(call) => call.sandbox,
            Self::GetFile(call) => call.sandbox,
            Self::PutFile(call) => call.sandbox,
            Self::StreamLogs(call) => call.sandbox,
        }
    }
}

type ParseCall = fn(Value) -> serde_json::Result<EdgeCall>;

/// A tool of the node.
pub struct EdgeTool {
    pub description: &'static str,
    pub schema: Value,
    compiled: CompiledSchema,
    parse: ParseCall,
}

/// The tools of the node, by name.
pub struct EdgeToolTable(HashMap<&'static str, EdgeTool>);

impl EdgeToolTable {
    /// Compiles the schemas.
    pub fn compile() -> Result<Self, SchemaError> {
        let tools = [
            tool::<SandboxExec>(
                "Runs a command in the sandbox. Returns the exit code and the tails of both streams, or status running after wait_ms.",
                |value| serde_json::from_value(value).map(EdgeCall::Exec),
            )?,
            tool::<SandboxGetFile>(
                "Reads a file of up to 256 KiB at a path of the workspace, in standard base64.",
                |value| serde_json::from_value(value).map(EdgeCall::GetFile),
            )?,
            tool::<SandboxPutFile>(
                "Writes a file of up to 256 KiB to a path of the workspace, in standard base64.",
                |value| serde_json::from_value(value).map(EdgeCall::PutFile),
            )?,
            tool::<SandboxStreamLogs>(
                "The output of a command from an offset, also while it runs.",
                |value| serde_json::from_value(value).map(EdgeCall::StreamLogs),
            )?,
        ];
        Ok(Self(HashMap::from(tools)))
    }

    pub fn get(&self, name: &str) -> Option<&EdgeTool> {
        self.0.get(name)
    }
}

fn tool<T: ToolCall>(
    description: &'static str,
    parse: ParseCall,
) -> Result<(&'static str, EdgeTool), SchemaError> {
    let schema = T::input_schema();
    let compiled = CompiledSchema::compile(&schema)?;
    Ok((T::NAME, EdgeTool { description, schema, compiled, parse }))
}

/// Every stage after authentication, in order.
pub fn decide(
    tools: &EdgeToolTable,
    claims: &LeaseClaims,
    name: &str,
    arguments: Option<&RawValue>,
) -> Result<EdgeCall, EdgeDenial> {
    let tool = tools.get(name).ok_or_else(|| {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
        denial(Stage::Known, ErrorKind::NotFound, format!("this node has no tool \"{shown}\""))
    })?;
    if !claims.tools.contains(name) {
        let text = format!("the lease does not permit \"{name}\"");
        return Err(denial(Stage::Rules, ErrorKind::PolicyViolation, text));
    }
    let value = check_arguments(tool, arguments)?;
    let invalid = |error: serde_json::Error| {
        denial(Stage::Arguments, ErrorKind::InvalidArguments, error.to_string())
    };
    let call = (tool.parse)(value).map_err(invalid)?;
    let SandboxIds { task_id, job_id } = call.ids();
    if task_id != claims.task {
        let text = "task_id is not the one this lease is bound to";
        return Err(denial(Stage::Context, ErrorKind::ContextMismatch, text));
    }
    if job_id != claims.sandbox {
        let text = "job_id is not the sandbox this lease is bound to";
        return Err(denial(Stage::Context, ErrorKind::ContextMismatch, text));
    }
    Ok(call)
}

fn check_arguments(tool: &EdgeTool, given: Option<&RawValue>) -> Result<Value, EdgeDenial> {
    let refuse = |kind, text: String| Err(denial(Stage::Arguments, kind, text));
    if given.is_some_and(|raw| raw.get().len() > MAX_ARGUMENT_BYTES) {
        let text = format!("the arguments are longer than {MAX_ARGUMENT_BYTES} bytes");
        return refuse(ErrorKind::RequestTooLarge, text);
    }
    let value = match given.map(parse_strict) {
        None => Value::Object(Map::new()),
        Some(Ok(value)) => value,
        Some(Err(error)) => return refuse(ErrorKind::InvalidArguments, error.to_string()),
    };
    let violations = tool.compiled.violations(&value, ValueQuoting::Masked, NAMED_FAULTS);
    let faults: Vec<String> = violations.iter().map(|it| it.describe("arguments")).collect();
    if faults.is_empty() {
        Ok(value)
    } else {
        refuse(ErrorKind::InvalidArguments, faults.join("; "))
    }
}

fn denial(stage: Stage, kind: ErrorKind, message: impl Into<String>) -> EdgeDenial {
    EdgeDenial { stage, kind, message: message.into() }
}
