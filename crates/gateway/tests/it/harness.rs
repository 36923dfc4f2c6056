//! A gateway that listens, and a client that speaks to it.

use std::sync::Arc;

use cynode_domain::policy::Principal;
use cynode_gateway::tools::Services;
use cynode_gateway::{Gateway, GatewayOptions, Identity, Parts};
use cynode_ops::findings::Findings;
use cynode_ops::memory::Memory;
use cynode_ops::preferences::Preferences;
use cynode_ops::runs::{Runs, Steering};
use cynode_ops::sandboxes::Sandboxes;
use cynode_ops::settings::Settings;
use cynode_ops::skills::Skills;
use cynode_ops::{
    Accounts, Artifacts, Blobs, Caller, Messages, Nodes, Placer, Projects, Signals, Store, Tasks,
    Work,
};
use cynode_runtime::clock::{SharedClock, SystemClock};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::backend::{Entry, FakeBackend, identity, world};
use crate::upstream::{FakeUpstreams, Script};

pub(crate) struct Harness {
    pub(crate) url: String,
    pub(crate) backend: Arc<FakeBackend>,
    pub(crate) script: Arc<Script>,
    pub(crate) gateway: Gateway,
    pub(crate) http: reqwest::Client,
    _data: TempDir,
}

/// The operations that built-in tools call, over a database that knows one user.
pub(crate) async fn services(data: &TempDir) -> (Services, Caller) {
    let store =
        Store::open(&format!("sqlite:{}", data.path().join("t.db").display())).await.unwrap();
    let clock: SharedClock = Arc::new(SystemClock);
    let signals = Signals::new(store.engine());
    let blobs = Blobs::new(data.path().join("blobs"));
    let accounts = Accounts::new(store.clone(), clock.clone());
    accounts.bootstrap(data.path()).await.unwrap();
    let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap();
    let known = accounts.authenticate(token.trim()).await.unwrap();
    let shared = (store.clone(), clock.clone(), signals.clone());
    let services = Services {
        tasks: Tasks::new(store.clone(), clock.clone(), signals.clone(), blobs.clone()),
        projects: Projects::new(store.clone(), clock.clone()),
        schedules: cynode_ops::schedules::Schedules::new(store.clone(), signals.clone()),
        artifacts: Artifacts::new(store.clone(), clock.clone(), blobs),
        nodes: Nodes::new(store.clone(), clock.clone(), signals.clone(), 60_000),
        sandboxes: Sandboxes::new(shared.clone(), Placer::by_rule(shared)),
        messages: Messages::new(store.clone(), clock.clone(), signals.clone()),
        work: Work::new(store.clone(), clock.clone(), signals.clone()),
        analysts: None,
        preferences: Preferences::new(store.clone(), clock.clone()),
        memory: Memory::new(store.clone(), clock.clone()),
        skills: Skills::new(store.clone(), clock.clone()),
        findings: Findings::new(store.clone(), clock.clone()),
        runs: Runs::new(store.clone()),
        steering: Steering::new(store.clone(), clock.clone(), signals.clone()),
        settings: Settings::new(store, clock, signals),
    };
    (services, known)
}

impl Harness {
    pub(crate) async fn new() -> Self {
        Self::with(GatewayOptions::default()).await
    }

    /// Tokens `pm`, `pa`, `sandbox` and `user` are known.
    pub(crate) async fn with(options: GatewayOptions) -> Self {
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
        let gateway = Gateway::new(Parts {
            options,
            backend: Arc::clone(&backend) as Arc<dyn cynode_gateway::Backend>,
            upstreams: Arc::new(upstreams),
            services,
            clock: Arc::new(SystemClock),
        });
        gateway.refresh().await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = cynode_gateway::router(gateway.clone());
        let background = cynode_runtime::tasks::Tasks::new();
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

    /// Calls a tool and gives the result.
    pub(crate) async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let response = self.modern("/mcp", token, "tools/call", params).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        response.json().await.unwrap()
    }

    /// The stage and type with which a call is refused.
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

    pub(crate) async fn change(&self, change: impl FnOnce(&mut cynode_gateway::snapshot::World)) {
        {
            let mut world = self.backend.world.lock().unwrap();
            change(&mut world);
            world.revision += 1;
        }
        self.gateway.refresh().await.unwrap();
    }

    /// Opens a session and gives its id.
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

/// The data of the next event of a stream.
pub(crate) async fn next_event(response: &mut Response, kept: &mut String) -> Option<Value> {
    loop {
        if let Some((event, rest)) = kept.split_once("\n\n") {
            let data: String =
                event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            let rest = rest.to_owned();
            *kept = rest;
            if !data.is_empty() {
                return Some(serde_json::from_str(&data).unwrap());
            }
            continue;
        }
        let chunk = response.chunk().await.unwrap()?;
        kept.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}
