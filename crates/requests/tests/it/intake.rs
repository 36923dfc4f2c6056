//! Submissions at once, a busy project manager, and the configured agents.

use std::sync::atomic::Ordering;

use cynode_domain::question::Reply;
use cynode_domain::request::RequestSettings;
use cynode_execution::tasks::TaskError;
use cynode_requests::RequestError;
use cynode_wire::requests::SubmitRequest;
use serde_json::json;

use crate::world::{RequestFixture, TEXT, is_duplicate, submission};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_several_equal_submissions_at_once_is_accepted() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let submit = || {
            let body = submission(RequestSettings::default());
            world.requests.submit(&world.bob, body)
        };

        let all = futures_util::future::join_all((0..8).map(|_| submit())).await;

        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 1, "{all:?}");
        assert_eq!(all.iter().filter(|one| is_duplicate(one)).count(), 7, "{all:?}");
        let body = SubmitRequest { force: true, ..submission(RequestSettings::default()) };
        world.requests.submit(&world.bob, body).await.unwrap();
        let other = submission(RequestSettings::default());
        world.requests.submit(&world.admin, other).await.unwrap();
    }
}

#[tokio::test]
async fn an_idempotency_key_stands_for_all_of_a_submission() {
    let world = RequestFixture::sqlite().await;
    let body = |rounds| SubmitRequest {
        idempotency_key: Some("k".to_owned()),
        ..submission(RequestSettings { max_review_rounds: rounds, ..RequestSettings::default() })
    };
    let first = world.requests.submit(&world.bob, body(1)).await.unwrap();

    let same = world.requests.submit(&world.bob, body(1)).await.unwrap();
    let other = world.requests.submit(&world.bob, body(2)).await;

    assert_eq!(same.id, first.id);
    assert!(matches!(other, Err(RequestError::Task(TaskError::KeyReused { .. }))), "{other:?}");
}

#[tokio::test]
async fn a_busy_project_manager_is_waited_for() {
    let world = RequestFixture::sqlite().await;
    world.manager.busy.store(20, Ordering::SeqCst);
    let view = world.submit(RequestSettings::default()).await;
    for _ in 0..19 {
        let waiting = world.get(&view).await;
        assert!(waiting.kind.is_none() && waiting.question.is_none(), "{waiting:#?}");
        world.wake(view.id).await;
    }

    world.wake(view.id).await;

    assert_eq!(world.manager.busy.load(Ordering::SeqCst), 0);
    assert!(world.get(&view).await.kind.is_some());
}

#[tokio::test]
async fn the_configured_agents_are_checked_when_they_are_set() {
    let world = RequestFixture::sqlite().await;
    for (value, part) in [
        (json!([{ "profile": "ghost" }]), "there is no agent \"ghost\""),
        (json!({ "profile": "sba" }), "must be a list"),
        (json!([{ "model_hint": "huge" }]), "not a model hint"),
        (json!([{ "unit": "spec" }]), "unknown field"),
    ] {
        let refused = world.set("pm.agents", value).await.unwrap_err();
        assert!(refused.contains(part), "{refused}");
    }

    world.set("pm.agents", json!([{ "profile": "sba", "model_hint": "strong" }])).await.unwrap();
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;

    let child = world.child(view.id, "impl:main").await;
    assert_eq!(child.spec.options.model_hint.as_deref(), Some("strong"));
}

#[tokio::test]
async fn agents_that_became_invalid_start_no_unit() {
    let world = RequestFixture::sqlite().await;
    // As an earlier version stored it, or as it is once its profile is deleted.
    let row = cynode_store::Setting {
        key: "pm.agents".to_owned(),
        value: json!([{ "profile": "ghost" }]),
        version: 1,
        updated_at: chrono::DateTime::UNIX_EPOCH,
        updated_by: None,
    };
    let put = world.store.write(move |tx| Box::pin(async move { tx.setting_put(&row).await }));
    let put: Result<bool, cynode_store::Error> = put.await;
    assert!(put.unwrap());
    let loaded = world.requests.load_roster().await;
    assert!(matches!(loaded, Err(RequestError::InvalidRoster(_))), "{loaded:?}");
    let fault = world.requests.configuration_fault().await.unwrap();
    assert!(fault.contains("there is no agent \"ghost\""), "{fault}");
    assert!(fault.contains("cynork settings set pm.agents"), "{fault}");

    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;

    let waiting = world.get(&view).await;
    let asked = waiting.question.unwrap().question;
    assert!(asked.text.contains("there is no agent \"ghost\""), "{asked:?}");
    assert!(waiting.units.is_empty(), "it is not planned");
    assert!(world.open_children(view.id).await.is_empty());
    world.set("pm.agents", json!([])).await.unwrap();
    assert_eq!(world.requests.configuration_fault().await, None);
    world.answer(&view, Reply::Retry {}).await;
    world.child(view.id, "impl:main").await;
}

#[tokio::test]
async fn what_a_person_does_not_see_is_no_part_of_a_request() {
    let world = RequestFixture::sqlite().await;
    world.add_provider().await;
    let body = SubmitRequest {
        text: format!("{TEXT}\u{e0064}\u{e0065}\u{200b}\u{202e}\u{2066}"),
        labels: vec!["bug\u{e0041}".to_owned()],
        ..submission(RequestSettings::default())
    };

    let view = world.requests.submit(&world.bob, body).await.unwrap();

    assert_eq!((view.text.as_str(), view.source.labels), (TEXT, vec!["bug".to_owned()]));
}
