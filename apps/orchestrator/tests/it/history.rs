//! Change history over HTTP: one format, newest first, visible to its owner only.

use cynode_client::Client;
use cynode_domain::ids::InferenceId;
use cynode_domain::policy::Effect;
use cynode_domain::preference::ScopeKind;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::audit::ChatRecordQuery;
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::credentials::SetCredential;
use cynode_wire::inferences::InferenceQuery;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::{PreferenceChangesQuery, PreferenceScope, PutPreference};
use cynode_wire::providers::PutProvider;
use cynode_wire::rules::CreateRule;
use cynode_wire::settings::SetSetting;
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{HarnessResponse, OrchestratorHarness, refused};

const SECRET: &str = "plugh-4711-open-sesame";

fn actions(page: &Page<ChangeView>) -> Vec<&str> {
    page.items.iter().map(|change| change.action.as_str()).collect()
}

fn read<T: serde::de::DeserializeOwned>(body: Value) -> T {
    serde_json::from_value(body).unwrap()
}

async fn put(client: &Client, scope: ScopeKind, value: Value, reason: &str) {
    let body = json!({"scope_type": scope, "value": value, "reason": reason});
    client.preference_put("language", &read::<PutPreference>(body)).await.unwrap();
}

pub(crate) async fn who_changed_a_preference_and_why_is_read_by_its_owner(
    harness: OrchestratorHarness,
) {
    let (admin, bob, eve) = (harness.admin(), harness.user("bob").await, harness.user("eve").await);
    let all = PreferenceChangesQuery::default();
    put(&bob, ScopeKind::User, json!("de"), "at home").await;
    put(&bob, ScopeKind::User, Value::Null, "whatever").await;
    bob.preference_remove("language", &PreferenceScope::default()).await.unwrap();
    put(&admin, ScopeKind::System, json!("en"), "for all").await;

    let first = PreferenceChangesQuery { limit: Some(1), ..all.clone() };
    let newest = bob.preference_changes("language", &first).await.unwrap();
    let rest = PreferenceChangesQuery { cursor: newest.next_cursor.clone(), ..all.clone() };
    let rest = bob.preference_changes("language", &rest).await.unwrap();

    assert_eq!(actions(&newest), ["preference.remove"]);
    assert_eq!(actions(&rest), ["preference.update", "preference.create"]);
    let change = &rest.items[0];
    assert_eq!((&change.old_value, &change.new_value), (&Some(json!("de")), &Some(Value::Null)));
    assert_eq!(change.changed_by_handle.as_deref(), Some("bob"));
    assert_eq!((&*change.resource, change.reason.as_deref()), ("language", Some("whatever")));
    let of_bob = PreferenceChangesQuery {
        scope_type: Some(ScopeKind::User),
        scope_id: change.changed_by.map(Into::into),
        ..all.clone()
    };
    assert_eq!(admin.preference_changes("language", &of_bob).await.unwrap().items.len(), 3);
    refused(eve.preference_changes("language", &of_bob).await, 403);
    assert_eq!(actions(&eve.preference_changes("language", &all).await.unwrap()), [""; 0]);
    let of_all = PreferenceChangesQuery { scope_type: Some(ScopeKind::System), ..all };
    refused(bob.preference_changes("language", &of_all).await, 403);
    assert_eq!(admin.preference_changes("language", &of_all).await.unwrap().items.len(), 1);
}

pub(crate) async fn changes_of_what_access_is_decided_by_are_read_by_administrators(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let page = PageQuery::default();
    let set =
        SetSetting { value: json!(3), expected_version: None, reason: Some("law".to_owned()) };
    admin.setting_set("a.b", &set).await.unwrap();
    admin.setting_remove("a.b").await.unwrap();
    let rule = json!({"subject_type": "system", "resource_pattern": "web.*", "effect": "deny"});
    let rule = admin.rule_create(&read::<CreateRule>(rule)).await.unwrap().id;
    admin.rule_remove(rule).await.unwrap();
    let provider = json!({"kind": "openai", "base_url": "http://127.0.0.1:9/v1"});
    admin.provider_put("far", &read::<PutProvider>(provider)).await.unwrap();
    admin.provider_remove("far").await.unwrap();
    let credential = json!({"provider": "far", "secret": SECRET});
    let credential = bob.credential_set(&read::<SetCredential>(credential)).await.unwrap().id;

    let settings = admin.setting_changes("a.b", &page).await.unwrap();
    let rules = admin.rule_changes(rule, &page).await.unwrap();
    let providers = admin.provider_changes("far", &page).await.unwrap();
    let credentials = bob.credential_changes(credential, &page).await.unwrap();
    let all = admin.access_changes(&ChangeQuery::default()).await.unwrap();
    let query = ChangeQuery::for_resource_type("access_control_rule", page.clone());
    let of_rules = admin.access_changes(&query).await.unwrap();

    assert_eq!(actions(&settings), ["setting.remove", "setting.create"]);
    assert_eq!(settings.items[1].reason.as_deref(), Some("law"));
    assert_eq!(actions(&rules), ["rule.remove", "rule.create"]);
    assert!(rules.items[0].reason.as_deref().unwrap_or_default().contains("web.*"));
    assert_eq!(rules.items[0].changed_by_handle.as_deref(), Some("admin"));
    assert_eq!(actions(&providers), ["provider.remove", "provider.put"]);
    assert_eq!(actions(&credentials), ["credential.set"]);
    let expected =
        ["credential.set", "provider.remove", "provider.put", "rule.remove", "rule.create"];
    assert_eq!(actions(&all), expected);
    assert_eq!(of_rules, rules);
    refused(bob.setting_changes("a.b", &page).await, 403);
    refused(bob.rule_changes(rule, &page).await, 403);
    refused(bob.provider_changes("far", &page).await, 403);
    refused(bob.access_changes(&ChangeQuery::default()).await, 403);
    let odd = PageQuery { limit: None, cursor: Some("x".to_owned()) };
    refused(admin.rule_changes(rule, &odd).await, 400);
    let shown =
        HarnessResponse::send(harness.as_admin(Method::GET, "/v1/audit/changes")).await.body;
    assert!(!shown.to_string().contains(SECRET), "{shown}");
}

pub(crate) async fn a_call_and_a_chat_are_shown_with_what_let_them_through(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("hi");
    let (admin, bob, eve) = (harness.admin(), harness.user("bob").await, harness.user("eve").await);
    let row = json!({
        "kind": "openai", "base_url": provider.openai_url(), "is_local": false, "models": ["m"],
    });
    admin.provider_put("far", &read::<PutProvider>(row)).await.unwrap();
    let rule = json!({
        "subject_type": "system", "action": "api.call",
        "resource_type": "api.provider_operation", "resource_pattern": "far/*", "effect": "allow",
    });
    let rule = admin.rule_create(&read::<CreateRule>(rule)).await.unwrap().id;
    let credential = json!({"provider": "far", "secret": SECRET});
    let credential = bob.credential_set(&read::<SetCredential>(credential)).await.unwrap().id;
    let token = harness.sign_in("bob", crate::harness::PASSWORD).await.unwrap().access_token;
    let question =
        json!({"model": "far/m", "messages": [{"role": "user", "content": "a private word"}]});
    let request = harness.request(Method::POST, "/v1/chat/completions").bearer_auth(&*token);
    let answered = HarnessResponse::send(request.json(&question)).await;

    let calls = bob.inference_list(&InferenceQuery::default()).await.unwrap().calls.items;
    let call = bob.inference_get(calls[0].id).await.unwrap();
    let chats = bob.chat_records(&ChatRecordQuery::default()).await.unwrap().items;

    assert_eq!(answered.body["choices"][0]["message"]["content"], "hi", "{}", answered.body);
    assert_eq!(call.call, calls[0]);
    let decided = &call.decisions[0];
    assert_eq!((&*decided.resource, decided.decision), ("far/chat", Effect::Allow));
    assert_eq!(decided.reason, format!("rule {rule}"));
    assert_eq!(decided.credential_id, Some(credential));
    assert_eq!(admin.inference_get(calls[0].id).await.unwrap(), call);
    refused(eve.inference_get(calls[0].id).await, 404);
    refused(bob.inference_get(InferenceId::generate()).await, 404);
    assert_eq!((&*chats[0].model, &*chats[0].outcome), ("far/m", "success"));
    assert_eq!(chats[0].request_id, answered.header("x-trace-id"));
    assert_eq!(admin.chat_records(&ChatRecordQuery::default()).await.unwrap().items, chats);
    assert_eq!(eve.chat_records(&ChatRecordQuery::default()).await.unwrap().items, []);
    let of_bob = ChatRecordQuery { user_id: Some(chats[0].user_id), ..ChatRecordQuery::default() };
    assert_eq!(eve.chat_records(&of_bob).await.unwrap().items, []);
    assert_eq!(admin.chat_records(&of_bob).await.unwrap().items, chats);
}
