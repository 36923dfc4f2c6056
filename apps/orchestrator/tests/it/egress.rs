//! Providers, credentials, the record of calls, and the way out for agents, over HTTP.

use cynode_domain::policy::{AgentType, Principal};
use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use cynode_wire::agents::BindingView;
use cynode_wire::credentials::{Expiry, GivenSecret, RotateCredential, SetCredential};
use cynode_wire::inferences::InferenceQuery;
use cynode_wire::preferences::PutPreference;
use cynode_wire::providers::PutProvider;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::chat::data_of;
use crate::harness::{HarnessResponse, OrchestratorHarness, refused};
use crate::mcp::issue;

const SECRET: &str = "plugh-0815-open-sesame";

fn row(provider: &ScriptedProvider) -> PutProvider {
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "is_local": false,
        "allow": "everyone", "models": ["m"], "prices": { "m": { "input": 1, "output": 2 } },
    });
    serde_json::from_value(body).unwrap()
}

fn credential(secret: &str) -> SetCredential {
    SetCredential {
        owner_type: None,
        owner_id: None,
        provider: "far".to_owned(),
        name: None,
        credential_type: None,
        secret: GivenSecret(secret.to_owned()),
        expires_at: None,
    }
}

async fn provide(harness: &OrchestratorHarness, provider: &ScriptedProvider) {
    let admin = harness.admin();
    admin.provider_put("far", &row(provider)).await.unwrap();
    admin.credential_set(&credential(SECRET)).await.unwrap();
}

/// Calls a model as the administrator's project manager.
async fn ask(harness: &OrchestratorHarness, body: &Value) -> RequestBuilder {
    ask_as(harness, AgentType::Pm, body).await
}

/// Calls a model as an agent of the administrator.
async fn ask_as(harness: &OrchestratorHarness, agent: AgentType, body: &Value) -> RequestBuilder {
    let token = issue(harness, agent, BindingView::default()).await;
    let request = harness.request(Method::POST, "/v1/egress/chat/completions");
    request.bearer_auth(token.secret).json(body)
}

fn question() -> Value {
    let metadata = json!({ "purpose": "plan", "prompt_hash": "abc" });
    let messages = json!([{ "role": "user", "content": "hello" }]);
    json!({ "model": "far/m", "messages": messages, "metadata": metadata })
}

pub(crate) async fn providers_are_managed_and_tried_by_administrators_alone(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let provider = ScriptedProvider::start();

    let put = admin.provider_put("far", &row(&provider)).await.unwrap();

    assert_eq!((put.version, &*put.name), (1, "far"));
    assert_eq!(admin.provider_list().await.unwrap(), [put]);
    assert_eq!(admin.provider_test("far").await.unwrap().models, ["scripted-model"]);
    assert_eq!(bob.model_list().await.unwrap().models[0].id, "far/m");
    refused(bob.provider_put("mine", &row(&provider)).await, 403);
    refused(bob.provider_list().await, 403);
    refused(bob.provider_test("far").await, 403);
    refused(bob.provider_remove("far").await, 403);
    refused(admin.provider_test("near").await, 404);
    refused(admin.provider_put("a b", &row(&provider)).await, 400);
    let odd = json!({ "kind": "openai", "api_key": SECRET });
    let odd = harness.as_admin(Method::PUT, "/v1/model-providers/odd").json(&odd);
    HarnessResponse::send(odd).await.assert_problem(400);
    admin.provider_remove("far").await.unwrap();
    refused(admin.provider_remove("far").await, 404);
}

pub(crate) async fn a_secret_goes_in_and_never_comes_out(harness: OrchestratorHarness) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);

    let set = bob.credential_set(&credential(SECRET)).await.unwrap();

    let path = "/v1/credentials";
    let listed = HarnessResponse::send(harness.as_admin(Method::GET, path)).await.body;
    assert_eq!(listed[0]["id"], json!(set.id));
    assert!(!listed.to_string().contains(SECRET), "{listed}");
    refused(bob.credential_set(&credential(SECRET)).await, 409);
    refused(bob.credential_set(&credential("two words")).await, 400);
    let odd = harness.as_admin(Method::POST, path).json(&json!({ "provider": "x", "key": SECRET }));
    assert!(!HarnessResponse::send(odd).await.assert_problem(400).contains(SECRET));
    let rotate =
        RotateCredential { secret: GivenSecret("another".to_owned()), expires_at: Expiry::Kept };
    assert_eq!(bob.credential_rotate(set.id, &rotate).await.unwrap().version, 2);
    refused(bob.credential_key_rotate().await, 403);
    let rotated = admin.credential_key_rotate().await.unwrap();
    assert_eq!(rotated.credentials, 1);
    assert_ne!(rotated.key_id, set.key_id);
    let eve = harness.user("eve").await;
    refused(eve.credential_remove(set.id).await, 404);
    refused(eve.credential_rotate(set.id, &rotate).await, 404);
    bob.credential_remove(set.id).await.unwrap();
    assert_eq!(harness.database().tables_containing(SECRET).await, Vec::<String>::new());
}

pub(crate) async fn an_agent_asks_a_model_with_its_token_and_it_is_on_record(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("hi there");
    provide(&harness, &provider).await;

    let answer = HarnessResponse::send(ask(&harness, &question()).await).await;

    assert_eq!(answer.body["choices"][0]["message"]["content"], "hi there", "{}", answer.body);
    let sent = &provider.requests()[0];
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {SECRET}")));
    assert_eq!(sent.body.get("metadata"), None);
    let shown = harness.admin().inference_list(&InferenceQuery::default()).await.unwrap();
    let call = &shown.calls.items[0];
    assert_eq!((&*call.purpose, call.prompt_hash.as_deref()), ("plan", Some("abc")));
    assert_eq!(call.agent.map(Principal::as_str), Some("pm"));
    assert_eq!(call.trace_id, answer.header("x-trace-id"));
    assert_eq!((call.cost_micro_usd, shown.totals.cost_micro_usd), (Some(25), 25));
    let bob = harness.user("bob").await;
    let shown = bob.inference_list(&InferenceQuery::default()).await.unwrap();
    assert_eq!(shown.totals.calls, 0);
    assert_eq!(harness.database().tables_containing(SECRET).await, Vec::<String>::new());
}

pub(crate) async fn an_agent_s_answer_comes_in_pieces_and_says_when_it_breaks_off(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    let broken = Said::text("one two three").disconnecting_after(2);
    provider.script([Said::text("one two three"), broken]);
    provide(&harness, &provider).await;
    let mut body = question();
    body["stream"] = json!(true);

    let whole = ask(&harness, &body).await.send().await.unwrap();
    assert_eq!(whole.headers()["content-type"], "text/event-stream");
    let whole = whole.text().await.unwrap();
    let broken = ask(&harness, &body).await.send().await.unwrap().text().await.unwrap();

    assert!(whole.ends_with("data: [DONE]\n\n"), "{whole}");
    let events = data_of(&whole);
    let chunks = events.iter().filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let text: String = chunks
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(text, "one two three");
    assert!(!broken.contains("[DONE]"), "{broken}");
    let last: Value = serde_json::from_str(data_of(&broken).last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "provider_failed");
}

pub(crate) async fn a_routing_preference_counts_for_agents_of_its_own_role_alone(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let (a, b) = (ScriptedProvider::saying("a"), ScriptedProvider::saying("b"));
    for (name, provider) in [("a", &a), ("b", &b)] {
        admin.provider_put(name, &row(provider)).await.unwrap();
        let credential = SetCredential { provider: name.to_owned(), ..credential(SECRET) };
        admin.credential_set(&credential).await.unwrap();
    }
    let order = PutPreference {
        scope_type: None,
        scope_id: None,
        value: json!(["b"]),
        value_type: None,
        expected_version: None,
        reason: None,
    };
    let key = "agents.project_manager.model_routing.fallback_provider_order";
    admin.preference_put(key, &order).await.unwrap();
    let mut body = question();
    body["model"] = json!("m");

    let manager = HarnessResponse::send(ask_as(&harness, AgentType::Pm, &body).await).await;
    let analyst = HarnessResponse::send(ask_as(&harness, AgentType::Pa, &body).await).await;

    assert_eq!(manager.body["choices"][0]["message"]["content"], "b", "{}", manager.body);
    assert_eq!(analyst.status.as_u16(), 400, "{}", analyst.body);
    assert_eq!(analyst.body["error"]["code"], "model_ambiguous");
    assert_eq!((a.requests().len(), b.requests().len()), (0, 1));
}

pub(crate) async fn refusals_of_the_agents_way_out_have_openai_s_shape(
    harness: OrchestratorHarness,
) {
    let code = |answer: &HarnessResponse, status: u16| {
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        answer.body["error"]["code"].as_str().unwrap_or_default().to_owned()
    };
    let path = "/v1/egress/chat/completions";
    let nobody = harness.request(Method::POST, path).json(&question());
    let person = harness.as_admin(Method::POST, path).json(&question());
    for request in [nobody, person] {
        assert_eq!(code(&HarnessResponse::send(request).await, 401), "invalid_api_key");
    }
    let odd = ask(&harness, &json!({ "model": "far/m" })).await;
    assert_eq!(code(&HarnessResponse::send(odd).await, 400), "invalid_request");
    let none = ask(&harness, &question()).await;
    assert_eq!(code(&HarnessResponse::send(none).await, 404), "no_provider");

    let provider = ScriptedProvider::start();
    provider.script([
        Said::unauthorized(SECRET),
        Said::status(400, "no such parameter"),
        Said::wrong_schema(),
        // Last, because it is not called again while its circuit is open.
        Said::rate_limited(3600),
    ]);
    harness.admin().provider_put("far", &row(&provider)).await.unwrap();
    let bare = ask(&harness, &question()).await;
    assert_eq!(code(&HarnessResponse::send(bare).await, 503), "credential_unusable");
    provide(&harness, &provider).await;
    for (status, expected) in [
        (502, "provider_unauthorized"),
        (400, "provider_rejected"),
        (502, "provider_failed"),
        (429, "rate_limit_exceeded"),
    ] {
        let answer = HarnessResponse::send(ask(&harness, &question()).await).await;
        assert_eq!(code(&answer, status), expected);
        assert!(!answer.body.to_string().contains(SECRET), "{}", answer.body);
        assert_eq!(answer.header("retry-after").is_empty(), status != 429);
    }
    let closed = PutProvider { allow: None, ..row(&provider) };
    harness.admin().provider_put("far", &closed).await.unwrap();
    let denied = ask(&harness, &question()).await;
    assert_eq!(code(&HarnessResponse::send(denied).await, 403), "permission_denied");
}
