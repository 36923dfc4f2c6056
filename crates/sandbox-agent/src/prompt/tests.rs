//! The assembled prompt.

use cynode_domain::criteria::Criterion;
use cynode_wire::agent_jobs::{
    AgentConstraints, AgentContext, AgentInference, AgentStep, ExecutionMode, PROTOCOL_VERSION,
    Persona,
};

use super::*;

const ID: &str = "0193a4b2-0000-7000-8000-000000000001";

fn spec() -> AgentJobSpec {
    AgentJobSpec {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        job_id: ID.parse().unwrap(),
        task_id: ID.parse().unwrap(),
        trace_id: None,
        profile_id: None,
        execution_mode: ExecutionMode::AgentInference,
        constraints: AgentConstraints {
            max_runtime_seconds: 600,
            max_output_bytes: 8000,
            max_steps: 20,
            ext_net_allowed: false,
            max_tokens: None,
        },
        inference: Some(AgentInference {
            allowed_models: vec!["small".to_owned()],
            action_format: None,
        }),
        persona: Some(Persona {
            title: "a careful Python developer".to_owned(),
            description: "You prefer small changes.".to_owned(),
        }),
        context: AgentContext {
            baseline_context: "Write British English.".to_owned(),
            project_context: "A calculator.".to_owned(),
            task_context: "Make add() add.".to_owned(),
            requirements: vec!["Keep the signature.".to_owned()],
            acceptance_criteria: vec![
                Criterion::Text { description: "add(1, 2) is 3".to_owned() },
                Criterion::CommandSucceeds { command: "python3 test.py".to_owned() },
            ],
            additional_context: "The bug is new.".to_owned(),
            skills: vec!["Tests are in test.py.".to_owned()],
        },
        steps: vec![AgentStep::RunCommand { command: "python3 test.py".to_owned() }],
    }
}

fn render(prompt: &Prompt, format: ActionFormat) -> String {
    format!("{}\n\n=== user ===\n{}", prompt.system(format), prompt.task())
}

#[test]
fn the_parts_come_in_their_order() {
    insta::assert_snapshot!(
        "native_calls",
        render(&Prompt::new(&spec(), None, "calc.py (80 bytes)"), ActionFormat::NativeCalls)
    );
}

#[test]
fn the_actions_are_described_where_they_are_not_tools() {
    let prompt = Prompt::new(&spec(), None, "calc.py (80 bytes)");
    insta::assert_snapshot!("json_schema", prompt.system(ActionFormat::JsonSchema));
    insta::assert_snapshot!("fenced_text", prompt.system(ActionFormat::FencedText));
}

#[test]
fn a_prompt_of_huge_parts_is_bounded() {
    let huge = "ä ".repeat(100_000);
    let mut spec = spec();
    spec.context = AgentContext {
        baseline_context: huge.clone(),
        project_context: huge.clone(),
        task_context: huge.clone(),
        requirements: vec![huge.clone(); 3],
        acceptance_criteria: vec![Criterion::Text { description: huge.clone() }],
        additional_context: huge.clone(),
        skills: vec![huge],
    };

    let prompt = render(&Prompt::new(&spec, None, &"f ".repeat(9_000)), ActionFormat::JsonSchema);

    assert!(prompt.len() < 32_000, "{}", prompt.len());
}

#[test]
fn the_rules_are_short_enough_for_a_small_model() {
    let mut bare = spec();
    bare.context = AgentContext::default();
    let prompt = Prompt::new(&bare, None, "");
    assert!(prompt.system(ActionFormat::JsonSchema).len() < 2_400);
}
