//! The gateway's side of a test: a pool, servers written down in it, and a client that remembers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_runtime::tasks::Tasks;
use cynode_wire::servers::Transport;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::rpc;
use crate::seams::{
    ClientAbout, ClientSide, Gone, SessionKey, Upstream, UpstreamError, Upstreams as _,
};
use crate::upstream::{
    Directory, InstalledServer, NoProcesses, Pool, Reach, SeenTool, SpawnSandboxed, UpstreamOptions,
};

/// Servers that are written down, and what was told of them.
#[derive(Default)]
pub(super) struct Register {
    pub(super) servers: Mutex<Vec<InstalledServer>>,
    pub(super) tools: Mutex<BTreeMap<String, Vec<SeenTool>>>,
    pub(super) faults: Mutex<BTreeMap<String, Option<String>>>,
}

impl Register {
    fn slug(&self, id: ServerId) -> String {
        let servers = self.servers.lock().unwrap();
        servers.iter().find(|server| server.id == id).map(|server| server.slug.clone()).unwrap()
    }

    /// Waits until a condition on what was told holds.
    pub(super) async fn until(&self, holds: impl Fn(&Self) -> bool) {
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
impl Directory for Register {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        Ok(self.servers.lock().unwrap().clone())
    }

    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok(self.servers.lock().unwrap().iter().find(|server| server.id == id).cloned())
    }

    async fn observe(&self, server: ServerId, tools: Vec<SeenTool>) {
        self.tools.lock().unwrap().insert(self.slug(server), tools);
    }

    async fn report(&self, server: ServerId, fault: Option<String>) {
        self.faults.lock().unwrap().insert(self.slug(server), fault);
    }
}

/// A pool with servers.
pub(super) struct World {
    pub(super) pool: Arc<Pool>,
    pub(super) register: Arc<Register>,
    /// How far into the network servers may be that are installed from now on.
    pub(super) reach: Reach,
}

/// Small answers, and patience that ends what would hang and nothing else: who waits for the end of some
/// patience has less of it.
pub(super) fn quick() -> UpstreamOptions {
    UpstreamOptions {
        quiet_timeout: Duration::from_mins(1),
        greeting_timeout: Duration::from_mins(1),
        probe_timeout: Duration::from_secs(30),
        standing_timeout: Duration::from_mins(1),
        max_response_bytes: 64 * 1024,
        ..UpstreamOptions::default()
    }
}

impl World {
    pub(super) fn new(options: UpstreamOptions) -> Self {
        Self::with_processes(options, Arc::new(NoProcesses))
    }

    pub(super) fn with_processes(
        options: UpstreamOptions,
        spawner: Arc<dyn SpawnSandboxed>,
    ) -> Self {
        let register = Arc::new(Register::default());
        let pool = Pool::new(Arc::clone(&register) as _, spawner, options, Tasks::new());
        Self { pool: Arc::new(pool), register, reach: Reach::Anywhere }
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

    pub(super) async fn open(&self, server: ServerId, client: &Arc<Client>) -> Arc<dyn Upstream> {
        self.try_open(server, client).await.unwrap()
    }

    pub(super) async fn try_open(
        &self,
        server: ServerId,
        client: &Arc<Client>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        self.pool.open(server, &client.key(), Arc::clone(client) as _).await
    }

    /// One server over HTTP, opened.
    pub(super) async fn opened(url: &str, client: &Arc<Client>) -> (Self, Arc<dyn Upstream>) {
        let world = Self::new(quick());
        let server = world.install_http(url);
        let upstream = world.open(server, client).await;
        (world, upstream)
    }
}

/// A client that remembers what it was told, and answers questions as it was told to.
pub(super) struct Client {
    about: ClientAbout,
    id: String,
    told: Mutex<Vec<Value>>,
    asked: Mutex<Vec<Value>>,
    answer: Option<Value>,
}

impl Client {
    fn new(version: &str, capabilities: &Value, answer: Option<Value>) -> Arc<Self> {
        let capabilities = rpc::raw(capabilities.to_string());
        let about = ClientAbout { version: version.to_owned(), capabilities, info: None };
        let id = ServerId::generate().to_string();
        Arc::new(Self { about, id, told: Mutex::default(), asked: Mutex::default(), answer })
    }

    /// A client with a session that can be asked nothing.
    pub(super) fn plain() -> Arc<Self> {
        Self::new("2025-11-25", &json!({}), None)
    }

    /// A client with a session that answers questions like this.
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

    pub(super) fn told(&self) -> Vec<Value> {
        self.told.lock().unwrap().clone()
    }

    pub(super) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) async fn until_told(&self, method: &str) -> Value {
        loop {
            if let Some(found) = self.told().into_iter().find(|told| told["method"] == method) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[async_trait]
impl ClientSide for Client {
    fn about(&self) -> &ClientAbout {
        &self.about
    }

    async fn notify(&self, message: Box<RawValue>) {
        self.told.lock().unwrap().push(serde_json::from_str(message.get()).unwrap());
    }

    async fn ask(&self, request: Box<RawValue>) -> Result<Box<RawValue>, Gone> {
        let request: Value = serde_json::from_str(request.get()).unwrap();
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answer.clone().ok_or(Gone)?;
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": answer});
        Ok(rpc::raw(answer.to_string()))
    }
}

/// Asks, and waits for the answer.
pub(super) async fn ask(
    upstream: &Arc<dyn Upstream>,
    client: &Arc<Client>,
    request: Value,
) -> Result<Value, UpstreamError> {
    let message = rpc::raw(request.to_string());
    let answer =
        upstream.request(message, Arc::clone(client) as _, CancellationToken::new()).await?;
    Ok(serde_json::from_str(answer.get()).unwrap())
}

/// A call of a tool.
pub(super) fn call(id: &str, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}
