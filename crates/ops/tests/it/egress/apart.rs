//! Streams for clients that may not read, and records of interrupted ones.

use cynode_domain::model::InferenceOutcome;
use cynode_llm_wire::openai::ChatChunk;
use cynode_models::egress::EgressError;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use futures_util::StreamExt as _;

use super::world::{World, asks, hello};

/// Sends a request as bob.
async fn provided(world: &World, answer: Answer) -> ScriptedProvider {
    let provider = ScriptedProvider::start();
    provider.otherwise(answer);
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    provider
}

fn text(chunks: &[Result<ChatChunk, EgressError>]) -> String {
    chunks.iter().flatten().map(ChatChunk::text).collect()
}

pub(super) async fn what_was_held_back_is_said_before_a_stream_fails(world: World) {
    let said = "see https://example.com/a";
    // The role and both words; then the provider dies.
    let _provider = provided(&world, Answer::text(said).disconnecting_after(3)).await;

    let stream = world.egress.stream(&asks(&world.bob), hello("far/m")).await.unwrap();
    let chunks: Vec<_> = stream.collect().await;

    assert_eq!(text(&chunks), said);
    assert!(chunks.last().unwrap().is_err(), "{chunks:?}");
}

pub(super) async fn an_answer_beside_its_reader_is_the_same_answer(world: World) {
    let _provider = provided(&world, Answer::text("one two three")).await;

    let stream = world.egress.stream_detached(&asks(&world.bob), hello("far/m")).await.unwrap();
    let chunks: Vec<_> = stream.collect().await;

    assert_eq!(text(&chunks), "one two three");
    assert!(chunks.iter().all(Result::is_ok), "{chunks:?}");
    assert_eq!(world.calls().await[0].outcome, InferenceOutcome::Success);
}

pub(super) async fn an_answer_beside_its_reader_ends_with_it(world: World) {
    let provider = provided(&world, Answer::text("one two").stalling_after(2)).await;
    let mut stream = world.egress.stream_detached(&asks(&world.bob), hello("far/m")).await.unwrap();
    stream.next().await.unwrap().unwrap();

    drop(stream);

    provider.wait_for_abandoned(1).await;
    assert_eq!(world.calls().await[0].outcome, InferenceOutcome::Canceled);
}

pub(super) async fn an_answer_is_given_up_and_on_record_when_the_process_stops(world: World) {
    let _provider = provided(&world, Answer::text("one two").stalling_after(2)).await;
    let stream = world.egress.stream_detached(&asks(&world.bob), hello("far/m")).await.unwrap();

    let calls = world.calls().await;

    assert_eq!(calls[0].outcome, InferenceOutcome::Canceled);
    let last = stream.collect::<Vec<_>>().await.pop().unwrap();
    assert!(matches!(last, Err(EgressError::Aborted(_))), "{last:?}");
}
