//! An installation with an administrator, a user, and a stopped clock.

use std::sync::Arc;

use chrono::DateTime;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use cynode_models::credentials::CredentialManager;
use cynode_resources::agents::AgentTokens;
use cynode_resources::audit::{AuditLog, AuditOptions};
use cynode_resources::rules::AccessRules;
use cynode_resources::servers::InstalledServers;
use cynode_resources::settings::InstallationSettings;
use cynode_resources::{Accounts, Caller, ClientAddress, Signals, Store};
use cynode_resources::{
    tools::BuiltinTool, tools::McpToolDefinition, tools::ObservedTool, tools::StoredTool,
    tools::ToolRegistry,
};
use cynode_runtime::clock::{ManualClock, SharedClock};
use cynode_store::{EventCursor, EventFilter, OutboxEvent};
use cynode_testkit::{TestDatabase, query};
use cynode_wire::auth::CreateUser;
use cynode_wire::servers::{InstallServer, Transport};
use serde_json::json;
use tempfile::TempDir;

use crate::engines;

pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
    pub(crate) accounts: Accounts,
    pub(crate) agents: AgentTokens,
    pub(crate) registry: ToolRegistry,
    pub(crate) servers: InstalledServers,
    pub(crate) credentials: CredentialManager,
    pub(crate) rules: AccessRules,
    pub(crate) settings: InstallationSettings,
    pub(crate) admin: Caller,
    pub(crate) bob: Caller,
    pub(crate) data: TempDir,
    pub(crate) database: TestDatabase,
}

impl World {
    pub(crate) async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let database = engines::database().await;
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
        let origin = ClientAddress("here".to_owned());
        let bob = accounts.user_create(&admin, bob, &origin).await.unwrap();
        let bob = Caller::on_behalf_of(bob.id, bob.handle, false);
        let key = data.path().join("credentials.key");
        let credentials =
            CredentialManager::new(store.clone(), shared.clone(), signals.clone(), key);
        Self {
            agents: AgentTokens::new(store.clone(), shared.clone(), signals.clone()),
            registry: ToolRegistry::new(store.clone(), shared.clone(), signals.clone()),
            servers: InstalledServers::new(
                store.clone(),
                shared.clone(),
                signals.clone(),
                Arc::new(credentials.clone()),
            ),
            credentials,
            rules: AccessRules::new(store.clone(), shared.clone(), signals.clone()),
            settings: InstallationSettings::new(store.clone(), shared, signals),
            clock,
            store,
            accounts,
            admin,
            bob,
            data,
            database,
        }
    }

    /// Every event of a task, or of all.
    pub(crate) async fn events(&self, task: Option<TaskId>) -> Vec<OutboxEvent> {
        // PostgreSQL shows an event once no older transaction of its server is open, and tests share a server.
        let hidden =
            "SELECT count(*) FROM events WHERE seq NOT IN (SELECT seq FROM committed_events)";
        while query(&self.database.url, hidden).await != [["0"]] {
            tokio::task::yield_now().await;
        }
        let filter = EventFilter { owner: None, task };
        let events: Result<_, cynode_store::Error> = self
            .store
            .read(move |tx| {
                Box::pin(async move { tx.event_list(EventCursor::default(), filter, 100).await })
            })
            .await;
        events.unwrap()
    }

    /// Signals without other listeners.
    pub(crate) fn signals(&self) -> Signals {
        Signals::new(self.store.engine())
    }

    pub(crate) async fn audit(&self) -> AuditLog {
        let options = AuditOptions::new(self.data.path());
        AuditLog::open(self.store.clone(), self.clock.clone(), &options).await.unwrap()
    }

    pub(crate) async fn sync(&self, names: &[&str]) {
        let tool = |name: &&str| BuiltinTool {
            name: (*name).to_owned(),
            scope: ToolScope::Pm,
            definition: definition("does it"),
        };
        self.registry.sync_builtins(names.iter().map(tool).collect()).await.unwrap();
    }

    /// The tool as the gateway sees it.
    pub(crate) async fn tool(&self, name: &str) -> Option<StoredTool> {
        let tools = self.registry.load().await.unwrap().tools;
        tools.into_iter().find(|tool| tool.name == name)
    }
}

pub(crate) fn definition(description: &str) -> McpToolDefinition {
    McpToolDefinition {
        title: None,
        description: description.to_owned(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        other: serde_json::Map::new(),
    }
}

pub(crate) fn observed(name: &str, description: &str) -> ObservedTool {
    ObservedTool { name: name.to_owned(), definition: definition(description) }
}

pub(crate) fn stdio(slug: &str) -> InstallServer {
    InstallServer {
        slug: slug.to_owned(),
        system: false,
        transport: Transport::Stdio {
            command: "files".to_owned(),
            args: vec![],
            env: [("KEY".to_owned(), "sesame".to_owned())].into(),
            allow_network: false,
            allowed_hosts: vec![],
        },
        scope: None,
    }
}
