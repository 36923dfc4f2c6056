//! An installation with an administrator, two users and a notifier that retries at once.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::job::Limits;
use cynode_domain::notice::DeliveryStatus;
use cynode_domain::plan::InputMode;
use cynode_domain::policy::network::ALLOWED_NETWORKS_SETTING;
use cynode_models::credentials::CredentialManager;
use cynode_notifications::{Notifications, Notifier, NotifierOptions};
use cynode_resources::settings::InstallationSettings;
use cynode_resources::{Accounts, Caller, ClientAddress, Signals, Store, projects};
use cynode_runtime::clock::{Clock as _, SharedClock, SystemClock};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::{NewEvent, NewTask};
use cynode_testkit::{TestDatabase, query};
use cynode_wire::auth::CreateUser;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::{
    ChannelTarget, ChannelView, CreateChannel, CreatedChannel, DeliveryQuery, DeliveryView,
};
use cynode_wire::settings::SetSetting;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engines;

/// For tests that hang only.
const PATIENCE: Duration = Duration::from_mins(1);

/// Retries at once, so that no test waits.
pub(crate) const OPTIONS: NotifierOptions = NotifierOptions {
    max_concurrent: 4,
    lease: Duration::from_millis(300),
    send_timeout: Duration::from_secs(20),
    delivery_backoff: Backoff { first: Duration::from_millis(1), cap: Duration::from_millis(5) },
    channel_backoff: Backoff { first: Duration::from_millis(1), cap: Duration::from_millis(5) },
    max_attempts: 1_000,
    max_age: Duration::from_hours(1),
    retention: Duration::from_hours(1),
};

pub(crate) struct NotifierWorld {
    pub(crate) store: Store,
    pub(crate) service: Notifications,
    pub(crate) credentials: CredentialManager,
    pub(crate) admin: Caller,
    pub(crate) alice: Caller,
    pub(crate) bob: Caller,
    settings: InstallationSettings,
    pub(crate) tasks: BackgroundTasks,
    pub(crate) database: TestDatabase,
    _data: TempDir,
}

impl NotifierWorld {
    /// An installation whose webhooks may reach this machine.
    pub(crate) async fn new() -> Self {
        let world = Self::closed().await;
        world.open_networks(json!(["127.0.0.0/8"])).await;
        world
    }

    /// An installation whose webhooks reach public addresses only.
    pub(crate) async fn closed() -> Self {
        let data = tempfile::tempdir().unwrap();
        let database = engines::database().await;
        let store = Store::open(&database.url).await.unwrap();
        let clock: SharedClock = Arc::new(SystemClock);
        let signals = Signals::new(store.engine());
        let accounts = Accounts::new(store.clone(), clock.clone(), signals.clone());
        accounts.bootstrap(data.path()).await.unwrap();
        let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap();
        let admin = accounts.authenticate(token.trim()).await.unwrap();
        let mut users = vec![];
        for handle in ["alice", "bob"] {
            let user = CreateUser {
                handle: handle.to_owned(),
                password: "correct horse battery".to_owned(),
                is_admin: false,
            };
            let origin = ClientAddress("here".to_owned());
            let user = accounts.user_create(&admin, user, &origin).await.unwrap();
            users.push(Caller::on_behalf_of(user.id, user.handle, false));
        }
        let (bob, alice) = (users.pop().unwrap(), users.pop().unwrap());
        let key = data.path().join("credentials.key");
        let credentials =
            CredentialManager::new(store.clone(), clock.clone(), signals.clone(), key);
        let service = Notifications::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            Arc::new(credentials.clone()),
        );
        let settings = InstallationSettings::new(store.clone(), clock, signals);
        Self {
            store,
            service,
            credentials,
            admin,
            alice,
            bob,
            settings,
            tasks: BackgroundTasks::new(),
            database,
            _data: data,
        }
    }

    pub(crate) async fn open_networks(&self, networks: Value) {
        let body = SetSetting { value: networks, expected_version: None, reason: None };
        self.settings.set(&self.admin, ALLOWED_NETWORKS_SETTING, body).await.unwrap();
    }

    pub(crate) fn notifier(&self) -> Notifier {
        Notifier::new(self.service.clone()).with_options(OPTIONS)
    }

    /// Runs a notifier in the background until the returned value is triggered.
    pub(crate) fn start(&self, options: NotifierOptions) -> Shutdown {
        let stop = Shutdown::new();
        let notifier = Notifier::new(self.service.clone()).with_options(options);
        self.tasks.spawn("notifier", notifier.run(stop.clone()));
        stop
    }

    pub(crate) async fn stop(&self, stop: &Shutdown) {
        stop.trigger();
        assert!(self.tasks.finish(PATIENCE).await, "the notifier did not stop");
    }

    pub(crate) async fn webhook(&self, owner: &Caller, name: &str, url: &str) -> CreatedChannel {
        let target = ChannelTarget::Webhook { url: GivenSecret(url.to_owned()), secret: None };
        self.service.create_channel(owner, channel(name, target)).await.unwrap()
    }

    pub(crate) async fn channel(&self, owner: &Caller, name: &str) -> ChannelView {
        let all = self.service.list_channels(owner).await.unwrap();
        all.into_iter().find(|channel| channel.name == name).unwrap()
    }

    pub(crate) async fn deliveries(
        &self,
        owner: &Caller,
        status: Option<DeliveryStatus>,
    ) -> Vec<DeliveryView> {
        let query = DeliveryQuery { limit: Some(200), status, ..DeliveryQuery::default() };
        self.service.list_deliveries(owner, query).await.unwrap().items
    }

    /// A request of a user; its id.
    pub(crate) async fn request(&self, owner: &Caller, name: &str) -> (TaskId, ProjectId) {
        let (user, name) = (owner.user, name.to_owned());
        let options = json!({
            "expected_outputs": [], "limits": Limits::default(), "retry_interrupted": false,
        });
        let created: Result<_, cynode_store::Error> = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let now = SystemClock.now();
                    let project = projects::load_or_create_default_project(tx, user, now).await?.id;
                    let id = TaskId::generate();
                    tx.task_insert(&NewTask {
                        id,
                        created_by: user,
                        project,
                        profile_id: None,
                        name,
                        input_mode: InputMode::Request,
                        prompt: "add a toggle".to_owned(),
                        commands: vec![],
                        acceptance_criteria: vec![],
                        options: serde_json::from_value(options).unwrap(),
                        idempotency_key: None,
                        created_at: now,
                    })
                    .await?;
                    Ok((id, project))
                })
            })
            .await;
        created.unwrap()
    }

    /// The event of a question of a request.
    pub(crate) async fn ask(&self, owner: &Caller, request: (TaskId, ProjectId), text: &str) {
        let question = json!({
            "subject": { "about": "intake" },
            "question": { "kind": "clarification", "text": text, "about": [], "accepts": ["text"] },
        });
        self.event(owner, request, "request.waiting", json!({ "question": question })).await;
    }

    pub(crate) async fn event(
        &self,
        owner: &Caller,
        (task, project): (TaskId, ProjectId),
        kind: &'static str,
        data: Value,
    ) {
        let event = NewEvent {
            kind,
            owner: Some(owner.user),
            project: Some(project),
            task: Some(task),
            run: None,
            job: None,
            data,
        };
        self.append(event).await;
    }

    pub(crate) async fn append(&self, event: NewEvent) {
        let appended: Result<(), cynode_store::Error> = self
            .store
            .write(move |tx| Box::pin(async move { tx.event_append(&event).await }))
            .await;
        appended.unwrap();
        self.settle().await;
    }

    /// PostgreSQL shows an event once no older transaction of its server is open, and tests share a server.
    pub(crate) async fn settle(&self) {
        let hidden =
            "SELECT count(*) FROM events WHERE seq NOT IN (SELECT seq FROM committed_events)";
        while query(&self.database.url, hidden).await != [["0"]] {
            tokio::task::yield_now().await;
        }
    }

    /// Repeats until `is_done`, for what a notifier in the background does.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, is_done: impl Fn() -> F) {
        let waiting = async {
            while !is_done().await {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("it does not happen");
    }
}

pub(crate) fn channel(name: &str, target: ChannelTarget) -> CreateChannel {
    CreateChannel { name: name.to_owned(), target, project: None, notices: vec![] }
}
