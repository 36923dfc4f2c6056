//! Rules about repositories while a request is worked on.

use cynode_domain::ids::RuleId;
use cynode_domain::policy::Effect;
use cynode_domain::policy::repository_access::{REPOSITORY_RESOURCE, RepositoryAction};
use cynode_domain::policy::rules::{AccessRule, Conditions, RuleSubject};
use cynode_domain::request::RequestSettings;
use cynode_execution::tasks::TaskError;
use cynode_requests::RequestError;
use cynode_runtime::clock::Clock as _;
use cynode_store::StoredRule;

use crate::world::{RequestFixture, patch, review, submission};

/// Denies an action to Bob everywhere; returns the rule.
async fn deny(world: &RequestFixture, action: RepositoryAction) -> RuleId {
    let now = world.clock.now();
    let id = RuleId::generate();
    let rule = StoredRule {
        rule: AccessRule {
            id,
            subject: RuleSubject::User(world.bob.user),
            action: action.as_str().parse().unwrap(),
            resource_type: REPOSITORY_RESOURCE.parse().unwrap(),
            resource: "*".parse().unwrap(),
            server: None,
            effect: Effect::Deny,
            priority: 0,
            conditions: Conditions::default(),
        },
        updated_by: None,
        created_at: now,
        updated_at: now,
    };
    let written = world.store.write(move |tx| Box::pin(async move { tx.rule_insert(&rule).await }));
    let written: Result<_, cynode_store::Error> = written.await;
    written.unwrap();
    id
}

#[tokio::test]
async fn a_request_on_a_repository_that_may_not_be_cloned_is_not_accepted() {
    let world = RequestFixture::sqlite().await;
    let rule = deny(&world, RepositoryAction::Clone).await;

    let refused = world.requests.submit(&world.bob, submission(RequestSettings::default())).await;

    let error = refused.unwrap_err();
    let is_denied = matches!(error, RequestError::Task(TaskError::RepositoryDenied(_)));
    assert!(is_denied && error.to_string().contains(&rule.to_string()), "{error:?}");
}

#[tokio::test]
async fn a_request_whose_push_is_denied_meanwhile_asks_a_person_and_names_the_rule() {
    let world = RequestFixture::sqlite().await;
    let view = world.submit(RequestSettings::default()).await;
    world.end_context(view.id).await;
    world.end(view.id, "impl:main", patch("a.rs")).await;
    world.end(view.id, "review:main", review(true, "a.rs:1")).await;
    let rule = deny(&world, RepositoryAction::Push).await;

    world.end(view.id, "integrate", patch("a.rs")).await;

    assert!(world.open_children(view.id).await.is_empty(), "no push was created");
    let question = world.get(&view).await.question.expect("a person is asked");
    let text = format!("{question:?}");
    assert!(text.contains(&format!("rule {rule} denies git.push")), "{text}");
}
