//! Each stop condition.

use std::time::{Duration, Instant};

use cynode_domain::trace::{TraceEvent, TraceEventKind, TraceField, TraceStop};
use cynode_testkit::provider::Answer;
use cynode_wire::agent_jobs::{AgentFailureCode, AgentJobResult, AgentJobStatus, StopCondition};
use serde_json::json;

use crate::harness::{JOB, TestJob, command, finish, read};

fn assert_failed(result: &AgentJobResult, stop: StopCondition, message: &str) {
    assert_eq!((result.status, result.stop), (AgentJobStatus::Failure, stop), "{result:?}");
    let given = result.failure_message.as_deref().unwrap_or_default();
    assert!(given.contains(message), "{message} in {result:?}");
}

#[tokio::test]
async fn a_model_may_give_up() {
    let job =
        TestJob::with_script([Answer::tool_call("give_up", json!({ "reason": "no compiler" }))]);
    assert_failed(&job.run().await, StopCondition::GaveUp, "no compiler");
}

#[tokio::test]
async fn the_last_step_ends_the_job() {
    let mut job = TestJob::with_script([command("echo 1"), command("echo 2"), command("echo 3")]);
    job.spec["constraints"]["max_steps"] = json!(2);

    let result = job.run().await;

    assert_failed(&result, StopCondition::Steps, "all 2 steps are used");
    assert_eq!(result.failure_code, Some(AgentFailureCode::ConstraintViolation));
    assert_eq!((result.steps.len(), job.provider.remaining_responses()), (2, 1));
    assert!(job.observations()[1].ends_with("Finish or give up now."));
}

#[tokio::test]
async fn the_trace_of_a_job_has_its_steps_in_order_and_the_reason_for_stopping() {
    let trace = "0193a4b2-0000-7000-8000-00000000000a";
    let mut job = TestJob::with_script([command("echo 1"), command("echo 2"), command("echo 3")]);
    job.spec["constraints"]["max_steps"] = json!(2);
    job.spec["trace_id"] = json!(trace);
    let profile = "0193a4b2-0000-7000-8000-00000000000b";
    job.spec["profile_id"] = json!(profile);

    let events = job.run().await.trace.into_events();

    assert!(events.iter().all(|event| event.trace.to_string() == trace), "{events:?}");
    let in_profile = |event: &TraceEvent| event.profile.is_some_and(|it| it.to_string() == profile);
    assert!(events.iter().all(in_profile), "{events:?}");
    let entries: Vec<_> =
        events.iter().map(|event| (event.entry.kind, event.entry.step_index)).collect();
    let expected = [
        (TraceEventKind::ExecutionStarted, None),
        (TraceEventKind::StepStarted, Some(0)),
        (TraceEventKind::StepFinished, Some(0)),
        (TraceEventKind::StepStarted, Some(1)),
        (TraceEventKind::StepFinished, Some(1)),
        (TraceEventKind::ExecutionStopped, None),
    ];
    assert_eq!(entries, expected);
    assert_eq!(events[5].entry.stop, Some(TraceStop::MaxSteps));
    for finished in [&events[2], &events[4]] {
        let tool = finished.entry.fields.get(TraceField::Tool);
        assert_eq!(tool, Some(&"run_command".into()), "{events:?}");
    }
}

#[tokio::test]
async fn time_ends_a_command_and_a_slow_model() {
    for answer in [command("sleep 1000"), Answer::no_response()] {
        let mut job = TestJob::with_script([answer]);
        job.spec["constraints"]["max_runtime_seconds"] = json!(1);
        let start = Instant::now();

        let result = job.run().await;

        assert_eq!((result.status, result.stop), (AgentJobStatus::Timeout, StopCondition::Time));
        assert_eq!(result.failure_code, Some(AgentFailureCode::Timeout));
        assert!(start.elapsed() < Duration::from_secs(30));
        let last = result.trace.events().last().unwrap().entry.stop;
        assert_eq!(last, Some(TraceStop::Time));
        // The command that was cut off is in the result.
        assert!(result.steps.iter().all(|step| step.action == "run_command" && !step.is_success));
    }
}

#[tokio::test]
async fn a_budget_rejection_ends_the_job_at_once() {
    for answer in [
        Answer::status(402, "payment required"),
        Answer::status(403, "the budget of project \"x\" is spent: 1.0 of 1.0 USD (key)"),
    ] {
        let job = TestJob::with_script([command("echo 1"), answer]);

        let result = job.run().await;

        assert_eq!(result.stop, StopCondition::Budget, "{result:?}");
        assert_eq!(result.failure_code, Some(AgentFailureCode::ConstraintViolation));
        assert_eq!(job.provider.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_rate_limit_that_stays_is_a_budget_rejection() {
    let job = TestJob::new();
    job.provider.otherwise(Answer::rate_limited(0));

    assert_eq!(job.run().await.stop, StopCondition::Budget);
    assert_eq!(job.provider.requests().len(), 3);
}

#[tokio::test]
async fn the_token_limit_of_the_job_ends_it() {
    let mut job = TestJob::with_script([command("echo 1"), command("echo 2"), command("echo 3")]);
    job.spec["constraints"]["max_tokens"] = json!(30);

    let result = job.run().await;

    assert_failed(&result, StopCondition::Budget, "all 30 tokens are used");
    assert!(job.observations()[1].contains("12 tokens left"));
    assert_eq!(result.usage.calls, 2);
}

#[tokio::test]
async fn a_lost_model_ends_the_job_after_retries() {
    let job = TestJob::with_script([command("echo 1")]);
    job.provider.otherwise(Answer::server_error());

    let result = job.run().await;

    assert_failed(&result, StopCondition::ToolFailure, "unavailable");
    assert_eq!((result.steps.len(), job.provider.requests().len()), (1, 4));
}

#[tokio::test]
async fn a_model_that_comes_back_is_asked_again() {
    let job = TestJob::with_script([
        Answer::server_error(),
        Answer::text("gone").disconnecting_after(1),
        finish(),
    ]);
    assert_eq!(job.run().await.stop, StopCondition::GoalMet);
}

#[tokio::test]
async fn a_job_without_a_reachable_model_ends() {
    let mut job = TestJob::new();
    job.options.model_url = Some("http://127.0.0.1:1/v1".to_owned());
    assert_failed(&job.run().await, StopCondition::ToolFailure, "cannot be reached");
    job.options.model_url = None;
    assert_failed(&job.run().await, StopCondition::ToolFailure, "OPENAI_BASE_URL");
    job.options.model_url = Some("gopher://x".to_owned());
    assert_failed(&job.run().await, StopCondition::ToolFailure, "http://");
}

#[tokio::test]
async fn a_missing_workspace_ends_the_job() {
    let mut job = TestJob::with_script([finish()]);
    job.options.workspace = job.folder.path().join("missing");
    assert_failed(&job.run().await, StopCondition::ToolFailure, "cannot be opened");
}

#[tokio::test]
async fn three_malformed_answers_in_a_row_end_the_job() {
    for nonsense in [
        Answer::text("Certainly! Here is a poem about files."),
        Answer::text(""),
        Answer::call_with_invalid_arguments("read_file"),
        Answer::tool_call("read_file", json!({ "file": "a" })),
        Answer::refusal("I cannot help with that."),
        Answer::truncated("{\"action\": \"write_file\", \"content\": \"aaaa"),
        Answer::text("{\"action\": {\"action\": \"action\"}}"),
    ] {
        let job = TestJob::new();
        job.provider.otherwise(nonsense.clone());

        let result = job.run().await;

        assert_failed(&result, StopCondition::MalformedActions, "three answers in a row");
        assert_eq!((result.usage.calls, result.usage.output_tokens), (3, 21), "{nonsense:?}");
        assert_eq!(job.progress().iter().filter(|it| it["kind"] == "malformed").count(), 3);
    }
}

#[tokio::test]
async fn an_answer_that_repeats_itself_is_cut_off() {
    let job = TestJob::with_script([Answer::text(&"and so on ".repeat(1_000)), finish()]);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    assert!(job.observations()[1].contains("write less at once"));
}

#[tokio::test]
async fn a_valid_action_resets_the_count_of_malformed_answers() {
    let nonsense = || Answer::text("hm");
    let job = TestJob::with_script([
        nonsense(),
        nonsense(),
        command("echo 1"),
        nonsense(),
        nonsense(),
        finish(),
    ]);
    assert_eq!(job.run().await.stop, StopCondition::GoalMet);
}

#[tokio::test]
async fn the_same_result_three_times_ends_the_job_after_a_warning() {
    let job = TestJob::new();
    job.write("a", "x");
    job.provider.otherwise(read("a"));

    let result = job.run().await;

    assert_failed(&result, StopCondition::NoProgress, "read_file a had the same result");
    assert_eq!(result.steps.len(), 3);
    let seen = job.observations();
    assert!(!seen[1].contains("Warning") && seen[2].contains("Warning"), "{seen:?}");
}

#[tokio::test]
async fn a_rejected_specification_has_a_result() {
    let mut job = TestJob::new();
    job.spec["surprise"] = json!(1);

    let result = job.run().await;

    assert_failed(&result, StopCondition::InvalidSpec, "surprise");
    assert_eq!(result.failure_code, Some(AgentFailureCode::SchemaValidation));
    assert_eq!(result.job_id.to_string(), JOB);
    assert!(job.provider.requests().is_empty());
}

#[tokio::test]
async fn a_stop_on_request_keeps_what_was_done() {
    let job = TestJob::with_script([
        Answer::tool_call("write_file", json!({ "path": "a", "content": "x" })),
        command("echo $$ > pid; sleep 1000"),
    ]);
    let stop = async {
        while !job.folder.path().join("pid").exists() {
            tokio::task::yield_now().await;
        }
        job.shutdown.trigger();
    };

    let (result, ()) = tokio::join!(job.run(), stop);

    assert_failed(&result, StopCondition::GaveUp, "stopped on request");
    assert_eq!(result.changed_files, ["a", "pid"]);
    let steps: Vec<_> = result.steps.iter().map(|it| (&*it.action, it.is_success)).collect();
    assert_eq!(steps, [("write_file", true), ("run_command", false)]);
}
