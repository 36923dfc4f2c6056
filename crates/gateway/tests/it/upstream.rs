//! A scripted upstream server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_upstream::interface::ServerDescription;
use cynode_upstream::interface::SessionKey;
use cynode_upstream::interface::Upstream;
use cynode_upstream::interface::UpstreamClient;
use cynode_upstream::interface::UpstreamError;
use cynode_upstream::interface::Upstreams;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub(crate) struct ServerScript {
    /// Messages that reached the server.
    pub(crate) seen: Mutex<Vec<Value>>,
    /// Calls that were canceled while they hung.
    pub(crate) withdrawn: AtomicUsize,
    pub(crate) closed: AtomicUsize,
}

#[derive(Clone, Default)]
pub(crate) struct FakeUpstreams(pub(crate) Arc<ServerScript>);

struct FakeUpstreamSession {
    script: Arc<ServerScript>,
    about: ServerDescription,
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

#[async_trait]
impl Upstreams for FakeUpstreams {
    async fn open(
        &self,
        _: ServerId,
        _: &SessionKey,
        _: Arc<dyn UpstreamClient>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let about = ServerDescription {
            capabilities: raw(&json!({ "tools": {}, "resources": {}, "prompts": {} })),
            info: raw(&json!({ "name": "files", "version": "1" })),
            instructions: Some("read the files".to_owned()),
        };
        Ok(Arc::new(FakeUpstreamSession { script: Arc::clone(&self.0), about }))
    }

    async fn close(&self, _: &SessionKey) {
        self.0.closed.fetch_add(1, Ordering::SeqCst);
    }

    async fn drop_connections(&self, _: ServerId) {}
}

#[async_trait]
impl Upstream for FakeUpstreamSession {
    fn about(&self) -> &ServerDescription {
        &self.about
    }

    async fn request(
        &self,
        message: Box<RawValue>,
        client: Arc<dyn UpstreamClient>,
        cancel: CancellationToken,
    ) -> Result<Box<RawValue>, UpstreamError> {
        let message: Value = serde_json::from_str(message.get()).unwrap();
        self.script.seen.lock().unwrap().push(message.clone());
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let result = match message["params"]["name"].as_str().unwrap_or_default() {
            "progress" => {
                let params = json!({ "progressToken": message["params"]["_meta"]["progressToken"], "progress": 1 });
                let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                client.notify(raw(&note)).await;
                text("done")
            }
            "ask" => {
                let question = json!({ "jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": {} });
                match client.ask(raw(&question)).await {
                    Ok(answer) => text(answer.get()),
                    Err(_) => text("no response"),
                }
            }
            "hang" => {
                cancel.cancelled().await;
                self.script.withdrawn.fetch_add(1, Ordering::SeqCst);
                return Err(UpstreamError::Canceled);
            }
            "fail" => {
                let error = json!({ "code": -32050, "message": "no" });
                return Ok(raw(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error })));
            }
            "panic" => panic!("the way to the server has a fault"),
            "die" => return Err(UpstreamError::Unavailable("it is gone".to_owned())),
            "big" => text(&"x".repeat(5000)),
            "wrong" => json!({ "content": [], "structuredContent": { "other": 1 } }),
            _ => text(&message["params"]["arguments"].to_string()),
        };
        Ok(raw(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })))
    }

    async fn notify(&self, message: Box<RawValue>) -> Result<(), UpstreamError> {
        self.script.seen.lock().unwrap().push(serde_json::from_str(message.get()).unwrap());
        Ok(())
    }
}
