//! Verification: who judges a step, what is recorded, and which analysts run.

use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::policy::AgentType;
use cynode_domain::verdict::{Verdict, VerdictStatus};
use cynode_wire::runs::{ForkRun, RetryRun};
use cynode_wire::tasks::TaskView;
use cynode_wire::workflow::{LeaseToken, RenewLease, SaveCheckpoint, WaitingView};
use reqwest::Method;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, HarnessRunner, checkpoint};
use crate::harness::{HarnessResponse, OrchestratorHarness, refused, task_request};
use crate::mcp::Mcp;
use crate::runs::{fail, through_a_step};

/// A task whose only step has ended with `code`.
async fn ended(
    harness: &OrchestratorHarness,
    criteria: Value,
    code: i32,
) -> (TaskView, HarnessRunner, HarnessNode, LeaseToken, JobId) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let body = task_request(json!({ "acceptance_criteria": criteria }));
    let task = harness.admin().task_create(&body).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    node.end(job, code).await.unwrap();
    (task, runner, node, lease, job)
}

/// The findings about a task as its project manager reads them, oldest first.
async fn findings(harness: &OrchestratorHarness, task: &TaskView) -> Vec<Value> {
    let pm = Mcp::agent(harness, AgentType::Pm).await;
    let listed = pm.call("db.finding.list", json!({ "task_id": task.id })).await;
    listed["items"].as_array().unwrap().iter().rev().cloned().collect()
}

pub(crate) async fn findings_are_on_record_and_asking_again_doubles_none(
    harness: OrchestratorHarness,
) {
    let criteria = json!([
        { "kind": "file_exists", "path": "report.txt" },
        { "kind": "text", "description": "reads well" },
    ]);
    let (task, runner, _node, lease, job) = ended(&harness, criteria, 0).await;

    let first = runner.verify(lease, job).await.unwrap();
    let (again, too) = tokio::join!(runner.verify(lease, job), runner.verify(lease, job));

    assert_eq!((&again.unwrap(), &too.unwrap()), (&first, &first));
    assert_eq!(first.status, VerdictStatus::Fail);
    let found = findings(&harness, &task).await;
    let said: Vec<_> = found
        .iter()
        .map(|finding| (finding["status"].as_str(), finding["severity"].as_str()))
        .collect();
    let expected = [
        (Some("pass"), Some("info")),
        (Some("fail"), Some("error")),
        (Some("needs_clarification"), Some("warning")),
    ];
    assert_eq!(said, expected);
    let message = "report.txt was not found in `$CYNODE_ARTIFACTS_DIR`; copy it there";
    assert_eq!(found[1]["message"], message);
    assert_eq!(found[1]["suggestion"], "copy report.txt to `$CYNODE_ARTIFACTS_DIR`");
    assert_eq!((&found[1]["job_id"], &found[1]["step_index"]), (&json!(job), &json!(0)));
    assert_eq!(
        (&found[1]["agent_type"], &found[1]["location"]),
        (&json!("rule"), &json!("file_exists"))
    );
}

pub(crate) async fn concurrent_verifications_write_one_set_of_findings(
    harness: OrchestratorHarness,
) {
    let (task, runner, _node, lease, job) = ended(&harness, json!([]), 3).await;

    let verdicts = futures_util::future::join_all((0..8).map(|_| runner.verify(lease, job))).await;

    assert!(verdicts.iter().all(|verdict| verdict.as_ref().unwrap().status == VerdictStatus::Fail));
    assert_eq!(findings(&harness, &task).await.len(), 1);
}

pub(crate) async fn a_check_runs_where_the_step_ran_and_decides(harness: OrchestratorHarness) {
    let criteria = json!([
        { "kind": "command_succeeds", "command": "test -f made" },
        { "kind": "command_succeeds", "command": "make check" },
    ]);
    let (task, runner, node, lease, job) = ended(&harness, criteria, 0).await;

    let answer = runner.poll_verdict(lease, job, 0).await.unwrap();
    assert_eq!(answer.verdict, None);
    let news = node.poll(&[]).await.assignments;
    assert_eq!(news.len(), 1, "{news:?}");
    let check = news[0].job_id;
    let waiting_for = format!("check job {check} of step 1");
    assert_eq!(answer.waiting_for, Some(waiting_for));
    // Asking again starts nothing new.
    runner.poll_verdict(lease, job, 0).await.unwrap();
    assert!(node.poll(&[check]).await.assignments.is_empty());
    refused(runner.poll_verdict(lease, check, 0).await, 404);

    // The second check begins when the first has ended, and the verdict waits for it.
    let (verdict, ()) = tokio::join!(runner.poll_verdict(lease, job, 30_000), async {
        node.end(check, 0).await.unwrap();
        let news = node.poll_for(&[], 20_000).await.assignments;
        let second = news[0].job_id;
        node.poll(&[second]).await;
        node.end(second, 2).await.unwrap();
    });

    let verdict = verdict.unwrap().verdict.unwrap();
    assert_eq!(verdict.first_failure(), Some("the check \"make check\" exited with code 2"));
    let jobs = harness.admin().task_result(&task.task_name).await.unwrap().jobs;
    let numbers: Vec<_> = jobs.iter().map(|job| (job.step_index, job.attempt, job.check)).collect();
    assert_eq!(numbers, [(0, 1, None), (0, 1, Some(1)), (0, 1, Some(2))]);
    assert!(jobs.iter().all(|job| job.node_id == Some(node.id)));
}

pub(crate) async fn a_run_shows_what_its_node_waits_for(harness: OrchestratorHarness) {
    let (task, runner) = (harness.task().await, harness.runner());
    let lease = runner.start(task.id).await.unwrap().lease;
    let at = |sequence, node: &str, edge: &str| SaveCheckpoint {
        last_node_id: node.to_owned(),
        edge: edge.to_owned(),
        ..checkpoint(lease, sequence)
    };
    runner.client.workflow_call(&at(1, "dispatch_step", "dispatched")).await.unwrap();
    let waiting = WaitingView {
        node: "collect_result".to_owned(),
        waiting_for: "job 7, which is running".to_owned(),
    };
    let renewal = RenewLease { waiting: Some(waiting), ..RenewLease::new(lease, None) };
    let path = format!("/v1/runs/{}", task.id);
    let shown = async || {
        HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.body["waits_for"].clone()
    };

    runner.client.workflow_call(&renewal).await.unwrap();
    let while_waiting = shown().await;
    runner.client.workflow_call(&at(2, "collect_result", "collected")).await.unwrap();

    assert_eq!((while_waiting, shown().await), (json!("job 7, which is running"), Value::Null));
}

pub(crate) async fn a_runner_cannot_take_the_number_of_a_check(harness: OrchestratorHarness) {
    let (_task, runner, _node, lease, _job) = ended(&harness, json!([]), 0).await;

    let problem = refused(runner.dispatch_attempt(lease, 0, 1001).await, 400);

    assert_eq!(problem.detail, "attempt is 1001; allowed is 1 to 999");
}

/// Carries out an attempt at a step that leaves these files behind, and has it judged as the last step.
async fn attempt(
    (runner, node, lease): (&HarnessRunner, &HarnessNode, LeaseToken),
    (step, number): (u32, u32),
    files: &[&str],
    code: i32,
) -> Verdict {
    runner.dispatch_attempt(lease, step, number).await.unwrap();
    let job = node.take().await;
    for path in files {
        node.client.node_put_artifact(job, path, "content".into()).await.unwrap();
    }
    node.end(job, code).await.unwrap();
    runner.verify(lease, job).await.unwrap()
}

const STALE: &str = "out.txt was not found in `$CYNODE_ARTIFACTS_DIR`: an earlier attempt or another \
                     run created one, but this attempt did not";
const MISSING: &str = "out.txt was not found in `$CYNODE_ARTIFACTS_DIR`; copy it there";

pub(crate) async fn a_file_of_a_failed_attempt_is_no_evidence_for_the_next(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let criteria = json!([{ "kind": "file_exists", "path": "out.txt" }]);
    let task = task_request(json!({ "acceptance_criteria": criteria, "max_attempts": 3 }));
    harness.admin().task_create(&task).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    let on = (&runner, &node, lease);

    let failed = attempt(on, (0, 1), &["out.txt"], 1).await;
    let without = attempt(on, (0, 2), &[], 0).await;
    let again = attempt(on, (0, 3), &["out.txt"], 0).await;

    assert_eq!(failed.first_failure(), Some("the command exited with code 1"));
    assert_eq!(without.first_failure(), Some(STALE));
    assert_eq!(again.status, VerdictStatus::Pass, "{again:?}");
}

pub(crate) async fn only_accepted_attempts_of_earlier_steps_are_evidence_about_the_task(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let file = |path: &str| json!({ "kind": "file_exists", "path": path });
    let criteria = json!([file("of-accepted"), file("of-failed")]);
    let body = json!({ "commands": ["make", "make test"], "acceptance_criteria": criteria });
    harness.admin().task_create(&task_request(body)).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    let on = (&runner, &node, lease);
    attempt(on, (0, 1), &["of-failed"], 1).await;
    attempt(on, (0, 2), &["of-accepted"], 0).await;

    let last = attempt(on, (1, 1), &[], 0).await;

    let met: Vec<_> =
        last.findings.iter().map(|found| (found.rule.as_str(), found.is_failure())).collect();
    assert_eq!(met, [("exit_code", false), ("file_exists", false), ("file_exists", true)]);
}

pub(crate) async fn a_fork_and_a_retry_have_the_inputs_and_none_of_the_evidence(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let node = harness.node("anvil").await;
    let body = task_request(json!({
        "commands": ["make", "make test"],
        "acceptance_criteria": [{ "kind": "file_exists", "path": "out.txt" }],
        "attachments": [{ "name": "in.txt", "content_base64": "aGVsbG8=" }],
    }));
    let task = admin.task_create(&body).await.unwrap().task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    let first = attempt((&runner, &node, lease), (0, 1), &["out.txt"], 0).await;
    assert_eq!(first.status, VerdictStatus::Pass);
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;

    let fork = ForkRun { sequence: 2, ..ForkRun::default() };
    let forked = admin.run_fork(&task, &fork).await.unwrap().run.task_name;
    let of_fork = runner.claim(0).await.unwrap().lease;
    let in_fork = attempt((&runner, &node, of_fork), (0, 1), &[], 0).await;
    admin.run_retry(&task, &RetryRun::default()).await.unwrap();
    let of_retry = runner.claim(0).await.unwrap().lease;
    let in_retry = attempt((&runner, &node, of_retry), (0, 1), &[], 0).await;

    let files = admin.artifact_list(&forked).await.unwrap();
    let files: Vec<_> = files.iter().map(|file| (&*file.kind, &*file.path)).collect();
    assert_eq!(files, [("attachment", "in.txt")]);
    assert_eq!(in_fork.first_failure(), Some(MISSING));
    assert_eq!(in_retry.first_failure(), Some(STALE));
}

pub(crate) async fn an_analyst_reads_the_files_and_changes_of_the_attempt_it_judges(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let node = harness.node("anvil").await;
    let body = task_request(json!({
        "max_attempts": 2,
        "attachments": [{ "name": "main.py", "content_base64": "b25lCnR3bwo=" }],
    }));
    let task = admin.task_create(&body).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    let on = (&runner, &node, lease);
    attempt(on, (0, 1), &["left-over"], 1).await;
    runner.dispatch_attempt(lease, 0, 2).await.unwrap();
    let job = node.take().await;
    let files: [(&str, &[u8]); 2] = [("main.py", b"one\nthree\n"), ("image", b"\x89PNG\0\xff")];
    for (path, content) in files {
        node.client.node_put_artifact(job, path, content.into()).await.unwrap();
    }
    node.end(job, 0).await.unwrap();
    let pa = Mcp::agent(&harness, AgentType::Pa).await;
    let get = async |path: &str, format: &str, max_bytes: u32| {
        let of = json!({ "task_id": task.id, "job_id": job, "path": path, "format": format,
            "max_bytes": max_bytes });
        pa.call("artifact.get", of).await
    };

    let listed = pa.call("artifact.list", json!({ "task_id": task.id, "job_id": job })).await;
    let text = get("main.py", "text", 1000).await;
    let cut = get("main.py", "text", 4).await;
    let diff = get("main.py", "diff", 1000).await;
    let image = get("image", "text", 1000).await;

    let paths: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["image", "main.py"], "what a failed attempt left is not among them");
    assert_eq!((&text["text"], &text["is_cut"]), (&json!("one\nthree\n"), &json!(false)));
    assert_eq!((&cut["text"], &cut["is_cut"]), (&json!("one\n"), &json!(true)));
    let changed = diff["diff"].as_str().unwrap();
    assert!(changed.contains("-two\n+three\n"), "{changed}");
    assert_eq!(diff["against"], "the attachment of that name");
    assert_eq!((&image["text"], &image["is_binary"]), (&json!(""), &json!(true)));
}

pub(crate) async fn an_analyst_of_a_step_before_the_last_reads_the_files_of_that_attempt_alone(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let lines = ["make", "make test", "make dist"];
    let task =
        harness.admin().task_create(&task_request(json!({ "commands": lines }))).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    let steps = lines.map(|line| Step::new(Action::Command { line: line.to_owned() }));
    let state = json!({ "plan": { "steps": steps, "assumptions": [] } });
    let planned = SaveCheckpoint { state: Some(state), ..checkpoint(lease, 1) };
    runner.client.workflow_call(&planned).await.unwrap();
    let pa = Mcp::agent(&harness, AgentType::Pa).await;
    let files_after = async |step: u32, path: &str| -> Vec<Value> {
        runner.dispatch(lease, step).await.unwrap();
        let job = node.take().await;
        node.client.node_put_artifact(job, path, "content".into()).await.unwrap();
        node.end(job, 0).await.unwrap();
        let listed = pa.call("artifact.list", json!({ "task_id": task.id, "job_id": job })).await;
        listed["items"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect()
    };

    let first = files_after(0, "draft").await;
    let second = files_after(1, "report").await;
    let last = files_after(2, "bundle").await;

    assert_eq!(first, ["draft"]);
    assert_eq!(second, ["report"]);
    assert_eq!(last, ["bundle", "draft", "report"]);
}
