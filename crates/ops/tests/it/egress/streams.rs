//! Streamed answers.

use cynode_domain::model::InferenceOutcome;
use cynode_llm_wire::openai::{ChatChunk, ChatRequest, StreamOptions};
use cynode_models::{
    egress::CallRecordBuffer, egress::EgressError, egress::EgressStream, egress::Inference,
    egress::ProviderError,
};
use cynode_store::Entry;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::inferences::InferenceQuery;
use futures_util::StreamExt as _;
use serde_json::json;

use super::world::{World, asks, hello};

// Assembled at run time, so that no scanner takes this file for a leak.
fn secret() -> String {
    format!("sk-{}", "a1B2c3D4e5F6g7H8i9J0")
}

async fn all(stream: EgressStream) -> Vec<Result<ChatChunk, EgressError>> {
    stream.collect().await
}

fn text(chunks: &[Result<ChatChunk, EgressError>]) -> String {
    chunks.iter().flatten().map(ChatChunk::text).collect()
}

pub(super) async fn pieces_come_through_and_the_usage_only_if_asked_for(world: World) {
    let provider = ScriptedProvider::saying("one two three");
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    let options = Some(StreamOptions { include_usage: true, ..StreamOptions::default() });
    let counted = ChatRequest { stream_options: options, ..hello("far/m") };
    for (request, has_usage) in [(hello("far/m"), false), (counted, true)] {
        let chunks = all(world.egress.stream(&asks(&world.bob), request).await.unwrap()).await;

        assert_eq!(text(&chunks), "one two three");
        assert!(chunks.len() > 3, "{chunks:?}");
        assert_eq!(chunks.iter().flatten().any(|chunk| chunk.usage.is_some()), has_usage);
    }
    for call in world.calls().await {
        assert_eq!((call.outcome, call.cost_micro_usd), (InferenceOutcome::Success, Some(25)));
        assert!(call.first_chunk_ms.is_some());
    }
}

pub(super) async fn a_stream_that_nobody_reads_to_its_end_is_recorded_as_canceled(world: World) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::text("one two three").stalling_after(1));
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    let mut stream = world.egress.stream(&asks(&world.bob), hello("far/m")).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    assert!(first.choices[0].finish_reason.is_none());

    drop(stream);

    provider.wait_for_abandoned(1).await;
    let calls = world.calls().await;
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].outcome, calls[0].is_estimate), (InferenceOutcome::Canceled, true));
    assert!(calls[0].cost_micro_usd.unwrap() >= 10, "the question was read");
}

pub(super) async fn the_record_of_a_call_on_a_tab_is_left_to_whoever_asked(world: World) {
    let provider = ScriptedProvider::saying("one two three");
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    let tab = CallRecordBuffer::default();
    let asks = Inference { record_buffer: Some(tab.clone()), ..asks(&world.bob) };

    world.egress.chat(&asks, hello("far/m")).await.unwrap();
    drop(world.egress.stream(&asks, hello("far/m")).await.unwrap());

    let entries = tab.take();
    let [Entry::InferenceCall(whole), Entry::InferenceCall(dropped)] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    assert_eq!((whole.outcome, whole.user), (InferenceOutcome::Success, world.bob.user));
    assert_eq!(dropped.outcome, InferenceOutcome::Canceled);
    // The decision is persisted before the provider is called, whichever process persists the rest.
    assert_eq!((world.decisions(whole).await.len(), world.decisions(dropped).await.len()), (1, 1));
    let sums = world.egress.list_calls(&world.bob, InferenceQuery::default()).await.unwrap().totals;
    assert_eq!((sums.calls, tab.take()), (0, vec![]));
}

pub(super) async fn another_provider_streams_when_the_first_cannot_begin(world: World) {
    let (first, second) = (ScriptedProvider::start(), ScriptedProvider::saying("second"));
    first.otherwise(Answer::rate_limited(3600));
    world.provide("first", &first).await;
    world.provide("second", &second).await;
    world.set("first", "key").await;
    world.set("second", "key").await;
    world.setting("models.hints.fast", json!(["first/m", "second/m"])).await;

    let stream = world.egress.stream(&asks(&world.bob), hello("fast")).await.unwrap();

    assert_eq!(text(&all(stream).await), "second");
}

pub(super) async fn a_stream_that_breaks_off_fails_and_nobody_else_is_asked(world: World) {
    let (first, second) = (ScriptedProvider::start(), ScriptedProvider::saying("second"));
    first.otherwise(Answer::text("one two three").disconnecting_after(2));
    world.provide("first", &first).await;
    world.provide("second", &second).await;
    world.set("first", "key").await;
    world.set("second", "key").await;
    world.setting("models.hints.fast", json!(["first/m", "second/m"])).await;

    let stream = world.egress.stream(&asks(&world.bob), hello("fast")).await.unwrap();
    let chunks = all(stream).await;

    let error = chunks.last().unwrap().as_ref().unwrap_err();
    assert!(
        matches!(error, EgressError::Provider { cause: ProviderError::Truncated, .. }),
        "{error}"
    );
    assert_eq!(second.requests().len(), 0);
    assert_eq!(world.calls().await[0].outcome, InferenceOutcome::Failed);
}

pub(super) async fn a_secret_split_over_pieces_is_taken_out(world: World) {
    let (provider, secret) = (ScriptedProvider::start(), secret());
    let (a, b) = secret.split_at(10);
    provider.otherwise(Answer::text_chunks(["the key is ", a, b, " ok"]));
    world.provide("far", &provider).await;
    world.set("far", "key").await;

    let stream = world.egress.stream(&asks(&world.bob), hello("far/m")).await.unwrap();

    assert_eq!(text(&all(stream).await), "the key is sk-SECRET_REDACTED ok");
}

pub(super) async fn a_secret_in_a_whole_answer_is_taken_out(world: World) {
    let provider = ScriptedProvider::saying(&format!("the key is {}", secret()));
    world.provide("far", &provider).await;
    world.set("far", "key").await;

    let answer = world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();

    assert_eq!(answer.text(), "the key is sk-SECRET_REDACTED");
}
