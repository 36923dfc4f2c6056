//! The client of the bridge, as the server sees it.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use cynode_upstream::interface::{ClientDescription, ClientUnreachable, UpstreamClient};
use cynode_upstream::rpc::{self, RawFields};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use super::lock;

/// The most requests of the server that wait for the client.
const MAX_OPEN_REQUESTS: usize = 16;

/// The program on the other side of the standard streams.
pub(super) struct BridgedClient {
    description: ClientDescription,
    output: mpsc::Sender<String>,
    /// Requests of the server without a response, by their ids.
    requests: Mutex<HashMap<String, oneshot::Sender<Box<RawValue>>>>,
}

impl BridgedClient {
    /// The client that sent these parameters of `initialize`.
    pub(super) fn new(version: &str, params: &RawFields<'_>, output: mpsc::Sender<String>) -> Self {
        let capabilities = params.get("capabilities").map(ToOwned::to_owned);
        let description = ClientDescription {
            version: version.to_owned(),
            capabilities: capabilities.unwrap_or_else(|| rpc::raw("{}".to_owned())),
            info: params.get("clientInfo").map(ToOwned::to_owned),
        };
        Self { description, output, requests: Mutex::default() }
    }

    /// Passes a response of the client on.
    pub(super) fn resolve(&self, id: &RawValue, line: &str) {
        if let Some(waiting) = lock(&self.requests).remove(id.get()) {
            let _ = waiting.send(rpc::raw(line.to_owned()));
        }
    }
}

#[async_trait]
impl UpstreamClient for BridgedClient {
    fn about(&self) -> &ClientDescription {
        &self.description
    }

    async fn notify(&self, message: Box<RawValue>) {
        let _ = self.output.send(message.get().to_owned()).await;
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable> {
        let fields = RawFields::read(&request).map_err(|_| ClientUnreachable)?;
        let id = fields.get("id").ok_or(ClientUnreachable)?.get().to_owned();
        let (sender, response) = oneshot::channel();
        {
            let mut requests = lock(&self.requests);
            // Requests that nothing waits for any more make room.
            requests.retain(|_, waiting| !waiting.is_closed());
            if requests.len() >= MAX_OPEN_REQUESTS {
                return Err(ClientUnreachable);
            }
            requests.insert(id, sender);
        }
        let sent = self.output.send(request.get().to_owned()).await;
        sent.map_err(|_| ClientUnreachable)?;
        response.await.map_err(|_| ClientUnreachable)
    }
}
