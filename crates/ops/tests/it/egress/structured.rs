//! Requests that force a function, against servers that honour it in different ways.

use cynode_llm::ChunkCollector;
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest, ToolDefinition};
use cynode_models::egress::Inference;
use cynode_testkit::provider::{
    Answer, ScriptedProvider, ScriptedProviderRequest, StructuredOutputContract,
};
use cynode_wire::providers::PutProvider;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use super::world::{World, asks, hello, open};

/// A request that forces `respond`.
fn forced() -> ChatRequest {
    let schema = json!({
        "type": "object", "properties": { "lines": { "type": "array", "items": { "type": "string" } } },
        "required": ["lines"], "additionalProperties": false,
    });
    let tool = ToolDefinition::function("respond", "Gives the answer.", schema);
    ChatRequest { tool_choice: tool.forced(), tools: vec![tool], ..hello("own/m") }
}

fn value() -> Value {
    json!({ "lines": ["seq 1 10"] })
}

/// A server of one's own that behaves like this and says `value` to everything.
async fn serving(world: &World, contract: StructuredOutputContract) -> ScriptedProvider {
    let provider = ScriptedProvider::start();
    provider.set_contract(contract);
    provider.otherwise(Answer::tool_call("respond", value()));
    let row = PutProvider { is_local: Some(true), ..open(&provider) };
    world.provide_as("own", row).await;
    provider
}

fn called(answer: &ChatCompletion) -> Value {
    let call = answer.message().unwrap().tool_calls[0].function.as_ref().unwrap();
    assert_eq!(call.name, "respond");
    serde_json::from_str(&call.arguments).unwrap()
}

fn form(seen: &ScriptedProviderRequest) -> (bool, bool, bool) {
    let body = &seen.body;
    (body["tools"].is_array(), body["tool_choice"].is_object(), body["response_format"].is_object())
}

pub(super) async fn a_forced_function_reaches_each_model_in_the_form_that_it_honours(world: World) {
    let cases = [
        (StructuredOutputContract::ForcedTools, 2, (true, true, false)),
        (StructuredOutputContract::LlamaCpp, 1, (false, false, true)),
        (StructuredOutputContract::ProseOnly, 3, (false, false, false)),
    ];
    for (contract, probes, expected) in cases {
        let provider = serving(&world, contract).await;

        let whole = world.egress.chat(&asks(&world.bob), forced()).await.unwrap();
        let mut chunks = world.egress.stream(&asks(&world.bob), forced()).await.unwrap();
        let mut collected = ChunkCollector::default();
        while let Some(chunk) = chunks.next().await {
            collected.push(&chunk.unwrap());
        }

        assert_eq!(called(&whole), value(), "{contract:?}");
        assert_eq!(called(&collected.finish()), value(), "{contract:?}");
        assert_eq!(provider.probes().len(), probes, "{contract:?}: a model is probed once");
        let forms: Vec<_> = provider.requests().iter().map(form).collect();
        assert_eq!(forms, [expected, expected], "{contract:?}");
    }
}

pub(super) async fn a_probe_is_on_record_like_any_call_and_repeated_when_the_provider_changes(
    world: World,
) {
    let provider = serving(&world, StructuredOutputContract::LlamaCpp).await;
    let asks = Inference { purpose: "plan".to_owned(), ..asks(&world.bob) };

    world.egress.chat(&asks, forced()).await.unwrap();
    let row = PutProvider { is_local: Some(true), concurrency: Some(1), ..open(&provider) };
    world.provide_as("own", row).await;
    world.egress.chat(&asks, forced()).await.unwrap();

    let calls = world.calls().await;
    let mut purposes: Vec<_> = calls.iter().map(|call| call.purpose.as_str()).collect();
    purposes.sort_unstable();
    assert_eq!(purposes, ["plan", "plan", "probe", "probe"]);
    assert!(calls.iter().all(|call| call.user == world.bob.user && call.input_tokens == Some(11)));
    assert_eq!(provider.probes().len(), 2);
}

pub(super) async fn a_model_that_stops_answering_as_it_was_made_to_is_probed_again(world: World) {
    let provider = serving(&world, StructuredOutputContract::ForcedTools).await;
    world.egress.chat(&asks(&world.bob), forced()).await.unwrap();
    provider.script([Answer::text("I would rather talk.")]);

    let talk = world.egress.chat(&asks(&world.bob), forced()).await.unwrap();
    provider.set_contract(StructuredOutputContract::LlamaCpp);
    let again = world.egress.chat(&asks(&world.bob), forced()).await.unwrap();

    assert_eq!(talk.text(), "I would rather talk.");
    assert_eq!(called(&again), value());
    assert_eq!(form(provider.requests().last().unwrap()), (false, false, true));
}

pub(super) async fn a_model_that_cannot_be_probed_is_asked_as_the_caller_said_and_probed_later(
    world: World,
) {
    let provider = serving(&world, StructuredOutputContract::ForcedTools).await;
    provider.reject_probes(1);

    let answer = world.egress.chat(&asks(&world.bob), forced()).await.unwrap();

    assert_eq!(called(&answer), value());
    let before = provider.probes().len();
    world.egress.chat(&asks(&world.bob), forced()).await.unwrap();
    assert!(provider.probes().len() > before, "it is probed when it can be");
}
