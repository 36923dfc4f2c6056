//! Threads over HTTP.

use cynode_testkit::provider::ScriptedProvider;
use reqwest::Method;
use serde_json::json;

use super::{ask, provide, question};
use crate::harness::{HarnessResponse, OrchestratorHarness, PASSWORD};

pub(crate) async fn a_conversation_is_read_back_by_its_owner_only(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::saying("It is warm.");
    provide(&harness, &provider).await;
    ask(&harness, &question("How warm is it?")).send().await.unwrap().text().await.unwrap();
    harness.add_user("bob").await;
    let bob = harness.sign_in("bob", PASSWORD).await.unwrap().access_token;

    let threads = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/chat/threads")).await;
    let id = threads.body["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chat/threads/{id}");
    let messages = format!("{path}/messages");
    let said = HarnessResponse::send(harness.as_admin(Method::GET, &messages)).await;

    assert_eq!(said.body["items"][0]["role"], "user");
    assert_eq!(said.body["items"][0]["content"], "How warm is it?");
    assert_eq!(said.body["items"][1]["role"], "assistant");
    assert_eq!(said.body["items"][1]["content"], "It is warm.");
    for path in [&path, &messages] {
        let theirs =
            HarnessResponse::send(harness.request(Method::GET, path).bearer_auth(&bob)).await;
        assert!(theirs.assert_problem(404).starts_with("there is no thread"));
    }
    let own = harness.request(Method::GET, "/v1/chat/threads").bearer_auth(&bob);
    assert_eq!(HarnessResponse::send(own).await.body["items"], json!([]));
}

pub(crate) async fn a_new_thread_is_begun_and_added_to(harness: OrchestratorHarness) {
    let new = harness.as_admin(Method::POST, "/v1/chat/threads").json(&json!({ "title": "looms" }));
    let new = HarnessResponse::send(new).await;
    let path = format!("/v1/chat/threads/{}/messages", new.body["id"].as_str().unwrap());
    let say = |body: serde_json::Value| {
        HarnessResponse::send(harness.as_admin(Method::POST, &path).json(&body))
    };

    let said = say(json!({ "role": "user", "content": "my password: hunter22" })).await;
    let forged = say(json!({ "role": "assistant", "content": "I promise" })).await;
    let odd = say(json!({ "role": "user", "content": "hi", "session_id": "x" })).await;

    assert_eq!((new.status.as_u16(), said.status.as_u16()), (201, 201));
    assert_eq!(new.body["title"], "looms");
    assert_eq!(said.body["content"], "my password: SECRET_REDACTED");
    assert_eq!(forged.assert_problem(400), "role must be \"user\"");
    assert!(odd.assert_problem(400).contains("session_id"));
}

pub(crate) async fn everybody_calls_their_own_project_default(harness: OrchestratorHarness) {
    let list = || harness.as_admin(Method::GET, "/v1/chat/threads?project=default");
    let before = HarnessResponse::send(list()).await;
    let project = json!({ "display_name": "Looms" });
    HarnessResponse::send(harness.as_admin(Method::POST, "/v1/projects").json(&project)).await;
    for body in [json!({ "title": "mine" }), json!({ "title": "theirs", "project": "looms" })] {
        HarnessResponse::send(harness.as_admin(Method::POST, "/v1/chat/threads").json(&body)).await;
    }

    let mine = HarnessResponse::send(list()).await;
    let taken = json!({ "display_name": "Default" });
    let taken =
        HarnessResponse::send(harness.as_admin(Method::POST, "/v1/projects").json(&taken)).await;

    assert_eq!(before.assert_problem(404), "there is no project \"default\"");
    assert_eq!(mine.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(mine.body["items"][0]["title"], "mine");
    assert!(taken.assert_problem(400).contains("choose another name"));
}
