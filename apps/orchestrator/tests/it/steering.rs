//! Steering of runs by people while runners drive them.

use cynode_client::{Client, ClientError};
use cynode_domain::ids::JobId;
use cynode_domain::policy::AgentType;
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::run::{RunState, RunVerb};
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::page::PageQuery;
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::runner_calls::NoContent;
use cynode_wire::runs::{AnswerRun, HistoryItem};
use cynode_wire::tasks::{TaskQuery, TaskView};
use cynode_wire::workflow::{LeaseToken, Outcome, ReleaseLease};
use futures_util::future::join_all;
use serde_json::json;

use crate::actors::{HarnessRunner, checkpoint};
use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::Mcp;
use crate::runs::{fail, through_a_step};

pub(crate) async fn state(client: &Client, run: &str) -> RunState {
    client.run_get(run).await.unwrap().run.state
}

/// Steering actions on a run, in order.
pub(crate) async fn acts(client: &Client, run: &str) -> Vec<(i64, RunVerb)> {
    let page = client.run_history(run, &PageQuery::default()).await.unwrap();
    let act = |item| match item {
        HistoryItem::Act(act) => Some((act.sequence, act.verb)),
        HistoryItem::Transition(_) => None,
    };
    page.items.into_iter().filter_map(act).collect()
}

pub(crate) async fn a_paused_run_is_granted_to_nobody_until_it_is_resumed(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await;
    let name = &task.task_name;

    let paused = admin.run_pause(name).await.unwrap();
    let again = admin.run_pause(name).await.unwrap();

    assert_eq!((paused.run.state, again), (RunState::Paused, paused.clone()));
    assert_eq!(paused.run.waits_for.as_deref(), Some("`cynork run resume`"));
    assert_eq!(runner.claim(0).await, None);
    let problem = refused(runner.start(task.id).await, 409);
    assert_eq!(problem.detail, "the task may not start: it is paused");
    let view = admin.task_get(name).await.unwrap();
    assert_eq!(view.blocked_reason.as_deref(), Some("it is paused"));
    let (resumed, grant) = tokio::join!(admin.run_resume(name), runner.claim(30_000));
    resumed.unwrap();
    assert_eq!(grant.unwrap().lease.task_id, task.id);
    admin.run_resume(name).await.unwrap();
    assert_eq!(acts(&admin, name).await, [(0, RunVerb::Pause), (0, RunVerb::Resume)]);
}

pub(crate) async fn a_run_under_way_pauses_after_its_node_and_goes_on_from_there(
    harness: OrchestratorHarness,
) {
    let (admin, runner, other) = (harness.admin(), harness.runner(), harness.runner());
    let name = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    let save = async |sequence| {
        runner.client.workflow_call(&checkpoint(lease, sequence)).await.unwrap().pause
    };
    assert!(!save(1).await);

    assert_eq!(admin.run_pause(&name).await.unwrap().run.state, RunState::Pausing);
    // Its runner may still finish the node, and learns of the pause then, also on a repeated call.
    runner.effect(lease, "2/node/effect", json!(1)).await.unwrap();
    assert!(save(2).await);
    assert!(save(2).await);
    runner.client.workflow_call(&ReleaseLease::new(lease)).await.unwrap();

    let run = admin.run_get(&name).await.unwrap().run;
    assert_eq!((run.state, run.lease), (RunState::Paused, None));
    assert_eq!(other.claim(0).await, None);
    refused(runner.checkpoint(lease, 3).await, 409);
    admin.run_resume(&name).await.unwrap();
    let grant = other.claim(0).await.unwrap();
    assert_eq!(grant.checkpoint.unwrap().sequence, 2);
    assert!(!other.client.workflow_call(&checkpoint(grant.lease, 3)).await.unwrap().pause);
    assert_eq!(acts(&admin, &name).await, [(1, RunVerb::Pause), (2, RunVerb::Resume)]);
}

pub(crate) async fn a_pause_that_is_taken_back_in_time_is_not_noticed(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let name = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;

    admin.run_pause(&name).await.unwrap();
    admin.run_resume(&name).await.unwrap();

    assert!(!runner.client.workflow_call(&checkpoint(lease, 1)).await.unwrap().pause);
    assert_eq!(state(&admin, &name).await, RunState::Running);
}

pub(crate) async fn a_run_that_ends_in_its_node_is_not_paused_any_more(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let name = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    admin.run_pause(&name).await.unwrap();

    runner.finish(lease, 1, Outcome::Completed).await.unwrap();

    assert_eq!(state(&admin, &name).await, RunState::Completed);
    for refusal in [admin.run_pause(&name).await, admin.run_resume(&name).await] {
        let problem = refused(refusal, 409);
        assert!(problem.detail.starts_with("the run is already completed"), "{}", problem.detail);
    }
}

pub(crate) async fn a_paused_run_can_be_canceled_and_takes_along_what_waits(
    harness: OrchestratorHarness,
) {
    harness.must_end_idle();
    let (admin, runner) = (harness.admin(), harness.runner());
    let (idle, driven) = (harness.task().await, harness.task().await);
    let waits = admin.task_create(&task_request(json!({ "depends_on": [idle.id] }))).await.unwrap();
    admin.run_pause(&idle.task_name).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    admin.run_pause(&driven.task_name).await.unwrap();

    let canceled = admin.task_cancel(&idle.task_name).await.unwrap();
    admin.task_cancel(&driven.task_name).await.unwrap();

    assert_eq!(canceled.cascaded, [waits.id]);
    for name in [&idle.task_name, &driven.task_name, &waits.task_name] {
        assert_eq!(state(&admin, name).await, RunState::Canceled);
    }
    refused(runner.checkpoint(lease, 1).await, 409);
}

pub(crate) async fn of_pauses_and_claims_at_once_every_run_is_paused_or_told_to(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let mut names = vec![];
    for _ in 0..12 {
        names.push(harness.task().await.task_name);
    }

    let (claims, pauses) = tokio::join!(
        join_all((0..12).map(|_| runner.claim(0))),
        join_all(names.iter().map(|name| admin.run_pause(name))),
    );

    for pause in pauses {
        pause.unwrap();
    }
    for grant in claims.into_iter().flatten() {
        let saved = runner.client.workflow_call(&checkpoint(grant.lease, 1)).await.unwrap();
        assert!(saved.pause, "a runner was not told to pause");
        runner.client.workflow_call(&ReleaseLease::new(grant.lease)).await.unwrap();
    }
    assert_eq!(runner.claim(0).await, None);
    for name in &names {
        assert_eq!(state(&admin, name).await, RunState::Paused);
    }
}

pub(crate) async fn nobody_steers_the_runs_of_others(harness: OrchestratorHarness) {
    let (admin, bob, runner) = (harness.admin(), harness.user("bob").await, harness.runner());
    let task = harness.task().await;
    let run = task.run_id.unwrap().to_string();
    for named in [run.as_str(), &task.task_name] {
        refused(bob.run_pause(named).await, 404);
        refused(bob.run_resume(named).await, 404);
    }
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;
    assert_eq!(acts(&admin, &task.task_name).await, []);
}

/// A question of the node that plans.
fn question(accepts: &[ReplyForm]) -> Question {
    Question {
        kind: QuestionKind::Clarification,
        text: "What is to be run?".to_owned(),
        about: vec!["build it".to_owned()],
        accepts: accepts.to_vec(),
    }
}

async fn ask(
    runner: &HarnessRunner,
    lease: LeaseToken,
    accepts: &[ReplyForm],
) -> Result<NoContent, ClientError> {
    let (key, node) = ("1/plan_steps/ask/clarify".to_owned(), "plan_steps".to_owned());
    let body = SuspendForQuestion { lease, key, node, question: question(accepts) };
    runner.client.workflow_call(&body).await
}

fn reply(reply: Reply) -> AnswerRun {
    AnswerRun { reply, comment: Some("so".to_owned()) }
}

fn lines(lines: &[&str]) -> Reply {
    Reply::Commands { lines: lines.iter().map(ToString::to_string).collect() }
}

/// The tasks that are listed with this status, by name.
async fn listed(client: &Client, status: ShownTaskStatus) -> Vec<String> {
    let query = TaskQuery { status: Some(status), ..TaskQuery::default() };
    let page = client.task_list(&query).await.unwrap();
    assert!(page.items.iter().all(|task| task.status == status), "{page:?}");
    page.items.into_iter().map(|task| task.task_name).collect()
}

pub(crate) async fn a_task_whose_run_asks_is_shown_and_listed_as_waiting(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let (asks, runs) = (harness.task().await.task_name, harness.task().await.task_name);
    let lease = runner.claim(0).await.unwrap().lease;
    runner.claim(0).await.unwrap();

    ask(&runner, lease, &[ReplyForm::Commands, ReplyForm::No]).await.unwrap();

    let waiting = admin.task_get(&asks).await.unwrap();
    assert_eq!((waiting.status, waiting.closed), (ShownTaskStatus::Waiting, false));
    let reason = "waiting for your answer: What is to be run?";
    assert_eq!(waiting.blocked_reason.as_deref(), Some(reason));
    assert_eq!(admin.task_result(&asks).await.unwrap().status, ShownTaskStatus::Waiting);
    assert_eq!(listed(&admin, ShownTaskStatus::Waiting).await, [asks.as_str()]);
    assert_eq!(listed(&admin, ShownTaskStatus::Running).await, [runs.as_str()]);

    admin.run_answer(&asks, &reply(lines(&["make"]))).await.unwrap();

    let answered = admin.task_get(&asks).await.unwrap();
    assert_eq!((answered.status, answered.blocked_reason), (ShownTaskStatus::Running, None));
    assert!(listed(&admin, ShownTaskStatus::Waiting).await.is_empty());
    assert_eq!(listed(&admin, ShownTaskStatus::Running).await, [runs, asks]);
}

pub(crate) async fn a_run_that_asks_waits_without_a_runner_until_it_is_answered(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await;
    let name = &task.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    refused(admin.run_answer(name, &reply(Reply::Yes {})).await, 409);

    ask(&runner, lease, &[ReplyForm::Commands, ReplyForm::No]).await.unwrap();

    let found = admin.run_get(name).await.unwrap();
    assert_eq!((found.run.state, found.run.lease), (RunState::NeedsAnswer, None));
    let shown = found.question.unwrap();
    assert_eq!((shown.asked_by.as_str(), &shown.answer), ("plan_steps", &None));
    assert_eq!(shown.question, question(&[ReplyForm::Commands, ReplyForm::No]));
    // The lease ended with the question: repeating it is rejected and changes nothing.
    refused(ask(&runner, lease, &[ReplyForm::Yes]).await, 409);
    refused(runner.checkpoint(lease, 1).await, 409);
    assert_eq!(runner.claim(0).await, None);
    let problem = refused(runner.start(task.id).await, 409);
    assert_eq!(problem.detail, "the task may not start: it waits for an answer");

    let problem = refused(admin.run_answer(name, &reply(Reply::Yes {})).await, 400);
    assert_eq!(problem.detail, "this question is answered with one of: commands, no");
    refused(admin.run_answer(name, &reply(lines(&[" "]))).await, 400);
    let given = reply(lines(&["make"]));
    let answered = admin.run_answer(name, &given).await.unwrap();
    let again = admin.run_answer(name, &given).await.unwrap();
    assert_eq!((answered.run.state, &again), (RunState::Queued, &answered));
    refused(admin.run_answer(name, &reply(Reply::No {})).await, 409);

    let grant = runner.claim(0).await.unwrap();
    let [effect] = &grant.effects[..] else { panic!("{:?}", grant.effects) };
    assert_eq!(effect.key, "1/plan_steps/ask/clarify");
    let expected = json!({ "reply": { "form": "commands", "lines": ["make"] }, "comment": "so", "by": "admin" });
    assert_eq!(effect.answer, expected);
    runner.checkpoint(grant.lease, 1).await.unwrap();
    assert_eq!(acts(&admin, name).await, [(0, RunVerb::Answer)]);
}

pub(crate) async fn a_run_that_asks_can_be_paused_answered_and_canceled(
    harness: OrchestratorHarness,
) {
    harness.must_end_idle();
    let (admin, runner) = (harness.admin(), harness.runner());
    let mut names = vec![];
    for _ in 0..2 {
        names.push(harness.task().await.task_name);
        let lease = runner.claim(0).await.unwrap().lease;
        ask(&runner, lease, &[ReplyForm::Yes]).await.unwrap();
    }

    admin.run_pause(&names[0]).await.unwrap();
    admin.run_answer(&names[0], &reply(Reply::Yes {})).await.unwrap();
    assert_eq!(state(&admin, &names[0]).await, RunState::Paused);
    assert_eq!(runner.claim(0).await, None);
    admin.run_resume(&names[0]).await.unwrap();
    assert_eq!(state(&admin, &names[0]).await, RunState::Queued);
    for name in &names {
        admin.task_cancel(name).await.unwrap();
        assert_eq!(state(&admin, name).await, RunState::Canceled);
    }
    let problem = refused(admin.run_answer(&names[1], &reply(Reply::Yes {})).await, 409);
    assert_eq!(problem.detail, "the run is already canceled; it cannot be answered");
}

pub(crate) async fn of_many_answers_at_once_one_counts(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let name = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    ask(&runner, lease, &[ReplyForm::Text]).await.unwrap();
    let replies: Vec<_> = (0..8).map(|n| reply(Reply::Text { text: n.to_string() })).collect();

    let answers = join_all(replies.iter().map(|reply| admin.run_answer(&name, reply))).await;

    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(acts(&admin, &name).await.len(), 1);
    assert_eq!(runner.claim(0).await.unwrap().effects.len(), 1);
}

pub(crate) async fn an_agent_answers_what_is_unclear_but_approves_nothing(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let unclear = harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    ask(&runner, lease, &[ReplyForm::Commands, ReplyForm::No]).await.unwrap();
    let to_approve = harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    let kind = QuestionKind::Approval;
    let question = Question { kind, ..question(&[ReplyForm::Yes, ReplyForm::No]) };
    let (key, node) = ("k".to_owned(), "plan_steps".to_owned());
    let body = SuspendForQuestion { lease, key, node, question };
    runner.client.workflow_call(&body).await.unwrap();
    let of = |task: &TaskView| json!({ "run_id": task.run_id, "comment": "so" });

    let mut arguments = of(&unclear);
    arguments["commands"] = json!(["make"]);
    let answered = pm.call("db.run.answer", arguments).await;
    let refusal = pm.answer("db.run.answer", of(&to_approve)).await;

    assert_eq!(answered["state"], "queued");
    let answer = admin.run_get(&unclear.task_name).await.unwrap().question.unwrap().answer;
    assert_eq!(answer.unwrap().by.as_deref(), Some("an agent of admin"));
    let error = &refusal["result"]["structuredContent"]["error"];
    assert_eq!((&error["type"], &error["stage"]), (&json!("conflict"), &json!("invoke")));
    assert_eq!(state(&admin, &to_approve.task_name).await, RunState::NeedsAnswer);
}
