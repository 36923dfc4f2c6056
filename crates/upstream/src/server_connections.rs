//! One installed server: its transport and its open upstream sessions.

mod close;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::servers::Transport;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::admission::ServerAdmission;
use super::conversation::UpstreamSession;
use super::handshake::{Handshake, HandshakeError, RevisionKind};
use super::http::{HttpEndpoint, HttpLink};
use super::link::UpstreamLinkError;
use super::listing::ServerListing;
use super::message_router::{MessageRouter, SessionOwnership, lock};
use super::stdio::{ProcessBackoff, ProcessSpawner, ServerCommand, StdioLink};
use super::{InstalledServer, UpstreamOptions};
use crate::interface::ClientDescription;
use crate::interface::SessionKey;
use crate::interface::UpstreamError;

/// How long an unsupported handshake is remembered.
const UNSUPPORTED_TTL: Duration = Duration::from_mins(10);
/// Client capabilities that let a server send requests.
const SERVER_REQUEST_CAPABILITIES: [&str; 3] = ["sampling", "elicitation", "roots"];

/// Key of an upstream session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum SessionSlot {
    Own(SessionKey),
    /// Used by every session that only sends requests.
    Shared {
        is_stateless: bool,
    },
}

type SessionCell = Arc<OnceCell<Arc<UpstreamSession>>>;

/// One installed server.
pub(super) struct ServerConnections {
    pub(super) server: InstalledServer,
    pub(super) options: Arc<UpstreamOptions>,
    /// Notified when the server's lists change.
    pub(super) changed: Arc<Notify>,
    /// The lists as they were last read.
    pub(super) listing: ArcSwapOption<ServerListing>,
    /// Canceled when the server is removed or changed.
    pub(super) closed: CancellationToken,
    route: ServerRoute,
    gate: Arc<ServerAdmission>,
    tasks: BackgroundTasks,
    sessions: Mutex<HashMap<SessionSlot, SessionCell>>,
    /// Handshakes that failed recently.
    unsupported: Mutex<Vec<UnsupportedHandshake>>,
}

/// A handshake that the server probably does not support.
#[derive(Debug, Clone, Copy)]
struct UnsupportedHandshake {
    greeting: Handshake,
    since: Instant,
    /// Whether it was not answered at all: the server may have been slow.
    was_silent: bool,
}

/// How the server is reached.
enum ServerRoute {
    Http(Arc<HttpEndpoint>),
    Stdio {
        launch: Box<ServerCommand>,
        spawner: Arc<dyn ProcessSpawner>,
        backoff: Arc<ProcessBackoff>,
        /// Limits the number of processes.
        places: Arc<Semaphore>,
    },
}

impl ServerConnections {
    pub(super) fn new(
        server: InstalledServer,
        options: &Arc<UpstreamOptions>,
        spawner: Arc<dyn ProcessSpawner>,
        tasks: BackgroundTasks,
    ) -> Result<Self, UpstreamError> {
        let route = match server.transport.clone() {
            Transport::Http { url, headers } => ServerRoute::Http(Arc::new(HttpEndpoint::new(
                &url,
                &headers,
                &server.reach,
                options,
            )?)),
            Transport::Stdio { command, args, env, allow_network, allowed_hosts } => {
                ServerRoute::Stdio {
                    launch: Box::new(ServerCommand {
                        server: server.id,
                        slug: server.slug.clone(),
                        command,
                        args,
                        env,
                        hosts: crate::stdio::parse_hosts(allow_network, allowed_hosts),
                        reach: server.reach.clone(),
                    }),
                    spawner,
                    backoff: Arc::default(),
                    places: Arc::new(Semaphore::new(options.processes_per_server)),
                }
            }
        };
        Ok(Self {
            server,
            options: Arc::clone(options),
            changed: Arc::default(),
            listing: ArcSwapOption::empty(),
            closed: CancellationToken::new(),
            route,
            gate: Arc::new(ServerAdmission::new(options.calls_per_server)),
            tasks,
            sessions: Mutex::default(),
            unsupported: Mutex::default(),
        })
    }

    /// Chooses the upstream session of a client session.
    ///
    /// Over HTTP each session has its own, which is cheap. A process is expensive: sessions that
    /// cannot receive server requests share one.
    fn choose_slot(&self, session: &SessionKey, client: &ClientDescription) -> SessionSlot {
        let own = SessionSlot::Own(session.clone());
        let is_process = matches!(self.route, ServerRoute::Stdio { .. });
        if !is_process || lock(&self.sessions).contains_key(&own) {
            return own;
        }
        match session.is_stateless {
            false if accepts_server_requests(client) => own,
            is_stateless => {
                let is_spoken = self.recent_failure(Handshake::Discover).is_none();
                SessionSlot::Shared { is_stateless: is_stateless && is_spoken }
            }
        }
    }

    /// The upstream session of a client session, and its key.
    pub(super) async fn open_session(
        &self,
        session: &SessionKey,
        client: &ClientDescription,
    ) -> Result<(SessionSlot, Arc<UpstreamSession>), UpstreamError> {
        let slot = self.choose_slot(session, client);
        let conversation = self.conversation(&slot, client).await?;
        if slot != (SessionSlot::Shared { is_stateless: true })
            || conversation.revision_kind == RevisionKind::Stateless
        {
            return Ok((slot, conversation));
        }
        // The server supports only sessions, and those share a process already: this second process
        // is not needed.
        if let Some(cell) = lock(&self.sessions).remove(&slot) {
            self.close_cell(&cell);
        }
        let slot = SessionSlot::Shared { is_stateless: false };
        let conversation = self.conversation(&slot, client).await?;
        Ok((slot, conversation))
    }

    /// The upstream session with this key, opened on first use.
    pub(super) async fn conversation(
        &self,
        slot: &SessionSlot,
        client: &ClientDescription,
    ) -> Result<Arc<UpstreamSession>, UpstreamError> {
        let cell = Arc::clone(lock(&self.sessions).entry(slot.clone()).or_default());
        let opened = cell.get_or_try_init(|| self.open_slot(slot, client)).await;
        match opened {
            Ok(conversation) if conversation.is_open() => return Ok(Arc::clone(conversation)),
            Ok(_) | Err(_) => self.clear_slot(slot, &cell),
        }
        opened.map(drop)?;
        // It closed in the meantime: retry once with a new one.
        let cell = Arc::clone(lock(&self.sessions).entry(slot.clone()).or_default());
        let opened = cell.get_or_try_init(|| self.open_slot(slot, client)).await.cloned();
        if opened.is_err() {
            self.clear_slot(slot, &cell);
        }
        opened
    }

    fn clear_slot(&self, slot: &SessionSlot, cell: &SessionCell) {
        let mut sessions = lock(&self.sessions);
        if sessions.get(slot).is_some_and(|present| Arc::ptr_eq(present, cell)) {
            sessions.remove(slot);
        }
    }

    async fn open_slot(
        &self,
        slot: &SessionSlot,
        client: &ClientDescription,
    ) -> Result<Arc<UpstreamSession>, UpstreamError> {
        if self.closed.is_cancelled() {
            return Err(UpstreamError::Unknown);
        }
        self.gate.admit()?;
        let opened = self.perform_handshake(slot, client).await;
        match &opened {
            Ok(_) => self.gate.record_outcome(&Ok(())),
            Err(error) => {
                self.gate.record_outcome::<()>(&Err(UpstreamLinkError::Failed(error.clone())));
            }
        }
        opened.map(Arc::new)
    }

    async fn perform_handshake(
        &self,
        slot: &SessionSlot,
        client: &ClientDescription,
    ) -> Result<UpstreamSession, UpstreamError> {
        let (is_stateless, ownership) = match slot {
            SessionSlot::Own(session) => (session.is_stateless, SessionOwnership::Exclusive),
            SessionSlot::Shared { is_stateless } => (*is_stateless, SessionOwnership::Shared),
        };
        let (mut router, mut was_silent) = (None, false);
        for greeting in Handshake::preferred_order(is_stateless) {
            if let Some(unspoken) = self.recent_failure(greeting) {
                was_silent |= unspoken.was_silent;
                continue;
            }
            let connected =
                match router.take().filter(|router: &Arc<MessageRouter>| router.link.is_open()) {
                    Some(router) => router,
                    None => self.connect(ownership).await?,
                };
            let gate = Arc::clone(&self.gate);
            let opened = UpstreamSession::open(
                Arc::clone(&connected),
                gate,
                &self.options,
                client,
                greeting,
            );
            match opened.await {
                Ok(conversation) => {
                    self.record_handshake();
                    return Ok(conversation);
                }
                Err(error @ (HandshakeError::Unsupported | HandshakeError::Unanswered)) => {
                    let unspoken = UnsupportedHandshake {
                        greeting,
                        since: Instant::now(),
                        was_silent: matches!(error, HandshakeError::Unanswered),
                    };
                    was_silent |= unspoken.was_silent;
                    lock(&self.unsupported).push(unspoken);
                    router = Some(connected);
                }
                Err(HandshakeError::Failed(error)) => {
                    self.close_link(connected);
                    return Err(error);
                }
            }
        }
        if let Some(router) = router {
            self.close_link(router);
        }
        lock(&self.unsupported).clear();
        if was_silent {
            return Err(UpstreamError::Timeout);
        }
        Err(UpstreamError::Protocol("it supports no known protocol version".to_owned()))
    }

    /// The recent failure of a handshake, if there was one.
    fn recent_failure(&self, greeting: Handshake) -> Option<UnsupportedHandshake> {
        let mut unspoken = lock(&self.unsupported);
        unspoken.retain(|one| one.since.elapsed() < UNSUPPORTED_TTL);
        unspoken.iter().find(|one| one.greeting == greeting).copied()
    }

    fn record_handshake(&self) {
        if let ServerRoute::Stdio { backoff, .. } = &self.route {
            backoff.record_handshake();
        }
    }

    fn close_link(&self, router: Arc<MessageRouter>) {
        router.closed.cancel();
        self.tasks.spawn("upstream-hang-up", async move { router.link.close().await });
    }

    async fn connect(
        &self,
        ownership: SessionOwnership,
    ) -> Result<Arc<MessageRouter>, UpstreamError> {
        let (tasks, changed) = (self.tasks.clone(), Arc::clone(&self.changed));
        match &self.route {
            ServerRoute::Http(endpoint) => {
                let link = Arc::new(HttpLink::new(Arc::clone(endpoint)));
                Ok(MessageRouter::new(link, ownership, tasks, changed))
            }
            ServerRoute::Stdio { launch, spawner, backoff, places } => {
                let permit = Arc::clone(places).try_acquire_owned();
                let permit = permit.map_err(|_| UpstreamError::Busy)?;
                backoff.admit_start().map_err(UpstreamError::Unavailable)?;
                let process = spawner.spawn(launch).await.map_err(|error| {
                    backoff.record_exit(error.to_string());
                    UpstreamError::Unavailable(error.to_string())
                })?;
                let (link, unheard) = StdioLink::new(process, &self.options);
                let router = MessageRouter::new(Arc::clone(&link) as _, ownership, tasks, changed);
                link.watch(unheard, &router, Arc::clone(backoff), permit);
                Ok(router)
            }
        }
    }

    /// Why calls are rejected now; `None` while the circuit is closed.
    pub(super) fn circuit_error(&self) -> Option<UpstreamError> {
        self.gate.circuit_error()
    }

    /// Applies the lists of the server.
    pub(super) fn apply_listing(&self, listing: &ServerListing) {
        if let ServerRoute::Http(endpoint) = &self.route {
            endpoint.apply_tools(&listing.listed_tools());
        }
    }

    /// Reads the tools before the first call, to know which arguments are mirrored in headers;
    /// discovery may not have reached this server yet.
    pub(super) async fn ensure_tools_known(&self, conversation: &UpstreamSession) {
        let ServerRoute::Http(endpoint) = &self.route else { return };
        if conversation.revision_kind != RevisionKind::Stateless || endpoint.has_tools() {
            return;
        }
        let reading = ServerListing::read_tools(conversation);
        match tokio::time::timeout(self.options.probe_timeout, reading).await {
            Ok(Ok(listing)) => self.apply_listing(&listing),
            // If the tools cannot be read now, the call itself reports the error.
            Ok(Err(_)) | Err(_) => endpoint.apply_tools(&[]),
        }
    }
}

/// Whether a server may send requests to this client.
fn accepts_server_requests(client: &ClientDescription) -> bool {
    let able: Value = serde_json::from_str(client.capabilities.get()).unwrap_or_default();
    SERVER_REQUEST_CAPABILITIES.into_iter().any(|question| able.get(question).is_some())
}
