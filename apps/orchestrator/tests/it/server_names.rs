//! Servers of the same name: of two users, and of a user and the system.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use cynode_client::Client;
use cynode_domain::ids::ServerId;
use cynode_domain::policy::rules::{Conditions, RuleSubject};
use cynode_domain::policy::{AgentType, Effect};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::audit::AuditQuery;
use cynode_wire::auth::{CreateToken, UpdateUser};
use cynode_wire::page::PageQuery;
use cynode_wire::rules::CreateRule;
use cynode_wire::servers::{InstallServer, ServerView, Transport, UpdateServer};
use cynode_wire::tools::{Approval, ApproveTool, UpdateTool};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::harness::{OrchestratorHarness, eventually, refused};
use crate::mcp::Mcp;

const TOOL: &str = "github.say";

/// A server whose tools return `says`; its tools can be changed.
struct NamedServer {
    url: String,
    tools: Arc<Mutex<Vec<&'static str>>>,
}

impl NamedServer {
    async fn start(says: &str) -> Self {
        let says = says.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let tools = Arc::new(Mutex::new(vec!["say"]));
        let listed = Arc::clone(&tools);
        let handler = async move |axum::Json(message): axum::Json<Value>| {
            let schema = json!({ "type": "object" });
            let tool =
                |name: &&str| json!({ "name": name, "description": "d", "inputSchema": schema });
            let result = match message["method"].as_str().unwrap() {
                "server/discover" => json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
                }),
                "tools/list" => json!({
                    "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                    "tools": listed.lock().unwrap().iter().map(tool).collect::<Vec<_>>(),
                }),
                _ => json!({
                    "resultType": "complete", "content": [{ "type": "text", "text": says }],
                    "structuredContent": { "text": says },
                }),
            };
            axum::Json(json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
        };
        let router = Router::new().route("/mcp", post(handler));
        BackgroundTasks::new()
            .spawn("server", async move { axum::serve(listener, router).await.unwrap() });
        Self { url, tools }
    }

    fn request(&self, slug: &str) -> InstallServer {
        let transport = Transport::Http { url: self.url.clone(), headers: [].into() };
        InstallServer { slug: slug.to_owned(), system: false, transport, scope: None }
    }
}

/// A user without any power, with an agent and a token for MCP clients.
struct ServerOwner {
    handle: &'static str,
    client: Client,
    agent: Mcp,
    /// The user's own client of the gateway.
    own: Mcp,
    token: String,
}

impl ServerOwner {
    async fn create(harness: &OrchestratorHarness, handle: &'static str) -> Self {
        let client = harness.user(handle).await;
        let body = IssueAgentToken {
            agent_type: AgentType::Pm,
            name: "test".to_owned(),
            user_id: None,
            expires_in_seconds: None,
            binding: BindingView::default(),
        };
        let agent = client.agent_token_issue(&body).await.unwrap().secret;
        let body: CreateToken = serde_json::from_value(json!({ "name": "test" })).unwrap();
        let token = client.token_create(&body).await.unwrap().secret;
        Self {
            handle,
            client,
            agent: Mcp::at(&harness.url(), &agent),
            own: Mcp::at(&harness.url(), &token),
            token,
        }
    }

    /// Installs a server of this machine, which only administrators may, so the user is one for a moment.
    async fn install(
        &self,
        harness: &OrchestratorHarness,
        slug: &str,
        server: &NamedServer,
    ) -> ServerView {
        let promote = |is_admin| UpdateUser { is_admin: Some(is_admin), ..UpdateUser::default() };
        harness.admin().user_update(self.handle, &promote(true)).await.unwrap();
        let installed = self.client.server_install(&server.request(slug)).await.unwrap();
        harness.admin().user_update(self.handle, &promote(false)).await.unwrap();
        self.wait_for_tool(&format!("{slug}.say")).await;
        installed
    }

    async fn wait_for_tool(&self, tool: &str) {
        let is_listed = async || self.agent.tools().await.contains(&tool.to_owned()).then_some(());
        eventually("the tool is listed", is_listed).await;
    }

    /// What the tool returns to the user and to the user's agent, as soon as both saw the last change.
    async fn call(&self, tool: &str) -> Value {
        let agreed = async || {
            let own = self.own.call(tool, json!({})).await;
            (own == self.agent.call(tool, json!({})).await).then_some(own)
        };
        eventually("both get the same", agreed).await
    }
}

/// Two users with a server `github` each.
struct TwoServers {
    ada: ServerOwner,
    eve: ServerOwner,
    of_ada: ServerView,
    of_eve: ServerView,
    servers: [NamedServer; 2],
}

impl TwoServers {
    async fn install(harness: &OrchestratorHarness) -> Self {
        let ada = ServerOwner::create(harness, "ada").await;
        let eve = ServerOwner::create(harness, "eve").await;
        let servers = [NamedServer::start("ada").await, NamedServer::start("eve").await];
        let of_ada = ada.install(harness, "github", &servers[0]).await;
        let of_eve = eve.install(harness, "github", &servers[1]).await;
        Self { ada, eve, of_ada, of_eve, servers }
    }
}

fn says(text: &str) -> Value {
    json!({ "text": text })
}

/// The kind of the error that a call returns.
fn error_kind(answer: &Value) -> &str {
    answer["error"]["type"].as_str().unwrap_or_default()
}

/// Whether the tool does not exist for the caller: a JSON-RPC error, without a result.
fn is_unknown(answer: &Value) -> bool {
    answer.is_null()
}

/// The id of the tool of a server.
async fn tool_id(harness: &OrchestratorHarness, server: ServerId, name: &str) -> String {
    let tools = harness.admin().tool_list().await.unwrap();
    let found = tools.iter().find(|tool| tool.server_id == Some(server) && tool.name == name);
    found.unwrap_or_else(|| panic!("{tools:?}")).id.to_string()
}

fn allow(subject: RuleSubject, pattern: &str, server: Option<ServerId>) -> CreateRule {
    CreateRule {
        subject,
        action: None,
        resource_type: None,
        resource_pattern: pattern.parse().unwrap(),
        server: server.map(|id| id.to_string()),
        effect: Effect::Allow,
        priority: 0,
        conditions: Conditions::default(),
    }
}

pub(crate) async fn each_of_two_servers_of_one_name_is_reached_by_its_owner_alone(
    harness: OrchestratorHarness,
) {
    let TwoServers { ada, eve, of_ada, of_eve, .. } = TwoServers::install(&harness).await;
    let mallory = ServerOwner::create(&harness, "mallory").await;

    assert_eq!((ada.call(TOOL).await, eve.call(TOOL).await), (says("ada"), says("eve")));
    assert!(is_unknown(&mallory.call(TOOL).await));
    assert!(!mallory.own.tools().await.contains(&TOOL.to_owned()));
    for (owner, expected) in [(&ada, "ada"), (&eve, "eve")] {
        let bare = Mcp::at_server(&harness.url(), "github", &owner.token);
        assert_eq!(bare.tools().await, ["say"]);
        assert_eq!(bare.call("say", json!({})).await, says(expected));
    }

    let users = harness.admin().user_list(&PageQuery::default()).await.unwrap().items;
    let id_of = |handle: &str| users.iter().find(|user| user.handle == handle).unwrap().id;
    let calls = harness.admin().call_list(&AuditQuery::default()).await.unwrap().items;
    let allowed: Vec<_> = calls.iter().filter(|call| call.decision == Effect::Allow).collect();
    assert_eq!(allowed.len(), 6, "{calls:#?}");
    for call in allowed {
        let expected = if call.user_id == Some(id_of("ada")) { of_ada.id } else { of_eve.id };
        assert_eq!((&*call.server, call.server_id), ("github", Some(expected)), "{call:?}");
    }
    let listed = harness.admin().server_list().await.unwrap();
    let owners: Vec<_> =
        listed.iter().map(|server| (&*server.slug, &*server.owner_handle)).collect();
    assert_eq!(owners, [("github", "ada"), ("github", "eve")]);
    assert_eq!(ada.client.server_list().await.unwrap().len(), 1);
    refused(eve.client.server_get(&of_ada.id.to_string()).await, 404);
    refused(harness.admin().server_get("github").await, 409);
    let again = NamedServer::start("again").await.request("github");
    let again = InstallServer { transport: stdio(), ..again };
    assert!(refused(eve.client.server_install(&again).await, 409).detail.contains("github"));
}

pub(crate) async fn a_renamed_server_stays_denied(harness: OrchestratorHarness) {
    let ada = ServerOwner::create(&harness, "ada").await;
    let server = NamedServer::start("ada").await;
    server.tools.lock().unwrap().push("other");
    let view = ada.install(&harness, "github", &server).await;
    let rule = allow(RuleSubject::User(view.owner_id), TOOL, None);
    let deny = CreateRule { effect: Effect::Deny, ..rule };
    harness.admin().rule_create(&deny).await.unwrap();
    let rename = async |from: &str, to: &str| {
        let name = UpdateServer { slug: Some(to.to_owned()), ..UpdateServer::default() };
        ada.client.server_update(from, &name).await.unwrap();
        harness.admin().rule_list().await.unwrap().len()
    };

    let rules = rename("github", "gh").await;
    rename("gh", "github").await;
    assert_eq!(rename("github", "gh").await, rules, "each rename adds rules");

    // The name was there before: it answers when the last change is known.
    let answers = async || (ada.call("gh.other").await == says("ada")).then_some(());
    eventually("the renamed tool answers", answers).await;
    assert_ne!(ada.call("gh.say").await, says("ada"), "the rule named it by its old name");
}

fn stdio() -> Transport {
    let command = "/bin/true".to_owned();
    Transport::Stdio {
        command,
        args: vec![],
        env: [].into(),
        allow_network: false,
        allowed_hosts: vec![],
    }
}

pub(crate) async fn switches_and_approvals_of_one_server_leave_the_other_of_its_name_alone(
    harness: OrchestratorHarness,
) {
    let TwoServers { ada, eve, of_ada, of_eve, servers } = TwoServers::install(&harness).await;
    let switch = |enabled| UpdateTool { enabled: Some(enabled), scope: None };

    ada.client.tool_update(TOOL, &switch(false)).await.unwrap();

    let denied = async |owner: &ServerOwner, tool| {
        let kind = async || {
            let answer = owner.call(tool).await;
            (!error_kind(&answer).is_empty()).then(|| error_kind(&answer).to_owned())
        };
        eventually("the call is denied", kind).await
    };
    assert_eq!(denied(&ada, TOOL).await, "tool_disabled");
    assert_eq!(eve.call(TOOL).await, says("eve"));
    ada.client.tool_update(TOOL, &switch(true)).await.unwrap();
    let admin = harness.admin();
    refused(admin.tool_update(TOOL, &switch(false)).await, 409);
    let of_eve_id = tool_id(&harness, of_eve.id, TOOL).await;
    refused(ada.client.tool_update(&of_eve_id, &switch(false)).await, 404);
    admin.tool_update(&of_eve_id, &switch(false)).await.unwrap();
    assert_eq!(denied(&eve, TOOL).await, "tool_disabled");
    assert_eq!(ada.call(TOOL).await, says("ada"));

    // Both servers add a tool; the administrator approves that of one.
    for (server, owner, view) in [(&servers[0], &ada, &of_ada), (&servers[1], &eve, &of_eve)] {
        server.tools.lock().unwrap().push("more");
        for enabled in [false, true] {
            // The gateway may see both changes at once: then the server differs by its time only.
            harness.clock.advance(Duration::from_secs(1));
            let body = UpdateServer { enabled: Some(enabled), ..UpdateServer::default() };
            owner.client.server_update(&view.id.to_string(), &body).await.unwrap();
        }
        let waits = async || {
            let tool = owner.client.tool_get("github.more").await.ok()?;
            (tool.tool.approval == Approval::New).then_some(())
        };
        eventually("the new tool waits", waits).await;
    }
    let more = tool_id(&harness, of_ada.id, "github.more").await;
    let definition_sha256 = admin.tool_get(&more).await.unwrap().definition_sha256;
    admin.tool_approve(&more, &ApproveTool { definition_sha256 }).await.unwrap();
    let is_called = async || (ada.call("github.more").await == says("ada")).then_some(());
    eventually("the approved tool can be called", is_called).await;
    assert_eq!(error_kind(&eve.call("github.more").await), "review_required");
}

pub(crate) async fn a_rule_about_one_server_grants_no_other_of_its_name(
    harness: OrchestratorHarness,
) {
    let TwoServers { ada, eve, of_ada, of_eve, .. } = TwoServers::install(&harness).await;
    let bob = ServerOwner::create(&harness, "bob").await;
    let users = harness.admin().user_list(&PageQuery::default()).await.unwrap().items;
    let id = users.iter().find(|user| user.handle == "bob").unwrap().id;
    let admin = harness.admin();

    let unclear = admin.rule_create(&allow(RuleSubject::User(id), "github.*", None)).await;
    let detail = refused(unclear, 400).detail;
    assert!(detail.contains("several users have a server \"github\""), "{detail}");
    // A wildcard grants no server of another user.
    admin.rule_create(&allow(RuleSubject::User(id), "*.say", None)).await.unwrap();
    assert!(is_unknown(&bob.call(TOOL).await));
    let granted = allow(RuleSubject::User(id), "github.*", Some(of_eve.id));
    let granted = admin.rule_create(&granted).await.unwrap();
    assert_eq!(granted.server_id, Some(of_eve.id));
    let reached = async || {
        let answer = bob.call(TOOL).await;
        (!is_unknown(&answer)).then_some(answer)
    };
    assert_eq!(eventually("the rule holds", reached).await, says("eve"));

    eve.client.server_remove("github").await.unwrap();

    let is_gone = async || is_unknown(&bob.call(TOOL).await).then_some(());
    eventually("the server is gone", is_gone).await;
    assert_eq!(ada.call(TOOL).await, says("ada"));
    let rules = admin.rule_list().await.unwrap();
    let of_servers: Vec<_> = rules.iter().filter_map(|rule| rule.server_id).collect();
    assert_eq!(of_servers, [of_ada.id], "the rules about the removed server went with it");
    assert_eq!(admin.server_get("github").await.unwrap().id, of_ada.id);
    // A server of the same name inherits nothing.
    eve.install(&harness, "github", &NamedServer::start("eve again").await).await;
    assert_eq!(eve.call(TOOL).await, says("eve again"));
    assert!(is_unknown(&bob.call(TOOL).await));
}

pub(crate) async fn a_server_of_the_system_has_its_name_for_every_user(
    harness: OrchestratorHarness,
) {
    let ada = ServerOwner::create(&harness, "ada").await;
    let eve = ServerOwner::create(&harness, "eve").await;
    let of_ada = ada.install(&harness, "github", &NamedServer::start("ada").await).await;
    let server = NamedServer::start("system").await;
    let for_all = InstallServer { system: true, ..server.request("github") };
    refused(
        eve.client.server_install(&InstallServer { transport: stdio(), ..for_all.clone() }).await,
        403,
    );

    let of_system = harness.admin().server_install(&for_all).await.unwrap();
    eve.wait_for_tool(TOOL).await;

    let reached = async || (ada.call(TOOL).await == says("system")).then_some(());
    eventually("the server of the system is reached", reached).await;
    assert_eq!(eve.call(TOOL).await, says("system"));
    let bare = Mcp::at_server(&harness.url(), "github", &ada.token);
    assert_eq!(bare.call("say", json!({})).await, says("system"));
    let own = &ada.client.server_list().await.unwrap()[0];
    assert_eq!((own.id, own.hidden_by_system), (of_ada.id, true));
    let refusal = refused(
        eve.client
            .server_install(&InstallServer { transport: stdio(), ..server.request("github") })
            .await,
        409,
    );
    assert!(refusal.detail.contains("for all users"), "{}", refusal.detail);
    let off = UpdateServer { enabled: Some(false), ..UpdateServer::default() };
    refused(ada.client.server_update(&of_system.id.to_string(), &off).await, 404);
    refused(ada.client.server_remove(&of_system.id.to_string()).await, 404);
    let switch = UpdateTool { enabled: Some(false), scope: None };
    refused(ada.client.tool_update(TOOL, &switch).await, 403);

    let rename =
        |slug: &str| UpdateServer { slug: Some(slug.to_owned()), ..UpdateServer::default() };
    let renamed = ada.client.server_update("github", &rename("hub")).await.unwrap();
    assert_eq!((&*renamed.slug, renamed.hidden_by_system), ("hub", false));
    ada.wait_for_tool("hub.say").await;
    assert_eq!((ada.call("hub.say").await, ada.call(TOOL).await), (says("ada"), says("system")));
    assert!(is_unknown(&eve.call("hub.say").await));
    refused(ada.client.server_update("hub", &rename("github")).await, 409);
    refused(ada.client.server_update("hub", &rename("db")).await, 400);

    harness.admin().server_remove("github").await.unwrap();
    let is_gone = async || is_unknown(&eve.call(TOOL).await).then_some(());
    eventually("the server of the system is gone", is_gone).await;
    assert_eq!(ada.call("hub.say").await, says("ada"));
}
