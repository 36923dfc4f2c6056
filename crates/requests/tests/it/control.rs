//! People who pause a request, and who work on a unit themselves.

use cynode_domain::name_or_id::NameOrId;
use cynode_domain::request::RequestSettings;
use cynode_domain::status::WorkUnitStatus;
use cynode_requests::RequestError;
use cynode_wire::requests::{HandBackUnit, TakeOverUnit};
use cynode_wire::tasks::CreateTask;

use crate::world::{ChildEnd, RequestFixture, URL, patch, review};

fn take(unit: &str) -> TakeOverUnit {
    TakeOverUnit { unit: unit.to_owned() }
}

fn give(unit: &str, task: Option<String>, comment: Option<&str>) -> HandBackUnit {
    HandBackUnit { unit: unit.to_owned(), task, comment: comment.map(str::to_owned) }
}

#[tokio::test]
async fn nothing_starts_while_a_request_is_paused() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = world.submit(RequestSettings::default()).await;
        world.end_context(view.id).await;

        let paused = world.requests.pause(&world.bob, &view.id.into()).await.unwrap();
        assert!(paused.paused_at.is_some());
        let child = world.child(view.id, "impl:main").await;
        assert!(child.paused_at.is_some(), "its attempt is paused with it");
        // Again: nothing changes.
        world.requests.pause(&world.bob, &view.id.into()).await.unwrap();
        world.end(view.id, "impl:main", patch("a.rs")).await;
        assert!(world.open_children(view.id).await.is_empty(), "no review starts");

        let resumed = world.requests.resume(&world.bob, &view.id.into()).await.unwrap();
        assert_eq!(resumed.paused_at, None);
        world.advance().await;
        world.child(view.id, "review:main").await;
    }
}

#[tokio::test]
async fn a_driver_that_was_paused_in_the_middle_starts_nothing() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    world.requests.pause(&world.bob, &view.id.into()).await.unwrap();
    let child = world.child(view.id, "impl:main").await.spec.id;

    world.requests.resume(&world.bob, &view.id.into()).await.unwrap();

    let child = world.tasks.get(&world.bob, &child.into()).await.unwrap();
    assert_eq!(child.blocked_reason, None, "its attempt goes on: {child:?}");
}

#[tokio::test]
async fn another_user_controls_nothing() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    let id: NameOrId<_> = view.id.into();
    let eve = cynode_resources::Caller::on_behalf_of(
        cynode_domain::ids::UserId::generate(),
        "eve".to_owned(),
        false,
    );

    let all = [
        world.requests.pause(&eve, &id).await,
        world.requests.resume(&eve, &id).await,
        world.requests.take_over(&eve, &id, take("impl:main")).await,
        world.requests.hand_back(&eve, &id, give("impl:main", None, None)).await,
    ];

    for refused in all {
        assert!(matches!(refused, Err(RequestError::NotFound(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_unit_that_a_person_took_over_waits_until_it_is_handed_back() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = world.submit(RequestSettings::default()).await;
        world.end_context(view.id).await;
        let id: NameOrId<_> = view.id.into();

        let taken = world.requests.take_over(&world.bob, &id, take("impl:main")).await.unwrap();
        world.advance().await;
        assert_eq!(taken.taken_over["impl:main"], "bob");
        assert!(world.open_children(view.id).await.is_empty(), "its agent is stopped");
        assert!(world.get(&view).await.question.is_none(), "nothing is asked");
        let again = world.requests.take_over(&world.bob, &id, take("impl:main")).await;
        assert!(matches!(again, Err(RequestError::Invalid(_))), "{again:?}");

        let back = give("impl:main", None, Some("Keep the heading line"));
        world.requests.hand_back(&world.bob, &id, back).await.unwrap();
        world.advance().await;
        let child = world.child(view.id, "impl:main").await;
        assert!(child.spec.prompt.contains("Keep the heading line"), "{}", child.spec.prompt);
        let again = world.requests.hand_back(&world.bob, &id, give("impl:main", None, None)).await;
        assert!(matches!(again, Err(RequestError::Invalid(_))), "{again:?}");
    }
}

#[tokio::test]
async fn a_persons_work_is_reviewed_like_an_agents() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    let id: NameOrId<_> = view.id.into();
    world.requests.take_over(&world.bob, &id, take("impl:main")).await.unwrap();
    let own = |url: &str| CreateTask {
        input_mode: cynode_domain::plan::InputMode::Commands,
        commands: vec!["make".to_owned()],
        repository: serde_json::from_value(serde_json::json!({ "url": url })).unwrap(),
        ..CreateTask::default()
    };
    let open = world.tasks.create(&world.bob, own(URL)).await.unwrap();
    let refused = world.requests.hand_back(
        &world.bob,
        &id,
        give("impl:main", Some(open.task_name.clone()), None),
    );
    assert!(matches!(refused.await, Err(RequestError::Invalid(_))), "it has not ended");
    world.end_child(open.id, patch("a.rs")).await;

    let back = give("impl:main", Some(open.task_name), None);
    let view = world.requests.hand_back(&world.bob, &id, back).await.unwrap();
    world.advance().await;

    let unit = view.units.iter().find(|unit| unit.id == "impl:main").unwrap();
    assert_eq!(unit.attempts.last().unwrap().task_id, open.id);
    let review_child = world.child(view.id, "review:main").await;
    let sources: Vec<_> =
        review_child.spec.options.builds_on.iter().map(|source| source.task).collect();
    assert_eq!(sources, [open.id], "the review judges it");
    world.end(view.id, "review:main", review(true, "a.rs:1")).await;
    let unit = world.get(&view).await.units[0].status;
    assert_eq!(unit, WorkUnitStatus::Completed);
}

#[tokio::test]
async fn work_of_another_user_is_not_handed_back() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    let id: NameOrId<_> = view.id.into();
    world.requests.take_over(&world.bob, &id, take("impl:main")).await.unwrap();
    let create = CreateTask {
        input_mode: cynode_domain::plan::InputMode::Commands,
        commands: vec!["make".to_owned()],
        repository: serde_json::from_value(serde_json::json!({ "url": URL })).unwrap(),
        ..CreateTask::default()
    };
    // An administrator sees both tasks, and yet one is not the work of the other's owner.
    let foreign = world.tasks.create(&world.admin, create).await.unwrap();
    world.end_child(foreign.id, patch("a.rs")).await;

    let back = give("impl:main", Some(foreign.id.to_string()), None);
    let refused = world.requests.hand_back(&world.admin, &id, back).await;

    let Err(RequestError::Invalid(faults)) = refused else { panic!("{refused:?}") };
    assert!(faults[0].contains("request's owner"), "{faults:?}");
    assert_eq!(world.get(&view).await.taken_over["impl:main"], "bob");
}

#[tokio::test]
async fn only_work_that_can_go_on_is_taken_over() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    let id: NameOrId<_> = view.id.into();
    let early = world.requests.take_over(&world.bob, &id, take("impl:main")).await;
    assert!(matches!(early, Err(RequestError::Invalid(_))), "{early:?}");
    world.end_context(view.id).await;
    for unit in ["review:main", "impl:other"] {
        let refused = world.requests.take_over(&world.bob, &id, take(unit)).await;
        assert!(refused.is_err(), "{unit}");
    }
    world.end(view.id, "impl:main", ChildEnd::Failed("lost".to_owned())).await;
    world.requests.take_over(&world.bob, &id, take("impl:main")).await.unwrap();
    world.tasks.cancel(&world.bob, &id).await.unwrap();
    let ended = world.requests.pause(&world.bob, &id).await;
    assert!(matches!(ended, Err(RequestError::Task(_))), "{ended:?}");
}
