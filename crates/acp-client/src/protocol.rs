//! The messages of the Agent Client Protocol, version 1, as far as this client uses them.
//!
//! Unknown fields are ignored without being stored. Absent and mistyped optional fields are treated alike, as the protocol
//! demands.

use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::program::McpBridgeCommand;

pub(crate) const VERSION: u64 = 1;

/// The name under which an agent knows the tools of its job.
const MCP_SERVER_NAME: &str = "cynode";

pub(crate) fn initialize_params() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": false,
        },
        "clientInfo": { "name": "cynode", "title": "CyNode", "version": env!("CARGO_PKG_VERSION") },
    })
}

pub(crate) fn new_session_params(workspace: &Path, bridge: Option<&McpBridgeCommand>) -> Value {
    let servers: Vec<Value> = bridge.into_iter().map(describe_server).collect();
    json!({ "cwd": workspace, "mcpServers": servers })
}

fn describe_server(bridge: &McpBridgeCommand) -> Value {
    let variable = |(name, value): &(String, String)| json!({ "name": name, "value": value });
    let env: Vec<Value> = bridge.env.iter().map(variable).collect();
    json!({
        "name": MCP_SERVER_NAME, "command": bridge.program, "args": bridge.args, "env": env,
    })
}

pub(crate) fn prompt_params(session: &str, prompt: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": prompt }] })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialized {
    pub(crate) protocol_version: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) auth_methods: Vec<AuthMethod>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) agent_info: Option<AgentInfo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AuthMethod {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: String,
    /// Absent or `agent` if the agent authenticates by itself; the other types need a terminal or a secret.
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<String>,
}

impl AuthMethod {
    pub(crate) fn needs_no_secret(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "agent")
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgentInfo {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSession {
    pub(crate) session_id: String,
    #[serde(default)]
    modes: Option<OfferedSetting>,
    /// Of agents that predate `configOptions`.
    #[serde(default)]
    models: Option<OfferedSetting>,
    #[serde(default, deserialize_with = "or_default")]
    config_options: Option<Vec<ConfigOption>>,
}

/// A setting that is offered, whatever its values are: the agent rejects the wrong ones.
#[derive(Debug, Deserialize)]
struct OfferedSetting {}

#[derive(Debug, Deserialize)]
struct ConfigOption {
    id: String,
    #[serde(default)]
    category: Option<String>,
}

impl NewSession {
    /// The request that selects a mode; `None` if the agent offers no modes.
    pub(crate) fn select_mode(&self, mode: &str) -> Option<(&'static str, Value)> {
        let session = &self.session_id;
        if self.modes.is_some() {
            return Some(("session/set_mode", json!({ "sessionId": session, "modeId": mode })));
        }
        self.select_option("mode", mode)
    }

    /// The request that selects a model; `None` if the agent offers no models.
    pub(crate) fn select_model(&self, model: &str) -> Option<(&'static str, Value)> {
        self.select_option("model", model).or_else(|| {
            self.models.as_ref()?;
            let params = json!({ "sessionId": self.session_id, "modelId": model });
            Some(("session/set_model", params))
        })
    }

    fn select_option(&self, category: &str, value: &str) -> Option<(&'static str, Value)> {
        let mut options = self.config_options.iter().flatten();
        let option = options.find(|option| option.category.as_deref() == Some(category))?;
        let session = &self.session_id;
        let params = json!({ "sessionId": session, "configId": option.id, "value": value });
        Some(("session/set_config_option", params))
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptEnd {
    pub(crate) stop_reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionNotification<'a> {
    pub(crate) session_id: String,
    /// A [`SessionUpdate`], which may be a [`ToolCallFields`] as well.
    #[serde(borrow)]
    pub(crate) update: &'a RawValue,
}

/// The fields of updates, except those of tool calls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionUpdate<'a> {
    #[serde(rename = "sessionUpdate")]
    pub(crate) kind: String,
    /// A content block of a message, or the list of contents of a tool call.
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) entries: Vec<PlanEntry>,
}

/// The fields of a tool call that this client shows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ToolCallFields {
    #[serde(deserialize_with = "or_default")]
    pub(crate) tool_call_id: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) kind: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub(crate) status: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) status: String,
}

/// A content block of a message; only text is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContentBlock {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) text: Option<String>,
    pub(crate) uri: Option<String>,
}

impl ContentBlock {
    /// The text, or what is there instead of it.
    pub(crate) fn into_text(self) -> String {
        match (self.text, self.uri) {
            (Some(text), _) => text,
            (None, Some(uri)) => format!("[{}: {uri}]", self.kind),
            (None, None) => format!("[{}]", self.kind),
        }
    }
}

/// One content of a tool call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCallContent {
    #[serde(default)]
    pub(crate) content: Option<ContentBlock>,
    #[serde(default)]
    pub(crate) path: Option<String>,
    #[serde(default)]
    pub(crate) old_text: Option<String>,
    #[serde(default)]
    pub(crate) new_text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionRequest {
    #[serde(default)]
    pub(crate) tool_call: ToolCallFields,
    pub(crate) options: Vec<PermissionOption>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionOption {
    pub(crate) option_id: String,
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) kind: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ReadTextFile {
    pub(crate) path: String,
    /// The first line, from 1.
    #[serde(default)]
    pub(crate) line: Option<usize>,
    /// The most lines.
    #[serde(default)]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WriteTextFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// Reads a field of the wrong type as absent.
fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + for<'a> Deserialize<'a>,
    D: Deserializer<'de>,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}
