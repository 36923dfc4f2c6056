//! Preferences over HTTP.

use cynode_domain::preference::ScopeKind;
use cynode_wire::preferences::{EffectiveQuery, PreferenceQuery, PreferenceScope, PutPreference};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{HarnessResponse, OrchestratorHarness, refused};

const KEY: &str = "output.summary_style";

fn put(scope_type: Option<ScopeKind>, value: Value) -> PutPreference {
    PutPreference {
        scope_type,
        scope_id: None,
        value,
        value_type: None,
        expected_version: None,
        reason: None,
    }
}

pub(crate) async fn a_preference_is_written_read_and_removed_with_its_versions(
    harness: OrchestratorHarness,
) {
    let bob = harness.user("bob").await;
    let own = PreferenceScope::default();
    refused(bob.preference_get(KEY, &own).await, 404);

    let first = bob.preference_put(KEY, &put(None, json!("concise"))).await.unwrap();
    let second = bob.preference_put(KEY, &put(None, json!("detailed"))).await.unwrap();

    assert_eq!((first.version, second.version), (1, 2));
    assert_eq!(bob.preference_get(KEY, &own).await.unwrap(), second);
    let stale = PutPreference { expected_version: Some(1), ..put(None, json!("concise")) };
    refused(bob.preference_put(KEY, &stale).await, 409);
    let new = PutPreference { expected_version: Some(0), ..put(None, json!("concise")) };
    refused(bob.preference_put(KEY, &new).await, 409);
    let listed = bob.preference_list(&PreferenceQuery::default()).await.unwrap();
    assert_eq!(listed.items, [second]);
    bob.preference_remove(KEY, &own).await.unwrap();
    refused(bob.preference_remove(KEY, &own).await, 404);
}

pub(crate) async fn what_holds_comes_with_its_sources_and_null_hides(harness: OrchestratorHarness) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let system = Some(ScopeKind::System);
    admin.preference_put(KEY, &put(system, json!("detailed"))).await.unwrap();
    admin.preference_put("language.preferred", &put(system, json!("en"))).await.unwrap();
    bob.preference_put(KEY, &put(None, Value::Null)).await.unwrap();

    let of_bob = bob.preference_effective(&EffectiveQuery::default()).await.unwrap();
    let of_admin = admin.preference_effective(&EffectiveQuery::default()).await.unwrap();

    let sources = of_bob.sources.unwrap();
    assert_eq!(of_bob.effective[KEY], Value::Null);
    assert_eq!(sources[KEY].scope_type, ScopeKind::User);
    assert_eq!(of_bob.effective["language.preferred"], "en");
    assert_eq!(of_admin.effective[KEY], "detailed");
}

pub(crate) async fn preferences_of_others_and_odd_ones_are_refused(harness: OrchestratorHarness) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let task = harness.task().await;
    refused(bob.preference_put(KEY, &put(Some(ScopeKind::System), json!("x"))).await, 403);
    let of_task = |value| PutPreference {
        scope_id: Some(task.id.as_uuid()),
        ..put(Some(ScopeKind::Task), value)
    };
    refused(bob.preference_put(KEY, &of_task(json!("x"))).await, 404);
    admin.preference_put(KEY, &of_task(json!("x"))).await.unwrap();
    let query = EffectiveQuery { task: Some(task.id), project: None };
    assert_eq!(admin.preference_effective(&query).await.unwrap().effective[KEY], "x");
    refused(bob.preference_effective(&query).await, 404);
    let large = json!("x".repeat(70_000));
    refused(bob.preference_put(KEY, &put(None, large)).await, 400);
    refused(bob.preference_put("no spaces", &put(None, json!(1))).await, 400);
    let path = format!("/v1/preferences/{KEY}");
    let wrong = json!({ "value": 7, "value_type": "string" });
    let wrong = HarnessResponse::send(harness.as_admin(Method::PUT, &path).json(&wrong)).await;
    assert_eq!(wrong.assert_problem(400), "the value is not of type string");
    let unknown = json!({ "value": 7, "colour": "red" });
    HarnessResponse::send(harness.as_admin(Method::PUT, &path).json(&unknown))
        .await
        .assert_problem(400);
}
