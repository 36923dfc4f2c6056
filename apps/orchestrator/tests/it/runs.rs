//! Run queries: state, history and explanations.

use cynode_domain::ids::{JobId, RunId};
use cynode_domain::run::RunState;
use cynode_wire::page::PageQuery;
use cynode_wire::runs::{DiffQuery, HistoryItem, HistoryRow, RunQuery};
use cynode_wire::workflow::{Finish, LeaseToken, Outcome, SaveCheckpoint};
use cynode_workflow_state::GRAPH_VERSION;
use serde_json::{Value, json};

use crate::actors::{HarnessRunner, checkpoint};
use crate::harness::{OrchestratorHarness, refused, task_request};

/// A transition out of `node` by `edge`.
fn moved(lease: LeaseToken, sequence: i64, way: (&str, &str), changes: Value) -> SaveCheckpoint {
    let (node, edge) = way;
    let (state, changes) = match sequence {
        1 => (Some(changes), None),
        _ => (None, Some(serde_json::from_value(json!({ "set": changes })).unwrap())),
    };
    let (last_node_id, edge) = (node.to_owned(), edge.to_owned());
    SaveCheckpoint { last_node_id, edge, state, changes, ..checkpoint(lease, sequence) }
}

/// The state of a run after its task was read.
fn loaded(lease: LeaseToken) -> Value {
    let commands = ["make", "make test"];
    let request =
        json!({ "mode": "commands", "prompt": "", "commands": commands, "expected_outputs": [] });
    json!({
        "graph_version": GRAPH_VERSION,
        "task_id": lease.task_id,
        "request": request,
        "bounds": { "limits": {}, "retry_interrupted": false, "max_attempts": 2 },
        "plan": { "steps": [], "assumptions": [] },
    })
}

/// The state changes of planning.
pub(crate) fn planned() -> Value {
    let step = |line: &str| json!({ "action": { "kind": "command", "line": line }, "expected_outputs": [] });
    json!({ "request": null, "plan": { "steps": [step("make"), step("make test")], "assumptions": [] } })
}

/// Carries a run of the task through its first step, whose job has not been judged well.
pub(crate) async fn through_a_step(runner: &HarnessRunner, lease: LeaseToken, job: JobId) {
    let save = async |body: SaveCheckpoint| runner.client.workflow_call(&body).await.unwrap();
    save(moved(lease, 1, ("load_task_context", "loaded"), loaded(lease))).await;
    save(moved(lease, 2, ("plan_steps", "first_step"), planned())).await;
    let dispatched = json!({ "attempts_by_step": { "0": 1 }, "job": { "job_id": job, "step_index": 0, "attempt": 1 } });
    let mut body = moved(lease, 3, ("dispatch_step", "dispatched"), dispatched);
    (body.step_index, body.job_id) = (Some(0), Some(job));
    save(body).await;
    let result = json!({
        "job_id": job, "status": "completed", "ending": { "kind": "exited", "code": 3 },
        "stdout_tail": "", "stderr_tail": "",
    });
    save(moved(lease, 4, ("collect_result", "collected"), json!({ "last_result": result }))).await;
    let finding = json!({ "rule": "exit_code", "status": "fail", "message": "the command exited with code 3" });
    let verdict = json!({ "status": "fail", "findings": [finding], "recommended_actions": [] });
    let mut body = moved(
        lease,
        5,
        ("verify_step_result", "no_retry_left"),
        json!({ "verification": verdict }),
    );
    body.step_index = Some(0);
    save(body).await;
}

/// Ends a run that [`through_a_step`] left before its last node.
pub(crate) async fn fail(runner: &HarnessRunner, lease: LeaseToken) {
    let summary = "Step 1 of 2 failed.".to_owned();
    let finish = json!({ "finish": { "outcome": "failed", "summary": summary } });
    let mut body = moved(lease, 6, ("mark_failed", "finished"), finish);
    body.finish = Some(Finish { outcome: Outcome::Failed, summary, verification: None });
    runner.client.workflow_call(&body).await.unwrap();
}

fn rows(items: Vec<HistoryItem>) -> Vec<HistoryRow> {
    let row = |item| match item {
        HistoryItem::Transition(row) => row,
        HistoryItem::Act(act) => panic!("nobody did anything: {act:?}"),
    };
    items.into_iter().map(row).collect()
}

pub(crate) async fn a_run_says_where_it_stands_and_who_drives_it(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await;
    let before = admin.run_get(&task.task_name).await.unwrap().run;
    assert_eq!((before.state, before.place, before.lease), (RunState::Queued, None, None));
    assert_eq!(before.waits_for.as_deref(), Some("a free runner"));
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;

    let by_task = admin.run_get(&task.task_name).await.unwrap();
    let by_id = admin.run_get(&by_task.run.id.to_string()).await.unwrap();

    assert_eq!(by_id, by_task);
    let run = by_task.run;
    assert_eq!((run.state, run.waits_for), (RunState::Running, None));
    assert_eq!(run.lease.unwrap().holder_id, runner.holder);
    let place = run.place.unwrap();
    assert_eq!((place.sequence, place.node.as_deref()), (5, Some("mark_failed")));
    let step = by_task.step.unwrap();
    assert_eq!((step.index, step.of, step.attempt, step.max_attempts), (0, 2, 1, 2));
    assert_eq!(step.action, "make");
    fail(&runner, lease).await;
    let ended = admin.run_get(&task.task_name).await.unwrap();
    assert_eq!((ended.run.state, ended.run.lease), (RunState::Failed, None));
    assert_eq!(ended.summary.as_deref(), Some("Step 1 of 2 failed."));
}

pub(crate) async fn runs_are_listed_by_task_project_and_state(harness: OrchestratorHarness) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let first = harness.task().await;
    let second =
        admin.task_create(&task_request(json!({ "depends_on": [first.id] }))).await.unwrap();
    let list = async |query: RunQuery| {
        let page = admin.run_list(&query).await.unwrap();
        page.items.into_iter().map(|run| run.task_id).collect::<Vec<_>>()
    };
    let of_state = |state: &str| RunQuery { state: Some(state.to_owned()), ..RunQuery::default() };

    assert_eq!(list(RunQuery::default()).await, [second.id, first.id]);
    assert_eq!(list(of_state("waiting")).await, [second.id]);
    assert_eq!(list(of_state("queued")).await, [first.id]);
    let of_task = RunQuery { task: Some(first.task_name.clone()), ..RunQuery::default() };
    assert_eq!(list(of_task).await, [first.id]);
    let project = Some(first.project_id.to_string());
    assert_eq!(list(RunQuery { project, ..RunQuery::default() }).await.len(), 2);
    let page = admin.run_list(&RunQuery { limit: Some(1), ..RunQuery::default() }).await.unwrap();
    let rest = RunQuery { cursor: page.next_cursor, ..RunQuery::default() };
    assert_eq!(list(rest).await, [first.id]);
    let detail = admin.run_get(&second.task_name).await.unwrap().run;
    let waits_for = format!("its dependencies: {} (queued)", first.task_name);
    assert_eq!(detail.waits_for, Some(waits_for));
    let problem = refused(admin.run_list(&of_state("lost")).await, 400);
    assert!(problem.detail.contains("needs_answer"), "{}", problem.detail);
    assert_eq!(bob.run_list(&RunQuery::default()).await.unwrap().items, []);
}

pub(crate) async fn a_history_tells_what_every_transition_changed(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;

    let all = admin.run_history(&task, &PageQuery::default()).await.unwrap();
    let first = PageQuery { limit: Some(2), cursor: None };
    let first = admin.run_history(&task, &first).await.unwrap();
    let rest = PageQuery { limit: None, cursor: first.next_cursor.clone() };
    let rest = admin.run_history(&task, &rest).await.unwrap();

    assert_eq!((first.next_cursor.as_deref(), rest.next_cursor), (Some("2"), None));
    let all = rows(all.items);
    let parts: Vec<_> = rows(first.items).into_iter().chain(rows(rest.items)).collect();
    assert_eq!(parts, all);
    let changed: Vec<_> = all.iter().map(|row| row.changed.join(" ")).collect();
    let expected = [
        "bounds graph_version plan request task_id",
        "plan request",
        "attempts_by_step job",
        "last_result",
        "verification",
    ];
    assert_eq!(changed, expected);
    assert_eq!(all[1].next_node.as_deref(), Some("dispatch_step"));
}

pub(crate) async fn two_rows_and_two_runs_are_compared(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let mut tasks = vec![];
    for _ in 0..2 {
        tasks.push(harness.task().await.task_name);
        let lease = runner.claim(0).await.unwrap().lease;
        through_a_step(&runner, lease, JobId::generate()).await;
    }
    let paths = async |query: DiffQuery| {
        let diff = admin.run_diff(&tasks[0], &query).await.unwrap();
        diff.differences.into_iter().map(|one| one.path).collect::<Vec<_>>()
    };

    let last = paths(DiffQuery::default()).await;
    let two = paths(DiffQuery { from: Some(1), to: Some(2), with: None }).await;
    let with = Some(tasks[1].clone());
    let other = paths(DiffQuery { with, ..DiffQuery::default() }).await;

    assert_eq!(last, ["/verification"]);
    assert_eq!(two, ["/plan/steps/0", "/plan/steps/1", "/request"]);
    assert_eq!(other, ["/job/job_id", "/last_result/job_id", "/task_id"]);
    let far = DiffQuery { to: Some(9), ..DiffQuery::default() };
    let problem = refused(admin.run_diff(&tasks[0], &far).await, 404);
    assert!(problem.detail.ends_with("has no row 8; its newest is 5"), "{}", problem.detail);
}

pub(crate) async fn every_decision_is_explained_with_its_input_rule_and_outcome(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;

    let reported = admin.run_explain(&task, &PageQuery::default()).await.unwrap().items;

    let nodes: Vec<_> = reported.iter().map(|decision| decision.node.as_str()).collect();
    assert_eq!(nodes, ["plan_steps", "dispatch_step", "verify_step_result", "mark_failed"]);
    assert_eq!(reported[0].input, ["command: make", "command: make test"]);
    assert_eq!(reported[0].led_to, "2 steps; the first: make");
    assert_eq!(reported[1].input, ["attempt 1 of 2: make"]);
    assert_eq!(reported[2].input, ["not met: the command exited with code 3", "attempt 1 of 2"]);
    assert_eq!(reported[2].made_by, "rule: exit_code");
    assert!(reported[2].led_to.ends_with("the run fails"), "{}", reported[2].led_to);
    assert_eq!(reported[3].led_to, "the task is failed");
}

pub(crate) async fn runs_of_others_are_not_found(harness: OrchestratorHarness) {
    let bob = harness.user("bob").await;
    let task = harness.task().await;
    let run = task.run_id.unwrap().to_string();

    for named in
        [run.as_str(), &task.id.to_string(), &task.task_name, &RunId::generate().to_string()]
    {
        refused(bob.run_get(named).await, 404);
        refused(bob.run_history(named, &PageQuery::default()).await, 404);
        refused(bob.run_diff(named, &DiffQuery::default()).await, 404);
        refused(bob.run_explain(named, &PageQuery::default()).await, 404);
    }
    let with = Some(run);
    let own = bob.task_create(&task_request(json!({}))).await.unwrap().task_name;
    refused(bob.run_diff(&own, &DiffQuery { with, ..DiffQuery::default() }).await, 404);
}
