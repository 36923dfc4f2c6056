//! A gateway with a counting control plane and upstream server, and its invariants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use chrono::DateTime;
use cynode_blobs::BlobStore;
use cynode_domain::ids::{RuleId, ServerId, TokenId, UserId};
use cynode_domain::policy::rules::{AccessRule, Conditions, INVOKE, RuleSubject, TOOL};
use cynode_domain::policy::{AgentType, Effect, Principal, ToolScope};
use cynode_execution::findings::FindingService;
use cynode_execution::{ArtifactService, JobPlacer, NodeService, TaskService};
use cynode_gateway::BackendError;
use cynode_gateway::GatewayBackend;
use cynode_gateway::GatewayOptions;
use cynode_gateway::GatewayParts;
use cynode_gateway::Identity;
use cynode_gateway::McpGateway;
use cynode_gateway::OpenCallRecord;
use cynode_gateway::pipeline::context::IdLookupResults;
use cynode_gateway::pipeline::context::IdLookups;
use cynode_gateway::router;
use cynode_gateway::snapshot::RegistryData as Registry;
use cynode_gateway::snapshot::ServerRow;
use cynode_gateway::snapshot::ToolRow;
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
use cynode_resources::{Caller, Projects, Signals, Store};
use cynode_resources::{audit::RejectionSummary, audit::ToolCallOutcome, audit::ToolCallRecord};
use cynode_retrieval::{DatabaseBackend, Knowledge};
use cynode_runs::{RunOperations, RunQueries};
use cynode_runtime::clock::{SharedClock, SystemClock};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::request::FuzzRequest;
use crate::server::FuzzServer;

const GOOD_TOKEN: &str = "cyn_pm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// Silence after which a stream counts as standing open.
const SILENCE: Duration = Duration::from_millis(2);

/// Events behind the edge.
#[derive(Debug, Default)]
pub(crate) struct FuzzCounts {
    begun: AtomicU64,
    finished: AtomicU64,
    denied: AtomicU64,
    pub(crate) reached: AtomicU64,
    /// Calls that were allowed, or reached the server, in error.
    pub(crate) forbidden: AtomicU64,
}

/// A gateway under test.
pub(crate) struct FuzzGateway {
    router: Router,
    counts: Arc<FuzzCounts>,
    session: String,
    // The database of the built-in tools.
    _directory: TempDir,
}

impl FuzzGateway {
    pub(crate) async fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let counts = Arc::new(FuzzCounts::default());
        let server = ServerId::generate();
        let clock: SharedClock = Arc::new(SystemClock);
        let request_limits = RequestLimits::new(
            RequestLimitOptions::default(),
            clock.clone(),
            RejectionCounter::default(),
        );
        let gateway = McpGateway::new(GatewayParts {
            options: GatewayOptions {
                requests_per_second: 1_000_000,
                request_burst: 1_000_000,
                sessions_per_token: 10_000,
                ..GatewayOptions::default()
            },
            backend: Arc::new(FuzzControlPlane { counts: Arc::clone(&counts), server }),
            upstreams: Arc::new(FuzzServer::new(Arc::clone(&counts))),
            services: services(&directory, &clock).await,
            request_limits,
            clock,
        });
        gateway.refresh().await.unwrap();
        let mut world =
            Self { router: router(gateway), counts, session: String::new(), _directory: directory };
        world.session = world.new_session().await;
        world
    }

    pub(crate) fn reached(&self) -> u64 {
        self.counts.reached.load(Ordering::SeqCst)
    }

    pub(crate) fn denied(&self) -> u64 {
        self.counts.denied.load(Ordering::SeqCst)
    }

    async fn new_session(&self) -> String {
        let hello = "POST /mcp/fz\nhost: localhost\nauthorization: Bearer {TOKEN}\n\
            content-type: application/json\naccept: application/json, text/event-stream\n\n\
            {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
            \"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"f\",\"version\":\"1\"}}}\n";
        let response = self.send(&FuzzRequest::parse(hello.as_bytes())).await.unwrap();
        response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    }

    /// Sends a request and checks the outcome: the status, or the broken invariant.
    pub(crate) async fn send_checked(&self, request: &FuzzRequest) -> Result<u16, String> {
        let begun = self.counts.begun.load(Ordering::SeqCst);
        let Some(response) = self.send(request).await else {
            // Invalid HTTP never reaches the edge.
            return Ok(400);
        };
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").map(|kind| kind.as_bytes().to_vec());
        let body = read_body(response.into_body()).await;
        let calls = self.counts.begun.load(Ordering::SeqCst) - begun;
        self.check_invariants(request, status, calls)?;
        if kind.as_deref() == Some(b"application/json") && !body.is_empty() {
            let answer: Value = serde_json::from_slice(&body)
                .map_err(|fault| format!("an answer that is no JSON: {fault}"))?;
            if answer.get("error").is_some_and(|error| !error["code"].is_i64()) {
                return Err(format!("an error without a code: {answer}"));
            }
        }
        Ok(status)
    }

    /// Invariants after every request.
    fn check_invariants(
        &self,
        request: &FuzzRequest,
        status: u16,
        calls: u64,
    ) -> Result<(), String> {
        let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        let (begun, finished) = (count(&self.counts.begun), count(&self.counts.finished));
        let bearer =
            request.unique_header("authorization").map(|value| self.fill_placeholders(value));
        let words = bearer.as_deref().map(String::from_utf8_lossy);
        let is_known = words.is_some_and(|words| {
            let token = words.split_once(' ').map(|(_, token)| token.trim());
            token == Some(GOOD_TOKEN)
        });
        let is_metadata = request.path.starts_with("/.well-known");
        if status >= 500 {
            return Err(format!("status {status}, though nothing behind the edge failed"));
        }
        if !is_known && !is_metadata && (status < 400 || calls > 0) {
            return Err(format!("status {status} and {calls} calls without a good token"));
        }
        if calls > 1 {
            return Err(format!("{calls} calls for one request"));
        }
        if begun != finished {
            return Err(format!("{begun} calls begun, {finished} finished, and an answer given"));
        }
        if self.reached() > begun {
            return Err("a call reached the server that is on no record".to_owned());
        }
        if count(&self.counts.forbidden) > 0 {
            return Err("a call reached the server that the decision was not about".to_owned());
        }
        Ok(())
    }

    async fn send(&self, request: &FuzzRequest) -> Option<Response> {
        let mut built = axum::http::Request::builder()
            .method(request.method.as_bytes())
            .uri(&request.path)
            .body(Body::from(self.fill_placeholders(&request.body)))
            .ok()?;
        for (name, value) in &request.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let value = HeaderValue::from_bytes(&self.fill_placeholders(value)).ok()?;
            built.headers_mut().append(name, value);
        }
        self.router.clone().oneshot(built).await.ok()
    }

    fn fill_placeholders(&self, text: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(text) else { return text.to_vec() };
        text.replace("{TOKEN}", GOOD_TOKEN).replace("{SESSION}", &self.session).into_bytes()
    }
}

/// Reads a body until it ends or falls silent.
async fn read_body(body: Body) -> Vec<u8> {
    let mut stream = body.into_data_stream();
    let mut all = Vec::new();
    while let Ok(Some(Ok(bytes))) = tokio::time::timeout(SILENCE, stream.next()).await {
        all.extend(bytes);
    }
    all
}

async fn services(directory: &TempDir, clock: &SharedClock) -> ToolServices {
    let url = format!("sqlite:{}", directory.path().join("cynode.db").display());
    let store = Store::open(&url).await.unwrap();
    let signals = Signals::new(store.engine());
    let blobs = BlobStore::new(directory.path().join("blobs"));
    let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone());
    let options = AuditOptions::new(directory.path());
    let audit = AuditLog::open(store.clone(), clock.clone(), &options).await.unwrap();
    let tasks = TaskService::new(store.clone(), clock.clone(), signals.clone(), blobs.clone());
    ToolServices {
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
        leases: CapabilityLeases::new(store.clone(), clock.clone(), audit, directory.path()),
        messages: AgentMessages::new(store.clone(), clock.clone(), signals.clone()),
        work: WorkService::new(store.clone(), clock.clone(), signals.clone()),
        analysts: None,
        preferences: PreferenceService::new(store.clone(), clock.clone()),
        memory: JobNotes::new(store.clone(), clock.clone()),
        skills: Skills::new(store.clone(), clock.clone()),
        findings: FindingService::new(store.clone(), clock.clone()),
        runs: RunQueries::new(store.clone()),
        steering: RunOperations::new(store.clone(), clock.clone(), signals.clone()),
        settings: InstallationSettings::new(store, clock.clone(), signals),
    }
}

/// The control plane: one valid token, one server with an enabled and a disabled tool.
struct FuzzControlPlane {
    counts: Arc<FuzzCounts>,
    server: ServerId,
}

#[async_trait]
impl GatewayBackend for FuzzControlPlane {
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, BackendError> {
        let user = UserId::generate();
        let identity = Identity {
            token_id: TokenId::generate(),
            agent: Principal::Agent(AgentType::Pm),
            user,
            caller: Caller::on_behalf_of(user, "fuzz".to_owned(), false),
            groups: vec![],
            roles: vec![],
            project: None,
            task: None,
            run: None,
            job: None,
            session: None,
            origin: cynode_resources::agents::TokenOrigin::default(),
            job_agent: cynode_resources::agents::JobAgent::default(),
            profile_id: None,
            expires_at: None,
        };
        Ok((token == GOOD_TOKEN).then_some(identity))
    }

    async fn world(&self) -> Result<Registry, BackendError> {
        let schema = json!({
            "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
        });
        let tool = |name: &str, is_enabled| ToolRow {
            name: name.to_owned(),
            server: Some(self.server),
            scope: ToolScope::Both,
            is_enabled,
            needs_review: false,
            definition: json!({ "description": "for tests", "inputSchema": schema }),
        };
        let pattern = |text: &str| serde_json::from_value(json!(text)).unwrap();
        Ok(Registry {
            profiles: vec![],
            revision: 1,
            tools: vec![tool("fz.echo", true), tool("fz.off", false)],
            servers: vec![ServerRow {
                id: self.server,
                slug: "fz".to_owned(),
                owner: UserId::generate(),
                is_system: true,
                is_enabled: true,
                updated_at: DateTime::UNIX_EPOCH,
            }],
            rules: vec![AccessRule {
                id: RuleId::generate(),
                subject: RuleSubject::System,
                action: pattern(INVOKE),
                resource_type: pattern(TOOL),
                resource: pattern("*"),
                server: None,
                effect: Effect::Allow,
                priority: 0,
                conditions: Conditions::default(),
            }],
            settings: BTreeMap::new(),
        })
    }

    async fn revision(&self) -> Result<i64, BackendError> {
        Ok(1)
    }

    async fn look_up_ids(
        &self,
        _: &Identity,
        _: &IdLookups,
    ) -> Result<IdLookupResults, BackendError> {
        Ok(IdLookupResults::default())
    }

    async fn begin(&self, call: ToolCallRecord) -> Result<Box<dyn OpenCallRecord>, BackendError> {
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        // Other methods of the server are recorded under names of their own.
        if call.tool == "fz.off" {
            self.counts.forbidden.fetch_add(1, Ordering::SeqCst);
        }
        Ok(Box::new(FuzzOpenCall(Arc::clone(&self.counts))))
    }

    async fn record_denial(&self, _: ToolCallRecord) -> Result<(), BackendError> {
        self.counts.denied.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn record_rejections(&self, _: Vec<RejectionSummary>) -> Result<(), BackendError> {
        Ok(())
    }
}

struct FuzzOpenCall(Arc<FuzzCounts>);

#[async_trait]
impl OpenCallRecord for FuzzOpenCall {
    async fn finish(self: Box<Self>, _: ToolCallOutcome) -> Result<(), BackendError> {
        self.0.finished.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
