//! Limits on the requests of one user and one project, across REST, chat and MCP.

use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::ProjectId;
use cynode_domain::policy::AgentType;
use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::auth::CreateToken;
use cynode_wire::page::PageQuery;
use cynode_wire::projects::CreateProject;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{HarnessResponse, OrchestratorHarness, PASSWORD, eventually};
use crate::mcp::Mcp;

/// A connection whose request is in flight until the value is dropped.
struct HeldRequest {
    connection: TcpStream,
}

impl HeldRequest {
    /// Sends a request whose body never ends, and returns when its handler waits for it.
    async fn incomplete(harness: &OrchestratorHarness, token: &str) -> Self {
        let more = "content-length: 1000\r\nexpect: 100-continue";
        let mut held = Self::send(harness, token, "/v1/tasks", more, "").await;
        let mut answer = [0; 21];
        held.connection.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 100 Continue");
        held
    }

    async fn complete(
        harness: &OrchestratorHarness,
        token: &str,
        path: &str,
        body: &Value,
    ) -> Self {
        let body = body.to_string();
        let more = format!("content-length: {}", body.len());
        Self::send(harness, token, path, &more, &body).await
    }

    async fn send(
        harness: &OrchestratorHarness,
        token: &str,
        path: &str,
        more: &str,
        body: &str,
    ) -> Self {
        let address = harness.url().replace("http://", "");
        let mut connection = TcpStream::connect(&address).await.unwrap();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n{more}\r\n\r\n{body}"
        );
        connection.write_all(text.as_bytes()).await.unwrap();
        Self { connection }
    }
}

/// The tokens of a user: of a session, of the API, and of an agent.
struct UserTokens {
    session: String,
    api: String,
    agent: String,
}

impl UserTokens {
    async fn create(harness: &OrchestratorHarness, handle: &str) -> Self {
        harness.add_user(handle).await;
        let session = harness.sign_in(handle, PASSWORD).await.unwrap().access_token;
        let client = harness.client(session.clone());
        let body: CreateToken = serde_json::from_value(json!({ "name": "test" })).unwrap();
        let api = client.token_create(&body).await.unwrap().secret;
        let agent = issue(&client, None).await;
        Self { session, api, agent }
    }
}

/// A token of a project manager that acts for the client's user.
async fn issue(client: &Client, project_id: Option<ProjectId>) -> String {
    let body = IssueAgentToken {
        agent_type: AgentType::Pm,
        name: "test".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding: BindingView { project_id, ..BindingView::default() },
    };
    client.agent_token_issue(&body).await.unwrap().secret
}

fn get(harness: &OrchestratorHarness, token: &str, path: &str) -> RequestBuilder {
    harness.request(Method::GET, path).bearer_auth(token)
}

/// The refusal of one request more than those in flight.
async fn refusal_of_tasks(harness: &OrchestratorHarness, token: &str) -> HarnessResponse {
    let answer = HarnessResponse::send(get(harness, token, "/v1/tasks")).await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{}", answer.body);
    answer
}

async fn wait_until_served(harness: &OrchestratorHarness, token: &str) {
    eventually("the places are returned", async || {
        get(harness, token, "/v1/tasks").send().await.unwrap().status().is_success().then_some(())
    })
    .await;
}

fn question() -> Value {
    json!({ "model": "scripted/scripted-model", "messages": [{ "role": "user", "content": "hi" }] })
}

/// Registers a provider that never answers.
async fn provide_silence(harness: &OrchestratorHarness) -> ScriptedProvider {
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::no_response());
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"],
    });
    let put = harness.as_admin(Method::PUT, "/v1/model-providers/scripted").json(&body);
    assert!(put.send().await.unwrap().status().is_success());
    provider
}

pub(crate) async fn a_user_at_the_limit_is_refused_with_every_token_and_another_user_is_served(
    harness: OrchestratorHarness,
) {
    let harness = harness.restart_with(|options| options.max_requests_per_user = 3).await;
    let ada = UserTokens::create(&harness, "ada").await;
    let eve = UserTokens::create(&harness, "eve").await;
    // Agents of a user have places of their own.
    let held = [
        HeldRequest::incomplete(&harness, &ada.session).await,
        HeldRequest::incomplete(&harness, &ada.api).await,
        HeldRequest::incomplete(&harness, &ada.api).await,
    ];

    let by_session = refusal_of_tasks(&harness, &ada.session).await;

    let detail = by_session.assert_problem(429);
    assert!(detail.contains("may have 3 in flight") && detail.contains("max_requests_per_user"));
    assert_eq!(by_session.header("retry-after"), "1");
    let by_api = HarnessResponse::send(get(&harness, &ada.api, "/v1/projects")).await;
    by_api.assert_problem(429);
    let ask = harness.request(Method::POST, "/v1/chat/completions").bearer_auth(&ada.api);
    let chat = HarnessResponse::send(ask.json(&question())).await;
    assert_eq!((chat.status.as_u16(), chat.header("retry-after")), (429, "1"), "{}", chat.body);
    assert_eq!(chat.body["error"]["code"], "rate_limit_exceeded");
    let mcp = Mcp::at(&harness.url(), &ada.api);
    let (status, body) = mcp.send_request("tools/list", json!({})).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{body}");
    assert!(body["error"]["message"].as_str().unwrap().contains("max_requests_per_user"), "{body}");
    let agent = Mcp::at(&harness.url(), &ada.agent);
    assert_eq!(agent.send_request("tools/list", json!({})).await.0, StatusCode::OK);

    let path = "/v1/tasks";
    assert_eq!(HarnessResponse::send(get(&harness, &eve.session, path)).await.status, 200);
    let (status, _) =
        Mcp::at(&harness.url(), &eve.agent).send_request("tools/list", json!({})).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(harness.request(Method::GET, "/healthz").send().await.unwrap().status(), 200);
    let metrics = harness.request(Method::GET, "/metrics").send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let line = "cynode_requests_refused_total{limit=\"user_requests_in_flight\"}";
    assert!(metrics.contains(line), "{metrics}");

    drop(held);
    wait_until_served(&harness, &ada.session).await;
    check_record(&harness, "user_requests_in_flight").await;
}

/// The refused requests are one record.
async fn check_record(harness: &OrchestratorHarness, reason: &str) {
    harness.clock.advance(Duration::from_secs(11));
    let path = "/v1/audit/changes?resource_type=mcp.request";
    let row = eventually("the record", async || {
        let listed = HarnessResponse::send(harness.as_admin(Method::GET, path)).await.body;
        let rows = listed["items"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["resource"] == reason)
    })
    .await;
    assert_eq!(row["action"], "gateway.reject", "{row}");
    assert!(row["reason"].as_str().unwrap().contains("by peer: user "), "{row}");
}

pub(crate) async fn a_place_is_returned_when_a_client_hangs_up_while_a_model_thinks(
    harness: OrchestratorHarness,
) {
    let harness = harness.restart_with(|options| options.max_requests_per_user = 1).await;
    let provider = provide_silence(&harness).await;
    let ada = UserTokens::create(&harness, "ada").await;
    for count in 1..=3 {
        let path = "/v1/chat/completions";
        let held = HeldRequest::complete(&harness, &ada.api, path, &question()).await;
        provider.wait_for_requests(count).await;
        refusal_of_tasks(&harness, &ada.session).await;

        drop(held);

        provider.wait_for_abandoned(count).await;
        wait_until_served(&harness, &ada.session).await;
    }
}

pub(crate) async fn open_streams_use_up_no_requests_and_have_a_limit_of_their_own(
    harness: OrchestratorHarness,
) {
    let harness = harness
        .restart_with(|options| {
            options.max_requests_per_user = 1;
            options.max_streams_per_user = 2;
        })
        .await;
    let ada = UserTokens::create(&harness, "ada").await;
    let session = open_session(&harness, &ada.api).await;
    let open_events = || get(&harness, &ada.session, "/v1/events").send();
    let open_mcp = || {
        let request = get(&harness, &ada.api, "/mcp").header("accept", "text/event-stream");
        request.header("mcp-session-id", &session).send()
    };
    let streams = [open_events().await.unwrap(), open_mcp().await.unwrap()];
    assert!(streams.iter().all(|stream| stream.status() == StatusCode::OK));

    assert_eq!(HarnessResponse::send(get(&harness, &ada.session, "/v1/tasks")).await.status, 200);
    let refused = HarnessResponse::read(open_events().await.unwrap()).await;
    assert!(refused.assert_problem(429).contains("max_streams_per_user"));
    assert_eq!(open_mcp().await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    let eve = UserTokens::create(&harness, "eve").await;
    assert!(get(&harness, &eve.session, "/v1/events").send().await.unwrap().status().is_success());

    let [events, of_session] = streams;
    for stream in [events, of_session] {
        drop(stream);
        eventually("a stream is opened again", async || {
            open_events().await.unwrap().status().is_success().then_some(())
        })
        .await;
    }
}

/// Opens a session at `/mcp`; its id.
async fn open_session(harness: &OrchestratorHarness, token: &str) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let response = post_mcp(harness, token).json(&hello).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

fn post_mcp(harness: &OrchestratorHarness, token: &str) -> RequestBuilder {
    let request = harness.request(Method::POST, "/mcp").bearer_auth(token);
    request.header("accept", "application/json, text/event-stream")
}

pub(crate) async fn agents_of_one_project_at_their_limit_leave_places_to_another_project(
    harness: OrchestratorHarness,
) {
    let harness = harness
        .restart_with(|options| {
            options.max_requests_per_user = 8;
            options.max_requests_per_project = 2;
        })
        .await;
    let provider = provide_silence(&harness).await;
    let ada = harness.user("ada").await;
    let mut tokens = vec![];
    for name in ["Busy", "Quiet"] {
        let new = CreateProject {
            display_name: name.to_owned(),
            description: String::new(),
            ..<_>::default()
        };
        let project = ada.project_create(&new).await.unwrap().id;
        tokens.push([issue(&ada, Some(project)).await, issue(&ada, Some(project)).await]);
    }
    let [busy, quiet] = [&tokens[0], &tokens[1]];
    let path = "/v1/egress/chat/completions";
    let held = [
        HeldRequest::complete(&harness, &busy[0], path, &question()).await,
        HeldRequest::complete(&harness, &busy[1], path, &question()).await,
    ];
    provider.wait_for_requests(2).await;

    let ask = harness.request(Method::POST, path).bearer_auth(&busy[0]).json(&question());
    let refused = HarnessResponse::send(ask).await;
    let list = async |token: &str| {
        Mcp::at(&harness.url(), token).send_request("tools/list", json!({})).await.0
    };

    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, "1"));
    assert_eq!(refused.body["error"]["type"], "rate_limit_error", "{}", refused.body);
    let message = refused.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("max_requests_per_project"), "{message}");
    assert_eq!(list(&busy[1]).await, StatusCode::TOO_MANY_REQUESTS, "MCP shares the limit");
    assert_eq!(list(&quiet[0]).await, StatusCode::OK);
    ada.project_list(&PageQuery::default()).await.unwrap();

    drop(held);
    provider.wait_for_abandoned(2).await;
    eventually("the places are returned", async || {
        (list(&busy[0]).await == StatusCode::OK).then_some(())
    })
    .await;
}

pub(crate) async fn a_message_that_ends_a_waiting_call_is_accepted_at_the_limit(
    harness: OrchestratorHarness,
) {
    let harness = harness.restart_with(|options| options.max_requests_per_user = 1).await;
    let ada = UserTokens::create(&harness, "ada").await;
    let session = open_session(&harness, &ada.api).await;
    let _held = HeldRequest::incomplete(&harness, &ada.session).await;
    refusal_of_tasks(&harness, &ada.session).await;
    let send = async |body: Value| {
        let request = post_mcp(&harness, &ada.api).header("mcp-session-id", &session);
        request.json(&body).send().await.unwrap().status()
    };

    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    assert_eq!(send(ping).await, StatusCode::TOO_MANY_REQUESTS);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 7 } });
    assert_eq!(send(cancel).await, StatusCode::ACCEPTED);
    let close = harness.request(Method::DELETE, "/mcp").bearer_auth(&ada.api);
    let close = close.header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(close.status(), StatusCode::NO_CONTENT);
}

pub(crate) async fn rates_are_off_unless_configured_and_then_hold_for_each_user_and_project(
    harness: OrchestratorHarness,
) {
    let ada = UserTokens::create(&harness, "ada").await;
    let statuses = async |harness: &OrchestratorHarness, token: &str| {
        let mut seen = vec![];
        for _ in 0..40 {
            seen.push(HarnessResponse::send(get(harness, token, "/v1/tasks")).await);
        }
        seen
    };
    assert!(statuses(&harness, &ada.session).await.iter().all(|answer| answer.status == 200));

    let harness = harness
        .restart_with(|options| {
            options.requests_per_second_per_user = 2;
            options.request_burst_s = 4;
        })
        .await;

    // The burst and then two each second: most of so many requests are over the rate.
    let answers = statuses(&harness, &ada.session).await;
    assert_eq!(answers[0].status, 200);
    let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
    assert!(refused.assert_problem(429).contains("requests_per_second_per_user"));
    assert_eq!(refused.header("retry-after"), "1");
    let agent = Mcp::at(&harness.url(), &ada.agent);
    eventually("an agent of the user shares the rate", async || {
        let (status, _) = agent.send_request("tools/list", json!({})).await;
        (status == StatusCode::TOO_MANY_REQUESTS).then_some(())
    })
    .await;
    let eve = harness.user("eve").await;
    eve.project_list(&PageQuery::default()).await.unwrap();

    let harness = harness
        .restart_with(|options| {
            options.requests_per_second_per_project = 1;
            options.request_burst_s = 4;
        })
        .await;
    let eve = harness.client(harness.sign_in("eve", PASSWORD).await.unwrap().access_token);
    let mut agents = vec![];
    for name in ["Busy", "Quiet"] {
        let new = CreateProject {
            display_name: name.to_owned(),
            description: String::new(),
            ..<_>::default()
        };
        let project = eve.project_create(&new).await.unwrap().id;
        agents.push(Mcp::at(&harness.url(), &issue(&eve, Some(project)).await));
    }
    let refused = eventually("the rate of the project", async || {
        let (status, body) = agents[0].send_request("tools/list", json!({})).await;
        (status == StatusCode::TOO_MANY_REQUESTS).then_some(body)
    })
    .await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("requests_per_second_per_project"), "{message}");
    assert_eq!(agents[1].send_request("tools/list", json!({})).await.0, StatusCode::OK);
    eve.project_list(&PageQuery::default()).await.unwrap();
}
