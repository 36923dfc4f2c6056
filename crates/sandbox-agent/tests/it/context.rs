//! The context stays below its limit.

use std::collections::HashSet;

use cynode_llm_wire::openai::ChatRequest;
use cynode_sandbox_agent::{CONTEXT_TOKENS, estimate_tokens};
use cynode_testkit::provider::Answer;
use cynode_wire::agent_jobs::StopCondition;
use serde_json::json;

use crate::harness::{TestJob, command, finish, read};

#[tokio::test]
async fn two_hundred_steps_stay_below_the_limit() {
    let mut answers: Vec<Answer> = Vec::new();
    for number in 0..50 {
        answers.push(command(&format!("seq {number} 5000")));
        answers.push(read("long"));
        let lines: Vec<String> = (number..3_000).map(|line| line.to_string()).collect();
        let content = lines.join("\n");
        answers.push(Answer::tool_call("write_file", json!({ "path": "out", "content": content })));
        answers.push(Answer::tool_call("search", json!({ "pattern": "line", "path": "long" })));
    }
    answers.push(finish());
    let mut job = TestJob::with_script(answers);
    job.write("long", "a line of some length\n".repeat(2_000));
    job.spec["constraints"]["max_steps"] = json!(300);
    job.spec["context"]["task_context"] = json!("The one task of this job.");

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{:?}", result.failure_message);
    assert_eq!(result.steps.len(), 201);
    let requests = job.provider.requests();
    for request in &requests {
        let parsed: ChatRequest = serde_json::from_value(request.body.clone()).unwrap();
        let tokens = estimate_tokens(&parsed);
        assert!(tokens < CONTEXT_TOKENS, "{tokens}");
        let task = parsed.messages[1].plain_text();
        assert!(task.contains("The one task of this job."));
        let results: HashSet<_> =
            parsed.messages.iter().filter_map(|it| it.tool_call_id.clone()).collect();
        let calls: HashSet<_> =
            parsed.messages.iter().flat_map(|it| &it.tool_calls).map(|it| it.id.clone()).collect();
        assert_eq!(results, calls);
    }
    let last = &requests.last().unwrap().body["messages"][1]["content"];
    assert!(last.as_str().unwrap().contains("older actions are left out"), "{last}");
    assert!(job.progress().iter().any(|line| line["kind"] == "compaction"));
}
