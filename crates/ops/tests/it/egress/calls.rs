//! Unstreamed calls: access, budgets and records.

use cynode_domain::ids::{RunId, ThreadId};
use cynode_domain::model::{InferenceOutcome, ProviderUse};
use cynode_domain::policy::rules::RuleSubject;
use cynode_domain::policy::{Effect, Principal};
use cynode_models::{
    egress::EgressError, egress::Inference, egress::ModelRouting, egress::ProviderAdminError,
};
use cynode_runtime::telemetry::gen_ai;
use cynode_runtime::telemetry::tracing_capture::{CapturedSpan, TracingCapture};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::inferences::{InferenceQuery, InferenceTotals};
use cynode_wire::providers::PutProvider;
use cynode_wire::rules::CreateRule;
use futures_util::StreamExt as _;
use serde_json::json;

use super::world::{World, asks, hello, open};

pub(super) async fn without_a_provider_there_is_none_to_ask(world: World) {
    let error = world.egress.chat(&asks(&world.bob), hello("m")).await.unwrap_err();

    assert!(matches!(error, EgressError::NoProvider), "{error}");
    assert_eq!(world.calls().await, []);
}

pub(super) async fn a_call_sends_the_credential_and_is_recorded_with_its_cost(world: World) {
    let provider = ScriptedProvider::start();
    provider.script([Answer::text("hi there").with_usage(100, 10)]);
    world.provide("far", &provider).await;
    let credential = world.set("far", "installation-key").await;
    let run = Some(RunId::generate());
    let asks = Inference { run, prompt_hash: Some("abc".to_owned()), ..asks(&world.bob) };

    let answer = world.egress.chat(&asks, hello("far/m")).await.unwrap();

    assert_eq!(answer.text(), "hi there");
    let seen = &provider.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer installation-key"));
    assert_eq!(seen.body["model"], "m");
    let calls = world.calls().await;
    let call = &calls[0];
    assert_eq!((&*call.provider, &*call.model, &*call.purpose), ("far", "m", "chat"));
    assert_eq!((call.input_tokens, call.output_tokens), (Some(100), Some(10)));
    assert_eq!(call.cost_micro_usd, Some(120));
    assert_eq!((call.outcome, call.run), (InferenceOutcome::Success, run));
    assert_eq!((call.user, &*call.trace_id), (world.bob.user, "trace-1"));
    assert_eq!(call.prompt_hash.as_deref(), Some("abc"));
    let decisions = world.decisions(call).await;
    let decided = &decisions[0];
    assert_eq!((decided.decision, &*decided.resource), (Effect::Allow, "far/chat"));
    assert_eq!(decided.credential, Some(credential.id));
}

/// The text of every span of a model call.
fn model_calls(capture: &TracingCapture) -> Vec<CapturedSpan> {
    let calls = capture.spans("model_call");
    let text = format!("{calls:?}");
    assert!(!["hello", "hi there", "sesame"].iter().any(|said| text.contains(said)), "{text}");
    calls
}

pub(super) async fn a_call_is_a_span_with_its_usage_and_without_what_was_said(world: World) {
    let (capture, _guard) = TracingCapture::start();
    let provider = ScriptedProvider::start();
    provider.script([
        Answer::text("hi there").with_usage(100, 10),
        Answer::text("hi there").with_usage(70, 7),
    ]);
    world.provide("far", &provider).await;
    world.set("far", "open-sesame").await;
    let asks = Inference { thread: Some(ThreadId::generate()), ..asks(&world.bob) };

    world.egress.chat(&asks, hello("far/m")).await.unwrap();
    let streamed = world.egress.stream(&asks, hello("far/m")).await.unwrap();
    assert!(streamed.all(|chunk| std::future::ready(chunk.is_ok())).await);

    let calls = model_calls(&capture);
    assert_eq!(calls.len(), 2);
    for (call, (input, output)) in calls.iter().zip([("100", "10"), ("70", "7")]) {
        assert_eq!(call.field("otel.name"), "chat m");
        assert_eq!((call.field("otel.kind"), call.field("trace_id")), ("client", "trace-1"));
        assert_eq!(call.field(gen_ai::PROVIDER_NAME), "far");
        assert_eq!(call.field(gen_ai::CONVERSATION_ID), asks.thread.unwrap().to_string());
        let usage = (call.field(gen_ai::INPUT_TOKENS), call.field(gen_ai::OUTPUT_TOKENS));
        assert_eq!(usage, (input, output));
        assert_eq!(call.field(gen_ai::FINISH_REASONS), "stop");
        assert_eq!(call.field(gen_ai::ERROR_TYPE), "");
    }
}

pub(super) async fn a_call_that_fails_is_a_span_with_the_class_of_the_error(world: World) {
    let (capture, _guard) = TracingCapture::start();
    let provider = ScriptedProvider::start();
    provider.script([Answer::status(400, "you said hello"), Answer::text("hi there")]);
    world.provide("far", &provider).await;
    world.set("far", "open-sesame").await;

    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap_err();
    drop(world.egress.stream(&asks(&world.bob), hello("far/m")).await.unwrap());

    let classes = model_calls(&capture);
    let classes: Vec<_> = classes.iter().map(|call| call.field(gen_ai::ERROR_TYPE)).collect();
    assert_eq!(classes, ["rejected", "canceled"]);
}

pub(super) async fn a_provider_that_nobody_allows_is_not_asked_and_the_refusal_is_on_record(
    world: World,
) {
    let provider = ScriptedProvider::saying("hi");
    let row = PutProvider { allow: None, ..open(&provider) };
    world.provide_as("far", row).await;
    world.set("far", "key").await;

    for name in ["far/m", "m"] {
        let error = world.egress.chat(&asks(&world.admin), hello(name)).await.unwrap_err();
        assert!(matches!(error, EgressError::Denied(_)), "{error}");
    }

    assert_eq!(provider.requests().len(), 0);
    let call = &world.calls().await[0];
    assert_eq!((call.outcome, call.cost_micro_usd), (InferenceOutcome::Denied, None));
    let decided = &world.decisions(call).await[0];
    assert_eq!((decided.decision, &*decided.reason), (Effect::Deny, "provider allows rules"));
}

fn rule(subject: RuleSubject, effect: Effect, resource: &str) -> CreateRule {
    CreateRule {
        subject,
        action: Some("api.call".parse().unwrap()),
        resource_type: Some("api.provider_operation".parse().unwrap()),
        resource_pattern: resource.parse().unwrap(),
        server: None,
        effect,
        priority: 0,
        conditions: cynode_domain::policy::rules::Conditions::default(),
    }
}

pub(super) async fn a_denying_rule_wins_over_an_open_provider_for_agents_too(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    let agent = world.agent("pm", &world.bob).await;
    let asks = Inference::of_agent(&agent, "plan", "t");
    world.egress.chat(&asks, hello("far/m")).await.unwrap();
    let pm = RuleSubject::Agent("pm".parse().unwrap());
    let deny = rule(pm, Effect::Deny, "far/*");
    let deny = world.rules.create(&world.admin, deny).await.unwrap();
    let allow = rule(RuleSubject::System, Effect::Allow, "*");
    world.rules.create(&world.admin, allow).await.unwrap();

    let error = world.egress.chat(&asks, hello("far/m")).await.unwrap_err();

    assert!(error.to_string().contains(&deny.id.to_string()), "{error}");
    assert_eq!(provider.requests().len(), 1);
    let calls = world.calls().await;
    assert_eq!(calls[1].agent, Some(Principal::PM));
    // People are not agents: the rule is not about them.
    world.egress.chat(&super::world::asks(&world.bob), hello("far/m")).await.unwrap();
}

pub(super) async fn an_agent_of_an_administrator_may_use_what_administrators_may(world: World) {
    let provider = ScriptedProvider::saying("hi");
    let row = PutProvider { allow: Some(ProviderUse::Admins), ..open(&provider) };
    world.provide_as("far", row).await;
    world.set("far", "key").await;
    for (user, is_allowed) in [(&world.admin, true), (&world.bob, false)] {
        let agent = world.agent("pm", user).await;
        let asks = Inference::of_agent(&agent, "plan", "t");

        let answer = world.egress.chat(&asks, hello("far/m")).await;

        assert_eq!(answer.is_ok(), is_allowed, "{answer:?}");
    }
}

pub(super) async fn a_spent_budget_blocks_before_anything_is_sent(world: World) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::text("hi").with_usage(1_000_000, 0));
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    world.setting("budget.day_usd", 1.5).await;
    let asks = asks(&world.bob);
    for _ in 0..2 {
        world.egress.chat(&asks, hello("far/m")).await.unwrap();
    }

    let error = world.egress.chat(&asks, hello("far/m")).await.unwrap_err();

    let said = "the budget of today is spent: 2.000000 of 1.500000 USD (budget.day_usd)";
    assert_eq!(error.to_string(), said);
    assert_eq!(provider.requests().len(), 2);
    world.setting("budget.mode", "warn").await;
    world.egress.chat(&asks, hello("far/m")).await.unwrap();
    world.setting("budget.mode", "block").await;
    world.clock.advance(chrono::TimeDelta::days(1).to_std().unwrap());
    world.egress.chat(&asks, hello("far/m")).await.unwrap();
    let calls = world.calls().await;
    assert_eq!(calls[2].outcome, InferenceOutcome::OverBudget);
}

pub(super) async fn one_s_own_models_are_asked_when_the_budget_is_spent(world: World) {
    let (far, near) = (ScriptedProvider::saying("far"), ScriptedProvider::saying("near"));
    world.provide("far", &far).await;
    let own = PutProvider { is_local: Some(true), prices: [].into(), ..open(&near) };
    world.provide_as("near", own).await;
    world.set("far", "key").await;
    world.setting("budget.day_usd", 0).await;
    world.setting("models.hints.strong", json!(["far/m", "near/m"])).await;
    let routing = ModelRouting { prefer_local: false, ..ModelRouting::default() };
    let asks = Inference { routing, ..asks(&world.bob) };

    let answer = world.egress.chat(&asks, hello("strong")).await.unwrap();

    assert_eq!((answer.text(), far.requests().len()), ("near", 0));
    let outcomes: Vec<_> = world.calls().await.iter().map(|call| call.outcome).collect();
    assert_eq!(outcomes, [InferenceOutcome::OverBudget, InferenceOutcome::Success]);
}

pub(super) async fn one_s_own_models_cost_nothing_also_if_they_do_not_count(world: World) {
    let near = ScriptedProvider::start();
    let body =
        json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}}]});
    near.otherwise(Answer::raw("application/json", &body.to_string()));
    let own = PutProvider { is_local: Some(true), prices: [].into(), ..open(&near) };
    world.provide_as("near", own).await;

    let answer = world.egress.chat(&asks(&world.bob), hello("near/m")).await.unwrap();

    assert_eq!((answer.text(), &answer.usage), ("hi", &None));
    let call = &world.calls().await[0];
    assert_eq!((call.cost_micro_usd, call.output_tokens), (Some(0), None));
    let totals =
        world.egress.list_calls(&world.bob, InferenceQuery::default()).await.unwrap().totals;
    assert_eq!((totals.calls, totals.unpriced), (1, 0));
}

pub(super) async fn the_budget_of_a_run_counts_its_own_calls_only(world: World) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::text("hi").with_usage(1_000_000, 0));
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    world.setting("budget.run_usd", 1).await;
    let of_run = |run| Inference { run: Some(run), ..asks(&world.bob) };
    let (first, second) = (RunId::generate(), RunId::generate());
    world.egress.chat(&of_run(first), hello("far/m")).await.unwrap();

    let spent = world.egress.chat(&of_run(first), hello("far/m")).await;
    let fresh = world.egress.chat(&of_run(second), hello("far/m")).await;

    assert!(matches!(spent, Err(EgressError::OverBudget(_))), "{spent:?}");
    assert!(fresh.is_ok(), "{fresh:?}");
}

pub(super) async fn a_model_without_a_price_is_refused_while_there_is_a_budget(world: World) {
    let provider = ScriptedProvider::saying("hi");
    let row = PutProvider { prices: [].into(), ..open(&provider) };
    world.provide_as("far", row).await;
    world.set("far", "key").await;
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    world.setting("budget.day_usd", 5).await;

    let error = world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap_err();

    assert!(error.to_string().contains("models.prices"), "{error}");
    world.setting("models.prices", json!({ "far/m": { "input": 1, "output": 1 } })).await;
    world.egress.chat(&asks(&world.bob), hello("far/m")).await.unwrap();
    let costs: Vec<_> = world.calls().await.iter().map(|call| call.cost_micro_usd).collect();
    assert_eq!(costs, [None, None, Some(18)]);
}

pub(super) async fn models_are_listed_for_those_who_may_use_them(world: World) {
    let (shown, hidden) = (ScriptedProvider::start(), ScriptedProvider::start());
    shown.set_models(&["x", "y"]);
    let request = PutProvider { models: vec![], ..open(&shown) };
    world.provide_as("shown", request).await;
    let closed = PutProvider { allow: Some(ProviderUse::Admins), ..open(&hidden) };
    world.provide_as("hidden", closed).await;
    world.setting("models.hints.fast", "shown/x").await;

    let of_bob = world.egress.list_models(&world.bob).await.unwrap();
    let of_admin = world.egress.list_models(&world.admin).await.unwrap();

    let names: Vec<_> = of_bob.models.iter().map(|model| &*model.id).collect();
    assert_eq!(names, ["shown/x", "shown/y"]);
    assert_eq!(of_bob.models[0].hints, ["fast"]);
    let names: Vec<_> = of_admin.models.iter().map(|model| &*model.id).collect();
    assert_eq!(names, ["hidden/m", "shown/x", "shown/y"]);
}

pub(super) async fn calls_are_shown_to_those_whose_they_are_with_their_sums(world: World) {
    let provider = ScriptedProvider::saying("hi");
    world.provide("far", &provider).await;
    world.set("far", "key").await;
    for (caller, purpose) in [(&world.bob, "chat"), (&world.admin, "chat"), (&world.bob, "plan")] {
        let asks = Inference { purpose: purpose.to_owned(), ..asks(caller) };
        world.egress.chat(&asks, hello("far/m")).await.unwrap();
    }
    let all = InferenceQuery::default();
    let plans = InferenceQuery { purpose: Some("plan".to_owned()), ..all.clone() };
    let totals = |calls: i64| InferenceTotals {
        calls,
        input_tokens: 11 * calls,
        output_tokens: 7 * calls,
        cost_micro_usd: 25 * calls,
        unpriced: 0,
    };
    for (caller, query, count) in
        [(&world.bob, &all, 2), (&world.admin, &all, 3), (&world.admin, &plans, 1)]
    {
        let shown = world.egress.list_calls(caller, query.clone()).await.unwrap();

        assert_eq!(shown.totals, totals(count));
        assert_eq!(i64::try_from(shown.calls.items.len()).unwrap(), count);
    }
}

pub(super) async fn providers_are_checked_tried_and_managed_by_administrators_alone(world: World) {
    let provider = ScriptedProvider::start();
    provider.set_models(&["x"]);
    let row = || open(&provider);
    let bad = [
        ("a/b", row()),
        ("a", PutProvider { base_url: Some("ftp://example.com".to_owned()), ..row() }),
        ("a", PutProvider { concurrency: Some(0), ..row() }),
        ("a", PutProvider { models: vec![String::new()], ..row() }),
    ];
    for (name, request) in bad {
        let refused = world.egress.put_provider(&world.admin, name, request).await;
        assert!(
            matches!(refused, Err(ProviderAdminError::Invalid(_) | ProviderAdminError::Address(_))),
            "{refused:?}"
        );
    }
    let refused = world.egress.put_provider(&world.bob, "a", row()).await;
    assert!(matches!(refused, Err(ProviderAdminError::NotAdmin)));
    world.provide("a", &provider).await;

    let tried = world.egress.test_provider(&world.admin, "a").await.unwrap();

    assert!(tried.is_ok, "{tried:?}");
    assert_eq!(tried.models, ["x"]);
    world.egress.remove_provider(&world.admin, "a").await.unwrap();
    let gone = world.egress.test_provider(&world.admin, "a").await;
    assert!(matches!(gone, Err(ProviderAdminError::NotFound(_))));
}
