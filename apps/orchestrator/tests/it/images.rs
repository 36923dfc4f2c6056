//! Tasks and sandboxes in images: which nodes get them, and which images are allowed.

use cynode_domain::policy::AgentType;
use cynode_wire::settings::SetSetting;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, registration};
use crate::harness::{OrchestratorHarness, task_request};
use crate::mcp::Mcp;

const ALLOWED: &str = "sandbox.allowed_images";
const GATE: &str = "agents.project_manager.sandbox.allow_add_to_allowed_images";

async fn node_with_images(
    harness: &OrchestratorHarness,
    slug: &str,
    images: &[&str],
) -> HarnessNode {
    let mut request = registration(slug, true);
    request.capabilities.images = images.iter().map(|image| (*image).to_owned()).collect();
    let node = HarnessNode::join(harness, &request).await.unwrap();
    node.poll(&[]).await;
    node
}

async fn set(harness: &OrchestratorHarness, key: &str, value: Value) {
    let request = SetSetting { value, reason: None, expected_version: None };
    harness.admin().setting_set(key, &request).await.unwrap();
}

async fn refusal(harness: &OrchestratorHarness, fields: Value) -> String {
    let error = harness.admin().task_create(&task_request(fields)).await.unwrap_err();
    assert_eq!(error.status(), Some(400), "{error:?}");
    error.to_string()
}

pub(crate) async fn a_task_in_an_image_runs_on_a_node_that_has_it(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let plain = harness.node("plain").await;
    set(&harness, ALLOWED, json!(["host", "python"])).await;
    let body = json!({ "task_name": "snake", "image": "python" });
    admin.task_create(&task_request(body)).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    let job = runner.dispatch(lease, 0).await.unwrap();

    assert_eq!(plain.poll(&[]).await.assignments, []);
    let shown = admin.task_get("snake").await.unwrap();
    assert_eq!(shown.image.as_deref(), Some("python"));
    let reason = shown.blocked_reason.unwrap_or_default();
    assert!(reason.contains("with the image \"python\": there is none"), "{reason}");

    let able = node_with_images(&harness, "able", &["node", "python"]).await;

    assert_eq!(plain.poll(&[]).await.assignments, []);
    let assignments = able.poll(&[]).await.assignments;
    assert_eq!(assignments[0].job_id, job);
    assert_eq!(assignments[0].image.as_deref(), Some("python"));
}

pub(crate) async fn a_pinned_task_does_not_run_on_a_node_without_its_image(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let plain = harness.node("plain").await;
    node_with_images(&harness, "able", &["python"]).await;
    let body = json!({ "task_name": "stuck", "image": "python", "node": "plain" });
    admin.task_create(&task_request(body)).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();

    assert_eq!(plain.poll(&[]).await.assignments, []);
    let reason = admin.task_get("stuck").await.unwrap().blocked_reason.unwrap_or_default();
    assert_eq!(reason, "waiting for node \"plain\", which lacks the image \"python\"");
}

pub(crate) async fn only_allowed_images_are_used(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let create = async |fields: Value| admin.task_create(&task_request(fields)).await.unwrap();
    // Without the setting: host, and what worker nodes have.
    let unknown = refusal(&harness, json!({ "image": "python" })).await;
    assert!(
        unknown.contains("there are: host. Start a node with `--image python=SOURCE`"),
        "{unknown}"
    );
    node_with_images(&harness, "able", &["python", "ruby"]).await;
    create(json!({ "task_name": "a", "image": "python" })).await;
    create(json!({ "task_name": "b" })).await;

    set(&harness, ALLOWED, json!(["python"])).await;

    create(json!({ "task_name": "c", "image": "python" })).await;
    let ruby = refusal(&harness, json!({ "image": "ruby" })).await;
    assert!(ruby.contains("\"ruby\" is not allowed; allowed are: python."), "{ruby}");
    // A task without an image runs in host.
    for fields in [json!({}), json!({ "image": "host" })] {
        let host = refusal(&harness, fields).await;
        assert!(host.contains("\"host\" is not allowed"), "{host}");
    }
    for invalid in ["", "../etc", "Python", "docker.io/python:3"] {
        let reason = refusal(&harness, json!({ "image": invalid })).await;
        assert!(reason.contains("the image name"), "{reason}");
    }
    let request = SetSetting { value: json!(["a/b"]), reason: None, expected_version: None };
    assert!(admin.setting_set(ALLOWED, &request).await.is_err());
}

pub(crate) async fn a_node_cannot_register_images_with_invalid_names(harness: OrchestratorHarness) {
    let many: Vec<_> = (0..65).map(|number| format!("i{number}")).collect();
    for images in [vec!["../x".to_owned()], vec!["X".to_owned()], many] {
        let mut request = registration("liar", true);
        request.capabilities.images = images;
        let Err(error) = HarnessNode::join(&harness, &request).await else {
            panic!("an invalid image was accepted");
        };
        assert_eq!(error.status(), Some(400), "{error:?}");
    }
}

pub(crate) async fn agents_list_allowed_images_and_add_one_only_while_a_setting_allows_it(
    harness: OrchestratorHarness,
) {
    node_with_images(&harness, "able", &["python"]).await;
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let names = |listed: &Value| -> Vec<String> {
        let items = listed["items"].as_array().unwrap().iter();
        items.map(|item| item["image_ref"].as_str().unwrap().to_owned()).collect()
    };
    let list = async || names(&manager.call("sandbox.allowed_images.list", json!({})).await);
    let ruby = json!({ "image_ref": "ruby" });
    assert_eq!(list().await, ["host", "python"]);

    let refused = manager.answer("sandbox.allowed_images.add", ruby.clone()).await;
    assert!(refused.to_string().contains(GATE), "{refused:#}");
    set(&harness, GATE, json!(true)).await;
    // The gateway reads settings shortly after a change.
    let mut added = manager.call("sandbox.allowed_images.add", ruby.clone()).await;
    while added["error"]["stage"] == "setting" {
        tokio::task::yield_now().await;
        added = manager.call("sandbox.allowed_images.add", ruby.clone()).await;
    }
    let again = manager.call("sandbox.allowed_images.add", ruby).await;
    let invalid = manager.answer("sandbox.allowed_images.add", json!({ "image_ref": "a/b" })).await;

    assert_eq!((&added["added"], &again["added"]), (&json!(true), &json!(false)), "{added:#}");
    assert!(invalid.to_string().contains("the image name"), "{invalid:#}");
    assert_eq!(list().await, ["host", "python", "ruby"]);
    let setting = harness.admin().setting_get(ALLOWED).await.unwrap();
    assert_eq!(setting.value, json!(["host", "python", "ruby"]));
    let create = json!({ "input_mode": "commands", "commands": ["true"], "image": "ruby" });
    let task = manager.call("db.task.create", create).await;
    assert_eq!(task["image"], "ruby", "{task:#}");
    set(&harness, GATE, json!(false)).await;
    let known = json!({ "image_ref": "ruby" });
    while manager.call("sandbox.allowed_images.add", known.clone()).await["error"]["stage"]
        != "setting"
    {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn commands_of_a_sandbox_run_in_its_image(harness: OrchestratorHarness) {
    let node = node_with_images(&harness, "able", &["python"]).await;
    let task = harness.task().await.id;
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let work = async || {
        let given = node.poll_for(&[], 30_000).await.assignments.remove(0);
        node.poll(&[given.job_id]).await;
        node.end(given.job_id, 0).await.unwrap();
        given
    };
    let create = json!({ "task_id": task, "image_ref": "python" });
    let (opened, opening) = tokio::join!(manager.call("sandbox.create", create), work());
    let at = json!({ "task_id": task, "job_id": opened["job_id"] });
    let exec = json!({ "task_id": task, "job_id": opened["job_id"], "command": "ls" });
    let (_, ran) = tokio::join!(manager.call("sandbox.exec", exec), work());
    let (plain, plain_opening) =
        tokio::join!(manager.call("sandbox.create", json!({ "task_id": task })), work());

    assert_eq!((&opened["image_ref"], &opened["status"]), (&json!("python"), &json!("ready")));
    assert_eq!((opening.image.as_deref(), ran.image.as_deref()), (Some("python"), Some("python")));
    assert_eq!((&plain["image_ref"], plain_opening.image.as_deref()), (&json!("host"), None));
    let mut other = at.clone();
    other["image_ref"] = json!("host");
    let refused = manager.answer("sandbox.create", other).await;
    assert!(refused.to_string().contains("runs in the image \\\"python\\\""), "{refused:#}");
    let missing = json!({ "task_id": task, "image_ref": "ruby" });
    let unknown = manager.answer("sandbox.create", missing.clone()).await;
    assert!(unknown.to_string().contains("no worker node has the image"), "{unknown:#}");
    node_with_images(&harness, "other", &["ruby"]).await;
    let elsewhere = manager.answer("sandbox.create", missing).await;
    assert!(elsewhere.to_string().contains("does not have the image"), "{elsewhere:#}");
}
