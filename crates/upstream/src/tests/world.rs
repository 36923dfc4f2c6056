//! Test setup: a pool, a registry of servers, and a recording client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::servers::Transport;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::InstalledServer;
use crate::ListedTool;
use crate::NetworkReach;
use crate::NoProcesses;
use crate::ProcessSpawner;
use crate::ServerDirectory;
use crate::UpstreamOptions;
use crate::UpstreamPool;
use crate::interface::ClientDescription;
use crate::interface::ClientUnreachable;
use crate::interface::SessionKey;
use crate::interface::Upstream;
use crate::interface::UpstreamClient;
use crate::interface::UpstreamError;
use crate::interface::Upstreams as _;
use crate::rpc;

/// A registry of servers that records what discovery reports.
#[derive(Default)]
pub(super) struct RecordingDirectory {
    pub(super) servers: Mutex<Vec<InstalledServer>>,
    pub(super) tools: Mutex<BTreeMap<String, Vec<ListedTool>>>,
    pub(super) faults: Mutex<BTreeMap<String, Option<String>>>,
}

impl RecordingDirectory {
    fn slug(&self, id: ServerId) -> String {
        let servers = self.servers.lock().unwrap();
        servers.iter().find(|server| server.id == id).map(|server| server.slug.clone()).unwrap()
    }

    /// Waits until a condition on the records holds.
    pub(super) async fn wait_until(&self, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) fn tool_names(&self, slug: &str) -> Vec<String> {
        let tools = self.tools.lock().unwrap();
        tools.get(slug).into_iter().flatten().map(|tool| tool.name.clone()).collect()
    }
}

#[async_trait]
impl ServerDirectory for RecordingDirectory {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        Ok(self.servers.lock().unwrap().clone())
    }

    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok(self.servers.lock().unwrap().iter().find(|server| server.id == id).cloned())
    }

    async fn record_tools(&self, server: ServerId, tools: Vec<ListedTool>) {
        self.tools.lock().unwrap().insert(self.slug(server), tools);
    }

    async fn record_health(&self, server: ServerId, fault: Option<String>) {
        self.faults.lock().unwrap().insert(self.slug(server), fault);
    }
}

/// A pool with servers.
pub(super) struct UpstreamFixture {
    pub(super) pool: Arc<UpstreamPool>,
    pub(super) register: Arc<RecordingDirectory>,
    /// The networks of servers that are installed from now on.
    pub(super) reach: NetworkReach,
}

/// Small responses, and timeouts that only end a hanging test; a test of a timeout sets a shorter
/// one.
pub(super) fn quick() -> UpstreamOptions {
    UpstreamOptions {
        quiet_timeout: Duration::from_mins(1),
        greeting_timeout: Duration::from_mins(1),
        probe_timeout: Duration::from_secs(30),
        standing_stream_timeout: Duration::from_mins(1),
        max_response_bytes: 64 * 1024,
        ..UpstreamOptions::default()
    }
}

impl UpstreamFixture {
    pub(super) fn new(options: UpstreamOptions) -> Self {
        Self::with_processes(options, Arc::new(NoProcesses))
    }

    pub(super) fn with_processes(
        options: UpstreamOptions,
        spawner: Arc<dyn ProcessSpawner>,
    ) -> Self {
        let register = Arc::new(RecordingDirectory::default());
        let pool =
            UpstreamPool::new(Arc::clone(&register) as _, spawner, options, BackgroundTasks::new());
        Self { pool: Arc::new(pool), register, reach: NetworkReach::Anywhere }
    }

    pub(super) fn install(&self, slug: &str, transport: Transport) -> ServerId {
        let id = ServerId::generate();
        let reach = self.reach.clone();
        let server = InstalledServer { id, slug: slug.to_owned(), transport, reach };
        self.register.servers.lock().unwrap().push(server);
        id
    }

    pub(super) fn install_http(&self, url: &str) -> ServerId {
        self.install("fake", Transport::Http { url: url.to_owned(), headers: BTreeMap::new() })
    }

    pub(super) async fn open(
        &self,
        server: ServerId,
        client: &Arc<RecordingClient>,
    ) -> Arc<dyn Upstream> {
        self.try_open(server, client).await.unwrap()
    }

    pub(super) async fn try_open(
        &self,
        server: ServerId,
        client: &Arc<RecordingClient>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        self.pool.open(server, &client.key(), Arc::clone(client) as _).await
    }

    /// One server over HTTP, opened.
    pub(super) async fn opened(
        url: &str,
        client: &Arc<RecordingClient>,
    ) -> (Self, Arc<dyn Upstream>) {
        let world = Self::new(quick());
        let server = world.install_http(url);
        let upstream = world.open(server, client).await;
        (world, upstream)
    }
}

/// A client that records notifications and requests, and answers requests as configured.
pub(super) struct RecordingClient {
    about: ClientDescription,
    id: String,
    notified: Mutex<Vec<Value>>,
    requests: Mutex<Vec<Value>>,
    answer: Option<Value>,
}

impl RecordingClient {
    fn new(version: &str, capabilities: &Value, answer: Option<Value>) -> Arc<Self> {
        let capabilities = rpc::raw(capabilities.to_string());
        let about = ClientDescription { version: version.to_owned(), capabilities, info: None };
        let id = ServerId::generate().to_string();
        Arc::new(Self { about, id, notified: Mutex::default(), requests: Mutex::default(), answer })
    }

    /// A client with a session that accepts no server requests.
    pub(super) fn plain() -> Arc<Self> {
        Self::new("2025-11-25", &json!({}), None)
    }

    /// A client with a session that answers every server request with `answer`.
    pub(super) fn answering(answer: Value) -> Arc<Self> {
        let capabilities = json!({"sampling": {}, "elicitation": {}, "roots": {}});
        Self::new("2025-11-25", &capabilities, Some(answer))
    }

    pub(super) fn stateless() -> Arc<Self> {
        Self::new("2026-07-28", &json!({"elicitation": {}}), None)
    }

    pub(super) fn key(&self) -> SessionKey {
        SessionKey { id: self.id.clone(), is_stateless: self.about.version == "2026-07-28" }
    }

    pub(super) fn notifications(&self) -> Vec<Value> {
        self.notified.lock().unwrap().clone()
    }

    pub(super) fn received_requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    pub(super) async fn wait_for_notification(&self, method: &str) -> Value {
        loop {
            if let Some(found) =
                self.notifications().into_iter().find(|notified| notified["method"] == method)
            {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[async_trait]
impl UpstreamClient for RecordingClient {
    fn about(&self) -> &ClientDescription {
        &self.about
    }

    async fn notify(&self, message: Box<RawValue>) {
        self.notified.lock().unwrap().push(serde_json::from_str(message.get()).unwrap());
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, ClientUnreachable> {
        let request: Value = serde_json::from_str(request.get()).unwrap();
        self.requests.lock().unwrap().push(request.clone());
        let answer = self.answer.clone().ok_or(ClientUnreachable)?;
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": answer});
        Ok(rpc::raw(answer.to_string()))
    }
}

/// Sends a request and waits for the response.
pub(super) async fn send_request(
    upstream: &Arc<dyn Upstream>,
    client: &Arc<RecordingClient>,
    request: Value,
) -> Result<Value, UpstreamError> {
    let message = rpc::raw(request.to_string());
    let answer =
        upstream.request(message, Arc::clone(client) as _, CancellationToken::new()).await?;
    Ok(serde_json::from_str(answer.get()).unwrap())
}

/// A `tools/call` request.
pub(super) fn call(id: &str, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}
