//! Which jobs have a cache, and which of them share one.

use cynode_client::Client;
use cynode_domain::policy::AgentType;
use cynode_wire::nodes::CacheAssignment;
use cynode_wire::settings::SetSetting;
use serde_json::{Value, json};

use crate::actors::HarnessNode;
use crate::harness::{OrchestratorHarness, task_request};
use crate::mcp::Mcp;

const ENABLED: &str = "sandbox.cache.enabled";
const QUOTA: &str = "sandbox.cache.quota_mib";

/// Sets the preference of a scope, such as `{"scope_type": "system"}`.
async fn allow(admin: &Client, mut scope: Value, is_allowed: bool) {
    scope["value"] = is_allowed.into();
    let request = serde_json::from_value(scope).unwrap();
    admin.preference_put(ENABLED, &request).await.unwrap();
}

fn everywhere() -> Value {
    json!({ "scope_type": "system" })
}

async fn set_quota(admin: &Client, value: Value) {
    let request = SetSetting { value, reason: None, expected_version: None };
    admin.setting_set(QUOTA, &request).await.unwrap();
}

/// The cache of the next job, whose command is `true`.
async fn next_cache(harness: &OrchestratorHarness, node: &HarnessNode) -> Option<CacheAssignment> {
    let runner = harness.runner();
    let lease = runner.claim(0).await.unwrap().lease;
    let job = runner.dispatch(lease, 0).await.unwrap();
    let polled = node.poll(&[]).await.assignments;
    let cache = polled.into_iter().find(|found| found.job_id == job).unwrap().cache;
    node.end(job, 0).await.unwrap();
    cache
}

async fn cache_of_task(
    harness: &OrchestratorHarness,
    node: &HarnessNode,
    client: &Client,
    fields: Value,
) -> Option<CacheAssignment> {
    client.task_create(&task_request(fields)).await.unwrap();
    next_cache(harness, node).await
}

pub(crate) async fn a_job_has_a_cache_only_if_a_preference_allows_it_and_the_quota_is_not_zero(
    harness: OrchestratorHarness,
) {
    let (admin, node) = (harness.admin(), harness.node("anvil").await);
    let cache = async || cache_of_task(&harness, &node, &admin, json!({})).await;
    assert_eq!(cache().await, None);

    allow(&admin, everywhere(), true).await;
    let (first, second) = (cache().await.unwrap(), cache().await.unwrap());
    assert_eq!((first.key.len(), first.quota_mib), (64, 4096));
    assert_eq!(first, second);

    set_quota(&admin, json!(7)).await;
    assert_eq!(cache().await.unwrap().quota_mib, 7);
    set_quota(&admin, json!(0)).await;
    assert_eq!(cache().await, None);
    let negative = SetSetting { value: json!(-1), reason: None, expected_version: None };
    assert!(admin.setting_set(QUOTA, &negative).await.is_err());
}

pub(crate) async fn jobs_share_a_cache_only_if_equally_trusted_authors_wrote_their_commands(
    harness: OrchestratorHarness,
) {
    let (admin, node) = (harness.admin(), harness.node("anvil").await);
    allow(&admin, everywhere(), true).await;
    let key =
        async |fields: Value| cache_of_task(&harness, &node, &admin, fields).await.unwrap().key;
    let person = key(json!({})).await;

    // The step of the plan is not what the person wrote.
    let replanned = key(json!({ "commands": ["false"] })).await;
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let body = json!({ "input_mode": "commands", "commands": ["true"] });
    manager.call("db.task.create", body).await;
    let by_agent = next_cache(&harness, &node).await.unwrap().key;

    assert_ne!(person, replanned);
    assert_ne!(person, by_agent);
    assert_eq!(person, key(json!({ "task_name": "again" })).await);
}

pub(crate) async fn a_step_after_a_handle_to_its_workspace_has_the_cache_of_agents(
    harness: OrchestratorHarness,
) {
    let (admin, node) = (harness.admin(), harness.node("anvil").await);
    allow(&admin, everywhere(), true).await;
    let person = cache_of_task(&harness, &node, &admin, json!({})).await.unwrap().key;
    let task = harness.task().await.id;
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let open = async || {
        let given = node.poll_for(&[], 30_000).await.assignments.remove(0);
        node.poll(&[given.job_id]).await;
        node.end(given.job_id, 0).await.unwrap();
        given.cache.unwrap().key
    };
    let handle = json!({ "task_id": task });
    let (_, opening) = tokio::join!(manager.call("sandbox.create", handle), open());

    let after = next_cache(&harness, &node).await.unwrap().key;

    assert_ne!(opening, person);
    assert_eq!(after, opening);
}

pub(crate) async fn the_caches_of_projects_and_users_are_apart(harness: OrchestratorHarness) {
    let (admin, node) = (harness.admin(), harness.node("anvil").await);
    let ada = harness.user("ada").await;
    let engine = serde_json::from_value(json!({ "display_name": "Engine" })).unwrap();
    let project = admin.project_create(&engine).await.unwrap();
    allow(&admin, everywhere(), true).await;

    let own = cache_of_task(&harness, &node, &admin, json!({})).await.unwrap();
    let of_project = json!({ "project": project.slug });
    let other_project = cache_of_task(&harness, &node, &admin, of_project.clone()).await.unwrap();
    let other_user = cache_of_task(&harness, &node, &ada, json!({})).await.unwrap();

    assert_eq!(other_project.project, project.id);
    assert_ne!(own.project, other_project.project);
    let keys = [&own.key, &other_project.key, &other_user.key];
    assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);

    allow(&admin, json!({ "scope_type": "project", "scope_id": project.id }), false).await;
    assert_eq!(cache_of_task(&harness, &node, &admin, of_project).await, None);
}

pub(crate) async fn the_caches_of_profiles_of_a_project_are_apart(harness: OrchestratorHarness) {
    let (admin, node) = (harness.admin(), harness.node("anvil").await);
    allow(&admin, everywhere(), true).await;
    let key =
        async |fields: Value| cache_of_task(&harness, &node, &admin, fields).await.unwrap().key;
    let plain = key(json!({})).await;
    for name in ["careful", "other"] {
        let body = serde_json::from_value(json!({ "name": name })).unwrap();
        admin.profile_create("default", &body).await.unwrap();
    }

    let careful = key(json!({ "profile": "careful" })).await;
    let other = key(json!({ "profile": "other" })).await;

    assert!(careful != plain && other != plain && careful != other);
    assert_eq!(key(json!({ "profile": "careful" })).await, careful);
    assert_eq!(key(json!({ "profile": "default" })).await, plain);
}
