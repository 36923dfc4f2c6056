//! Streams: chunk order, truncation, stalls and cancelled requests.

use std::time::{Duration, Instant};

use cynode_llm::resilience::{ResilienceOptions, ResilientProvider};
use cynode_llm::{Provider as _, ProviderError, ProviderKind, ProviderLimits, TimeoutPhase};
use cynode_llm_wire::openai::{ChatChunk, Usage};
use cynode_testkit::provider::Answer;
use futures_util::StreamExt as _;

use crate::harness::{ProviderHarness, joined_text, request};

const BOTH: [ProviderKind; 2] = [ProviderKind::OpenAi, ProviderKind::Anthropic];

#[tokio::test]
async fn pieces_come_in_order_and_the_last_says_what_it_cost() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);

    let (chunks, error) = harness.stream(Answer::text("one two three")).await;

    assert_eq!(error, None);
    let said: Vec<&str> = chunks.iter().map(ChatChunk::text).filter(|it| !it.is_empty()).collect();
    assert_eq!(said, ["one ", "two ", "three"]);
    assert_eq!(chunks.last().unwrap().usage, Some(Usage::new(11, 7)));
    let sent = &harness.provider.requests()[0].body;
    assert_eq!(sent["stream"], true);
    assert_eq!(sent["stream_options"]["include_usage"], true);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_never_taken_for_whole() {
    for kind in BOTH {
        let harness = ProviderHarness::new(kind);

        let answer = Answer::text("one two three").disconnecting_after(4);
        let (chunks, error) = harness.stream(answer).await;

        assert_eq!(error, Some(ProviderError::Truncated), "{kind:?}");
        assert!("one two three".starts_with(&joined_text(&chunks)), "{kind:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_politely_but_too_early_is_not_whole_either() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    let begun = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\n";

    let (chunks, error) = harness.stream(Answer::raw("text/event-stream", begun)).await;

    assert_eq!((joined_text(&chunks).as_str(), error), ("one", Some(ProviderError::Truncated)));
}

/// A chunk with a finish reason; nothing follows.
const FINISHED: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"},\
                        \"finish_reason\":\"stop\"}]}";

#[tokio::test]
async fn how_the_connection_ends_after_a_whole_answer_does_not_matter() {
    // The role, one chunk and the finish reason; the usage chunk never arrives.
    let resets = Answer::text("one").disconnecting_after(3);
    let stalls = Answer::text("one").stalling_after(3);
    let unended = Answer::raw("text/event-stream", FINISHED);
    let marked = Answer::raw("text/event-stream", &format!("\u{feff}{FINISHED}\n\n"));
    let harness = ProviderHarness::new(ProviderKind::OpenAi);

    for answer in [resets, stalls, unended, marked] {
        let (chunks, error) = harness.stream(answer.clone()).await;

        assert_eq!((joined_text(&chunks).as_str(), error), ("one", None), "{answer:?}");
    }
}

#[tokio::test]
async fn the_last_event_counts_also_without_the_line_that_ends_it() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);
    let events = [
        r#"data: {"type":"message_start","message":{"id":"m","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"one"}}"#,
        r#"data: {"type":"message_stop"}"#,
    ];

    let (chunks, error) =
        harness.stream(Answer::raw("text/event-stream", &events.join("\n\n"))).await;
    let cut = &events.join("\n\n");
    let cut = Answer::raw("text/event-stream", &cut[..cut.len() - 5]);
    let (_, broken) = harness.stream(cut).await;

    assert_eq!((joined_text(&chunks).as_str(), error), ("one", None));
    assert_eq!(broken, Some(ProviderError::Truncated));
}

#[tokio::test]
async fn an_answer_of_which_a_choice_is_cut_is_not_whole() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    let second = "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"tw\"}}]}\n\n";
    let body = format!("{second}{FINISHED}\n\n");

    let (_, error) = harness.stream(Answer::raw("text/event-stream", &body)).await;

    assert_eq!(error, Some(ProviderError::Truncated));
}

#[tokio::test]
async fn a_stream_that_stalls_is_given_up() {
    // Only the timeout after the first byte is short: a busy machine may be late with that byte.
    let limits =
        ProviderLimits { idle_timeout: Duration::from_millis(100), ..ProviderLimits::default() };
    let harness = ProviderHarness::with_limits(ProviderKind::OpenAi, limits);

    let (_, error) = harness.stream(Answer::text("one two").stalling_after(2)).await;

    assert_eq!(error, Some(ProviderError::Timeout { phase: TimeoutPhase::NextBytes }));
    harness.provider.wait_for_abandoned(1).await;
}

#[tokio::test]
async fn a_stream_whose_tokens_flow_may_take_longer_than_the_silence_limit() {
    let silence = Duration::from_secs(1);
    let limits =
        ProviderLimits { idle_timeout: silence, finish: silence, ..ProviderLimits::default() };
    let (pause, words) = (Duration::from_millis(60), "word ".repeat(20));
    let stream_slowly = async |kind: ProviderKind| {
        let harness = ProviderHarness::with_limits(kind, limits.clone());
        let begun = Instant::now();
        let (chunks, error) = harness.stream(Answer::text(&words).with_chunk_delay(pause)).await;

        assert_eq!((joined_text(&chunks), error), (words.clone(), None), "{kind:?}");
        assert!(begun.elapsed() > silence, "it was too fast to prove anything");
    };
    tokio::join!(stream_slowly(BOTH[0]), stream_slowly(BOTH[1]));
}

#[tokio::test]
async fn dropping_a_stream_ends_the_request() {
    for kind in BOTH {
        let harness = ProviderHarness::new(kind);
        let mut stream =
            harness.open_stream(Answer::text("one two three").stalling_after(3)).await.unwrap();
        assert!(stream.next().await.unwrap().is_ok());

        drop(stream);

        harness.provider.wait_for_abandoned(1).await;
    }
}

#[tokio::test]
async fn an_event_that_is_no_json_ends_the_stream() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);

    let (_, error) = harness.stream(Answer::invalid_event()).await;

    assert!(matches!(error, Some(ProviderError::Malformed { .. })), "{error:?}");
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_is_told_by_its_class() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    let body = "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\"}}\n\n";

    let (_, error) = harness.stream(Answer::raw("text/event-stream", body)).await;

    assert_eq!(error, Some(ProviderError::Unavailable { status: 200, retry_after: None }));
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_not_read_as_one() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);

    let (_, error) = harness.stream(Answer::wrong_schema()).await;

    assert!(matches!(error, Some(ProviderError::Malformed { .. })), "{error:?}");
}

#[tokio::test]
async fn an_event_larger_than_the_limit_is_not_kept() {
    let limits = ProviderLimits { max_event_bytes: 1000, ..ProviderLimits::default() };
    let harness = ProviderHarness::with_limits(ProviderKind::OpenAi, limits);

    let (_, error) = harness.stream(Answer::text_chunks([&*"x".repeat(5000)])).await;

    assert_eq!(error, Some(ProviderError::TooLarge { limit: 1000 }));
}

#[tokio::test]
async fn a_lane_asks_again_before_the_first_piece_and_never_after() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    let lane = ResilientProvider::new(harness.client.clone(), ResilienceOptions::default());
    harness.provider.script([
        Answer::rate_limited(0),
        Answer::server_error(),
        Answer::text("one two three").disconnecting_after(3),
        Answer::text("never asked for"),
    ]);

    let stream = lane.stream(&request(), Some(&harness.secret)).await.unwrap();
    let chunks: Vec<_> = stream.collect().await;

    assert!(chunks[0].is_ok());
    assert_eq!(chunks.last().unwrap(), &Err(ProviderError::Truncated));
    assert_eq!(harness.provider.remaining_responses(), 1);
}
