//! MCP tools at `/mcp`, the only way agents reach the state of the control plane.
//!
//! Each call is a sessionless request, so nothing is opened or closed. [`McpClientError`] distinguishes a rejection by
//! the gateway, a failure of the tool, and a missing response.

use cynode_domain::policy::{ErrorKind, Stage};
use cynode_wire::apmas::{INSTRUCTIONS_BEGIN, INSTRUCTIONS_META, InstructionView};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::request::unreachable_error;
use crate::{Client, ClientError};

const REVISION: &str = "2026-07-28";
/// Larger than any catalogue; guards against a list that never ends.
const MAX_PAGES: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    pub name: String,
    /// The description for models.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The `readOnlyHint`; a tool without it may have side effects.
    #[serde(default, rename = "annotations", deserialize_with = "read_only_hint")]
    pub is_read_only: bool,
}

/// Tolerates any other content of the annotations.
fn read_only_hint<'de, D: Deserializer<'de>>(annotations: D) -> Result<bool, D::Error> {
    Ok(Value::deserialize(annotations)?["readOnlyHint"] == true)
}

/// Result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpResult {
    pub text: String,
    /// Structured content, if the tool returns it.
    pub structured: Option<Value>,
    /// Instructions of the project manager for the calling agent, which the reply carries besides the result.
    pub instructions: Vec<InstructionView>,
}

/// Why a tool could not be listed or called.
#[derive(Debug, thiserror::Error)]
pub enum McpClientError {
    /// The gateway rejected the call. A retry is rejected too.
    #[error("the gateway rejected the call at stage {stage}: {message}")]
    Refused { stage: Stage, kind: ErrorKind, message: String },
    /// The tool failed, or the gateway returned a protocol error.
    #[error("{message}")]
    ToolFailed {
        /// The error kind; [`ErrorKind::ToolError`] if it is absent or unknown.
        kind: ErrorKind,
        message: String,
    },
    /// No response, or an unreadable one.
    #[error("the gateway does not respond")]
    Unavailable(#[source] ClientError),
}

impl McpClientError {
    /// Whether other arguments may be accepted: the rejection concerns them and not the caller.
    pub fn is_about_arguments(&self) -> bool {
        matches!(self, Self::Refused { stage: Stage::Arguments, .. })
    }
}

#[derive(Deserialize)]
struct ToolListPage {
    tools: Vec<McpTool>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallResponse {
    #[serde(default)]
    content: Vec<Value>,
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

impl Client {
    /// `tools/list`: every tool that the token may call.
    pub async fn mcp_tools(&self) -> Result<Vec<McpTool>, McpClientError> {
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page: ToolListPage = self.mcp_request("tools/list", None, params).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// `tools/call`.
    pub async fn mcp_call(
        &self,
        tool: &str,
        arguments: &Value,
    ) -> Result<McpResult, McpClientError> {
        let params = json!({ "name": tool, "arguments": arguments });
        let called: ToolCallResponse = self.mcp_request("tools/call", Some(tool), params).await?;
        let items = called.meta[INSTRUCTIONS_META]["items"].clone();
        let instructions: Vec<_> = serde_json::from_value(items).unwrap_or_default();
        let text = join_text(&called.content, !instructions.is_empty());
        if called.is_error {
            let error = called.structured_content.as_ref().map(|value| &value["error"]);
            return Err(error.and_then(parse_gateway_error).unwrap_or(
                McpClientError::ToolFailed { kind: ErrorKind::ToolError, message: text },
            ));
        }
        Ok(McpResult { text, structured: called.structured_content, instructions })
    }

    async fn mcp_request<T: for<'de> Deserialize<'de>>(
        &self,
        method: &str,
        name: Option<&str>,
        mut params: Value,
    ) -> Result<T, McpClientError> {
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
            request = request.header("mcp-name", encode_header(name));
        }
        let response = request
            .send()
            .await
            .map_err(|cause| McpClientError::Unavailable(unreachable_error(cause)))?;
        let (status, url) = (response.status(), response.url().to_string());
        let body = response
            .bytes()
            .await
            .map_err(|cause| McpClientError::Unavailable(unreachable_error(cause)))?;
        let unreadable = |reason: String| {
            McpClientError::Unavailable(ClientError::InvalidResponse { url: url.clone(), reason })
        };
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| unreadable(format!("status {status}, {error}")))?;
        if answer.get("result").is_none() {
            return Err(convert_protocol_error(status, &answer)
                .unwrap_or_else(|| unreadable(status.to_string())));
        }
        T::deserialize(&answer["result"]).map_err(|error| unreadable(error.to_string()))
    }
}

/// Converts a protocol error.
fn convert_protocol_error(status: StatusCode, answer: &Value) -> Option<McpClientError> {
    let error = answer.get("error")?;
    if let Some(worded) = parse_gateway_error(&error["data"]["error"]) {
        return Some(worded);
    }
    let message = error["message"].as_str().unwrap_or("no reason given").to_owned();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let (stage, kind) = (Stage::Authenticate, ErrorKind::InvalidAgentToken);
        return Some(McpClientError::Refused { stage, kind, message });
    }
    Some(McpClientError::ToolFailed { kind: ErrorKind::UpstreamError, message })
}

/// Parses an error object of the gateway: type, stage and message.
fn parse_gateway_error(error: &Value) -> Option<McpClientError> {
    let text = |name: &str| error[name].as_str();
    let (stage, kind, message) = (text("stage")?, text("type")?, text("message")?.to_owned());
    let kind = kind.parse().unwrap_or(ErrorKind::ToolError);
    let stage = stage.parse().ok()?;
    Some(if stage == Stage::Invoke {
        McpClientError::ToolFailed { kind, message }
    } else {
        McpClientError::Refused { stage, kind, message }
    })
}

/// The texts of a result, without the last one if that repeats instructions.
fn join_text(content: &[Value], has_instructions: bool) -> String {
    let mut texts: Vec<&str> = content.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.pop_if(|last| has_instructions && last.starts_with(INSTRUCTIONS_BEGIN));
    texts.join("\n")
}

/// Encodes a name as a header value; other than plain text is base64-encoded.
fn encode_header(name: &str) -> String {
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

    fn gateway_error(stage: &str) -> Value {
        json!({ "type": "t", "stage": stage, "message": "m" })
    }

    #[test]
    fn only_errors_of_the_tool_itself_are_errors_of_the_tool() {
        assert!(matches!(
            parse_gateway_error(&gateway_error("invoke")),
            Some(McpClientError::ToolFailed { .. })
        ));
        for stage in ["known", "enabled", "allowlist", "scope", "context", "rules", "limits"] {
            let refused = parse_gateway_error(&gateway_error(stage)).unwrap();
            assert!(
                matches!(&refused, McpClientError::Refused { stage: s, .. } if s.as_str() == stage)
            );
            assert!(!refused.is_about_arguments());
        }
        assert!(parse_gateway_error(&gateway_error("arguments")).unwrap().is_about_arguments());
        assert!(parse_gateway_error(&json!({ "text": "no error of ours" })).is_none());
    }

    #[test]
    fn an_unknown_token_is_a_refusal_and_an_unknown_tool_too() {
        let unauthorized = json!({ "error": { "code": -32600, "message": "who are you" } });
        let unknown =
            json!({ "error": { "message": "m", "data": { "error": gateway_error("known") } } });

        let of_token = convert_protocol_error(StatusCode::UNAUTHORIZED, &unauthorized).unwrap();
        assert!(matches!(of_token, McpClientError::Refused { stage: Stage::Authenticate, .. }));
        let of_tool = convert_protocol_error(StatusCode::OK, &unknown).unwrap();
        assert!(matches!(of_tool, McpClientError::Refused { stage: Stage::Known, .. }));
    }

    #[test]
    fn a_tool_is_read_only_only_if_its_hint_is_true() {
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
    fn an_unknown_error_kind_is_a_tool_error() {
        let of = |kind: &str| json!({ "type": kind, "stage": "invoke", "message": "m" });
        let kind = |error: Value| match parse_gateway_error(&error) {
            Some(McpClientError::ToolFailed { kind, .. }) => kind,
            other => panic!("{other:?}"),
        };

        assert_eq!(kind(of("conflict")), ErrorKind::Conflict);
        assert_eq!(kind(of("confilct")), ErrorKind::ToolError);
    }

    #[test]
    fn a_name_that_is_no_plain_text_is_encoded() {
        assert_eq!(encode_header("db.task.get"), "db.task.get");
        assert_eq!(encode_header("ä"), "=?base64?w6Q=?=");
        assert_eq!(encode_header("a b"), "=?base64?YSBi?=");
    }
}
