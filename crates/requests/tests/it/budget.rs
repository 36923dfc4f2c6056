//! The budget of a request: a refused call asks a person, and costs no attempt.

use cynode_domain::question::Reply;
use cynode_domain::request::{QuestionSubject, RequestSettings};

use crate::world::{ChildEnd, RequestFixture, patch};

const REFUSED: &str = "the budget of this request is spent: 1.000000 of 1.000000 USD";

fn settings() -> RequestSettings {
    RequestSettings { budget_micros: Some(1_000_000), ..RequestSettings::default() }
}

#[tokio::test]
async fn a_refused_call_asks_a_person_and_consumes_no_attempt() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = world.submit(settings()).await;
        world.end_context(view.id).await;
        // More often than an agent may fail.
        for round in 1..=4_i64 {
            let child = world.child(view.id, "impl:main").await.spec.id;
            world.record_call(child, Some(700_000), None).await;
            world.record_call(child, None, Some(REFUSED)).await;
            world.end(view.id, "impl:main", ChildEnd::Failed("no answer".to_owned())).await;

            let waiting = world.get(&view).await;
            let subject = waiting.question.unwrap().subject;
            assert_eq!(subject, QuestionSubject::Budget { is_unpriced: false });
            assert!(world.open_children(view.id).await.is_empty());
            world.clock.advance(std::time::Duration::from_secs(1));
            let raised = world.answer(&view, Reply::Yes {}).await.settings;
            // Each answer grants the submitted budget again; the part for reviews stays.
            assert_eq!(raised.budget_micros, Some(1_000_000 * (round + 1)));
            assert_eq!(raised.review_reserve_micros, Some(200_000));
        }

        world.end(view.id, "impl:main", patch("a.rs")).await;
        let view = world.get(&view).await;
        assert_eq!(view.units[0].revision_count, 0);
        assert!(view.question.is_none(), "{view:#?}");
        world.child(view.id, "review:main").await;
    }
}

#[tokio::test]
async fn a_unit_that_was_refused_before_the_budget_was_raised_goes_on() {
    let world = RequestFixture::sqlite().await;
    world.plan("medium", &[("a", &[]), ("b", &[])]);
    let view = world.submit(settings()).await;
    world.end_context(view.id).await;
    for unit in ["spec:a", "spec:b"] {
        let child = world.child(view.id, unit).await.spec.id;
        world.record_call(child, None, Some(REFUSED)).await;
    }
    world.end(view.id, "spec:a", ChildEnd::Failed("no answer".to_owned())).await;
    assert!(world.get(&view).await.question.is_some());
    // It ends while the person thinks.
    world.end(view.id, "spec:b", ChildEnd::Failed("no answer".to_owned())).await;
    world.clock.advance(std::time::Duration::from_secs(1));

    world.answer(&view, Reply::Yes {}).await;

    assert!(world.get(&view).await.question.is_none(), "one answer is enough");
    world.child(view.id, "spec:a").await;
    world.child(view.id, "spec:b").await;
}

#[tokio::test]
async fn work_does_not_start_on_the_part_for_reviews() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(settings()).await;
    world.end_context(view.id).await;
    let child = world.child(view.id, "impl:main").await.spec.id;
    world.record_call(child, Some(850_000), None).await;
    world.end(view.id, "impl:main", patch("a.rs")).await;
    // The review may use what is left.
    world.end(view.id, "review:main", crate::world::review(false, "no toggle")).await;

    let waiting = world.get(&view).await;

    let asked = waiting.question.unwrap();
    assert_eq!(asked.subject, QuestionSubject::Budget { is_unpriced: false });
    assert_eq!(asked.question.about, ["next: impl:main"]);
}

#[tokio::test]
async fn a_model_without_a_price_is_used_only_without_the_budget() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(settings()).await;
    world.end_context(view.id).await;
    let child = world.child(view.id, "impl:main").await.spec.id;
    let refused =
        "the budget of this request cannot be kept, because the price of this model is unknown";
    world.record_call(child, None, Some(refused)).await;
    world.end(view.id, "impl:main", ChildEnd::Failed("no answer".to_owned())).await;
    let subject = world.get(&view).await.question.unwrap().subject;
    assert_eq!(subject, QuestionSubject::Budget { is_unpriced: true });

    let answered = world.answer(&view, Reply::Yes {}).await;

    assert_eq!(answered.settings.budget_micros, None);
    world.child(view.id, "impl:main").await;
}
