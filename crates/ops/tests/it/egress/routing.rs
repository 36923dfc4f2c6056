//! Which provider answers: the next one after a failure, and the one that preferences name.

use cynode_domain::model::InferenceOutcome;
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_models::{
    egress::EgressError, egress::Inference, egress::ModelRouting, egress::ProviderError,
};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::preferences::{PreferenceKey, WritePreference};
use cynode_wire::providers::PutProvider;
use serde_json::json;

use super::world::{World, asks, hello, open};

pub(super) async fn another_provider_answers_when_the_first_cannot(world: World) {
    let (first, second) = (ScriptedProvider::start(), ScriptedProvider::saying("second"));
    // A bound port without a listener refuses connections, and no other process can take it.
    let gone = tokio::net::TcpSocket::new_v4().unwrap();
    gone.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base_url = Some(format!("http://{}/v1", gone.local_addr().unwrap()));
    first.otherwise(Answer::rate_limited(3600));
    world.provide_as("a-gone", PutProvider { base_url, ..open(&first) }).await;
    world.provide("b-first", &first).await;
    world.provide("c-second", &second).await;
    for name in ["a-gone", "b-first", "c-second"] {
        world.set(name, "key").await;
    }
    let order = ["a-gone", "b-first", "c-second"].map(str::to_owned).to_vec();
    let routing = ModelRouting { fallback_provider_order: order, ..ModelRouting::default() };
    let asks = Inference { routing, ..asks(&world.bob) };

    let answer = world.egress.chat(&asks, hello("m")).await.unwrap();

    assert_eq!(answer.text(), "second");
    let calls = world.calls().await;
    let seen: Vec<_> = calls.iter().map(|call| (&*call.provider, call.outcome)).collect();
    let failed = InferenceOutcome::Failed;
    let right = [("a-gone", failed), ("b-first", failed), ("c-second", InferenceOutcome::Success)];
    assert_eq!(seen, right);
}

pub(super) async fn a_request_that_is_at_fault_is_not_sent_elsewhere(world: World) {
    let (first, second) = (ScriptedProvider::start(), ScriptedProvider::saying("second"));
    first.otherwise(Answer::status(400, "no such parameter"));
    world.provide("first", &first).await;
    world.provide("second", &second).await;
    world.set("first", "key").await;
    world.set("second", "key").await;
    world.setting("models.hints.fast", json!(["first/m", "second/m"])).await;

    let error = world.egress.chat(&asks(&world.bob), hello("fast")).await.unwrap_err();

    assert!(error.to_string().contains("no such parameter"), "{error}");
    assert_eq!(second.requests().len(), 0);
    assert_eq!(world.calls().await.len(), 1);
}

pub(super) async fn a_provider_that_keeps_failing_is_left_alone(world: World) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::server_error());
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    let mut last = None;
    for _ in 0..3 {
        last = world.egress.chat(&asks(&world.bob), hello("far/m")).await.err();
    }
    let sent = provider.requests().len();

    let error = world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap_err();

    let is_resting =
        matches!(&error, EgressError::Provider { cause: ProviderError::CircuitOpen { .. }, .. });
    assert!(is_resting, "{error} after {last:?}");
    assert_eq!(provider.requests().len(), sent);
}

pub(super) async fn preferences_route_the_calls_of_their_own_role_alone(world: World) {
    let (a, b) = (ScriptedProvider::saying("a"), ScriptedProvider::saying("b"));
    world.provide("a", &a).await;
    world.provide("b", &b).await;
    world.set("a", "key").await;
    world.set("b", "key").await;
    let wish = |key: &str, names: &[&str]| {
        let key = format!("agents.project_manager.model_routing.{key}");
        let preference = PreferenceKey { scope_type: ScopeKind::User, scope_id: None, key };
        let (value, value_type) = (json!(names), ValueType::Array);
        (preference, WritePreference { value, value_type, expected_version: None, reason: None })
    };
    for (key, names) in [("fallback_provider_order", ["b"]), ("allowed_external_providers", ["b"])]
    {
        let (preference, write) = wish(key, &names);
        world.preferences.create(&world.bob, preference, write).await.unwrap();
    }
    for (word, preference) in [("pm", Some("b")), ("pa", None)] {
        let agent = world.agent(word, &world.bob).await;
        let asks = Inference::of_agent(&agent, "plan", "t");
        let asks = world.egress.with_preferences(asks).await.unwrap();

        let answer = world.egress.chat(&asks, hello("m")).await;

        match preference {
            Some(text) => assert_eq!(answer.unwrap().text(), text),
            // The analyst has no such preference, so the name is ambiguous.
            None => assert!(matches!(answer, Err(EgressError::Ambiguous { .. })), "{answer:?}"),
        }
    }
    let agent = world.agent("pm", &world.bob).await;
    let asks = Inference::of_agent(&agent, "plan", "t");
    let asks = world.egress.with_preferences(asks).await.unwrap();
    let refused = world.egress.chat(&asks, hello("a/m")).await;
    assert!(matches!(refused, Err(EgressError::Denied(_))), "{refused:?}");
    assert_eq!(a.requests().len(), 0);
}
