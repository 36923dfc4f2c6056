//! Access control of the API.

use cynode_wire::events::EventQuery;
use cynode_wire::nodes::INCARNATION_HEADER;
use cynode_wire::page::PageQuery;
use cynode_wire::projects::{CreateProject, UpdateProject};
use cynode_wire::tasks::{AddDependency, LogQuery, TaskQuery};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::actors::HarnessNode;
use crate::harness::{
    HarnessResponse, OrchestratorHarness, create_commands_task, refused, task_request,
};

/// Where errors have the shape that clients of OpenAI expect.
const OF_OPENAI: [&str; 4] =
    ["/v1/chat/completions", "/v1/models", "/v1/responses", "/v1/egress/chat"];
/// Where errors have the form that clients of Anthropic expect.
const OF_ANTHROPIC: &str = "/v1/egress/messages";

fn project(name: &str) -> CreateProject {
    CreateProject { display_name: name.to_owned(), description: String::new() }
}

pub(crate) async fn users_cannot_see_what_belongs_to_each_other(harness: OrchestratorHarness) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let task = ada
        .task_create(&task_request(serde_json::json!({
            "attachments": [{ "name": "plan.txt", "content_base64": "aGk=" }]
        })))
        .await
        .unwrap();
    let own = eve.task_create(&create_commands_task(&["true"])).await.unwrap();
    let secret = ada.project_create(&project("Secret plan")).await.unwrap();
    let (id, name) = (task.id.to_string(), task.task_name.clone());

    refused(eve.task_get(&id).await, 404);
    refused(eve.task_result(&id).await, 404);
    refused(eve.task_logs(&id, &LogQuery::default()).await, 404);
    refused(eve.task_history(&id).await, 404);
    refused(eve.task_cancel(&id).await, 404);
    refused(eve.artifact_list(&id).await, 404);
    refused(eve.artifact_content(&id, "plan.txt").await, 404);
    let on = AddDependency { depends_on: id.clone() };
    refused(eve.dependency_add(&own.id.to_string(), &on).await, 404);
    refused(eve.task_create(&task_request(serde_json::json!({ "depends_on": [id] }))).await, 404);
    // A name means the caller's own task.
    assert_eq!(eve.task_get(&name).await.unwrap().id, own.id);
    refused(eve.project_get(&secret.id.to_string()).await, 404);
    refused(eve.project_get("secret-plan").await, 404);
    refused(eve.project_update("secret-plan", &UpdateProject::default()).await, 404);
    refused(
        eve.task_create(&task_request(serde_json::json!({ "project": "secret-plan" }))).await,
        404,
    );
    let query = EventQuery { task: Some(id), after: None };
    assert_eq!(eve.events(&query, None).await.err().unwrap().status(), Some(404));
    let page = eve.task_list(&TaskQuery::default()).await.unwrap();
    assert_eq!(page.items.iter().map(|task| task.id).collect::<Vec<_>>(), [own.id]);
    let page = eve.project_list(&PageQuery::default()).await.unwrap();
    assert!(page.items.iter().all(|project| project.id != secret.id));
    assert_eq!(ada.task_get(&name).await.unwrap().status.as_str(), "queued");
}

pub(crate) async fn administrators_see_what_belongs_to_everybody(harness: OrchestratorHarness) {
    let (ada, admin) = (harness.user("ada").await, harness.admin());
    let task = ada.task_create(&create_commands_task(&["true"])).await.unwrap();
    let project = ada.project_create(&project("Engine")).await.unwrap();

    assert_eq!(admin.task_get(&task.id.to_string()).await.unwrap().id, task.id);
    assert_eq!(admin.task_list(&TaskQuery::default()).await.unwrap().items, [task]);
    assert_eq!(admin.project_get("engine").await.unwrap(), project);
    let listed = admin.project_list(&PageQuery::default()).await.unwrap().items;
    assert!(listed.contains(&project));
}

pub(crate) async fn only_administrators_administer(harness: OrchestratorHarness) {
    let ada = harness.user("ada").await;
    harness.node("anvil").await;
    let body = cynode_wire::auth::CreateUser {
        handle: "eve".to_owned(),
        password: "correct horse".to_owned(),
        is_admin: true,
    };

    refused(ada.user_create(&body).await, 403);
    refused(ada.node_drain("anvil").await, 403);
    refused(ada.node_enable("anvil").await, 403);

    assert_eq!(ada.node_list().await.unwrap().len(), 1);
    harness.admin().user_create(&body).await.unwrap();
    harness.admin().node_drain("anvil").await.unwrap();
}

/// A user whose default project could not be made could create no tasks at all.
pub(crate) async fn nobody_can_take_the_slug_of_anothers_default_project(
    harness: OrchestratorHarness,
) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let victim = ada.whoami().await.unwrap().id;
    eve.project_create(&project(&format!("default-{victim}"))).await.unwrap();

    let task = ada.task_create(&create_commands_task(&["true"])).await.unwrap();

    let home = ada.project_get(&task.project_id.to_string()).await.unwrap();
    assert!(home.is_default);
}

/// Which token opens a documented route.
fn kind_of(operation: &Value) -> &'static str {
    if operation["security"].as_array().is_some_and(|all| all == &[serde_json::json!({})]) {
        return "none";
    }
    match operation["tags"][0].as_str().unwrap() {
        "workflow api" => "runner",
        "node api" => "node",
        _ => "user",
    }
}

/// Every documented route: method, path with ids filled in, and the required kind of token.
async fn routes(harness: &OrchestratorHarness) -> Vec<(Method, String, &'static str)> {
    let document =
        HarnessResponse::send(harness.request(Method::GET, "/v1/openapi.json")).await.body;
    let mut routes = vec![];
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let kind = match path.as_str() {
                "/v1/nodes/register" => "join",
                path if path.starts_with("/v1/egress/") => "agent",
                _ => kind_of(operation),
            };
            let segments =
                path.split('/').map(|part| if part.starts_with('{') { ID } else { part });
            routes.push((method, segments.collect::<Vec<_>>().join("/"), kind));
        }
    }
    routes
}

const ID: &str = "018f3f3e-0000-7000-8000-000000000000";

pub(crate) async fn each_kind_of_token_opens_its_own_routes_only(harness: OrchestratorHarness) {
    let joining = harness.client(harness.secret("node-join.token"));
    let registered =
        joining.node_register(&crate::actors::registration("anvil", true)).await.unwrap();
    let tokens: [(&str, SecretString); 4] = [
        ("user", harness.secret("admin.token")),
        ("runner", harness.secret("runner.token")),
        ("join", harness.secret("node-join.token")),
        ("node", registered.node_token.into()),
    ];
    let mut opened = 0;
    for (method, path, kind) in routes(&harness).await {
        for (holder, token) in &tokens {
            let request = harness.request(method.clone(), &path).bearer_auth(token.expose_secret());
            let request = request.header(INCARNATION_HEADER, ID);
            let is_stream = path == "/v1/events" && *holder == "user";
            if kind == "none" || is_stream {
                continue;
            }
            let status = HarnessResponse::send(request).await.status;
            if *holder == kind {
                assert_ne!(status, 401, "{method} {path} refuses its own {holder} token");
                opened += 1;
            } else {
                assert_eq!(status, 401, "{method} {path} answers a {holder} token");
            }
        }
    }
    assert!(opened > 25, "only {opened} routes were tried");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_documented_route_but_sign_in_refuses_a_request_without_a_token() {
    let harness = OrchestratorHarness::sqlite().await;
    let mut open = vec![];
    for (method, path, _) in routes(&harness).await {
        let answer = HarnessResponse::send(harness.request(method.clone(), &path)).await;
        if answer.status != 401 || !answer.header("www-authenticate").starts_with("Bearer") {
            open.push(path);
        } else if OF_OPENAI.iter().any(|prefix| path.starts_with(prefix)) {
            assert!(answer.body["error"]["code"].is_string(), "{path}: {}", answer.body);
        } else if path.starts_with(OF_ANTHROPIC) {
            assert_eq!(answer.body["error"]["type"], "authentication_error", "{path}");
        } else {
            answer.assert_problem(401);
        }
    }

    assert_eq!(open, ["/v1/auth/login", "/v1/auth/logout", "/v1/auth/refresh"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_of_a_node_that_registered_again_opens_nothing() {
    let harness = OrchestratorHarness::sqlite().await;
    let old = HarnessNode::register(&harness, "anvil", true).await;
    old.client.node_stop().await.unwrap();
    HarnessNode::register(&harness, "anvil", true).await;

    let body = cynode_wire::nodes::Poll {
        holding: vec![],
        free_slots: 1,
        wait_ms: 0,
        load: None,
        settings: None,
    };
    refused(old.client.node_poll(&body).await, 401);
}
