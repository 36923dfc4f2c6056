//! One installed server: the way to it, and the conversations that are open with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use cynode_runtime::tasks::Tasks;
use cynode_wire::servers::Transport;
use serde_json::Value;
use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::era::{Era, Greeting, GreetingError};
use super::gate::Gate;
use super::http::{Endpoint, HttpLink};
use super::hub::{Hub, Ownership, lock};
use super::link::LinkError;
use super::listing::Listing;
use super::stdio::{Backoff, Launch, SpawnSandboxed, StdioLink};
use super::{InstalledServer, UpstreamOptions};
use crate::seams::{ClientAbout, SessionKey, UpstreamError};

/// How long it is remembered that a server does not speak a revision.
const MEMORY: Duration = Duration::from_mins(10);
/// What a client may be asked by a server.
const QUESTIONS: [&str; 3] = ["sampling", "elicitation", "roots"];

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// That of one session.
    Own(SessionKey),
    /// That of everybody who needs nothing but answers.
    Shared { is_stateless: bool },
}

type Slot = Arc<OnceCell<Arc<Conversation>>>;

/// One installed server.
pub(super) struct Site {
    pub(super) server: InstalledServer,
    pub(super) options: Arc<UpstreamOptions>,
    /// Told when the server's lists change.
    pub(super) changed: Arc<Notify>,
    /// What the server was last seen to offer.
    pub(super) listing: ArcSwapOption<Listing>,
    /// Ends when the server is removed or changed.
    pub(super) closed: CancellationToken,
    route: Route,
    gate: Arc<Gate>,
    tasks: Tasks,
    talks: Mutex<HashMap<Place, Slot>>,
    /// Greetings that led nowhere not long ago.
    unspoken: Mutex<Vec<Unspoken>>,
}

/// A greeting that the server does not know, as far as can be told.
#[derive(Debug, Clone, Copy)]
struct Unspoken {
    greeting: Greeting,
    since: Instant,
    /// Whether it said nothing, so that it may have been slow.
    was_silent: bool,
}

/// The way to a server.
enum Route {
    Http(Arc<Endpoint>),
    Stdio {
        launch: Launch,
        spawner: Arc<dyn SpawnSandboxed>,
        backoff: Arc<Backoff>,
        /// How many processes there may be.
        places: Arc<Semaphore>,
    },
}

impl Site {
    pub(super) fn new(
        server: InstalledServer,
        options: &Arc<UpstreamOptions>,
        spawner: Arc<dyn SpawnSandboxed>,
        tasks: Tasks,
    ) -> Result<Self, UpstreamError> {
        let route = match server.transport.clone() {
            Transport::Http { url, headers } => {
                Route::Http(Arc::new(Endpoint::new(&url, &headers, &server.reach, options)?))
            }
            Transport::Stdio { command, args, env, allow_network } => Route::Stdio {
                launch: Launch { server: server.id, command, args, env, allow_network },
                spawner,
                backoff: Arc::default(),
                places: Arc::new(Semaphore::new(options.processes_per_server)),
            },
        };
        Ok(Self {
            server,
            options: Arc::clone(options),
            changed: Arc::default(),
            listing: ArcSwapOption::empty(),
            closed: CancellationToken::new(),
            route,
            gate: Arc::new(Gate::new(options.calls_per_server)),
            tasks,
            talks: Mutex::default(),
            unspoken: Mutex::default(),
        })
    }

    /// Where the conversation of a session takes place.
    ///
    /// Over HTTP each session has its own, which costs little. A process costs much: sessions that
    /// cannot be asked anything share one.
    fn place(&self, session: &SessionKey, client: &ClientAbout) -> Place {
        let own = Place::Own(session.clone());
        let is_process = matches!(self.route, Route::Stdio { .. });
        if !is_process || lock(&self.talks).contains_key(&own) {
            return own;
        }
        match session.is_stateless {
            false if can_be_asked(client) => own,
            is_stateless => {
                let is_spoken = self.unspoken(Greeting::Discover).is_none();
                Place::Shared { is_stateless: is_stateless && is_spoken }
            }
        }
    }

    /// The conversation of a session, and where it takes place.
    pub(super) async fn seat(
        &self,
        session: &SessionKey,
        client: &ClientAbout,
    ) -> Result<(Place, Arc<Conversation>), UpstreamError> {
        let place = self.place(session, client);
        let conversation = self.conversation(&place, client).await?;
        if place != (Place::Shared { is_stateless: true }) || conversation.era == Era::Stateless {
            return Ok((place, conversation));
        }
        // It knows only sessions, and those share a process already: a second one is not needed.
        let slot = lock(&self.talks).remove(&place);
        if let Some(slot) = slot {
            self.end(&slot);
        }
        let place = Place::Shared { is_stateless: false };
        let conversation = self.conversation(&place, client).await?;
        Ok((place, conversation))
    }

    /// The conversation at a place, opened if there is none.
    pub(super) async fn conversation(
        &self,
        place: &Place,
        client: &ClientAbout,
    ) -> Result<Arc<Conversation>, UpstreamError> {
        let slot = Arc::clone(lock(&self.talks).entry(place.clone()).or_default());
        let opened = slot.get_or_try_init(|| self.open(place, client)).await;
        match opened {
            Ok(conversation) if conversation.is_open() => return Ok(Arc::clone(conversation)),
            Ok(_) | Err(_) => self.vacate(place, &slot),
        }
        opened.map(drop)?;
        // It ended in the meantime: one more attempt, with a fresh one.
        let slot = Arc::clone(lock(&self.talks).entry(place.clone()).or_default());
        let opened = slot.get_or_try_init(|| self.open(place, client)).await.cloned();
        if opened.is_err() {
            self.vacate(place, &slot);
        }
        opened
    }

    fn vacate(&self, place: &Place, slot: &Slot) {
        let mut talks = lock(&self.talks);
        if talks.get(place).is_some_and(|present| Arc::ptr_eq(present, slot)) {
            talks.remove(place);
        }
    }

    async fn open(
        &self,
        place: &Place,
        client: &ClientAbout,
    ) -> Result<Arc<Conversation>, UpstreamError> {
        if self.closed.is_cancelled() {
            return Err(UpstreamError::Unknown);
        }
        self.gate.admit()?;
        let opened = self.greet(place, client).await;
        match &opened {
            Ok(_) => self.gate.judge(&Ok(())),
            Err(error) => self.gate.judge::<()>(&Err(LinkError::Failed(error.clone()))),
        }
        opened.map(Arc::new)
    }

    async fn greet(
        &self,
        place: &Place,
        client: &ClientAbout,
    ) -> Result<Conversation, UpstreamError> {
        let (is_stateless, ownership) = match place {
            Place::Own(session) => (session.is_stateless, Ownership::Exclusive),
            Place::Shared { is_stateless } => (*is_stateless, Ownership::Shared),
        };
        let (mut hub, mut was_silent) = (None, false);
        for greeting in Greeting::order(is_stateless) {
            if let Some(unspoken) = self.unspoken(greeting) {
                was_silent |= unspoken.was_silent;
                continue;
            }
            let connected = match hub.take().filter(|hub: &Arc<Hub>| hub.link.is_open()) {
                Some(hub) => hub,
                None => self.connect(ownership).await?,
            };
            let gate = Arc::clone(&self.gate);
            let opened =
                Conversation::open(Arc::clone(&connected), gate, &self.options, client, greeting);
            match opened.await {
                Ok(conversation) => {
                    self.introduced();
                    return Ok(conversation);
                }
                Err(error @ (GreetingError::NotSpoken | GreetingError::Unanswered)) => {
                    let unspoken = Unspoken {
                        greeting,
                        since: Instant::now(),
                        was_silent: matches!(error, GreetingError::Unanswered),
                    };
                    was_silent |= unspoken.was_silent;
                    lock(&self.unspoken).push(unspoken);
                    hub = Some(connected);
                }
                Err(GreetingError::Failed(error)) => {
                    self.hang_up(connected);
                    return Err(error);
                }
            }
        }
        if let Some(hub) = hub {
            self.hang_up(hub);
        }
        lock(&self.unspoken).clear();
        if was_silent {
            return Err(UpstreamError::Timeout);
        }
        Err(UpstreamError::Protocol("it speaks no revision that is known here".to_owned()))
    }

    /// What is remembered of a greeting that led nowhere.
    fn unspoken(&self, greeting: Greeting) -> Option<Unspoken> {
        let mut unspoken = lock(&self.unspoken);
        unspoken.retain(|one| one.since.elapsed() < MEMORY);
        unspoken.iter().find(|one| one.greeting == greeting).copied()
    }

    fn introduced(&self) {
        if let Route::Stdio { backoff, .. } = &self.route {
            backoff.introduced();
        }
    }

    fn hang_up(&self, hub: Arc<Hub>) {
        hub.closed.cancel();
        self.tasks.spawn("upstream-hang-up", async move { hub.link.close().await });
    }

    async fn connect(&self, ownership: Ownership) -> Result<Arc<Hub>, UpstreamError> {
        let (tasks, changed) = (self.tasks.clone(), Arc::clone(&self.changed));
        match &self.route {
            Route::Http(endpoint) => {
                let link = Arc::new(HttpLink::new(Arc::clone(endpoint)));
                Ok(Hub::new(link, ownership, tasks, changed))
            }
            Route::Stdio { launch, spawner, backoff, places } => {
                let place = Arc::clone(places).try_acquire_owned();
                let place = place.map_err(|_| UpstreamError::Busy)?;
                backoff.start().map_err(UpstreamError::Unavailable)?;
                let process = spawner.spawn(launch).await.map_err(|error| {
                    backoff.ended(error.to_string());
                    UpstreamError::Unavailable(error.to_string())
                })?;
                let (link, unheard) = StdioLink::new(process, &self.options);
                let hub = Hub::new(Arc::clone(&link) as _, ownership, tasks, changed);
                link.watch(unheard, &hub, Arc::clone(backoff), place);
                Ok(hub)
            }
        }
    }

    /// Why the server is left alone for now, if it is.
    pub(super) fn at_rest(&self) -> Option<UpstreamError> {
        self.gate.at_rest()
    }

    /// This is what the server offers now.
    pub(super) fn learn(&self, listing: &Listing) {
        if let Route::Http(endpoint) = &self.route {
            endpoint.learn(&listing.seen_tools());
        }
    }

    /// Before the first call it must be known which arguments headers repeat; who looks at servers
    /// in the background may not have come to this one yet.
    pub(super) async fn prepare(&self, conversation: &Conversation) {
        let Route::Http(endpoint) = &self.route else { return };
        if conversation.era != Era::Stateless || endpoint.has_learnt() {
            return;
        }
        let reading = Listing::read_tools(conversation);
        match tokio::time::timeout(self.options.probe_timeout, reading).await {
            Ok(Ok(listing)) => self.learn(&listing),
            // A server that cannot say it now says what is wrong when it is called.
            Ok(Err(_)) | Err(_) => endpoint.learn(&[]),
        }
    }

    /// A session is over.
    pub(super) fn close(&self, session: &SessionKey) {
        let slot = lock(&self.talks).remove(&Place::Own(session.clone()));
        if let Some(slot) = slot {
            self.end(&slot);
        }
        for slot in lock(&self.talks).values() {
            if let Some(conversation) = slot.get() {
                conversation.hub.remove_listener(&session.id);
            }
        }
    }

    /// Ends the conversations, and closes the connections, that nobody uses.
    pub(super) fn sweep(&self) {
        if let Route::Http(endpoint) = &self.route {
            endpoint.sweep();
        }
        let is_unused = |slot: &Slot| {
            let conversation = slot.get();
            conversation.is_some_and(|open| !open.is_open() || open.idle_for() > self.options.idle)
        };
        let unused: Vec<Slot> =
            lock(&self.talks).extract_if(|_, slot| is_unused(slot)).map(|(_, slot)| slot).collect();
        for slot in unused {
            self.end(&slot);
        }
    }

    /// The server is removed or changed: everything ends.
    pub(super) fn end_all(&self) {
        self.closed.cancel();
        let slots: Vec<Slot> = lock(&self.talks).drain().map(|(_, slot)| slot).collect();
        for slot in slots {
            self.end(&slot);
        }
    }

    fn end(&self, slot: &Slot) {
        if let Some(conversation) = slot.get().cloned() {
            self.tasks.spawn("upstream-close", async move { conversation.close().await });
        }
    }
}

/// Whether a server that is told of this client may ask it something.
fn can_be_asked(client: &ClientAbout) -> bool {
    let able: Value = serde_json::from_str(client.capabilities.get()).unwrap_or_default();
    QUESTIONS.into_iter().any(|question| able.get(question).is_some())
}
