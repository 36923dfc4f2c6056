//! Cost: reserved before a call and settled after it, whatever its outcome.

use cynode_domain::model::InferenceOutcome;
use cynode_llm_wire::openai::{ChatMessage, ChatRequest};
use cynode_models::{
    egress::Egress, egress::EgressError, egress::Inference, egress::ProviderError,
};
use cynode_store::InferenceCall;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;

use super::world::{World, asks, hello};

/// What [`hello`] may cost at the usual price: ten tokens in for one each, 4096 out for two.
const MOST: i64 = 10 + 2 * 4096;

/// A request that costs a tenth of a dollar before any output.
fn long(model: &str) -> ChatRequest {
    let messages = vec![ChatMessage::text("user", "x".repeat(300_000))];
    ChatRequest { messages, max_tokens: Some(10), ..hello(model) }
}

async fn far(world: &World, answer: Answer) -> ScriptedProvider {
    let provider = ScriptedProvider::start();
    provider.otherwise(answer);
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    provider
}

fn is_over<T>(answer: &Result<T, EgressError>) -> bool {
    matches!(answer, Err(EgressError::OverBudget(_)))
}

pub(super) async fn calls_made_at_once_do_not_pass_the_budget_together(world: World) {
    let provider = far(&world, Answer::no_response()).await;
    world.setting("budget.day_usd", 0.02).await;
    let (here, there, bob) = (&world.egress, world.other_process(), asks(&world.bob));
    let ask = |egress: Egress| {
        let asks: Inference = bob.clone();
        async move { egress.chat(&asks, hello("far/m")).await }.boxed()
    };
    let mut calls: FuturesUnordered<_> =
        (0..5).flat_map(|_| [ask(here.clone()), ask(there.clone())]).collect();

    for _ in 0..8 {
        let refused = calls.next().await.unwrap();
        assert!(is_over(&refused), "{refused:?}");
        let said = refused.unwrap_err().to_string();
        assert!(said.contains("0.016404 of 0.020000 USD are spent or set aside"), "{said}");
    }
    tokio::select! {
        () = provider.wait_for_requests(2) => {}
        answer = calls.next() => panic!("{answer:?}"),
    }

    drop(calls);
    assert_eq!(provider.requests().len(), 2);
    // An aborted call may have been processed to its end.
    let spent: Vec<_> = charged(&world).await;
    assert_eq!(spent, [(InferenceOutcome::Canceled, Some(MOST), true); 2]);
}

/// What calls that were sent cost.
async fn charged(world: &World) -> Vec<(InferenceOutcome, Option<i64>, bool)> {
    let calls = world.calls().await;
    let sent = calls.iter().filter(|call| call.outcome != InferenceOutcome::OverBudget);
    sent.map(|call| (call.outcome, call.cost_micro_usd, call.is_estimate)).collect()
}

pub(super) async fn a_call_whose_process_died_counts_with_what_was_set_aside(world: World) {
    let provider = far(&world, Answer::no_response()).await;
    world.setting("budget.day_usd", 0.01).await;
    let (bob, dead) = (asks(&world.bob), world.other_process());
    let mut call = Box::pin(dead.chat(&bob, hello("far/m")));
    tokio::select! {
        () = provider.wait_for_requests(1) => {}
        answer = &mut call => panic!("{answer:?}"),
    }

    // No process is left to record the outcome.
    std::mem::forget(call);

    assert_eq!(charged(&world).await, [(InferenceOutcome::Open, Some(MOST), true)]);
    let refused = world.egress.chat(&bob, hello("far/m")).await;
    assert!(is_over(&refused), "{refused:?}");
    world.clock.advance(chrono::TimeDelta::days(1).to_std().unwrap());
    provider.otherwise(Answer::text("hi"));
    world.egress.chat(&bob, hello("far/m")).await.unwrap();
}

pub(super) async fn streams_that_nobody_reads_to_their_end_use_up_the_budget(world: World) {
    let provider = far(&world, Answer::text("one two three").stalling_after(1)).await;
    world.setting("budget.day_usd", 0.35).await;
    let bob = asks(&world.bob);
    for index in 1..=3 {
        let mut stream = world.egress.stream(&bob, long("far/m")).await.unwrap();
        stream.next().await.unwrap().unwrap();
        drop(stream);
        provider.wait_for_abandoned(index).await;
        world.calls().await;
    }

    let refused = world.egress.stream(&bob, long("far/m")).await;

    assert!(is_over(&refused.map(drop)));
    assert_eq!(provider.requests().len(), 3);
    for (outcome, cost, is_estimate) in charged(&world).await {
        assert_eq!((outcome, is_estimate), (InferenceOutcome::Canceled, true));
        assert!((100_008..100_020).contains(&cost.unwrap()), "{cost:?}");
    }
}

pub(super) async fn a_provider_that_does_not_count_is_charged_for_what_it_said(world: World) {
    let body = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "x".repeat(300)}}]});
    let _provider = far(&world, Answer::raw("application/json", &body.to_string())).await;

    let answer = world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();

    assert_eq!(answer.usage, None);
    let call = &world.calls().await[0];
    assert_eq!((call.cost_micro_usd, call.is_estimate), (Some(10 + 2 * 100), true));
    assert_eq!((call.input_tokens, call.output_tokens), (None, None));
}

pub(super) async fn what_was_set_aside_is_free_again_once_a_call_has_ended(world: World) {
    let provider = far(&world, Answer::text("hi").with_usage(100, 10)).await;
    world.setting("budget.day_usd", 0.009).await;
    let bob = asks(&world.bob);
    // Room for one at a time.
    for _ in 0..3 {
        world.egress.chat(&bob, hello("far/m")).await.unwrap();
    }

    assert_eq!(charged(&world).await, [(InferenceOutcome::Success, Some(120), false); 3]);
    assert_eq!(provider.requests().len(), 3);
}

pub(super) async fn a_call_that_was_turned_away_costs_nothing(world: World) {
    let provider = far(&world, Answer::status(400, "no such parameter")).await;
    world.setting("budget.day_usd", 0.01).await;
    let bob = asks(&world.bob);
    provider.script([
        Answer::status(400, "no"),
        Answer::unauthorized("key"),
        Answer::text("one two three").disconnecting_after(2),
    ]);

    for _ in 0..2 {
        world.egress.chat(&bob, hello("far/m")).await.unwrap_err();
    }
    let chunks: Vec<_> = world.egress.stream(&bob, hello("far/m")).await.unwrap().collect().await;
    assert!(chunks.last().unwrap().is_err());
    drop(provider);
    world.egress.chat(&bob, hello("far/m")).await.unwrap_err();

    let nothing = (InferenceOutcome::Failed, Some(0), false);
    let all = charged(&world).await;
    let [first, second, (broken, cost, is_estimate), gone] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!([first, second, gone], [&nothing; 3]);
    assert_eq!((*broken, *is_estimate), (InferenceOutcome::Failed, true));
    assert!((11..=18).contains(&cost.unwrap()), "what came before it broke off: {cost:?}");
}

pub(super) async fn a_provider_that_asks_to_be_left_alone_is_not_asked_meanwhile(world: World) {
    let provider = far(&world, Answer::rate_limited(60)).await;
    let wait = |answer: Result<_, EgressError>| match answer {
        Err(EgressError::Provider {
            cause: ProviderError::RateLimited { retry_after }, ..
        }) => retry_after.map(|wait| wait.as_secs()),
        other => panic!("{:?}", other.map(|_: cynode_llm_wire::openai::ChatCompletion| ())),
    };

    let first = wait(world.egress.chat(&asks(&world.bob), hello("far/m")).await);
    let second = wait(world.egress.chat(&asks(&world.bob), hello("far/m")).await);

    assert_eq!(first, Some(60));
    assert!((1..60).contains(&second.unwrap()), "{second:?}");
    assert_eq!(provider.requests().len(), 1);
    let costs: Vec<_> = world.calls().await.iter().map(cost).collect();
    assert_eq!(costs, [Some(0); 2]);
}

fn cost(call: &InferenceCall) -> Option<i64> {
    call.cost_micro_usd
}
