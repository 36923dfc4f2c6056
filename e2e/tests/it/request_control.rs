//! The budget of a request, and people who pause it and work on it, with real processes.

use cynode_domain::question::Reply;
use cynode_domain::request::QuestionSubject;
use cynode_domain::status::ShownTaskStatus;
use cynode_testkit::provider::ScriptedProvider;
use cynode_wire::requests::AnswerRequest;
use serde_json::json;

use crate::repositories::git;
use crate::requests::{
    DARK_MODE, approved, finish, review, run, script_decisions, submission, system_with_project,
    wait_for, wait_until_ended,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_stops_an_agent_before_its_next_call_until_it_is_raised() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    let price = json!({ "input": 1.0, "output": 2.0 });
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"], "prices": { "scripted-model": price },
    });
    let body = serde_json::from_value(body).unwrap();
    system.client.provider_put("scripted", &body).await.unwrap();
    script_decisions(&provider);
    provider.when_in_turn(
        "# Implement main",
        [
            // The first call costs nearly all that work may cost.
            run("echo '<input id=dark>' >> settings.html").with_usage(790_000, 0),
            finish("added the toggle"),
        ],
    );
    provider.when_in_turn("# Review main", review(&approved()));
    let mut request = submission(DARK_MODE, &remote);
    request.settings.budget_micros = Some(1_000_000);

    let submitted = system.client.request_submit(&request).await.unwrap();
    let view = wait_for(&system, &submitted.name, |view| view.question.is_some()).await;

    let subject = view.question.clone().unwrap().subject;
    assert_eq!(subject, QuestionSubject::Budget { is_unpriced: false }, "{view:#?}");
    assert!(view.cost_micro_usd.unwrap() <= 1_000_000, "{view:#?}");
    let yes = AnswerRequest { reply: Reply::Yes {}, comment: None };
    system.client.request_answer(&submitted.name, &yes).await.unwrap();
    let view = wait_until_ended(&system, &submitted.name).await;
    assert_eq!(view.status, ShownTaskStatus::Completed, "{view:#?}");
    let unit = view.units.iter().find(|unit| unit.id == "impl:main").unwrap();
    assert_eq!(unit.attempts.len(), 2, "the second attempt builds on the first: {unit:#?}");
    let branch = view.delivery.unwrap().branch;
    let page = git(&remote, &["show", &format!("{branch}:settings.html")]);
    assert_eq!(page.matches("id=dark").count(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_pauses_a_request_takes_a_unit_over_and_hands_it_back() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    script_decisions(&provider);
    provider.when_in_turn("# Implement main", [run("sleep 600"), finish("too late")]);
    provider.when_in_turn("# Review main", review(&approved()));
    let submitted =
        system.client.request_submit(&submission(DARK_MODE, &remote)).await.unwrap().name;
    let is_running = |view: &cynode_wire::requests::RequestView| {
        view.units.iter().any(|unit| !unit.attempts.is_empty())
    };
    wait_for(&system, &submitted, is_running).await;

    system.cynork(&["pm", "pause", &submitted]).expect_success();
    assert!(system.client.request_get(&submitted).await.unwrap().paused_at.is_some());
    system.cynork(&["pm", "resume", &submitted]).expect_success();
    system.cynork(&["pm", "take-over", &submitted, "impl:main"]).expect_success();
    let repo = remote.to_str().unwrap();
    let own = "echo '<input type=checkbox id=dark>' >> settings.html";
    system
        .cynork(&["task", "create", "--command", own, "--repo", repo, "--name", "mine", "--wait"])
        .expect_success();
    system.cynork(&["pm", "hand-back", &submitted, "impl:main", "--task", "mine"]).expect_success();

    let view = wait_until_ended(&system, &submitted).await;
    assert_eq!(view.status, ShownTaskStatus::Completed, "{view:#?}");
    let branch = view.delivery.unwrap().branch;
    let page = git(&remote, &["show", &format!("{branch}:settings.html")]);
    assert!(page.contains("id=dark"), "{page}");
}
