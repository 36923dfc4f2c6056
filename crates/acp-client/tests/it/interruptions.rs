//! The end of a job from outside: a signal, or no time left.

use cynode_wire::agent_jobs::{AgentJobStatus, StopCondition};
use serde_json::json;

use crate::harness::{AgentScript, TestProgram};

/// Triggers the shutdown once the agent has written the file `ready`.
async fn run_and_stop(job: &TestProgram) -> cynode_wire::agent_jobs::AgentJobResult {
    let ready = job.workspace().join("ready");
    let stop = async {
        while !ready.exists() {
            tokio::task::yield_now().await;
        }
        job.shutdown.trigger();
    };
    tokio::join!(job.run(), stop).0
}

/// Waits until a killed process is gone or a zombie.
async fn is_gone(pid: &str) -> bool {
    let status = format!("/proc/{}/stat", pid.trim());
    for _ in 0..100_000 {
        match std::fs::read_to_string(&status) {
            Err(_) => return true,
            Ok(stat) if stat.contains(") Z ") => return true,
            Ok(_) => tokio::task::yield_now().await,
        }
    }
    false
}

#[tokio::test]
async fn an_agent_is_asked_to_cancel_before_it_is_ended() {
    let permission = json!({ "sessionId": "s", "toolCall": { "toolCallId": "1", "kind": "edit" },
        "options": [{ "optionId": "y", "name": "Y", "kind": "allow_once" }] });
    let script = AgentScript::with_session()
        .run("touch ready")
        .receive()
        .ask("late", "session/request_permission", &permission)
        .say("I clean up.")
        .run("echo clean > cleaned")
        .stop("cancelled");
    let job = TestProgram::with_agent(&script, &json!({}));

    let result = run_and_stop(&job).await;

    assert_eq!((result.status, result.stop), (AgentJobStatus::Failure, StopCondition::GaveUp));
    assert_eq!(result.failure_message.as_deref(), Some("stopped on request"));
    assert_eq!(result.changed_files, ["cleaned", "ready", "received"]);
    let received = job.received();
    assert_eq!(received[3]["method"], "session/cancel");
    assert_eq!(received[3]["params"], json!({ "sessionId": "s" }));
    assert_eq!(received[4]["result"]["outcome"]["outcome"], "cancelled");
    let cancelled = job.lines_of("agent").pop().unwrap();
    assert_eq!((cancelled.is_success, cancelled.text.as_str()), (true, "the agent ended its turn"));
    assert_eq!(job.lines_of("message")[0].text, "I clean up.");
}

#[tokio::test]
async fn an_agent_that_ignores_everything_is_killed_with_its_children() {
    let script = AgentScript::with_session()
        .run("trap '' TERM; sleep 1000 & echo $! > child; echo $$ > own; touch ready")
        .run("while :; do sleep 1000; done")
        .build();
    let job = TestProgram::with_impatience(&script);

    let result = run_and_stop(&job).await;

    assert_eq!(result.stop, StopCondition::GaveUp);
    assert!(is_gone(&job.read("child")).await && is_gone(&job.read("own")).await);
    assert!(!job.lines_of("agent").pop().unwrap().is_success);
}

#[tokio::test]
async fn a_shutdown_during_the_handshake_needs_no_cancellation() {
    let job = TestProgram::with_impatience("touch ready; sleep 1000");

    let result = run_and_stop(&job).await;

    assert_eq!(result.stop, StopCondition::GaveUp);
    assert_eq!(job.transcript().len(), 1);
}

#[tokio::test]
async fn a_job_ends_when_its_time_is_used() {
    let script = AgentScript::with_session().receive().run("sleep 1000").build();
    let mut job = TestProgram::with_impatience(&script);
    job.spec["constraints"]["max_runtime_seconds"] = json!(1);

    let result = job.run().await;

    assert_eq!((result.status, result.stop), (AgentJobStatus::Timeout, StopCondition::Time));
    assert_eq!(job.received()[3]["method"], "session/cancel");
}

#[tokio::test]
async fn processes_that_an_agent_leaves_behind_end_with_its_turn() {
    let script =
        AgentScript::with_session().run("sleep 1000 >/dev/null 2>&1 & echo $! > child").end_turn();
    let job = TestProgram::with_agent(&script, &json!({}));

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet);
    assert!(is_gone(&job.read("child")).await);
}
