//! The gateway as part of a process: its state, and the loop that keeps it current.

mod refresh;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use chrono::{DateTime, Utc};
use cynode_resources::audit::RejectionSummary;
use cynode_resources::request_limits::RequestLimits;
use cynode_resources::tools::BuiltinTool;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use tokio::sync::{Mutex, watch};
use tracing::warn;

use crate::backend::BackendError;
use crate::backend::GatewayBackend;
use crate::backend::GatewayOperations;
use crate::identity::Identity;
use crate::identity::TokenCache;
use crate::identity::TokenHash;
use crate::identity::hash_token;
use crate::options::GatewayOptions;
use crate::rate_limits::GatewayRateLimits;
use crate::rejections::RejectionReason;
use crate::rejections::peer_kind;
use crate::sessions::GatewaySessions;
use crate::snapshot::PolicySnapshot;
use crate::tools;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolServices;
use cynode_upstream::interface::Upstreams;

/// How often changes by other processes are polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The gateway. Cheap to clone.
#[derive(Clone)]
pub struct McpGateway {
    pub(crate) inner: Arc<GatewayInner>,
}

/// The state of a gateway.
pub(crate) struct GatewayInner {
    pub(crate) options: GatewayOptions,
    pub(crate) backend: Arc<dyn GatewayBackend>,
    pub(crate) upstreams: Arc<dyn Upstreams>,
    pub(crate) services: Arc<ToolServices>,
    /// Built-in tools, by name.
    pub(crate) builtins: HashMap<&'static str, BuiltinToolSpec>,
    pub(crate) sessions: GatewaySessions,
    pub(crate) limits: GatewayRateLimits,
    /// Limits of users and projects, shared with the other APIs; has the rejected requests that are not recorded yet.
    pub(crate) request_limits: RequestLimits,
    /// Runs calls, which outlive the HTTP requests that started them.
    pub(crate) tasks: BackgroundTasks,
    /// Registry revision; changes when the tool list may have changed.
    pub(crate) changed: watch::Sender<i64>,
    snapshot: ArcSwap<PolicySnapshot>,
    /// Serialises reads of the registry.
    refresh_lock: Mutex<()>,
    token_cache: TokenCache,
    clock: SharedClock,
}

/// The dependencies of a gateway.
pub struct GatewayParts {
    pub options: GatewayOptions,
    pub backend: Arc<dyn GatewayBackend>,
    pub upstreams: Arc<dyn Upstreams>,
    pub services: ToolServices,
    pub request_limits: RequestLimits,
    pub clock: SharedClock,
}

/// The built-in tools, with the configured handlers.
fn offered_tools(options: &GatewayOptions) -> impl Iterator<Item = BuiltinToolSpec> {
    let handlers = options.tool_handlers.as_deref();
    tools::all().into_iter().filter(move |tool| tools::handlers::is_offered(tool.name, handlers))
}

impl McpGateway {
    /// A gateway without tools; [`McpGateway::refresh`] loads them.
    pub fn new(parts: GatewayParts) -> Self {
        let inner = GatewayInner {
            backend: parts.backend,
            upstreams: parts.upstreams,
            services: Arc::new(parts.services),
            builtins: offered_tools(&parts.options).map(|tool| (tool.name, tool)).collect(),
            sessions: GatewaySessions::new(&parts.options),
            limits: GatewayRateLimits::new(&parts.options),
            request_limits: parts.request_limits,
            tasks: BackgroundTasks::new(),
            changed: watch::channel(0).0,
            snapshot: ArcSwap::from_pointee(PolicySnapshot::default()),
            refresh_lock: Mutex::default(),
            token_cache: TokenCache::default(),
            clock: parts.clock,
            options: parts.options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Registers the built-in tools and loads the registry.
    pub async fn start(&self, operations: &GatewayOperations) -> Result<(), BackendError> {
        let builtins: Vec<BuiltinTool> =
            offered_tools(&self.inner.options).map(|tool| tool.to_registry_tool()).collect();
        operations.registry.sync_builtins(builtins).await.map_err(BackendError::new)?;
        self.refresh().await
    }

    /// Loads the registry and swaps in a new snapshot.
    pub async fn refresh(&self) -> Result<(), BackendError> {
        self.inner.refresh().await
    }

    /// Follows registry changes until `shutdown`, then waits for calls to end.
    pub async fn run(&self, operations: &GatewayOperations, shutdown: Shutdown) {
        let mut changes = operations.registry.changes();
        loop {
            tokio::select! {
                () = changes.next(POLL_INTERVAL) => {}
                () = shutdown.triggered() => break,
            }
            if let Err(fault) = self.inner.refresh_if_changed().await {
                warn!(error = &fault as &dyn std::error::Error, "loading the registry failed");
            }
            for ended in self.inner.sessions.remove_idle() {
                self.inner.upstreams.close(&ended.key()).await;
            }
            self.inner.limits.evict_expired();
            self.inner.request_limits.evict_idle();
            let due = self.inner.request_limits.rejections().take_due(self.inner.now());
            self.inner.record_rejections(due).await;
            metrics::gauge!("cynode_mcp_sessions").set(as_gauge(self.inner.sessions.count()));
        }
        self.flush_rejections().await;
    }

    /// Records the rejected requests counted so far, without waiting for the end of their window.
    pub async fn flush_rejections(&self) {
        let counted = self.inner.request_limits.rejections().take_all();
        self.inner.record_rejections(counted).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge of a few thousand sessions loses nothing")]
fn as_gauge(count: usize) -> f64 {
    count as f64
}

impl GatewayInner {
    pub(crate) fn snapshot(&self) -> Arc<PolicySnapshot> {
        self.snapshot.load_full()
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Counts a request that is rejected without a record of its own.
    pub(crate) fn count_rejection(&self, reason: RejectionReason, identity: Option<&Identity>) {
        metrics::counter!("cynode_mcp_rejected_total", "reason" => reason.as_str()).increment(1);
        let rejections = self.request_limits.rejections();
        rejections.count(reason.as_str(), peer_kind(identity), self.now());
    }

    async fn record_rejections(&self, counted: Vec<RejectionSummary>) {
        if counted.is_empty() {
            return;
        }
        if let Err(fault) = self.backend.record_rejections(counted.clone()).await {
            warn!(
                error = &fault as &dyn std::error::Error,
                "recording rejected requests failed; retrying with the next window"
            );
            self.request_limits.rejections().restore(counted);
        }
    }

    /// The identity and the hash of a token.
    pub(crate) async fn identify(
        &self,
        token: &str,
    ) -> Result<Option<(TokenHash, Arc<Identity>)>, BackendError> {
        let key = hash_token(token);
        let revision = self.snapshot().revision;
        if let Some(known) = self.token_cache.get(&key, revision, self.now()) {
            return Ok(Some((key, known)));
        }
        let Some(identity) = self.backend.authenticate(token).await? else {
            return Ok(None);
        };
        let identity = Arc::new(identity);
        self.token_cache.insert(key, revision, Arc::clone(&identity));
        Ok(Some((key, identity)))
    }
}
