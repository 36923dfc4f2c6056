//! An installation with scripted providers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cynode_domain::ids::CredentialId;
use cynode_domain::model::{CredentialOwner, ProviderKind, ProviderUse};
use cynode_llm_wire::openai::{ChatMessage, ChatRequest};
use cynode_models::credentials::CredentialManager;
use cynode_models::{egress::Egress, egress::Inference};
use cynode_resources::agents::AgentIdentity;
use cynode_resources::agents::AgentTokens;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::rules::AccessRules;
use cynode_resources::settings::InstallationSettings;
use cynode_resources::{Accounts, Caller, ClientAddress, Signals, Store};
use cynode_runtime::clock::{ManualClock, SharedClock};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::{Credential, EgressDecision, InferenceCall, InferenceFilter};
use cynode_testkit::TestDatabase;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::auth::CreateUser;
use cynode_wire::credentials::{CredentialView, GivenSecret, SetCredential};
use cynode_wire::providers::PutProvider;
use cynode_wire::settings::SetSetting;
use serde_json::Value;
use tempfile::TempDir;

pub(super) struct World {
    pub(super) database: TestDatabase,
    pub(super) clock: Arc<ManualClock>,
    pub(super) store: Store,
    pub(super) signals: Signals,
    pub(super) tasks: BackgroundTasks,
    pub(super) egress: Egress,
    pub(super) credentials: CredentialManager,
    pub(super) agents: AgentTokens,
    pub(super) rules: AccessRules,
    pub(super) settings: InstallationSettings,
    pub(super) preferences: PreferenceService,
    pub(super) admin: Caller,
    pub(super) bob: Caller,
    pub(super) data: TempDir,
}

impl World {
    pub(super) async fn over(database: TestDatabase) -> Self {
        let data = tempfile::tempdir().unwrap();
        let store = Store::open(&database.url).await.unwrap();
        let clock =
            Arc::new(ManualClock::new(DateTime::from_timestamp(1_800_000_000, 7_000).unwrap()));
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
        let (tasks, key) = (BackgroundTasks::new(), data.path().join("credentials.key"));
        let of = || (store.clone(), shared.clone(), signals.clone());
        let credentials = CredentialManager::new(of().0, of().1, of().2, key);
        let egress = Egress::new(of().0, of().1, of().2, credentials.clone(), tasks.clone())
            .with_listing_timeout(Duration::from_mins(1));
        Self {
            agents: AgentTokens::new(of().0, of().1, of().2),
            rules: AccessRules::new(of().0, of().1, of().2),
            settings: InstallationSettings::new(of().0, of().1, of().2),
            preferences: PreferenceService::new(of().0, of().1),
            database,
            clock,
            tasks,
            egress,
            credentials,
            admin,
            bob,
            data,
            signals,
            store,
        }
    }

    pub(super) fn key_file(&self) -> PathBuf {
        self.data.path().join("credentials.key")
    }

    /// Adds a provider that everybody may use.
    pub(super) async fn provide(&self, name: &str, provider: &ScriptedProvider) {
        self.provide_as(name, open(provider)).await;
    }

    pub(super) async fn provide_as(&self, name: &str, row: PutProvider) {
        self.egress.put_provider(&self.admin, name, row).await.unwrap();
    }

    /// Sets a credential of the installation.
    pub(super) async fn set(&self, provider: &str, secret: &str) -> CredentialView {
        let owner_type = Some(CredentialOwner::System);
        let request = SetCredential { owner_type, ..credential(provider, secret) };
        self.credentials.set(&self.admin, request).await.unwrap()
    }

    /// A credential as it is kept.
    pub(super) async fn row(&self, id: CredentialId) -> Credential {
        let get = self.store.read(move |tx| Box::pin(async move { tx.credential_get(id).await }));
        get.await.unwrap().unwrap()
    }

    /// Writes a credential as it is.
    pub(super) async fn insert(&self, row: Credential) {
        let put =
            self.store.write(move |tx| Box::pin(async move { tx.credential_insert(&row).await }));
        assert!(put.await.unwrap());
        // As the signal of the other process would.
        self.setting("told.by.another", true).await;
    }

    pub(super) async fn setting(&self, key: &str, value: impl Into<Value>) {
        let value = SetSetting { value: value.into(), expected_version: None, reason: None };
        self.settings.set(&self.admin, key, value).await.unwrap();
    }

    /// An agent of this kind that acts for this user.
    pub(super) async fn agent(&self, word: &str, user: &Caller) -> AgentIdentity {
        let request = IssueAgentToken {
            agent_type: word.parse().unwrap(),
            name: "test".to_owned(),
            user_id: Some(user.user),
            expires_in_seconds: None,
            binding: BindingView::default(),
        };
        let issued = self.agents.issue(&self.admin, request).await.unwrap();
        self.agents.authenticate(&issued.secret).await.unwrap()
    }

    /// Every call on record, oldest first.
    pub(super) async fn calls(&self) -> Vec<InferenceCall> {
        // Records of disconnected callers are written soon after.
        assert!(self.tasks.finish(Duration::from_secs(30)).await);
        let list = self.store.read(|tx| {
            Box::pin(async move { tx.inference_list(&InferenceFilter::default(), None, 100).await })
        });
        let mut calls: Vec<InferenceCall> = list.await.unwrap();
        calls.reverse();
        calls
    }

    /// The decisions about a call.
    pub(super) async fn decisions(&self, call: &InferenceCall) -> Vec<EgressDecision> {
        let id = call.id;
        self.store
            .read(move |tx| Box::pin(async move { tx.egress_decision_list(id).await }))
            .await
            .unwrap()
    }
}

/// An external provider that everyone may use.
pub(super) fn open(provider: &ScriptedProvider) -> PutProvider {
    PutProvider {
        kind: ProviderKind::OpenAi,
        base_url: Some(provider.openai_url()),
        is_local: Some(false),
        is_enabled: None,
        allow: Some(ProviderUse::Everyone),
        models: vec!["m".to_owned()],
        concurrency: None,
        prices: [("m".to_owned(), cynode_wire::providers::Price { input: 1.0, output: 2.0 })]
            .into(),
    }
}

pub(super) fn credential(provider: &str, secret: &str) -> SetCredential {
    SetCredential {
        owner_type: None,
        owner_id: None,
        provider: provider.to_owned(),
        name: None,
        credential_type: None,
        secret: GivenSecret(secret.to_owned()),
        expires_at: None,
    }
}

pub(super) fn asks(caller: &Caller) -> Inference {
    Inference::for_user(caller.clone(), "chat", "trace-1")
}

pub(super) fn hello(model: &str) -> ChatRequest {
    ChatRequest {
        model: Some(model.to_owned()),
        messages: vec![ChatMessage::text("user", "hello")],
        ..ChatRequest::default()
    }
}
