//! Lists of requests: filters, pages, and what other users see.

use cynode_client::Client;
use cynode_wire::requests::{RequestQuery, SubmitRequest};
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, refused};

async fn submit(client: &Client, name: &str, text: &str) {
    let body: SubmitRequest = serde_json::from_value(json!({
        "text": text, "name": name, "repository": { "url": "/srv/git/site" },
    }))
    .unwrap();
    client.request_submit(&body).await.unwrap();
}

/// The names of the requests that match, all pages after each other.
async fn names(client: &Client, query: Value) -> Vec<String> {
    let mut query: RequestQuery = serde_json::from_value(query).unwrap();
    let mut names = vec![];
    loop {
        let page = client.request_list(&query).await.unwrap();
        names.extend(page.items.into_iter().map(|view| view.name));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return names;
        }
    }
}

pub(crate) async fn lists_of_requests_are_filtered_by_status_phase_text_and_owner(
    harness: OrchestratorHarness,
) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    submit(&ada, "first", "Fix the Äpfel page of the 100% shop_front").await;
    submit(&ada, "second", "Fix the footer").await;
    submit(&ada, "third", "Fix the footer of the shop-front").await;
    submit(&admin, "fourth", "Fix the FOOTER of the start page").await;
    ada.task_cancel("second").await.unwrap();

    // The name and the whole text are searched; `%` and `_` stand for themselves.
    for (text, found) in [
        ("footer", vec!["third", "second"]),
        ("FooTer of", vec!["third"]),
        ("SECOND", vec!["second"]),
        ("Äpfel", vec!["first"]),
        ("shop_front", vec!["first"]),
        ("100%", vec!["first"]),
        ("%", vec!["first"]),
        ("!", vec![]),
        ("  ", vec!["third", "second", "first"]),
    ] {
        assert_eq!(names(&ada, json!({ "text": text, "limit": 1 })).await, found, "{text}");
    }
    refused(ada.request_list(&query(json!({ "text": "a".repeat(201) }))).await, 400);

    assert_eq!(names(&ada, json!({ "status": "canceled" })).await, ["second"]);
    assert_eq!(names(&ada, json!({ "phase": "ended" })).await, ["second"]);
    assert_eq!(names(&ada, json!({ "status": "completed" })).await, Vec::<String>::new());
    let open = names(&ada, json!({ "open": true })).await;
    assert_eq!(open, ["third", "first"]);
    // Each open request has one status and one phase.
    let mut by_status = names(&ada, json!({ "status": "running" })).await;
    by_status.extend(names(&ada, json!({ "status": "waiting" })).await);
    let mut by_phase = vec![];
    for phase in ["intake", "context", "planning", "working", "delivering", "in_review"] {
        by_phase.extend(names(&ada, json!({ "phase": phase })).await);
    }
    for mut found in [by_status, by_phase] {
        found.sort();
        assert_eq!(found, ["first", "third"]);
    }

    // An administrator sees all of them, or its own.
    assert_eq!(names(&admin, json!({ "text": "footer" })).await, ["fourth", "third", "second"]);
    assert_eq!(names(&admin, json!({ "text": "footer", "mine": true })).await, ["fourth"]);
    assert_eq!(names(&ada, json!({ "mine": true })).await, ["third", "second", "first"]);
    refused(ada.request_get("fourth").await, 404);
}

fn query(fields: Value) -> RequestQuery {
    serde_json::from_value(fields).unwrap()
}
