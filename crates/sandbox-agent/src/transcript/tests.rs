//! Compaction under the largest parts.

use cynode_wire::agent_jobs::AgentJobSpec;
use serde_json::json;

use super::*;
use crate::observation::{OBSERVATION_BYTES, Observation};

const FORMATS: [ActionFormat; 3] =
    [ActionFormat::NativeCalls, ActionFormat::JsonSchema, ActionFormat::FencedText];

fn transcript(text: &str) -> Transcript {
    let id = "0193a4b2-0000-7000-8000-000000000001";
    let spec: AgentJobSpec = serde_json::from_value(json!({
        "protocol_version": "1.0", "job_id": id, "task_id": id, "execution_mode": "agent_inference",
        "constraints": { "max_runtime_seconds": 1, "max_output_bytes": 1, "max_steps": 1 },
        "inference": { "allowed_models": ["m"] },
        "persona": { "title": text, "description": text },
        "context": {
            "baseline_context": text, "project_context": text, "task_context": text,
            "requirements": [text], "additional_context": text, "skills": [text],
            "acceptance_criteria": [{ "kind": "text", "description": text }],
        },
    }))
    .unwrap();
    Transcript::new(Prompt::new(&spec, None, text))
}

fn push(transcript: &mut Transcript, content: &str) {
    let Value::Object(arguments) = json!({ "path": "a", "content": content }) else {
        panic!("an object")
    };
    let observation = Observation::failed(content).with_data("y".repeat(2 * OBSERVATION_BYTES));
    transcript.push_action("write_file", &arguments, observation.render(), content);
}

#[test]
fn the_largest_parts_together_stay_below_the_limit() {
    for format in FORMATS {
        let mut transcript = transcript(&"x ".repeat(50_000));
        for number in 0..200 {
            push(&mut transcript, &"z".repeat(100_000));
            transcript.push_rejected(&"q".repeat(1_500), &"f".repeat(1_700));
            push(&mut transcript, &"z".repeat(3_000));

            let (request, _) = transcript.build_request(format);

            let tokens = estimate_tokens(&request);
            assert!(tokens < CONTEXT_TOKENS, "{tokens} after {number} in {format:?}");
        }
    }
}

#[test]
fn compaction_keeps_the_task_the_latest_turns_and_a_line_for_each_older_one() {
    let mut transcript = transcript("mend the fence");
    for number in 0..20 {
        push(&mut transcript, &format!("content {number}"));
    }

    let (request, compacted) = transcript.build_request(ActionFormat::NativeCalls);

    assert!(compacted > 0);
    assert!(estimate_tokens(&request) <= COMPACT_TO_TOKENS);
    let task = request.messages[1].plain_text();
    assert!(
        task.contains("mend the fence") && task.contains("1. content 0\n2. content 1"),
        "{task}"
    );
    let last = request.messages.last().unwrap().plain_text();
    assert!(last.starts_with("content 19\nDATA 1\nyyy"), "{last}");
    let (again, compacted) = transcript.build_request(ActionFormat::NativeCalls);
    assert_eq!((again, compacted), (request, 0));
}

#[test]
fn every_native_call_has_its_result() {
    let mut transcript = transcript("x");
    push(&mut transcript, "a");
    transcript.push_rejected("prose", "no action");
    push(&mut transcript, "b");

    let (request, _) = transcript.build_request(ActionFormat::NativeCalls);

    let roles: Vec<&str> = request.messages.iter().map(|it| it.role.as_str()).collect();
    let expected =
        ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "tool"];
    assert_eq!(roles, expected);
    let call = &request.messages[6];
    assert_eq!(request.messages[7].tool_call_id.as_ref(), Some(&call.tool_calls[0].id));
}
