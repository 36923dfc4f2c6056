//! A listening gateway, and a client of it.

use std::collections::VecDeque;
use std::sync::Arc;

use cynode_blobs::BlobStore;
use cynode_domain::policy::Principal;
use cynode_execution::findings::FindingService;
use cynode_execution::{ArtifactService, JobPlacer, NodeService, TaskService};
use cynode_gateway::GatewayOptions;
use cynode_gateway::GatewayParts;
use cynode_gateway::Identity;
use cynode_gateway::McpGateway;
use cynode_gateway::tools::ToolServices;
use cynode_ops::AgentProfiles;
use cynode_ops::capability_leases::CapabilityLeases;
use cynode_ops::memory::JobNotes;
use cynode_ops::sandboxes::Sandboxes;
use cynode_ops::{AgentMessages, WorkService};
use cynode_resources::audit::{AuditLog, AuditOptions, RejectionCounter};
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::request_limits::{RequestLimitOptions, RequestLimits};
use cynode_resources::settings::InstallationSettings;
use cynode_resources::skills::Skills;
use cynode_resources::{Accounts, Caller, Projects, Signals, Store};
use cynode_retrieval::{DatabaseBackend, Knowledge};
use cynode_runs::{RunOperations, RunQueries};
use cynode_runtime::clock::{SharedClock, SystemClock};
use cynode_wire::sse;
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::backend::{Entry, FakeBackend, identity, world};
use crate::upstream::{FakeUpstreams, ServerScript};

pub(crate) struct Harness {
    pub(crate) url: String,
    pub(crate) backend: Arc<FakeBackend>,
    pub(crate) script: Arc<ServerScript>,
    pub(crate) gateway: McpGateway,
    pub(crate) http: reqwest::Client,
    _data: TempDir,
}

/// The operations of built-in tools, over a database with one user.
pub(crate) async fn services(data: &TempDir) -> (ToolServices, Caller) {
    let store =
        Store::open(&format!("sqlite:{}", data.path().join("t.db").display())).await.unwrap();
    let clock: SharedClock = Arc::new(SystemClock);
    let signals = Signals::new(store.engine());
    let blobs = BlobStore::new(data.path().join("blobs"));
    let accounts = Accounts::new(store.clone(), clock.clone(), signals.clone());
    accounts.bootstrap(data.path()).await.unwrap();
    let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap();
    let known = accounts.authenticate(token.trim()).await.unwrap();
    let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone());
    let options = AuditOptions::new(data.path());
    let audit = AuditLog::open(store.clone(), clock.clone(), &options).await.unwrap();
    let tasks = TaskService::new(store.clone(), clock.clone(), signals.clone(), blobs.clone());
    let services = ToolServices {
        agent_profiles: AgentProfiles::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            tasks.clone(),
        ),
        tasks,
        requests: None,
        projects: Projects::new(store.clone(), clock.clone()),
        profiles: Profiles::new(store.clone(), clock.clone(), signals.clone()),
        project_memory: ProjectMemory::new(store.clone(), clock.clone()),
        knowledge: Knowledge::new(
            store.clone(),
            Arc::new(DatabaseBackend::new(store.clone())),
            clock.clone(),
        ),
        schedules: cynode_ops::schedules::Schedules::new(store.clone(), signals.clone()),
        artifacts: ArtifactService::new(store.clone(), clock.clone(), blobs),
        nodes: NodeService::new(store.clone(), clock.clone(), signals.clone(), 60_000),
        sandboxes: Sandboxes::new(store.clone(), clock.clone(), signals.clone(), placer),
        leases: CapabilityLeases::new(store.clone(), clock.clone(), audit, data.path()),
        messages: AgentMessages::new(store.clone(), clock.clone(), signals.clone()),
        work: WorkService::new(store.clone(), clock.clone(), signals.clone()),
        analysts: None,
        preferences: PreferenceService::new(store.clone(), clock.clone()),
        memory: JobNotes::new(store.clone(), clock.clone()),
        skills: Skills::new(store.clone(), clock.clone()),
        findings: FindingService::new(store.clone(), clock.clone()),
        runs: RunQueries::new(store.clone()),
        steering: RunOperations::new(store.clone(), clock.clone(), signals.clone()),
        settings: InstallationSettings::new(store, clock, signals),
    };
    (services, known)
}

pub(crate) fn request_limits(options: RequestLimitOptions) -> RequestLimits {
    RequestLimits::new(options, Arc::new(SystemClock), RejectionCounter::default())
}

impl Harness {
    pub(crate) async fn new() -> Self {
        Self::with_options(GatewayOptions::default()).await
    }

    pub(crate) async fn with_options(options: GatewayOptions) -> Self {
        Self::with_limits(options, RequestLimitOptions::default()).await
    }

    /// Tokens `pm`, `pa`, `sandbox` and `user` are valid.
    pub(crate) async fn with_limits(options: GatewayOptions, limits: RequestLimitOptions) -> Self {
        let backend = Arc::new(FakeBackend::default());
        *backend.world.lock().unwrap() = world();
        for caller in Principal::ALL {
            backend.tokens.lock().unwrap().insert(caller.to_string(), identity(*caller));
        }
        let (data, upstreams) = (tempfile::tempdir().unwrap(), FakeUpstreams::default());
        let script = Arc::clone(&upstreams.0);
        let (services, known) = services(&data).await;
        {
            let mut tokens = backend.tokens.lock().unwrap();
            let user = tokens.get_mut("user").unwrap();
            (user.user, user.caller) = (known.user, known);
        }
        let gateway = McpGateway::new(GatewayParts {
            options,
            backend: Arc::clone(&backend) as Arc<dyn cynode_gateway::GatewayBackend>,
            upstreams: Arc::new(upstreams),
            services,
            request_limits: request_limits(limits),
            clock: Arc::new(SystemClock),
        });
        gateway.refresh().await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = cynode_gateway::router(gateway.clone());
        let background = cynode_runtime::tasks::BackgroundTasks::new();
        background.spawn("server", async move { axum::serve(listener, router).await.unwrap() });
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url, backend, script, gateway, http, _data: data }
    }

    pub(crate) fn bind(&self, token: &str, change: impl FnOnce(&mut Identity)) {
        change(self.backend.tokens.lock().unwrap().get_mut(token).unwrap());
    }

    pub(crate) fn post(&self, path: &str, token: &str) -> RequestBuilder {
        self.http
            .post(format!("{}{path}", self.url))
            .bearer_auth(token)
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
    }

    /// A request of the revision without sessions.
    pub(crate) fn modern(
        &self,
        path: &str,
        token: &str,
        method: &str,
        params: Value,
    ) -> RequestBuilder {
        let mut params = params;
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let mut request = self
            .post(path, token)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        for member in ["name", "uri"] {
            if let Some(name) = params[member].as_str() {
                request = request.header("mcp-name", name);
            }
        }
        request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }

    /// Calls a tool and returns the result.
    pub(crate) async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let response = self.modern("/mcp", token, "tools/call", params).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.json().await.unwrap()
    }

    /// The stage and type of a denied call.
    pub(crate) async fn refusal(
        &self,
        token: &str,
        tool: &str,
        arguments: Value,
    ) -> (String, String) {
        let answer = self.call(token, tool, arguments).await;
        let of_protocol = &answer["error"]["data"]["error"];
        let error = if of_protocol.is_null() {
            &answer["result"]["structuredContent"]["error"]
        } else {
            of_protocol
        };
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text(&error["stage"]), text(&error["type"]))
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.backend.entries()
    }

    pub(crate) async fn change(
        &self,
        change: impl FnOnce(&mut cynode_gateway::snapshot::RegistryData),
    ) {
        {
            let mut world = self.backend.world.lock().unwrap();
            change(&mut world);
            world.revision += 1;
        }
        self.gateway.refresh().await.unwrap();
    }

    /// Opens a session and returns its id.
    pub(crate) async fn open(&self, path: &str, token: &str, version: &str) -> (String, Value) {
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.post(path, token).json(&body).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        (id, response.json().await.unwrap())
    }

    pub(crate) async fn ask(&self, session: &str, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": params });
        let request = self.post("/mcp", "pm").header("mcp-session-id", session);
        request.json(&body).send().await.unwrap().json().await.unwrap()
    }
}

/// Reads the events of a response.
pub(crate) struct EventReader {
    response: Response,
    reader: sse::Reader,
    pending: VecDeque<String>,
}

impl EventReader {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, reader: sse::Reader::new(1 << 20), pending: VecDeque::new() }
    }

    /// The data of the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match self.pending.pop_front() {
                // A comment or the start of a stream.
                Some(data) if data.is_empty() => {}
                Some(data) => return Some(serde_json::from_str(&data).unwrap()),
                None => {
                    let chunk = self.response.chunk().await.unwrap()?;
                    let pending = &mut self.pending;
                    self.reader.push(&chunk, |event| pending.push_back(event.data)).unwrap();
                }
            }
        }
    }
}
