//! Which changes the next attempt at a unit starts from.

use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_store::Task;
use cynode_wire::requests::RequestView;

use super::until_implementation;
use crate::world::{ChildEnd, RequestFixture, patch, review};

/// The tasks whose changes a child task starts from.
fn sources(child: &Task) -> Vec<TaskId> {
    child.spec.options.builds_on.iter().map(|source| source.task).collect()
}

/// A request whose implementation was accepted and sent back by its review. Returns the accepted attempt too.
async fn until_revision(world: &RequestFixture) -> (RequestView, TaskId) {
    let view = until_implementation(world).await;
    let accepted = world.child(view.id, "impl:main").await.spec.id;
    world.end(view.id, "impl:main", patch("a.rs")).await;
    world.end(view.id, "review:main", review(false, "there is no toggle")).await;
    assert_eq!(sources(&world.child(view.id, "impl:main").await), [accepted]);
    (view, accepted)
}

#[tokio::test]
async fn an_attempt_that_left_no_changes_does_not_lose_the_accepted_ones() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let (view, accepted) = until_revision(&world).await;

        world.instruct(&view, "impl:main", "reduce_scope", "Leave out the animation").await;
        let replacing = world.child(view.id, "impl:main").await;
        assert_eq!(sources(&replacing), [accepted], "no agent had started");
        world.instruct(&view, "impl:main", "abort", "It goes astray").await;
        let after_abort = world.child(view.id, "impl:main").await;
        assert_eq!(sources(&after_abort), [accepted], "two attempts left nothing");
        let lost = ChildEnd::Failed("its node stopped reporting".to_owned());
        world.end(view.id, "impl:main", lost).await;

        assert_eq!(sources(&world.child(view.id, "impl:main").await), [accepted]);
    }
}

#[tokio::test]
async fn an_attempt_that_could_not_start_does_not_lose_the_accepted_changes() {
    let world = RequestFixture::sqlite().await;
    let (view, accepted) = until_revision(&world).await;

    let conflict = ChildEnd::Failed("could not start: merge conflict: a".to_owned());
    world.end(view.id, "impl:main", conflict).await;

    let next = world.child(view.id, "impl:main").await;
    assert_eq!(sources(&next), [accepted]);
    assert!(next.spec.options.mark_conflicts, "its agent resolves the conflict");
}

#[tokio::test]
async fn the_next_attempt_starts_when_the_node_has_collected_the_changes_of_the_stopped_one() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let view = until_implementation(&world).await;
        let agent = world.start_agent(view.id, "impl:main").await;

        world.instruct(&view, "impl:main", "reduce_scope", "Leave out the animation").await;
        world.wake(view.id).await;
        assert_eq!(world.open_children(view.id).await, [], "its node still stops the job");
        assert!(world.get(&view).await.question.is_none(), "nothing is asked");
        world.put_changes(agent.task, "a patch").await;
        agent.end_job().await;
        world.wake(view.id).await;

        let next = world.child(view.id, "impl:main").await;
        assert_eq!(sources(&next), [agent.task]);
    }
}

#[tokio::test]
async fn a_job_that_does_not_end_delays_the_next_attempt_for_a_limited_time() {
    let world = RequestFixture::sqlite().await;
    let view = until_implementation(&world).await;
    let agent = world.start_agent(view.id, "impl:main").await;
    world.instruct(&view, "impl:main", "abort", "It goes astray").await;
    assert_eq!(world.open_children(view.id).await, []);

    world.clock.advance(Duration::from_mins(11));
    world.wake(view.id).await;

    assert_ne!(world.child(view.id, "impl:main").await.spec.id, agent.task);
}
