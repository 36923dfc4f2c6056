//! An MCP server with one tool. It has no sessions and sends no requests, so every request has its response.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::CanaryRun;
use super::model_script::TOOL_NAME;

/// The revisions that it speaks, newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The longest id of a request.
const MAX_ID_BYTES: usize = 1_000;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

#[derive(Debug, Deserialize)]
struct RpcMessage<'a> {
    /// Absent in a notification.
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: CallParams,
}

/// The parameters of every method that has some; others are skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallParams {
    name: Option<String>,
    #[serde(rename = "protocolVersion")]
    protocol_version: Option<String>,
}

/// The message cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidMessage;

impl CanaryRun {
    /// Handles a message; `None` if it has no response.
    pub(super) fn handle_message(&self, body: &[u8]) -> Result<Option<String>, InvalidMessage> {
        // A batch would be read as the fields of one message, in order.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(InvalidMessage);
        }
        let message: RpcMessage<'_> = serde_json::from_slice(body).map_err(|_| InvalidMessage)?;
        let (Some(id), Some(method)) = (message.id, message.method) else { return Ok(None) };
        if id.get().len() > MAX_ID_BYTES {
            return Err(InvalidMessage);
        }
        let id: Value = serde_json::from_str(id.get()).map_err(|_| InvalidMessage)?;
        let response = match self.respond(&method, &message.params) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, text)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
            }
        };
        Ok(Some(response.to_string()))
    }

    fn respond(&self, method: &str, params: &CallParams) -> Result<Value, (i32, &'static str)> {
        match method {
            "initialize" => {
                let wanted = params.protocol_version.as_deref().unwrap_or_default();
                let version = VERSIONS.iter().find(|version| **version == wanted);
                let info = json!({ "name": "canary", "version": env!("CARGO_PKG_VERSION") });
                Ok(json!({
                    "protocolVersion": version.unwrap_or(&VERSIONS[0]),
                    "capabilities": { "tools": {} }, "serverInfo": info,
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": [{
                "name": TOOL_NAME, "description": "Returns a code that shows that tools work.",
                "inputSchema": { "type": "object", "properties": {} },
            }] })),
            "tools/call" if params.name.as_deref() == Some(TOOL_NAME) => {
                self.seen().tool_calls += 1;
                let text = format!("The code is {}.", self.code);
                Ok(json!({ "content": [{ "type": "text", "text": text }], "isError": false }))
            }
            "tools/call" => Err((INVALID_PARAMS, "there is only the tool canary")),
            _ => Err((METHOD_NOT_FOUND, "there is no such method")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CanaryOrigin;
    use super::*;

    fn call(run: &CanaryRun, method: &str, params: &Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": "a\"b", "method": method, "params": params });
        let answer = run.handle_message(message.to_string().as_bytes()).unwrap().unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    #[test]
    fn the_tool_returns_the_code_and_its_calls_are_counted() {
        let run = CanaryRun::new(CanaryOrigin::ThisProcess);

        let opened = call(&run, "initialize", &json!({ "protocolVersion": "2025-03-26" }));
        let listed = call(&run, "tools/list", &json!({}));
        let called = call(&run, "tools/call", &json!({ "name": "canary", "arguments": {} }));

        assert_eq!(opened["result"]["protocolVersion"], "2025-03-26");
        assert_eq!((&opened["id"], &listed["id"]), (&json!("a\"b"), &json!("a\"b")));
        assert_eq!(listed["result"]["tools"][0]["name"], "canary");
        assert!(called.to_string().contains(&run.code), "{called}");
        assert_eq!(run.seen().tool_calls, 1);
    }

    #[test]
    fn other_tools_methods_and_notifications_count_nothing() {
        let run = CanaryRun::new(CanaryOrigin::ThisProcess);

        let other = call(&run, "tools/call", &json!({ "name": "canary ".repeat(100_000) }));
        assert_eq!(other["error"]["code"], INVALID_PARAMS);
        assert_eq!(call(&run, "resources/list", &json!({}))["error"]["code"], METHOD_NOT_FOUND);
        let notification = br#"{ "jsonrpc": "2.0", "method": "notifications/initialized" }"#;
        assert_eq!(run.handle_message(notification), Ok(None));
        assert_eq!(run.handle_message(b"[{}]"), Err(InvalidMessage));
        let long_id = json!({ "id": vec![json!({}); 1_000], "method": "ping" }).to_string();
        assert_eq!(run.handle_message(long_id.as_bytes()), Err(InvalidMessage));
        assert_eq!(run.seen().tool_calls, 0);
    }
}
