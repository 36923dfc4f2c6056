//! The project manager with a scripted model behind egress.

use std::time::Duration;

use cynode_domain::criteria::Criterion;
use cynode_domain::policy::AgentType;
use cynode_testkit::provider::{Answer as Said, ScriptedProvider, StructuredOutputContract};
use cynode_wire::handoff::{
    ChatEvent, ContinueRunHandoff, DecidedBy, Handoff, PlanHandoff, PlanOutcome,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{WITHIN, agent, context, provide, say, send_chat};
use crate::harness::{HarnessResponse, OrchestratorHarness, task_request};
use crate::mcp::Mcp;

pub(crate) async fn with_a_model_the_manager_acts_through_the_gateway_and_shows_it(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provide(&harness, &provider).await;
    provider.script([
        Said::tool_calls([
            ("db_task_list", json!({})),
            ("db_task_create", json!({ "prompt": "wash the car" })),
        ]),
        Said::text_chunks(["<think>fine</think>", "It will be washed."]),
    ]);

    let (text, end) = say(&harness, "Have my car washed").await;

    assert!(text.starts_with("It will be washed."), "{text}");
    assert!(text.contains("What I did:\n- `db.task.create: wash-the-car`"), "{text}");
    let ChatEvent::Done { usage, decisions, .. } = end else { panic!("{end:?}") };
    assert!(usage.prompt_tokens > 0);
    assert_eq!(decisions[0].by, DecidedBy::Model);
    harness.admin().task_get("wash-the-car").await.unwrap();
    let seen = &provider.requests()[0];
    let system = seen.body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("You are the project manager."), "{system}");
    assert!(system.contains("## Default skill\n\nLook before you answer."), "{system}");
    let offered: Vec<&Value> = seen.body["tools"].as_array().unwrap().iter().collect();
    assert!(offered.iter().all(|tool| tool["function"]["name"] != "memory_list"));
    let calls =
        HarnessResponse::send(harness.as_admin(Method::GET, "/v1/brain/calls?purpose=chat"))
            .await
            .body;
    assert_eq!(calls["calls"]["items"].as_array().unwrap().len(), 2, "{calls}");
    assert_eq!(calls["calls"]["items"][0]["agent"], "pm");
}

pub(crate) async fn big_work_is_classified_before_it_is_planned_and_leaves_no_units_that_nothing_executes(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provide(&harness, &provider).await;
    let scoped = json!({
        "scope": "large", "estimated_files": 30, "components_affected": ["api", "ui"],
        "reasoning": "several parts",
    });
    let check = json!({ "expected_output": "", "kind": "command_succeeds", "value": "make test" });
    let planned = json!({ "commands": [{ "aim": "do it", "command": "make" }], "assumptions": ["it builds"], "question": "" });
    provider.script([
        Said::tool_call("respond", scoped),
        Said::tool_call("respond", planned),
        Said::tool_call("respond", json!({ "add": [check], "reason": "a test shows it" })),
    ]);
    let prose = json!({ "kind": "text", "description": "it is easy on the eyes" });
    let body = task_request(json!({ "acceptance_criteria": [prose] }));
    let task = harness.admin().task_create(&body).await.unwrap();
    let mut context = context(&harness).await;
    context.task = serde_json::from_value(json!({
        "id": task.id, "name": task.task_name, "status": "running", "prompt": "",
        "acceptance_criteria": [prose], "updated_at": task.updated_at,
    }))
    .unwrap();
    let prompt = "Add a dark mode to every page".to_owned();
    let body = PlanHandoff { prompt, expected_outputs: vec![] };

    let answer = agent(&harness).plan(&Handoff { context, body }, WITHIN).await.unwrap();

    assert!(matches!(&answer.outcome, PlanOutcome::Planned { steps, .. } if steps.len() == 1));
    let by: Vec<_> = answer.decisions.iter().map(|d| (d.purpose.as_str(), d.by)).collect();
    let (rule, model) = (DecidedBy::Rule, DecidedBy::Model);
    assert_eq!(
        by,
        [("classify", rule), ("assess_scope", model), ("plan", model), ("refine_criteria", model)]
    );
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let units = pm.call("db.work_unit.list", json!({ "task_id": task.id })).await;
    assert_eq!(units["error"]["message"], "the task has no plan of work", "{units}");
    assert!(provider.has_received("The request was classified as feature_request of large scope"));
    assert!(provider.has_received("it is easy on the eyes"));
    let refined = harness.admin().task_get(&task.task_name).await.unwrap().acceptance_criteria;
    let added = Criterion::CommandSucceeds { command: "make test".to_owned() };
    assert_eq!(refined, [task.acceptance_criteria[0].clone(), added]);
}

pub(crate) async fn work_is_answered_by_rule_while_somebody_waits_where_the_model_is_too_slow(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    // A repeated request after the deadline gets a new decision.
    let planned = json!({ "commands": [{ "aim": "do it", "command": "true" }], "assumptions": [], "question": "" });
    provider.script([Said::no_response(), Said::tool_call("respond", planned)]);
    provide(&harness, &provider).await;
    let prompt = "Add a dark mode to every page".to_owned();
    let body = PlanHandoff { prompt, expected_outputs: vec![] };
    let handoff = Handoff { context: context(&harness).await, body };

    let answer = agent(&harness).plan(&handoff, Duration::from_secs(2)).await.unwrap();

    assert!(matches!(answer.outcome, PlanOutcome::Ask { .. }), "{answer:?}");
    assert_eq!(answer.decisions[0].by, DecidedBy::Fallback, "{answer:?}");
}

pub(crate) async fn a_decision_is_thought_through_egress_and_falls_back_with_its_reason(
    harness: OrchestratorHarness,
) {
    let body = ContinueRunHandoff {
        node: "collect_result".to_owned(),
        situation: "the node is gone".to_owned(),
        attempts: 1,
        suspension: None,
        continued: 0,
        may_repeat: false,
    };
    let decide = async || {
        let handoff = Handoff { context: context(&harness).await, body: body.clone() };
        agent(&harness).continue_run(&handoff, WITHIN).await.unwrap()
    };
    let without = decide().await;
    let provider = ScriptedProvider::start();
    provide(&harness, &provider).await;
    provider.script([
        Said::tool_call("respond", json!({ "with": "retry", "reason": "it may come back" })),
        Said::refusal("I will not."),
    ]);

    let with = decide().await;
    let refused = decide().await;

    assert_eq!(without.decisions[0].by, DecidedBy::Fallback);
    assert!(without.decisions[0].reason.contains("no model is configured"), "{without:?}");
    assert_eq!(
        (with.decisions[0].by, with.reason.as_str()),
        (DecidedBy::Model, "it may come back")
    );
    assert_eq!(refused.decisions[0].by, DecidedBy::Fallback);
    assert!(refused.decisions[0].reason.contains("declines to answer"), "{refused:?}");
    let calls = HarnessResponse::send(
        harness.as_admin(Method::GET, "/v1/brain/calls?purpose=continue_run"),
    );
    let calls = calls.await.body;
    assert_eq!(calls["calls"]["items"].as_array().unwrap().len(), 2, "{calls}");
    assert!(calls["calls"]["items"][0]["prompt_hash"].is_string(), "{calls}");
}

pub(crate) async fn a_model_that_ignores_forced_functions_decides_and_calls_tools_in_words(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provider.set_contract(StructuredOutputContract::LlamaCpp);
    provide(&harness, &provider).await;
    let planned = json!({ "commands": [{ "aim": "do it", "command": "seq 1 10" }], "assumptions": [], "question": "" });
    provider.script([Said::tool_call("respond", planned)]);
    let prompt = "Write the numbers 1 to 10".to_owned();
    let body = PlanHandoff { prompt, expected_outputs: vec![] };
    let handoff = Handoff { context: context(&harness).await, body };

    let answer = agent(&harness).plan(&handoff, WITHIN).await.unwrap();

    assert!(matches!(&answer.outcome, PlanOutcome::Planned { steps, .. } if steps.len() == 1));
    assert_eq!(answer.decisions[0].by, DecidedBy::Model, "{answer:?}");
    let made = json!({ "prompt": "wash the car" });
    provider.script([Said::tool_call("db_task_create", made), Said::text("It is on its way.")]);
    let text = send_chat(&harness, "Have the car washed").await;
    assert!(
        text.contains("It is on its way.") && text.contains("`db.task.create: wash-the-car`"),
        "{text}"
    );
    assert!(!text.contains("arguments"), "a call is not shown as text: {text}");
    assert!(harness.admin().task_get("wash-the-car").await.is_ok(), "{text}");
    let offered = provider.requests().last().unwrap().body["tools"].as_array().map(Vec::len);
    assert!(offered.is_some_and(|count| count <= 12), "{offered:?}");
}
