//! The gateway as a part of a process: what it is made of, and what keeps it up to date.

mod refresh;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use chrono::{DateTime, Utc};
use cynode_ops::audit::RejectionSummary;
use cynode_ops::tools::BuiltinTool;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use tokio::sync::{Mutex, watch};
use tracing::warn;

use crate::backend::{Backend, BackendError, Operations};
use crate::identity::{Identity, Remembered, TokenHash, hash};
use crate::limits::Limits;
use crate::options::GatewayOptions;
use crate::rejections::{Reason, Rejections, peer};
use crate::seams::Upstreams;
use crate::sessions::Sessions;
use crate::snapshot::Snapshot;
use crate::tools::{self, Builtin, Services};

/// How often other processes' changes are looked for.
const POLL: Duration = Duration::from_secs(1);

/// The gateway. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
}

/// What a gateway is made of.
pub(crate) struct Inner {
    /// Limits, names and times.
    pub(crate) options: GatewayOptions,
    /// The control plane.
    pub(crate) backend: Arc<dyn Backend>,
    /// The servers behind the gateway.
    pub(crate) upstreams: Arc<dyn Upstreams>,
    /// What built-in tools work with.
    pub(crate) services: Arc<Services>,
    /// Built-in tools, by name.
    pub(crate) builtins: HashMap<&'static str, Builtin>,
    /// Conversations of clients that have any.
    pub(crate) sessions: Sessions,
    /// How much may go on at once.
    pub(crate) limits: Limits,
    /// Rejected requests that are not on record yet.
    pub(crate) rejections: Rejections,
    /// Calls, which outlive the requests that asked for them.
    pub(crate) tasks: Tasks,
    /// Changes when the list of tools may have.
    pub(crate) changed: watch::Sender<i64>,
    snapshot: ArcSwap<Snapshot>,
    /// Held by whoever reads the registry.
    refreshing: Mutex<()>,
    remembered: Remembered,
    clock: SharedClock,
}

/// What a gateway needs.
pub struct Parts {
    /// Limits, names and times.
    pub options: GatewayOptions,
    /// The control plane.
    pub backend: Arc<dyn Backend>,
    /// The servers behind the gateway.
    pub upstreams: Arc<dyn Upstreams>,
    /// What built-in tools work with.
    pub services: Services,
    /// The time.
    pub clock: SharedClock,
}

impl Gateway {
    /// A gateway that knows no tools yet: [`Gateway::refresh`] lets it look.
    pub fn new(parts: Parts) -> Self {
        let inner = Inner {
            backend: parts.backend,
            upstreams: parts.upstreams,
            services: Arc::new(parts.services),
            builtins: tools::all().into_iter().map(|tool| (tool.name, tool)).collect(),
            sessions: Sessions::new(&parts.options),
            limits: Limits::new(&parts.options),
            rejections: Rejections::default(),
            tasks: Tasks::new(),
            changed: watch::channel(0).0,
            snapshot: ArcSwap::from_pointee(Snapshot::default()),
            refreshing: Mutex::default(),
            remembered: Remembered::default(),
            clock: parts.clock,
            options: parts.options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Writes the built-in tools into the registry and reads what else is there.
    pub async fn start(&self, operations: &Operations) -> Result<(), BackendError> {
        let builtins: Vec<BuiltinTool> = tools::all().iter().map(Builtin::registered).collect();
        operations.registry.sync_builtins(builtins).await.map_err(BackendError::new)?;
        self.refresh().await
    }

    /// Reads the registry and decides by it from now on.
    pub async fn refresh(&self) -> Result<(), BackendError> {
        self.inner.refresh().await
    }

    /// Follows changes of the registry until `shutdown`, then lets calls end.
    pub async fn run(&self, operations: &Operations, shutdown: Shutdown) {
        let mut changes = operations.registry.changes();
        loop {
            tokio::select! {
                () = changes.next(POLL) => {}
                () = shutdown.triggered() => break,
            }
            if let Err(fault) = self.inner.follow().await {
                warn!(error = &fault as &dyn std::error::Error, "the registry could not be read");
            }
            for ended in self.inner.sessions.sweep() {
                self.inner.upstreams.close(&ended.key()).await;
            }
            self.inner.limits.sweep();
            let due = self.inner.rejections.take_due(self.inner.now());
            self.inner.record_rejections(due).await;
            metrics::gauge!("cynode_mcp_sessions").set(as_gauge(self.inner.sessions.count()));
        }
        self.flush_rejections().await;
    }

    /// Records the rejected requests that were counted so far, without waiting for their window to end.
    pub async fn flush_rejections(&self) {
        let counted = self.inner.rejections.take_all();
        self.inner.record_rejections(counted).await;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge of a few thousand sessions loses nothing")]
fn as_gauge(count: usize) -> f64 {
    count as f64
}

impl Inner {
    /// What is decided by now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Counts a request that is rejected without a record of its own.
    pub(crate) fn reject(&self, reason: Reason, who: Option<&Identity>) {
        self.rejections.count(reason, peer(who), self.now());
    }

    async fn record_rejections(&self, counted: Vec<(Reason, RejectionSummary)>) {
        if counted.is_empty() {
            return;
        }
        let summaries = counted.iter().map(|(_, summary)| summary.clone()).collect();
        if let Err(fault) = self.backend.reject(summaries).await {
            warn!(
                error = &fault as &dyn std::error::Error,
                "rejected requests could not be recorded; they are kept for the next window"
            );
            self.rejections.put_back(counted);
        }
    }

    /// Who presents this token, and what stands for the token from here on.
    pub(crate) async fn identify(
        &self,
        token: &str,
    ) -> Result<Option<(TokenHash, Arc<Identity>)>, BackendError> {
        let key = hash(token);
        let revision = self.snapshot().revision;
        if let Some(known) = self.remembered.get(&key, revision, self.now()) {
            return Ok(Some((key, known)));
        }
        let Some(identity) = self.backend.authenticate(token).await? else {
            return Ok(None);
        };
        let identity = Arc::new(identity);
        self.remembered.put(key, revision, Arc::clone(&identity));
        Ok(Some((key, identity)))
    }
}
