//! Steps without a model.

use cynode_wire::agent_jobs::{AgentFailureCode, AgentJobStatus, StopCondition};
use serde_json::{Value, json};

use crate::harness::TestJob;

fn direct(steps: &Value) -> TestJob {
    let mut job = TestJob::new();
    job.options.model_url = None;
    job.spec["execution_mode"] = json!("direct_steps");
    job.spec["inference"] = Value::Null;
    job.spec["steps"] = steps.clone();
    job
}

#[tokio::test]
async fn steps_are_executed_in_order_without_a_model() {
    let job = direct(&json!([
        { "kind": "write_file", "path": "a.sh", "content": "echo hello > b\n" },
        { "kind": "run_command", "command": "sh a.sh" },
    ]));

    let result = job.run().await;

    assert_eq!((result.status, result.stop), (AgentJobStatus::Success, StopCondition::GoalMet));
    assert_eq!(result.changed_files, ["a.sh", "b"]);
    assert_eq!((result.usage.calls, result.action_format), (0, None));
    assert!(job.provider.requests().is_empty());
}

#[tokio::test]
async fn the_first_failing_step_ends_the_job() {
    let job = direct(&json!([
        { "kind": "run_command", "command": "exit 7" },
        { "kind": "write_file", "path": "a", "content": "x" },
    ]));

    let result = job.run().await;

    assert_eq!((result.status, result.stop), (AgentJobStatus::Failure, StopCondition::StepFailed));
    assert_eq!(result.failure_code, Some(AgentFailureCode::StepFailed));
    let message = "step 1 (run_command exit 7) failed: exit code 7, no output";
    assert_eq!(result.failure_message.as_deref(), Some(message));
    assert_eq!((result.steps.len(), result.steps[0].exit_code), (1, Some(7)));
    assert!(result.changed_files.is_empty());
}

#[tokio::test]
async fn a_step_cannot_leave_the_workspace() {
    let job = direct(&json!([{ "kind": "write_file", "path": "../a", "content": "x" }]));
    assert_eq!(job.run().await.stop, StopCondition::StepFailed);
}
