//! Faults of models and the decisions that follow.

use std::sync::Arc;
use std::time::Duration;

use cynode_agent::brain::decisions::{FailureAction, FailureHandling, HandleFailure};
use cynode_agent::brain::{Brain, BrainOptions, ChatModel, DecisionOutcome, EgressModel};
use cynode_llm::{ProviderEndpoint, ProviderKind, connect};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::handoff::DecidedBy;
use secrecy::SecretString;
use serde_json::json;

const SECRET: &str = "cyn_pm_0123456789abcdefghijklmnop";

fn brain(provider: &ScriptedProvider, timeout: Duration) -> Brain {
    let egress =
        connect(&ProviderEndpoint::new(ProviderKind::OpenAi, provider.openai_url())).unwrap();
    let model: Arc<dyn ChatModel> = Arc::new(EgressModel::new(egress, SecretString::from(SECRET)));
    let options = BrainOptions { max_request_duration: timeout, ..BrainOptions::default() };
    Brain::new(Some(model), options, "SYSTEM".to_owned())
}

async fn decide(provider: &ScriptedProvider) -> DecisionOutcome<FailureHandling> {
    decide_within(provider, Duration::from_secs(30)).await
}

async fn decide_within(
    provider: &ScriptedProvider,
    timeout: Duration,
) -> DecisionOutcome<FailureHandling> {
    let question = HandleFailure {
        role: "developer".to_owned(),
        failures: 2,
        max_failures: 3,
        error: "the disk is full".to_owned(),
        checkpoint: None,
    };
    brain(provider, timeout).decide(&question).await.unwrap()
}

fn valid_answer() -> Answer {
    Answer::tool_call("respond", json!({ "action": "retry", "reason": "there is room again" }))
}

#[tokio::test]
async fn a_real_request_forces_the_one_function_and_names_its_purpose() {
    let provider = ScriptedProvider::start();
    provider.script([valid_answer()]);

    let decided = decide(&provider).await;

    assert_eq!(
        (decided.answer.action, decided.record.by),
        (FailureAction::Retry, DecidedBy::Model)
    );
    let [seen] = &provider.requests()[..] else { panic!("one request") };
    assert_eq!(seen.body["model"], "balanced", "a hint, which egress resolves");
    assert_eq!(seen.body["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen.body["tool_choice"]["function"]["name"], "respond");
    assert_eq!(seen.body["metadata"]["purpose"], "handle_failure");
    assert_eq!(seen.body["messages"][0]["content"], "SYSTEM");
    assert!(!seen.text.contains(SECRET), "the token is in the header only");
}

#[tokio::test]
async fn faults_that_pass_are_tried_again() {
    for fault in [
        Answer::rate_limited(1),
        Answer::server_error(),
        Answer::invalid_json(),
        valid_answer().disconnecting_after(0),
    ] {
        let provider = ScriptedProvider::start();
        provider.script([fault.clone(), valid_answer()]);

        let decided = decide(&provider).await;

        assert_eq!(decided.record.by, DecidedBy::Model, "{fault:?}: {:?}", decided.record);
        assert_eq!(provider.requests().len(), 2);
    }
}

#[tokio::test]
async fn faults_that_stay_end_in_the_fallback_with_their_reason() {
    for (fault, reason) in [
        (Answer::rate_limited(1), "rate limit was reached"),
        (Answer::server_error(), "unavailable (status 500)"),
        (Answer::invalid_json(), "cannot be read"),
        (valid_answer().disconnecting_after(0), "did not answer"),
    ] {
        let provider = ScriptedProvider::start();
        provider.script([fault.clone(), fault.clone()]);

        let decided = decide(&provider).await;

        assert_eq!(decided.answer.action, FailureAction::ReduceScope);
        assert_eq!(decided.record.by, DecidedBy::Fallback);
        assert!(decided.record.reason.contains(reason), "{fault:?}: {:?}", decided.record);
    }
}

#[tokio::test]
async fn answers_of_the_wrong_shape_are_repaired_once() {
    let wrong = json!({ "action": "explode", "reason": "why not" });
    for fault in [
        Answer::tool_call("respond", wrong),
        Answer::call_with_invalid_arguments("respond"),
        Answer::tool_call("delete_everything", json!({})),
        Answer::text("I would try again."),
        Answer::truncated("{\"action\": \"ret"),
    ] {
        let provider = ScriptedProvider::start();
        provider.script([fault.clone(), valid_answer()]);

        let decided = decide(&provider).await;

        assert_eq!(decided.record.by, DecidedBy::Model, "{fault:?}: {:?}", decided.record);
        assert!(provider.has_received("Invalid answer"), "the fault is told");
    }
}

/// The answer of egress without a provider; its message may change.
const NO_PROVIDER: &str =
    "data: {\"error\":{\"message\":\"nobody\",\"type\":\"x\",\"code\":\"no_provider\"}}\n\n";

#[tokio::test]
async fn a_refusal_and_a_rejected_request_are_not_tried_again() {
    for (fault, reason) in [
        (Answer::refusal("I will not."), "declines to answer"),
        (Answer::status(400, "the context is too long"), "too long"),
        (Answer::raw("text/event-stream", NO_PROVIDER), "no model is configured"),
        (Answer::unauthorized("nobody"), "request was denied"),
    ] {
        let provider = ScriptedProvider::start();
        provider.script([fault.clone()]);

        let decided = decide(&provider).await;

        assert_eq!(decided.record.by, DecidedBy::Fallback);
        assert!(decided.record.reason.contains(reason), "{fault:?}: {:?}", decided.record);
        assert_eq!(provider.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_provider_that_says_nothing_is_given_up_in_time() {
    let provider = ScriptedProvider::start();
    provider.script([Answer::no_response(), Answer::no_response()]);

    let decided = decide_within(&provider, Duration::from_secs(1)).await;

    assert_eq!(decided.record.by, DecidedBy::Fallback);
    assert!(decided.record.reason.contains("no answer within 1 s"), "{:?}", decided.record);
}

#[tokio::test]
async fn an_answer_in_words_will_do_if_it_fits() {
    let provider = ScriptedProvider::start();
    provider.script([Answer::text(
        "<think>let me see</think>{\"action\":\"escalate\",\"reason\":\"the disk\"}",
    )]);

    assert_eq!(decide(&provider).await.answer.action, FailureAction::Escalate);
}
