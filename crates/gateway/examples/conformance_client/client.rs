//! The client that stands behind the requests.

use async_trait::async_trait;
use cynode_gateway::seams::{ClientAbout, ClientSide, Gone};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Answers every question of a server as an agreeable user would.
pub(crate) struct Client {
    about: ClientAbout,
}

impl Client {
    /// A client that speaks `version`.
    pub(crate) fn new(version: &str) -> Result<Self, serde_json::Error> {
        let capabilities = json!({ "elicitation": { "form": { "applyDefaults": true } }, "sampling": {}, "roots": {} });
        let info = json!({ "name": "cynode-conformance", "version": env!("CARGO_PKG_VERSION") });
        let about = ClientAbout {
            version: version.to_owned(),
            capabilities: to_raw_value(&capabilities)?,
            info: Some(to_raw_value(&info)?),
        };
        Ok(Self { about })
    }
}

#[async_trait]
impl ClientSide for Client {
    fn about(&self) -> &ClientAbout {
        &self.about
    }

    async fn notify(&self, _: Box<RawValue>) {}

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, Gone> {
        let question: Value = serde_json::from_str(request.get()).map_err(|_| Gone)?;
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
            _ => return Err(Gone),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer });
        to_raw_value(&answer).map_err(|_| Gone)
    }
}

/// Every field with the value that the server proposes for it.
fn defaults(schema: &Value) -> Map<String, Value> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone()))).collect()
}
