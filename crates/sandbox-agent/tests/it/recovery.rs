//! Rules that are enforced by the program.

use cynode_testkit::provider::Answer;
use cynode_wire::agent_jobs::StopCondition;
use serde_json::json;

use crate::harness::{TestJob, command, edit, finish};

#[tokio::test]
async fn two_failed_edits_switch_a_file_to_whole_file_mode() {
    let job = TestJob::with_script([
        edit("a.txt", "missing text", "x"),
        edit("a.txt", "other missing text", "x"),
        edit("a.txt", "one", "1"),
        edit("b.txt", "one", "1"),
        Answer::tool_call("write_file", json!({ "path": "a.txt", "content": "1\ntwo\n" })),
        finish(),
    ]);
    job.write("a.txt", "one\ntwo\n");
    job.write("b.txt", "one\n");

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    let success: Vec<bool> = result.steps.iter().map(|step| step.is_success).collect();
    assert_eq!(success, [false, false, false, true, true, true]);
    let seen = job.observations();
    assert!(!seen[1].contains("refused"), "{}", seen[1]);
    for observation in &seen[2..4] {
        assert!(observation.contains("edit_file is refused for a.txt"), "{observation}");
        assert!(observation.contains("DATA 1\none\ntwo\nEND 1"), "{observation}");
    }
    assert_eq!((job.read("a.txt"), job.read("b.txt")), ("1\ntwo\n".into(), "1\n".into()));
}

#[tokio::test]
async fn an_edit_that_succeeds_between_failures_keeps_edit_mode() {
    let job = TestJob::with_script([
        edit("a", "missing", "x"),
        edit("a", "one", "two"),
        edit("a", "missing", "y"),
        edit("a", "two", "three"),
        finish(),
    ]);
    job.write("a", "one\n");

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    assert_eq!(job.read("a"), "three\n");
}

#[tokio::test]
async fn a_file_that_cannot_be_shown_whole_stays_in_edit_mode() {
    let job = TestJob::with_script([
        edit("a", "missing", "x"),
        edit("a", "missing too", "x"),
        edit("a", "one", "two"),
        finish(),
    ]);
    job.write("a", format!("one\n{}", "line\n".repeat(5_000)));

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    assert!(job.read("a").starts_with("two\n"));
}

#[tokio::test]
async fn equal_results_are_progress_if_a_file_changed_between_them() {
    let mut answers = Vec::new();
    for number in 0..4 {
        answers.push(command("false"));
        let content = number.to_string();
        answers.push(Answer::tool_call("write_file", json!({ "path": "a", "content": content })));
    }
    answers.push(finish());
    assert_eq!(TestJob::with_script(answers).run().await.stop, StopCondition::GoalMet);
}

#[tokio::test]
async fn finish_is_rejected_while_the_command_of_a_criterion_fails() {
    let mut job = TestJob::with_script([
        finish(),
        Answer::tool_call("write_file", json!({ "path": "ok", "content": "" })),
        finish(),
    ]);
    job.spec["context"]["acceptance_criteria"] =
        json!([{ "kind": "command_succeeds", "command": "ls ok" }]);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    let seen = job.observations();
    assert!(seen[1].starts_with("finish is rejected: criterion 0 fails: exit code 2"), "{seen:?}");
    assert_eq!(result.evidence[0].evidence, "`ls ok`: exit code 0");
}

#[tokio::test]
async fn finish_without_evidence_is_reminded_once() {
    let mut job = TestJob::with_script([finish(), finish()]);
    job.spec["context"]["acceptance_criteria"] =
        json!([{ "kind": "text", "description": "it works" }]);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    assert!(job.observations()[1].contains("no evidence for the criteria [0]"));
    assert!(result.evidence.is_empty());
}
