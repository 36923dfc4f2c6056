//! Health, readiness, metrics and status.

use cynode_testkit::query;
use cynode_wire::health::ManagerStatus;
use cynode_wire::settings::SetSetting;
use reqwest::Method;
use serde_json::json;

use crate::harness::{HarnessResponse, OrchestratorHarness};

pub(crate) async fn readiness_names_what_is_missing_until_it_is_there(
    harness: OrchestratorHarness,
) {
    let look = || HarnessResponse::send(harness.request(Method::GET, "/readyz"));
    let before = look().await;
    assert_eq!(before.status, 503);
    assert_eq!(before.body["ready"], false);
    let reasons = before.body["reasons"].as_array().unwrap();
    assert!(reasons[0].as_str().unwrap().contains("no worker node"), "{reasons:?}");
    assert!(reasons[1].as_str().unwrap().contains("no workflow runner"), "{reasons:?}");

    let node = harness.node("anvil").await;
    harness.runner().claim(0).await;

    let after = look().await;
    assert_eq!((after.status.as_u16(), after.body), (200, json!({ "ready": true, "reasons": [] })));
    harness.admin().node_drain(&node.id.to_string()).await.unwrap();
    assert_eq!(look().await.status, 503);
}

pub(crate) async fn unknown_agents_in_the_configuration_are_named_and_can_be_corrected(
    harness: OrchestratorHarness,
) {
    let correct = SetSetting { value: json!([]), expected_version: None, reason: None };
    harness.admin().setting_set("pm.agents", &correct).await.unwrap();
    // As it is once the profile of an agent was deleted.
    let break_it =
        "UPDATE system_settings SET value = '[{\"profile\":\"ghost\"}]' WHERE key = 'pm.agents';";
    query(&harness.database().url, break_it).await;

    let harness = harness.restart_with(|_| {}).await;

    let look = async || {
        let ready = HarnessResponse::send(harness.request(Method::GET, "/readyz")).await;
        ready.body["warnings"].as_array().cloned().unwrap_or_default()
    };
    let warnings = look().await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    for part in ["requests are not planned", "\"ghost\"", "cynork settings set pm.agents"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    harness.admin().setting_set("pm.agents", &correct).await.unwrap();
    assert_eq!(look().await, Vec::<serde_json::Value>::new());
}

pub(crate) async fn the_status_counts_what_is_going_on(harness: OrchestratorHarness) {
    harness.task().await;
    harness.task().await;
    harness.runner().claim(0).await.unwrap();

    let status = harness.admin().status().await.unwrap();

    assert_eq!((status.queued_tasks, status.running_tasks, status.active_nodes), (1, 1, 0));
    assert!(!status.ready && status.reasons.len() == 1);
    let engine = harness.options.database_url.as_deref().unwrap().split(':').next().unwrap();
    assert_eq!(status.database, engine);
    assert_eq!(status.project_manager, ManagerStatus::Absent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_and_metrics_need_no_token() {
    let harness = OrchestratorHarness::sqlite().await;
    harness.task().await;

    let health = HarnessResponse::send(harness.request(Method::GET, "/healthz")).await;
    let metrics = HarnessResponse::send(harness.request(Method::GET, "/metrics")).await;
    let home = HarnessResponse::send(harness.request(Method::GET, "/")).await;

    assert_eq!((health.status.as_u16(), health.body), (200, json!("ok")));
    let text = metrics.body.as_str().unwrap();
    assert!(text.contains("cynode_http_requests_total{"), "{text}");
    assert!(text.contains("route=\"/v1/tasks\""), "{text}");
    assert!(home.body.as_str().unwrap().contains("/v1/openapi.json"));
}
