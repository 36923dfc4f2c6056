//! OpenAI's responses API over HTTP.

use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{MODEL, code, data_of, parsed, provide};
use crate::harness::{HarnessResponse, OrchestratorHarness, PASSWORD};

fn respond(harness: &OrchestratorHarness, body: &Value) -> RequestBuilder {
    harness.as_admin(Method::POST, "/v1/responses").json(body)
}

pub(crate) async fn a_response_is_made_read_back_and_gone_on_from(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::saying("It is warm in Rome.");
    provide(&harness, &provider).await;
    let body = json!({ "model": MODEL, "input": "How warm is it?", "instructions": "be brief",
                       "metadata": { "purpose": "weather" } });

    let first = HarnessResponse::send(respond(&harness, &body)).await.body;
    let id = first["id"].as_str().unwrap();
    let body = json!({ "model": MODEL, "input": "And tomorrow?", "previous_response_id": id });
    let second = HarnessResponse::send(respond(&harness, &body)).await.body;
    let path = format!("/v1/responses/{id}");
    let again = HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.body;

    assert_eq!(first["object"], "response", "{first}");
    assert_eq!(first["status"], "completed");
    assert_eq!(first["output"][0]["content"][0]["text"], "It is warm in Rome.");
    assert_eq!(first["usage"]["total_tokens"], 18);
    assert_eq!(first["metadata"]["purpose"], "weather");
    assert_eq!(second["previous_response_id"], id, "{second}");
    let reported: Vec<String> = provider.requests()[1].body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    // Instructions hold for one request alone.
    assert_eq!(reported, ["How warm is it?", "It is warm in Rome.", "And tomorrow?"]);
    for field in ["id", "created_at", "model", "status", "output", "usage"] {
        assert_eq!(again[field], first[field], "{field}: {again}");
    }
}

pub(crate) async fn a_streamed_response_is_told_by_events_and_can_be_named(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::text_chunks(["It is", " warm."]));
    provide(&harness, &provider).await;
    let body = json!({ "model": MODEL, "input": "How warm is it?", "stream": true });

    let response = respond(&harness, &body).send().await.unwrap();

    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = response.text().await.unwrap();
    let events: Vec<Value> = data_of(&text).iter().map(|event| parsed(event)).collect();
    assert!(text.starts_with("event: response.created\n"), "{text}");
    let deltas: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(deltas, "It is warm.");
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["total_tokens"], 18);
    let path = format!("/v1/responses/{}", last["response"]["id"].as_str().unwrap());
    let again = HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.body;
    assert_eq!(again["output"], last["response"]["output"], "{again}");
}

pub(crate) async fn a_function_s_result_finds_its_call_in_the_response_before(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("It is warm.");
    provider.script([Said::tool_call("look_up", json!({ "city": "Rome" }))]);
    provide(&harness, &provider).await;
    let tools =
        json!([{ "type": "function", "name": "look_up", "parameters": { "type": "object" } }]);
    let body = json!({ "model": MODEL, "input": "How warm is it?", "tools": tools });

    let first = HarnessResponse::send(respond(&harness, &body)).await.body;
    let call = &first["output"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("look_up")));
    let result =
        json!([{ "type": "function_call_output", "call_id": call["call_id"], "output": "22" }]);
    let body = json!({ "model": MODEL, "input": result, "tools": tools,
                       "previous_response_id": first["id"] });
    let second = HarnessResponse::send(respond(&harness, &body)).await.body;

    assert_eq!(second["output"][0]["content"][0]["text"], "It is warm.", "{second}");
    let reported = &provider.requests()[1].body["messages"];
    assert_eq!(reported[1]["tool_calls"][0]["id"], call["call_id"], "{reported}");
    assert_eq!(reported[2]["tool_call_id"], call["call_id"], "{reported}");
}

pub(crate) async fn responses_refuse_what_they_cannot_honour_and_fail_in_openai_s_shape(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provide(&harness, &provider).await;
    let request = |extra: Value| {
        let mut body = json!({ "model": MODEL, "input": "hi" });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        HarnessResponse::send(respond(&harness, &body))
    };

    let background = request(json!({ "background": true })).await;
    assert_eq!(code(&background, 400), "invalid_request");
    assert_eq!(background.body["error"]["param"], "background");
    assert_eq!(code(&request(json!({ "input": 3 })).await, 400), "invalid_request");
    assert_eq!(code(&request(json!({ "input": [] })).await, 400), "invalid_request");
    for gone in ["resp_x", "resp_01a1dfd7-9639-70ba-b1da-20a63c3ebad6"] {
        let answer = request(json!({ "previous_response_id": gone })).await;
        assert_eq!(code(&answer, 400), "response_not_found");
        let path = format!("/v1/responses/{gone}");
        let read = HarnessResponse::send(harness.as_admin(Method::GET, &path)).await;
        assert_eq!(code(&read, 404), "response_not_found");
    }
    assert_eq!(code(&request(json!({ "model": "gpt-9" })).await, 404), "model_not_found");
    provider.otherwise(Said::text_chunks(["It", " is", " warm"]).disconnecting_after(2));
    let body = json!({ "model": MODEL, "input": "hi", "stream": true });
    let text = respond(&harness, &body).send().await.unwrap().text().await.unwrap();
    let last = parsed(data_of(&text).last().unwrap());
    assert_eq!(last["type"], "response.failed", "{text}");
    assert_eq!(last["response"]["error"]["code"], "orchestrator_inference_failed");
}

pub(crate) async fn what_is_not_stored_cannot_be_named_and_others_cannot_name_mine(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("It is warm.");
    provide(&harness, &provider).await;
    let body = json!({ "model": MODEL, "input": "How warm is it?" });
    let kept = HarnessResponse::send(respond(&harness, &body)).await.body;
    let body = json!({ "model": MODEL, "input": "How warm is it?", "store": false });
    let passing = HarnessResponse::send(respond(&harness, &body)).await.body;
    harness.add_user("eve").await;
    let eve = harness.sign_in("eve", PASSWORD).await.unwrap().access_token;
    let path = |response: &Value| format!("/v1/responses/{}", response["id"].as_str().unwrap());

    let own = HarnessResponse::send(harness.as_admin(Method::GET, &path(&kept))).await;
    let gone = HarnessResponse::send(harness.as_admin(Method::GET, &path(&passing))).await;
    let theirs =
        HarnessResponse::send(harness.request(Method::GET, &path(&kept)).bearer_auth(&eve)).await;

    assert_eq!(own.status, 200);
    assert_eq!(passing["store"], false);
    assert_eq!(code(&gone, 404), "response_not_found");
    assert_eq!(code(&theirs, 404), "response_not_found");
}
