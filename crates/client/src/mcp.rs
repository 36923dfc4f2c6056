//! Tools, over MCP at `/mcp`: the one way by which agents reach the state of the control plane.
//!
//! Each call is a request of the revision without sessions, so nothing has to be opened or closed.
//! [`McpError`] keeps apart what an agent must keep apart: the gateway said no, the tool failed, or
//! nobody answered.

use cynode_domain::policy::{ErrorKind, Stage};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::request::unreachable;
use crate::{Client, Error};

const REVISION: &str = "2026-07-28";
/// More pages than the catalogue can have; a list that never ends is not one.
const MAX_PAGES: usize = 100;

/// A tool, as `tools/list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// The name to call it by.
    pub name: String,
    /// What it does, as models read it.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether it says that it only looks; one that does not say so may change something.
    #[serde(default, rename = "annotations", deserialize_with = "read_only_hint")]
    pub is_read_only: bool,
}

/// Whatever else a server writes into its annotations must not make its tools unreadable.
fn read_only_hint<'de, D: Deserializer<'de>>(annotations: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(annotations)?["readOnlyHint"] == true)
}

/// What a tool answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpResult {
    /// The answer as text.
    pub text: String,
    /// The answer as a value, if the tool gives one.
    pub structured: Option<Value>,
}

/// Why a tool was not listed or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The gateway refused the call. Asking again is refused again.
    #[error("the gateway refuses it at stage {stage}: {message}")]
    Refused {
        /// Which decision it was.
        stage: Stage,
        /// The type of refusal.
        kind: ErrorKind,
        /// Why, in words.
        message: String,
    },
    /// The tool ran, and did not do as asked.
    #[error("{message}")]
    Tool {
        /// The type of error; [`ErrorKind::ToolError`] where none is told, or none that is known.
        kind: ErrorKind,
        /// What went wrong, in words.
        message: String,
    },
    /// No answer, or none that can be read.
    #[error("the gateway does not answer")]
    Away(#[source] Error),
}

impl McpError {
    /// Whether other arguments may be accepted: the refusal is about them and not about the caller.
    pub fn is_about_arguments(&self) -> bool {
        matches!(self, Self::Refused { stage: Stage::Arguments, .. })
    }
}

#[derive(Deserialize)]
struct Listed {
    tools: Vec<McpTool>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

impl Client {
    /// `tools/list`: every tool that the bearer of the token may call.
    pub async fn mcp_tools(&self) -> Result<Vec<McpTool>, McpError> {
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page: Listed = self.mcp("tools/list", None, params).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// `tools/call`: what the tool answers.
    pub async fn mcp_call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpError> {
        let params = json!({ "name": tool, "arguments": arguments });
        let called: Called = self.mcp("tools/call", Some(tool), params).await?;
        let text = text_of(&called.content);
        if called.is_error {
            let error = called.structured_content.as_ref().map(|value| &value["error"]);
            return Err(error
                .and_then(worded)
                .unwrap_or(McpError::Tool { kind: ErrorKind::ToolError, message: text }));
        }
        Ok(McpResult { text, structured: called.structured_content })
    }

    async fn mcp<T: for<'de> Deserialize<'de>>(
        &self,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> Result<T, McpError> {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self
            .request(Method::POST, &["mcp"])
            .header("mcp-protocol-version", REVISION)
            .header("mcp-method", method)
            .header("accept", "application/json")
            .json(&body);
        if let Some(name) = name {
            request = request.header("mcp-name", header_text(name));
        }
        let response = request.send().await.map_err(|cause| McpError::Away(unreachable(cause)))?;
        let (status, url) = (response.status(), response.url().to_string());
        let body = response.bytes().await.map_err(|cause| McpError::Away(unreachable(cause)))?;
        let unreadable =
            |reason: String| McpError::Away(Error::Unreadable { url: url.clone(), reason });
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| unreadable(format!("status {status}, {error}")))?;
        if answer.get("result").is_none() {
            return Err(refusal(status, &answer).unwrap_or_else(|| unreadable(status.to_string())));
        }
        T::deserialize(&answer["result"]).map_err(|error| unreadable(error.to_string()))
    }
}

/// An error of the protocol, as what it means for an agent.
fn refusal(status: StatusCode, answer: &Value) -> Option<McpError> {
    let error = answer.get("error")?;
    if let Some(worded) = worded(&error["data"]["error"]) {
        return Some(worded);
    }
    let message = error["message"].as_str().unwrap_or("no reason given").to_owned();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let (stage, kind) = (Stage::Authenticate, ErrorKind::InvalidAgentToken);
        return Some(McpError::Refused { stage, kind, message });
    }
    Some(McpError::Tool { kind: ErrorKind::UpstreamError, message })
}

/// An error as the gateway words it: type, stage and message.
fn worded(error: &Value) -> Option<McpError> {
    let text = |name: &str| error[name].as_str();
    let (stage, kind, message) = (text("stage")?, text("type")?, text("message")?.to_owned());
    let kind = kind.parse().unwrap_or(ErrorKind::ToolError);
    let stage = stage.parse().ok()?;
    Some(if stage == Stage::Invoke {
        McpError::Tool { kind, message }
    } else {
        McpError::Refused { stage, kind, message }
    })
}

fn text_of(content: &[Value]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// A name as a header carries it: what is no plain text travels in base64.
fn header_text(name: &str) -> String {
    use base64::Engine as _;
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return name.to_owned();
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(name);
    format!("=?base64?{encoded}?=")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stage: &str) -> Value {
        json!({ "type": "t", "stage": stage, "message": "m" })
    }

    #[test]
    fn only_errors_of_the_tool_itself_are_errors_of_the_tool() {
        assert!(matches!(worded(&of("invoke")), Some(McpError::Tool { .. })));
        for stage in ["known", "enabled", "allowlist", "scope", "context", "rules", "limits"] {
            let refused = worded(&of(stage)).unwrap();
            assert!(matches!(&refused, McpError::Refused { stage: s, .. } if s.as_str() == stage));
            assert!(!refused.is_about_arguments());
        }
        assert!(worded(&of("arguments")).unwrap().is_about_arguments());
        assert!(worded(&json!({ "text": "no error of ours" })).is_none());
    }

    #[test]
    fn an_unknown_token_is_a_refusal_and_an_unknown_tool_too() {
        let unauthorized = json!({ "error": { "code": -32600, "message": "who are you" } });
        let unknown = json!({ "error": { "message": "m", "data": { "error": of("known") } } });

        let of_token = refusal(StatusCode::UNAUTHORIZED, &unauthorized).unwrap();
        assert!(matches!(of_token, McpError::Refused { stage: Stage::Authenticate, .. }));
        let of_tool = refusal(StatusCode::OK, &unknown).unwrap();
        assert!(matches!(of_tool, McpError::Refused { stage: Stage::Known, .. }));
    }

    #[test]
    fn a_tool_only_looks_if_it_says_so_and_says_it_rightly() {
        let tool = |more: Value| {
            let mut tool = json!({ "name": "t", "inputSchema": {} });
            tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value::<McpTool>(tool).unwrap().is_read_only
        };

        assert!(tool(json!({ "annotations": { "readOnlyHint": true, "title": "T" } })));
        for other in [json!({ "readOnlyHint": false }), json!({ "readOnlyHint": "true" }), json!(7)]
        {
            assert!(!tool(json!({ "annotations": other })));
        }
        assert!(!tool(json!({ "annotations": null })) && !tool(json!({})));
    }

    #[test]
    fn a_kind_of_error_that_nobody_knows_is_an_error_of_the_tool() {
        let of = |kind: &str| json!({ "type": kind, "stage": "invoke", "message": "m" });
        let kind = |error: Value| match worded(&error) {
            Some(McpError::Tool { kind, .. }) => kind,
            other => panic!("{other:?}"),
        };

        assert_eq!(kind(of("conflict")), ErrorKind::Conflict);
        assert_eq!(kind(of("confilct")), ErrorKind::ToolError);
    }

    #[test]
    fn a_name_that_is_no_plain_text_is_encoded() {
        assert_eq!(header_text("db.task.get"), "db.task.get");
        assert_eq!(header_text("ä"), "=?base64?w6Q=?=");
        assert_eq!(header_text("a b"), "=?base64?YSBi?=");
    }
}
