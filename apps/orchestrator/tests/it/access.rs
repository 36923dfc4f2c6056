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
    CreateProject { display_name: name.to_owned(), description: String::new(), ..<_>::default() }
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

pub(crate) async fn members_of_a_projects_group_read_its_work_and_change_nothing(
    harness: OrchestratorHarness,
) {
    let (ada, bob, eve) =
        (harness.user("ada").await, harness.user("bob").await, harness.user("eve").await);
    let admin = harness.admin();
    let group = serde_json::from_value(serde_json::json!({ "name": "web-team" })).unwrap();
    admin.group_create(&group).await.unwrap();
    let web = ada.project_create(&project("Web")).await.unwrap();
    let share =
        |group: &str| UpdateProject { group: Some(group.to_owned()), ..UpdateProject::default() };
    // Only with a group of one's own.
    refused(ada.project_update("web", &share("web-team")).await, 400);
    for user in ["ada", "bob"] {
        admin.member_add("web-team", user).await.unwrap();
    }
    let shared = ada.project_update("web", &share("web-team")).await.unwrap();
    assert_eq!((shared.owner.as_str(), shared.group.as_deref()), ("ada", Some("web-team")));
    let body = serde_json::json!({
        "project": "web", "task_name": "shared-work",
        "attachments": [{ "name": "plan.txt", "content_base64": "aGk=" }],
    });
    let task = ada.task_create(&task_request(body)).await.unwrap();
    let private = ada.task_create(&create_commands_task(&["true"])).await.unwrap();
    let id = task.id.to_string();

    // A member reads the project and its tasks, by id and by name.
    assert_eq!(bob.project_get("web").await.unwrap(), shared);
    assert!(bob.project_list(&PageQuery::default()).await.unwrap().items.contains(&shared));
    assert_eq!(bob.task_get("shared-work").await.unwrap().id, task.id);
    bob.task_result(&id).await.unwrap();
    bob.task_logs(&id, &LogQuery::default()).await.unwrap();
    bob.task_history(&id).await.unwrap();
    assert_eq!(bob.artifact_list(&id).await.unwrap().len(), 1);
    bob.artifact_content(&id, "plan.txt").await.unwrap();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut events = bob.events(&query, None).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().task_id, Some(task.id));
    let in_project = TaskQuery { project: Some("web".to_owned()), ..TaskQuery::default() };
    assert_eq!(bob.task_list(&in_project).await.unwrap().items.len(), 1);
    assert!(bob.task_list(&TaskQuery::default()).await.unwrap().items.is_empty());
    // And changes nothing of it, and sees nothing else of its owner.
    refused(bob.task_cancel(&id).await, 404);
    refused(bob.task_cancel("shared-work").await, 404);
    refused(bob.project_update("web", &share("")).await, 404);
    refused(bob.task_create(&task_request(serde_json::json!({ "project": "web" }))).await, 404);
    refused(bob.task_create(&task_request(serde_json::json!({ "depends_on": [id] }))).await, 404);
    let on = serde_json::json!({ "repository": { "url": "https://git.example/app" }, "builds_on": [id] });
    refused(bob.task_create(&task_request(on)).await, 404);
    refused(bob.task_get(&private.id.to_string()).await, 404);
    // Others see nothing, and a task of their own with the same name is theirs.
    refused(eve.task_get(&id).await, 404);
    refused(eve.project_get("web").await, 404);
    let named = serde_json::json!({ "task_name": "shared-work" });
    let own = bob.task_create(&task_request(named)).await.unwrap();
    assert_eq!(bob.task_get("shared-work").await.unwrap().id, own.id);
    // What is no longer shared, or with a group that is gone, is the owner's alone.
    ada.project_update("web", &share("")).await.unwrap();
    refused(bob.task_get(&id).await, 404);
    ada.task_cancel(&id).await.unwrap();
    while let Ok(Some(event)) = events.next().await {
        assert_ne!(event.kind, "task.closed", "the stream ends with the sharing");
    }
    ada.project_update("web", &share("web-team")).await.unwrap();
    bob.task_get(&id).await.unwrap();
    admin.group_remove("web-team").await.unwrap();
    refused(bob.task_get(&id).await, 404);
    assert_eq!(ada.project_get("web").await.unwrap().group, None);
    assert_eq!(web.id, shared.id);
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
