//! The client of the requests.

use async_trait::async_trait;
use cynode_upstream::interface::ClientDescription;
use cynode_upstream::interface::ClientUnreachable;
use cynode_upstream::interface::UpstreamClient;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Accepts every request of a server with default values.
pub(crate) struct AgreeableClient {
    client_description: ClientDescription,
}

impl AgreeableClient {
    pub(crate) fn new(version: &str) -> Result<Self, serde_json::Error> {
        let capabilities = json!({ "elicitation": { "form": { "applyDefaults": true } }, "sampling": {}, "roots": {} });
        let info = json!({ "name": "cynode-conformance", "version": env!("CARGO_PKG_VERSION") });
        let client_description = ClientDescription {
            version: version.to_owned(),
            capabilities: to_raw_value(&capabilities)?,
            info: Some(to_raw_value(&info)?),
        };
        Ok(Self { client_description })
    }
}

#[async_trait]
impl UpstreamClient for AgreeableClient {
    fn about(&self) -> &ClientDescription {
        &self.client_description
    }

    async fn notify(&self, _: Box<RawValue>) {}

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable> {
        let question: Value = serde_json::from_str(request.get()).map_err(|_| ClientUnreachable)?;
        let params = &question["params"];
        let answer = match question["method"].as_str() {
            Some("elicitation/create") => {
                json!({ "action": "accept", "content": defaults(&params["requestedSchema"]) })
            }
            Some("sampling/createMessage") => json!({
                "role": "assistant",
                "model": "scripted",
                "content": { "type": "text", "text": "yes" },
            }),
            Some("roots/list") => json!({ "roots": [] }),
            _ => return Err(ClientUnreachable),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        to_raw_value(&answer).map_err(|_| ClientUnreachable)
    }
}

/// Every field with its default from the server.
fn defaults(schema: &Value) -> Map<String, Value> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone()))).collect()
}
