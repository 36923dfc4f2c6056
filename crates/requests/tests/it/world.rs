//! An installation without runners and worker nodes: tests end child tasks, and leave the files that agents would leave.

mod child_tasks;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::DateTime;
use cynode_blobs::BlobStore;
use cynode_domain::ids::{InferenceId, ProjectId, TaskId};
use cynode_domain::model::InferenceOutcome;
use cynode_domain::question::Reply;
use cynode_domain::request::RequestSettings;
use cynode_execution::artifacts::ArtifactService;
use cynode_execution::handoff::{
    HandoffChatEvents, HandoffError, HandoffOptions, HandoffService, ProjectManager,
};
use cynode_execution::tasks::TaskService;
use cynode_models::credentials::CredentialManager;
use cynode_models::egress::Egress;
use cynode_requests::{ForgeService, RequestDriver, RequestError, RequestService};
use cynode_resources::rules::seed_rules;
use cynode_resources::settings::InstallationSettings;
use cynode_resources::{Accounts, Caller, ClientAddress, Signals, Store};
use cynode_runs::RunOperations;
use cynode_runtime::clock::{Clock as _, ManualClock, SharedClock};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::{InferenceCall, UnitAttempt};
use cynode_testkit::{TestDatabase, migrated_postgres_database, sqlite_database};
use cynode_wire::auth::CreateUser;
use cynode_wire::handoff::HandoffKind;
use cynode_wire::requests::{AnswerRequest, RequestView, SubmitRequest};
use cynode_wire::settings::SetSetting;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use child_tasks::{ChildEnd, patch, review, unit_of};

pub(crate) const URL: &str = "https://git.example/app";
/// The tree of the repository.
pub(crate) const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
pub(crate) const TEXT: &str = "Add dark mode toggle to settings page";

/// A project manager whose plan a test sets.
#[derive(Default)]
pub(crate) struct ScriptedManager {
    /// Whether rules decide, because there is none.
    pub(crate) is_absent: AtomicBool,
    /// How often it is busy.
    pub(crate) busy: AtomicU32,
    /// The scope and the components of its plans.
    pub(crate) plan: Mutex<Value>,
}

#[async_trait]
impl ProjectManager for ScriptedManager {
    fn is_configured(&self) -> bool {
        !self.is_absent.load(Ordering::SeqCst)
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        _: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        let is_busy = |left: u32| left.checked_sub(1);
        if self.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_busy).is_ok() {
            return Err(HandoffError::Busy { retry_after: Duration::from_mins(1) });
        }
        if kind == HandoffKind::Classify {
            return Ok(json!({ "kind": "feature_request", "reason": "scripted" }));
        }
        assert_eq!(kind, HandoffKind::PlanWork);
        Ok(self.plan.lock().unwrap().clone())
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Failed("not scripted".to_owned()))
    }
}

pub(crate) struct RequestFixture {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
    pub(crate) tasks: TaskService,
    pub(crate) runs: RunOperations,
    pub(crate) settings: InstallationSettings,
    pub(crate) requests: RequestService,
    pub(crate) driver: RequestDriver,
    pub(crate) manager: Arc<ScriptedManager>,
    pub(crate) admin: Caller,
    pub(crate) bob: Caller,
    blobs: BlobStore,
    heads: AtomicU32,
    _data: TempDir,
    _database: TestDatabase,
}

impl RequestFixture {
    pub(crate) async fn sqlite() -> Self {
        Self::over(sqlite_database()).await
    }

    pub(crate) async fn postgres() -> Self {
        Self::over(migrated_postgres_database().await).await
    }

    async fn over(database: TestDatabase) -> Self {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(&database.url).await.unwrap();
        let clock = Arc::new(ManualClock::new(DateTime::from_timestamp(1_800_000_000, 0).unwrap()));
        let shared: SharedClock = clock.clone();
        let signals = Signals::new(store.engine());
        let accounts = Accounts::new(store.clone(), shared.clone(), signals.clone());
        accounts.bootstrap(data.path()).await.unwrap();
        let token = std::fs::read_to_string(data.path().join("admin.token")).unwrap();
        let admin = accounts.authenticate(token.trim()).await.unwrap();
        let bob = CreateUser {
            handle: "bob".to_owned(),
            password: "correct horse battery".to_owned(),
            is_admin: false,
        };
        let bob =
            accounts.user_create(&admin, bob, &ClientAddress("here".to_owned())).await.unwrap();
        let bob = Caller::on_behalf_of(bob.id, bob.handle, false);
        let now = shared.now();
        let seeded = store.write(move |tx| Box::pin(async move { seed_rules(tx, now).await }));
        assert!(seeded.await.unwrap());
        let blobs = BlobStore::new(data.path().join("blobs"));
        let parts = || (store.clone(), shared.clone(), signals.clone());
        let key = data.path().join("credentials.key");
        let sealer = CredentialManager::new(parts().0, parts().1, parts().2, key);
        let tasks = TaskService::new(parts().0, parts().1, parts().2, blobs.clone());
        let plan = json!({ "scope": "small", "reason": "scripted", "components": [] });
        let manager = Arc::new(ScriptedManager { plan: Mutex::new(plan), ..Default::default() });
        let options =
            HandoffOptions { timeout: Duration::from_secs(5), ..HandoffOptions::default() };
        let requests = RequestService::new(
            parts().0,
            parts().1,
            parts().2,
            tasks.clone(),
            ArtifactService::new(parts().0, parts().1, blobs.clone()),
            HandoffService::new(parts().0, parts().1, parts().2, manager.clone(), options),
            ForgeService::new(parts().0, parts().1, Arc::new(sealer.clone())),
        )
        .with_models(Egress::new(
            parts().0,
            parts().1,
            parts().2,
            sealer,
            BackgroundTasks::new(),
        ));
        Self {
            runs: RunOperations::new(parts().0, parts().1, parts().2),
            settings: InstallationSettings::new(parts().0, parts().1, parts().2),
            driver: RequestDriver::new(requests.clone()),
            clock,
            store,
            tasks,
            requests,
            manager,
            admin,
            bob,
            blobs,
            heads: AtomicU32::new(1),
            _data: data,
            _database: database,
        }
    }

    /// Has the manager plan these components, each with the components that it depends on.
    pub(crate) fn plan(&self, scope: &str, components: &[(&str, &[&str])]) {
        let components: Vec<Value> = components
            .iter()
            .map(|(name, needs)| {
                json!({ "name": name, "description": "a part", "dependencies": needs, "skipDesign": true })
            })
            .collect();
        *self.manager.plan.lock().unwrap() =
            json!({ "scope": scope, "reason": "scripted", "components": components });
    }

    pub(crate) async fn submit(&self, settings: RequestSettings) -> RequestView {
        self.add_provider().await;
        let view = self.requests.submit(&self.bob, submission(settings)).await.unwrap();
        self.advance().await;
        view
    }

    /// Submits a text in a project of the submitter; the default one if absent.
    pub(crate) async fn submit_in(&self, project: Option<&str>, text: &str) -> RequestView {
        let body = SubmitRequest {
            text: text.to_owned(),
            project: project.map(str::to_owned),
            ..submission(RequestSettings::default())
        };
        let view = self.requests.submit(&self.bob, body).await.unwrap();
        self.advance().await;
        view
    }

    /// Adds a project of the submitter; returns its id.
    pub(crate) async fn add_project(&self, slug: &str) -> String {
        let now = self.clock.now();
        let project = cynode_store::Project {
            id: ProjectId::generate(),
            slug: slug.to_owned(),
            display_name: slug.to_owned(),
            description: String::new(),
            owner: self.bob.user,
            group: None,
            is_default: false,
            is_active: true,
            repository: None,
            created_at: now,
            updated_at: now,
        };
        let id = project.id;
        let added =
            self.store.write(move |tx| Box::pin(async move { tx.project_insert(&project).await }));
        let added: Result<bool, cynode_store::Error> = added.await;
        assert!(added.unwrap());
        id.to_string()
    }

    /// Without a model no agent starts.
    pub(crate) async fn add_provider(&self) {
        let now = self.clock.now();
        let written = self.store.write(move |tx| {
            Box::pin(async move {
                let row = cynode_store::ModelProvider {
                    name: "far".to_owned(),
                    kind: cynode_domain::model::ProviderKind::OpenAi,
                    base_url: "https://models.example".to_owned(),
                    is_local: false,
                    is_enabled: true,
                    allow: cynode_domain::model::ProviderUse::Everyone,
                    models: vec!["m".to_owned()],
                    concurrency: 1,
                    prices: json!({}),
                    version: 1,
                    updated_at: now,
                    updated_by: None,
                };
                tx.provider_put(&row).await
            })
        });
        written.await.unwrap();
    }

    pub(crate) async fn advance(&self) {
        self.driver.run_until_idle().await.unwrap();
    }

    /// Makes a request due that waits for a time.
    pub(crate) async fn wake(&self, task: TaskId) {
        let woken =
            self.store.write(move |tx| Box::pin(async move { tx.request_wake(task).await }));
        woken.await.unwrap();
        self.advance().await;
    }

    pub(crate) async fn get(&self, view: &RequestView) -> RequestView {
        self.requests.get(&self.bob, &view.id.into()).await.unwrap()
    }

    pub(crate) async fn attempts(&self, task: TaskId) -> Vec<UnitAttempt> {
        let list = self.store.read(move |tx| Box::pin(async move { tx.attempt_list(task).await }));
        let list: Result<_, cynode_store::Error> = list.await;
        list.unwrap().into_iter().map(|known| known.attempt).collect()
    }

    /// Records a model call of a task.
    pub(crate) async fn record_call(&self, task: TaskId, cost: Option<i64>, error: Option<&str>) {
        let call = self.new_call(task, cost, error);
        let put =
            self.store.write(move |tx| Box::pin(async move { tx.inference_append(&call).await }));
        let put: Result<_, cynode_store::Error> = put.await;
        put.unwrap();
    }

    pub(crate) fn new_call(
        &self,
        task: TaskId,
        cost: Option<i64>,
        error: Option<&str>,
    ) -> InferenceCall {
        let outcome = match error {
            Some(_) => InferenceOutcome::OverBudget,
            None => InferenceOutcome::Success,
        };
        InferenceCall {
            id: InferenceId::generate(),
            created_at: self.clock.now(),
            purpose: "agent".to_owned(),
            agent: None,
            user: self.bob.user,
            project: None,
            task: Some(task),
            run: None,
            thread: None,
            trace_id: String::new(),
            provider: "far".to_owned(),
            model: "m".to_owned(),
            prompt_hash: None,
            input_tokens: None,
            output_tokens: None,
            cost_micro_usd: cost,
            is_estimate: false,
            latency_ms: 1,
            first_chunk_ms: None,
            outcome,
            error: error.map(str::to_owned),
        }
    }

    pub(crate) async fn answer(&self, view: &RequestView, reply: Reply) -> RequestView {
        let body = AnswerRequest { reply, comment: None };
        let answered = self.requests.answer(&self.bob, &view.id.into(), body).await.unwrap();
        self.advance().await;
        answered
    }

    pub(crate) async fn set(&self, key: &str, value: Value) -> Result<(), String> {
        let value = SetSetting { value, expected_version: None, reason: None };
        let set = self.settings.set(&self.admin, key, value).await;
        set.map(drop).map_err(|error| error.to_string())
    }
}

/// A submission on the repository of the tests.
pub(crate) fn submission(settings: RequestSettings) -> SubmitRequest {
    let body = json!({ "text": TEXT, "repository": { "url": URL } });
    SubmitRequest { settings, ..serde_json::from_value(body).unwrap() }
}

pub(crate) fn is_duplicate(result: &Result<RequestView, RequestError>) -> bool {
    matches!(result, Err(RequestError::Duplicate { .. }))
}
