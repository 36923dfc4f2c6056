//! Each fault of a provider and the error it causes.

use std::time::Duration;

use cynode_llm::{
    ProviderEndpoint, ProviderError, ProviderKind, ProviderLimits, TimeoutPhase, connect,
};
use cynode_testkit::provider::Answer;

use crate::harness::{ProviderHarness, SECRET, request};

const BOTH: [ProviderKind; 2] = [ProviderKind::OpenAi, ProviderKind::Anthropic];

/// The same fault, whole and streamed, with both APIs.
async fn outcomes(answer: Answer) -> Vec<ProviderError> {
    let mut errors = Vec::new();
    for kind in BOTH {
        let harness = ProviderHarness::new(kind);
        errors.push(harness.chat(answer.clone()).await.unwrap_err());
        errors.push(harness.stream(answer.clone()).await.1.unwrap());
    }
    errors
}

#[tokio::test]
async fn too_many_requests_name_the_wait() {
    let expected = ProviderError::RateLimited { retry_after: Some(Duration::from_secs(7)) };

    assert_eq!(outcomes(Answer::rate_limited(7)).await, vec![expected; 4]);
}

#[tokio::test]
async fn a_server_error_is_unavailable() {
    let expected = ProviderError::Unavailable { status: 500, retry_after: None };

    assert_eq!(outcomes(Answer::server_error()).await, vec![expected; 4]);
}

#[tokio::test]
async fn a_credential_is_refused_without_being_told_on() {
    for error in outcomes(Answer::unauthorized(SECRET)).await {
        assert!(matches!(error, ProviderError::Unauthorized { .. }), "{error:?}");
        assert!(!format!("{error:?} {error}").contains(SECRET), "{error:?}");
    }
}

#[tokio::test]
async fn a_request_at_fault_is_rejected_with_the_reason() {
    let message = "max_tokens is too large".to_owned();
    let expected = ProviderError::Rejected { status: 400, message, code: None };

    assert_eq!(outcomes(Answer::status(400, "max_tokens is too large")).await, vec![expected; 4]);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let errors = outcomes(Answer::status(307, "elsewhere")).await;

    assert!(errors.iter().all(|it| matches!(it, ProviderError::Rejected { status: 307, .. })));
}

#[tokio::test]
async fn answers_that_are_no_json_or_another_schema_are_malformed() {
    for kind in BOTH {
        for answer in [Answer::invalid_json(), Answer::wrong_schema()] {
            let error = ProviderHarness::new(kind).chat(answer).await.unwrap_err();

            assert!(matches!(error, ProviderError::Malformed { .. }), "{kind:?} {error:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_without_choices_is_malformed() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);

    let error = harness.chat(Answer::raw("application/json", "{\"choices\": []}")).await;

    assert!(matches!(error, Err(ProviderError::Malformed { .. })), "{error:?}");
}

#[tokio::test]
async fn an_error_with_the_status_of_success_is_an_error() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    let body = "{\"error\": {\"message\": \"Model is loading\", \"type\": \"server_error\"}}";

    let error = harness.chat(Answer::raw("application/json", body)).await.unwrap_err();

    assert_eq!(error, ProviderError::Unavailable { status: 200, retry_after: None });
}

#[tokio::test]
async fn a_body_that_breaks_off_is_truncated() {
    for kind in BOTH {
        let harness = ProviderHarness::new(kind);

        let error = harness.chat(Answer::text("one two").disconnecting_after(1)).await.unwrap_err();

        assert_eq!(error, ProviderError::Truncated);
    }
}

#[tokio::test]
async fn silence_ends_by_itself() {
    for kind in BOTH {
        let harness = ProviderHarness::with_short_timeouts(kind);

        let whole = harness.chat(Answer::no_response()).await.unwrap_err();
        let (_, streamed) = harness.stream(Answer::no_response()).await;

        assert!(matches!(whole, ProviderError::Timeout { .. }), "{whole:?}");
        assert_eq!(streamed, Some(ProviderError::Timeout { phase: TimeoutPhase::FirstByte }));
        // A request that a busy machine did not send in time cannot be abandoned.
        let arrived = harness.provider.requests().len();
        assert!(arrived <= 2, "nothing is asked again");
        harness.provider.wait_for_abandoned(arrived).await;
    }
}

#[tokio::test]
async fn an_answer_larger_than_the_limit_is_not_kept() {
    let limits = ProviderLimits { max_answer_bytes: 1000, ..ProviderLimits::default() };
    for kind in BOTH {
        let harness = ProviderHarness::with_limits(kind, limits.clone());
        let long = "word ".repeat(1000);

        let whole = harness.chat(Answer::text(&long)).await.unwrap_err();
        let (_, streamed) = harness.stream(Answer::text(&long)).await;

        assert_eq!(whole, ProviderError::TooLarge { limit: 1000 });
        assert_eq!(streamed, Some(ProviderError::TooLarge { limit: 1000 }));
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_cannot_be_reached() {
    let gone = ProviderHarness::new(ProviderKind::OpenAi).provider.openai_url();
    let client = connect(&ProviderEndpoint::new(ProviderKind::OpenAi, gone.clone())).unwrap();

    // The port closes a moment after its server was dropped.
    let error = loop {
        match client.chat(&request(), None).await {
            Err(error @ ProviderError::Connect { .. }) => break error,
            Err(_) | Ok(_) => tokio::task::yield_now().await,
        }
    };

    assert!(!error.to_string().contains(&gone), "{error}");
}

#[tokio::test]
async fn a_provider_that_accepts_no_connection_in_time_was_sent_nothing() {
    // A connection attempt gets no reply while the accept queue is full, as behind a firewall.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = socket.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let many = (0..8).map(|_| tokio::net::TcpStream::connect(address));
    let mut waiting = Vec::new();
    for connecting in many {
        let connected = tokio::time::timeout(Duration::from_millis(100), connecting).await;
        waiting.extend(connected.ok().and_then(Result::ok));
    }
    let limits =
        ProviderLimits { connect_timeout: Duration::from_millis(200), ..ProviderLimits::default() };
    let base_url = format!("http://{address}/v1");
    let endpoint = ProviderEndpoint { kind: ProviderKind::OpenAi, base_url, limits };

    let error = connect(&endpoint).unwrap().chat(&request(), None).await.unwrap_err();

    assert_eq!(error, ProviderError::Timeout { phase: TimeoutPhase::Connect });
    assert!(error.is_free_of_charge() && !error.is_transient(), "the next one is asked instead");
}

#[tokio::test]
async fn a_credential_that_no_header_can_carry_is_refused_without_being_told_on() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    let secret = cynode_llm::ProviderCredential::from("line\nbreak");

    let error = harness.client.chat(&request(), Some(&secret)).await.unwrap_err();

    assert!(matches!(error, ProviderError::Unauthorized { .. }));
    assert!(!format!("{error:?}").contains("break"));
    assert!(harness.provider.requests().is_empty());
}
