//! Criteria in prose that an analyst judges, rejects or leaves open.

use cynode_domain::criteria::Criterion;
use cynode_domain::plan::StepCriterion;
use cynode_domain::verification::VerificationStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::{
    JUDGING, PLANNING, done, judgement_answer, list_findings, plan_answer, prompt_task, system,
    wait_for_criteria_question, with_prose_criterion,
};
use crate::processes::{eventually, send_signal};
use crate::system::PATIENCE;
use crate::work::{commands, create_task_once, wait_until_closed};

/// Prompt for another command.
const REPLANNING: &str = "A step of a plan was not accepted";

#[tokio::test]
async fn what_an_analyst_fails_is_not_accepted() {
    let provider = ScriptedProvider::start();
    provider.when(JUDGING, judgement_answer("fail"));
    let system = system(&provider).await;

    // The words of the complaint are in no command.
    let line = "echo hello; printf 'out of %s' tune >&2";
    let view = done(&system, with_prose_criterion(commands(&[line]), "it sings")).await;

    assert_eq!(view.status.as_str(), "failed", "{view:#?}");
    let requests = provider.requests();
    let request = requests.iter().find(|request| request.text.contains(JUDGING)).unwrap();
    assert!(request.text.contains("out of tune"), "{}", request.text);
    let found = list_findings(&system, view.id).await;
    assert!(found.iter().any(|one| one["status"] == "fail" && one["agent_type"] == "pa"));
    let why = system.cynork(&["run", "explain", &view.task_name]).expect_success().stdout;
    assert!(why.contains("its command was kept: its command was given by a person"), "{why}");
}

#[tokio::test]
async fn a_step_whose_prose_an_analyst_fails_keeps_the_next_one_from_starting() {
    let provider = ScriptedProvider::start();
    provider.when("it greets", judgement_answer("pass"));
    provider.when(JUDGING, judgement_answer("fail"));
    let system = system(&provider).await;
    let with_prose_for_first = |criterion: &str| {
        let mut body = commands(&["echo hello", "echo bye"]);
        let criterion = Criterion::Text { description: criterion.to_owned() };
        body.step_criteria = vec![StepCriterion { step_index: 0, criterion }];
        body
    };

    let met = done(&system, with_prose_for_first("it greets")).await;
    let unmet = done(&system, with_prose_for_first("it sings")).await;

    assert_eq!(met.verification, Some(VerificationStatus::Verified), "{met:#?}");
    for (view, status, jobs) in [(met, "completed", 2), (unmet, "failed", 1)] {
        assert_eq!(view.status.as_str(), status, "{view:#?}");
        let result = system.client.task_result(&view.id.to_string()).await.unwrap();
        assert_eq!(result.jobs.len(), jobs, "{result:#?}");
    }
}

#[tokio::test]
async fn what_an_analyst_rejects_is_planned_anew_with_its_findings() {
    let provider = ScriptedProvider::start();
    // Only a reader of the file sees these words: no command contains them.
    provider.when("well met, everybody", judgement_answer("pass"));
    provider.when(PLANNING, plan_answer(&["echo hm > $CYNODE_ARTIFACTS_DIR/greeting.txt"]));
    let better = "printf 'well %s, everybody' met > $CYNODE_ARTIFACTS_DIR/greeting.txt";
    let replanned = json!({ "command": better, "reason": "it greets everybody" });
    provider.when(REPLANNING, Answer::tool_call("respond", replanned));
    let finding = json!({
        "criterion": 0, "status": "fail", "reason": "greeting.txt:1 greets nobody",
        "suggestion": "address everybody",
    });
    provider.when(JUDGING, Answer::tool_call("respond", json!({ "judgements": [finding] })));
    let system = system(&provider).await;

    let view =
        done(&system, with_prose_criterion(prompt_task("Greet"), "greeting.txt greets everybody"))
            .await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let requests = provider.requests();
    let request = requests.iter().find(|request| request.text.contains(REPLANNING)).unwrap();
    for part in ["greeting.txt:1 greets nobody", "address everybody", "criterion/0"] {
        assert!(request.text.contains(part), "{part}: {}", request.text);
    }
    let explained = system.cynork(&["run", "explain", &view.id.to_string()]).stdout;
    assert!(explained.contains("replanned by the project manager"), "{explained}");
    let jobs = system.client.task_result(&view.id.to_string()).await.unwrap().jobs;
    let attempts: Vec<_> = jobs.iter().map(|job| (job.step_index, job.attempt)).collect();
    assert_eq!(attempts, [(0, 1), (0, 2)]);
}

#[tokio::test]
async fn what_an_analyst_cannot_tell_waits_for_a_person_who_settles_it() {
    let provider = ScriptedProvider::start();
    provider.when(JUDGING, judgement_answer("needs_clarification"));
    let system = system(&provider).await;
    let said =
        |word: &str| with_prose_criterion(commands(&[&format!("echo {word}")]), "it sounds right");
    let (good, bad) = (
        create_task_once(&system.client, said("hello")).await,
        create_task_once(&system.client, said("hm")).await,
    );

    for task in [good, bad] {
        let name = task.to_string();
        let request = eventually("a question", PATIENCE, || {
            let shown = system.cynork(&["run", "show", &name]).stdout;
            shown.contains("could not be judged").then_some(shown)
        })
        .await;
        assert!(request.contains("it sounds right: as seen"), "{request}");
    }
    // No process has to wait for the answer: the runner that resumes the run later reads it.
    for role in ["runner", "pma"] {
        send_signal(system.wait_for_role(role).await, Signal::SIGKILL);
    }
    system.cynork(&["run", "answer", &good.to_string(), "--yes"]).expect_success();
    system.cynork(&["run", "answer", &bad.to_string(), "--no", "-m", "too short"]).expect_success();

    let accepted = wait_until_closed(&system.client, good, 2 * PATIENCE).await;
    let refused = wait_until_closed(&system.client, bad, 2 * PATIENCE).await;
    assert_eq!(accepted.status.as_str(), "completed", "{accepted:#?}");
    assert_eq!(refused.status.as_str(), "failed", "{refused:#?}");
    assert!(refused.summary.unwrap().contains("too short"));
    for (task, status) in [(good, "pass"), (bad, "fail")] {
        let found = list_findings(&system, task).await;
        let asks = |one: &&Value| one["status"] == "needs_clarification";
        assert_eq!(found.iter().filter(asks).count(), 1, "{found:#?}");
        let by_person = |one: &&Value| one["agent_type"] == "user" && one["status"] == status;
        assert_eq!(found.iter().filter(by_person).count(), 1, "{found:#?}");
    }
}

#[tokio::test]
async fn a_provider_that_fails_lets_no_criterion_pass_unless_a_preference_accepts_it_unverified() {
    let provider = ScriptedProvider::start();
    let system = system(&provider).await;
    provider.when("it sings", Answer::status(400, "the context is too long"));
    provider.when(JUDGING, Answer::status(500, "out of order"));

    let mut strict = vec![];
    for criterion in ["it greets", "it sings"] {
        let body = with_prose_criterion(commands(&["echo hello"]), criterion);
        strict.push((create_task_once(&system.client, body).await, criterion));
    }
    for (task, criterion) in &strict {
        let request = wait_for_criteria_question(&system, *task).await;
        assert!(request.contains(&format!("not judged: {criterion} (")), "{request}");
    }
    system.cynork(&["prefs", "set", "verification.accept_unverified", "true"]).expect_success();
    let made = ["task", "create", "--name", "lax", "--command", "echo hello"];
    let waited = system.cynork(&[&made[..], &["--accept", "it greets", "--wait"]].concat());

    assert_eq!(waited.code, 9, "{waited:?}");
    assert!(waited.stderr.contains("completed (unverified): Unverified: "), "{waited:?}");
    assert!(waited.stderr.contains("1. echo hello"), "{waited:?}");
    let view = system.client.task_get("lax").await.unwrap();
    assert_eq!(view.verification, Some(VerificationStatus::Unverified), "{view:#?}");
    // The answer of a person counts, even if the preference has changed since.
    for (task, _) in strict {
        system.cynork(&["run", "answer", &task.to_string(), "--no"]).expect_success();
        let rejected = wait_until_closed(&system.client, task, PATIENCE).await;
        assert_eq!(rejected.status.as_str(), "failed", "{rejected:#?}");
    }
}

#[tokio::test]
async fn an_analyst_that_is_killed_is_started_again_and_never_accepts_by_dying() {
    let provider = ScriptedProvider::start();
    // The first analyst is never answered.
    provider.script([Answer::no_response()]);
    let system = system(&provider).await;
    let task = create_task_once(
        &system.client,
        with_prose_criterion(commands(&["echo hello"]), "it greets"),
    )
    .await;
    provider.wait_for_requests(1).await;
    provider.when(JUDGING, judgement_answer("pass"));

    send_signal(system.analyst().await, Signal::SIGKILL);
    let view = wait_until_closed(&system.client, task, 2 * PATIENCE).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(view.verification, Some(VerificationStatus::Verified), "{view:#?}");
    let watched = system.cynork(&["task", "watch", &task.to_string()]);
    assert!(watched.stderr.contains("analyst failed (attempt 1 of 3)"), "{watched:?}");
}
