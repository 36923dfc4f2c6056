//! Notifications over HTTP, to a real receiver.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_notifications::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::notifications::{CreateChannel, DeliveryQuery, SmtpSettings};
use cynode_wire::requests::SubmitRequest;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{HarnessResponse, OrchestratorHarness, eventually, refused};

type ReceivedRequests = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

async fn receiver() -> (String, ReceivedRequests) {
    let received = ReceivedRequests::default();
    let keep = async |State(all): State<ReceivedRequests>, headers: HeaderMap, body: Bytes| {
        all.lock().unwrap().push((headers, body));
    };
    let router = Router::new().fallback(post(keep)).with_state(Arc::clone(&received));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    BackgroundTasks::new()
        .spawn("receiver", async move { axum::serve(listener, router).await.unwrap() });
    (url, received)
}

async fn open_this_machine(harness: &OrchestratorHarness) {
    let path = "/v1/settings/network.internal.allowed";
    let put = harness.as_admin(Method::PUT, path).json(&json!({ "value": ["127.0.0.0/8"] }));
    assert!(HarnessResponse::send(put).await.status.is_success());
}

fn channel(name: &str, url: &str) -> CreateChannel {
    let target = json!({ "kind": "webhook", "url": url });
    serde_json::from_value(json!({ "name": name, "target": target })).unwrap()
}

fn work(text: &str) -> SubmitRequest {
    let body = json!({ "text": text, "repository": { "url": "/srv/git/site" } });
    serde_json::from_value(body).unwrap()
}

pub(crate) async fn the_end_of_a_request_reaches_its_owner_signed_and_once(
    harness: OrchestratorHarness,
) {
    let (ada, bob) = (harness.user("ada").await, harness.user("bob").await);
    let (url, received) = receiver().await;
    refused(ada.channel_create(&channel("phone", &url)).await, 400);
    open_this_machine(&harness).await;
    let created = ada.channel_create(&channel("phone", &url)).await.unwrap();
    ada.channel_create(&channel("second", &url)).await.unwrap();
    bob.channel_create(&channel("phone", &url)).await.unwrap();

    let request = ada.request_submit(&work("Fix the typo in README.md")).await.unwrap();
    ada.task_cancel(&request.name).await.unwrap();
    let mut deliveries = eventually("two deliveries", async || {
        let found = ada.delivery_list(&DeliveryQuery::default()).await.unwrap().items;
        (found.len() == 2 && found.iter().all(|one| one.finished_at.is_some())).then_some(found)
    })
    .await;

    let key = STANDARD.decode(created.secret.unwrap().0.strip_prefix("whsec_").unwrap()).unwrap();
    deliveries.retain(|one| one.channel == "phone");
    let all = received.lock().unwrap().clone();
    assert_eq!(all.len(), 2);
    let header = |headers: &HeaderMap, name: &str| headers[name].to_str().unwrap().to_owned();
    let (headers, body) = all
        .iter()
        .find(|(headers, _)| header(headers, ID_HEADER) == deliveries[0].id.to_string())
        .unwrap();
    let timestamp = header(headers, TIMESTAMP_HEADER).parse().unwrap();
    let expected = sign(&key, &header(headers, ID_HEADER), timestamp, body);
    assert_eq!(header(headers, SIGNATURE_HEADER), expected);
    let body: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body["type"], "cynode.request_ended");
    assert_eq!(body["data"]["task_name"], request.name);
    assert!(bob.delivery_list(&DeliveryQuery::default()).await.unwrap().items.is_empty());
    // A channel of another user does not exist, and neither do its deliveries.
    refused(bob.channel_remove("second").await, 404);
    refused(harness.admin().channel_test(&created.channel.id.to_string()).await, 404);
    refused(bob.delivery_retry(deliveries[0].id).await, 404);
    refused(ada.delivery_retry(deliveries[0].id).await, 409);
    refused(harness.anonymous().channel_list().await, 401);
    ada.channel_test("second").await.unwrap();
    assert_eq!(received.lock().unwrap().len(), 3);
    ada.channel_remove("second").await.unwrap();
    assert_eq!(ada.channel_list().await.unwrap().items.len(), 1);
}

pub(crate) async fn only_administrators_set_the_mail_server(harness: OrchestratorHarness) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let settings: SmtpSettings = serde_json::from_value(json!({
        "host": "mail.example.com", "port": 587, "tls": "starttls", "username": "robot",
        "password": "open sesame", "from": "cynode@example.com", "allowed_domains": ["example.com"],
    }))
    .unwrap();
    let email = |address: &str| -> CreateChannel {
        let target = json!({ "kind": "email", "address": address });
        serde_json::from_value(json!({ "name": "mail", "target": target })).unwrap()
    };

    refused(ada.smtp_set(&settings).await, 403);
    refused(ada.smtp_get().await, 403);
    refused(admin.smtp_get().await, 409);
    refused(ada.channel_create(&email("ada@example.com")).await, 409);
    let shown = json!(admin.smtp_set(&settings).await.unwrap());
    refused(ada.channel_create(&email("ada@example.org")).await, 400);
    ada.channel_create(&email("ada@example.com")).await.unwrap();

    assert_eq!(shown["has_password"], true);
    assert!(!shown.to_string().contains("sesame"), "{shown}");
    refused(ada.smtp_remove().await, 403);
    admin.smtp_remove().await.unwrap();
    refused(admin.smtp_get().await, 409);
}
