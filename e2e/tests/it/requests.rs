//! Submitted work from a sentence to a branch, with real processes, sandboxes and git, and a scripted model.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cynode_domain::question::Reply;
use cynode_domain::status::ShownTaskStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::events::EventQuery;
use cynode_wire::requests::{AnswerRequest, RequestView, SubmitRequest};
use serde_json::json;

use crate::repositories::git;
use crate::system::{PATIENCE, System, SystemDatabase};

pub(crate) const DARK_MODE: &str = "Add dark mode toggle to settings page";
/// Prompts of decisions.
pub(crate) const KIND: &str = "What kind of work is this request";
pub(crate) const SCOPE: &str = "Assess this work's scope";
pub(crate) const COMPONENTS: &str = "Split this work";

/// A small web project with a test.
fn create_project(home: &Path) -> PathBuf {
    let remote = home.canonicalize().unwrap().join("site");
    fs::create_dir_all(remote.join("tests")).unwrap();
    git(&remote, &["init", "--quiet", "--initial-branch=main"]);
    let guide = "# Site\n\n## Architecture\n\nStatic pages, one file each.\n\n## Test\n\n```\nsh tests/run.sh all\n```\n";
    for (path, text) in [
        ("AGENTS.md", guide),
        ("settings.html", "<h1>Settings</h1>\n"),
        ("preferences.html", "<input type=checkbox id=compact>\n"),
        ("tests/run.sh", "grep -q '<h1>Settings</h1>' settings.html\n"),
    ] {
        fs::write(remote.join(path), text).unwrap();
    }
    git(&remote, &["add", "."]);
    git(&remote, &["commit", "--quiet", "-m", "first"]);
    remote
}

/// A system with a scripted model whose node allows the project.
pub(crate) async fn system_with_project(
    provider: &ScriptedProvider,
) -> (System, tempfile::TempDir, PathBuf) {
    system_on(SystemDatabase::Embedded, provider).await
}

pub(crate) async fn system_on(
    database: SystemDatabase,
    provider: &ScriptedProvider,
) -> (System, tempfile::TempDir, PathBuf) {
    provider.otherwise(Answer::status(400, "not today"));
    let home = tempfile::tempdir().unwrap();
    let remote = create_project(home.path());
    let config = format!("[node]\nrepository_paths = [{:?}]\n", remote.parent().unwrap());
    let system = System::with(database, &config).await;
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model", "strong-model"],
    });
    let body = serde_json::from_value(body).unwrap();
    system.client.provider_put("scripted", &body).await.unwrap();
    (system, home, remote)
}

pub(crate) fn submission(text: &str, remote: &Path) -> SubmitRequest {
    serde_json::from_value(json!({ "text": text, "repository": { "url": remote } })).unwrap()
}

pub(crate) fn run(command: &str) -> Answer {
    Answer::tool_call("run_command", json!({ "command": command }))
}

pub(crate) fn finish(summary: &str) -> Answer {
    Answer::tool_call("finish", json!({ "summary": summary, "evidence": [] }))
}

pub(crate) fn decide(answer: serde_json::Value) -> Answer {
    Answer::tool_call("respond", answer)
}

/// The turns of a reviewer that leaves this report.
pub(crate) fn review(report: &serde_json::Value) -> [Answer; 2] {
    let write = format!("cat > \"$CYNODE_ARTIFACTS_DIR/review.json\" <<'EOF'\n{report}\nEOF");
    [run(&write), finish("reviewed")]
}

pub(crate) fn approved() -> serde_json::Value {
    json!({
        "verdict": "approved", "summary": "it works",
        "criteria": [{ "number": 1, "isMet": true, "evidence": "settings.html:2" }],
        "minorIssues": [{ "description": "consider a transition", "fileLocation": "settings.html:2", "howToFix": "add one" }],
    })
}

pub(crate) fn rejected() -> serde_json::Value {
    json!({
        "verdict": "changes_requested", "summary": "the choice is lost",
        "criteria": [{ "number": 1, "isMet": true, "evidence": "settings.html:2" }],
        "criticalIssues": [{ "description": "the choice is lost on reload", "fileLocation": "settings.html:2", "howToFix": "use localStorage" }],
    })
}

/// Scripts the decisions about a small feature.
pub(crate) fn script_decisions(provider: &ScriptedProvider) {
    provider
        .when(KIND, decide(json!({ "kind": "feature_request", "reason": "a specific addition" })));
    let scope = json!({
        "scope": "small", "estimated_files": 1, "components_affected": ["settings"], "reasoning": "one page",
    });
    provider.when(SCOPE, decide(scope));
}

pub(crate) async fn wait_for(
    system: &System,
    name: &str,
    is_reached: impl Fn(&RequestView) -> bool,
) -> RequestView {
    let begun = Instant::now();
    loop {
        if let Ok(view) = system.client.request_get(name).await {
            if is_reached(&view) {
                return view;
            }
            assert!(view.ended_at.is_none() && view.question.is_none(), "{view:#?}");
        }
        assert!(begun.elapsed() < PATIENCE * 2, "too long");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(crate) async fn wait_until_ended(system: &System, name: &str) -> RequestView {
    wait_for(system, name, |view| view.ended_at.is_some()).await
}

/// The events of a request: kind and what they are about, in order.
pub(crate) async fn trace(system: &System, view: &RequestView) -> Vec<String> {
    let query = EventQuery { task: Some(view.id.to_string()), after: Some("0".to_owned()) };
    let mut stream = system.client.events(&query, None).await.unwrap();
    let mut lines = vec![];
    while let Ok(Ok(Some(event))) =
        tokio::time::timeout(Duration::from_secs(5), stream.next()).await
    {
        let data = &event.data;
        let mut line = event.kind.clone();
        for key in ["kind", "scope", "unit", "work_unit_id", "status", "phase"] {
            if let Some(text) = data[key].as_str() {
                line = format!("{line} {text}");
            }
        }
        if let Some(result) =
            data["outcome"]["verdict"].as_str().or(data["outcome"]["result"].as_str())
        {
            line = format!("{line} {result}");
        }
        let is_end = ["request.completed", "task.closed failed"].contains(&line.as_str());
        lines.push(line);
        if is_end {
            break;
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_given_the_project_and_minor_issues_are_noted() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    script_decisions(&provider);
    provider.when_in_turn(
        "# Implement main",
        [run("echo '<input type=checkbox id=dark>' >> settings.html"), finish("added the toggle")],
    );
    provider.when_in_turn("# Review main", review(&approved()));

    let submitted = system.client.request_submit(&submission(DARK_MODE, &remote)).await.unwrap();
    let view = wait_until_ended(&system, &submitted.name).await;

    assert_eq!(view.status, ShownTaskStatus::Completed, "{view:#?}");
    let delivery = view.delivery.clone().unwrap();
    assert!(delivery.is_pushed, "{delivery:?}");
    let page = git(&remote, &["show", &format!("{}:settings.html", delivery.branch)]);
    assert!(page.contains("id=dark"), "{page}");
    assert_eq!(json!(view.verification), "verified");
    assert_eq!(view.notes, ["settings.html:2: consider a transition"]);
    // The agent was given the files, the example and the command that must pass.
    for text in ["preferences.html", "sh tests/run.sh all", "Static pages, one file each."] {
        assert!(provider.has_received(text), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manipulated_test_is_left_to_a_person() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    script_decisions(&provider);
    // The attempt that deletes the tests fails; the next one builds on it and looks clean by itself.
    let mut turns = vec![run("rm -r tests")];
    turns.extend(vec![Answer::text("I am done."); 3]);
    turns.extend([run("echo '<input id=dark>' >> settings.html"), finish("all tests pass")]);
    provider.when_in_turn("# Implement main", turns);

    let mut body = submission(DARK_MODE, &remote);
    // The check of the project cannot catch it.
    body.settings.require_tests_pass = false;
    let submitted = system.client.request_submit(&body).await.unwrap();
    let view = wait_for(&system, &submitted.name, |view| view.question.is_some()).await;

    assert_eq!(view.status, ShownTaskStatus::Waiting, "{view:#?}");
    let question = view.question.unwrap().question;
    assert!(question.text.contains("may weaken the checks"), "{question:?}");
    assert!(
        question.about.iter().any(|line| line.contains("a file of tests is deleted")),
        "{question:?}"
    );
    let no = AnswerRequest { reply: Reply::No {}, comment: None };
    let view = system.client.request_answer(&submitted.name, &no).await.unwrap();
    assert_eq!(view.status, ShownTaskStatus::Failed);
    assert_eq!(git(&remote, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]), "main");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reviewer_that_changes_files_approves_nothing() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    script_decisions(&provider);
    provider.when_in_turn(
        "# Implement main",
        [run("echo '<input id=dark>' >> settings.html"), finish("added the toggle")],
    );
    let [write, end] = review(&approved());
    let hostile = || [run("echo '<script src=evil>' >> settings.html"), write.clone(), end.clone()];
    provider.when_in_turn("# Review main", hostile().into_iter().chain(hostile()).chain(hostile()));

    let submitted = system.client.request_submit(&submission(DARK_MODE, &remote)).await.unwrap();
    let view = wait_for(&system, &submitted.name, |view| view.question.is_some()).await;

    let unit = view.units.iter().find(|unit| unit.id == "review:main").unwrap();
    assert_eq!(unit.attempts.len(), 3, "{unit:#?}");
    let result = unit.attempts[0].result.clone().unwrap_or_default();
    assert!(result.contains("a reviewer changes nothing"), "{unit:#?}");
    let no = AnswerRequest { reply: Reply::No {}, comment: None };
    system.client.request_answer(&submitted.name, &no).await.unwrap();
    let branches = git(&remote, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(branches, "main");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_in_the_inbox_and_the_third_attempt_has_less_to_do() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    script_decisions(&provider);
    // Three answers in a row without an action end the job of an agent.
    let lost = || vec![Answer::text("I do not know what to do."); 3];
    let helped =
        [run("echo '<input type=checkbox id=dark>' >> settings.html"), finish("added the toggle")];
    let turns = lost().into_iter().chain(lost()).chain(lost()).chain(helped);
    provider.when_in_turn("# Implement main", turns);
    provider.when_in_turn("# Review main", review(&approved()));

    let submitted = system.client.request_submit(&submission(DARK_MODE, &remote)).await.unwrap();
    let view = wait_for(&system, &submitted.name, |view| view.question.is_some()).await;
    let unit = view.units.iter().find(|unit| unit.id == "impl:main").unwrap();
    assert_eq!(unit.attempts.len(), 3, "{unit:#?}");
    assert!(provider.has_received("Reduce the scope"), "the third attempt has less to do");
    let inbox = system.cynork(&["inbox", "list"]).expect_success().stdout;
    assert!(inbox.contains(&format!("cynork pm answer {}", submitted.name)), "{inbox}");
    system
        .cynork(&["pm", "answer", &submitted.name, "--text", "Keep the heading line"])
        .expect_success();

    let view = wait_until_ended(&system, &submitted.name).await;
    assert_eq!(view.status, ShownTaskStatus::Completed, "{view:#?}");
    assert!(provider.has_received("Keep the heading line"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_gets_a_clear_answer() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    let repo = remote.to_str().unwrap();
    for (text, expected) in [
        (" \n", "the request is empty"),
        ("How does the settings page store its values?", "this is a question, not work"),
    ] {
        let refused = system.cynork(&["pm", "submit", text, "--repo", repo]);
        assert_eq!(refused.code, 6, "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
    }
    let first = system
        .cynork(&["pm", "submit", "Fix the typo in settings.html", "--repo", repo])
        .expect_success();
    assert!(first.stdout.contains("cynork pm watch"), "{first:?}");
    let again = system.cynork(&["pm", "submit", "fix the  typo in settings.html", "--repo", repo]);
    assert_eq!(again.code, 5, "{again:?}");
    assert!(again.stderr.contains("with the same text is open"), "{again:?}");
    let listed = system
        .client
        .request_list(&serde_json::from_value(json!({ "open": true })).unwrap())
        .await
        .unwrap();
    assert_eq!(listed.items.len(), 1, "{listed:?}");
    system.client.task_cancel(&listed.items[0].id.to_string()).await.unwrap();
    let view = system.client.request_get(&listed.items[0].name).await.unwrap();
    assert_eq!(view.status, ShownTaskStatus::Canceled);
    // Another user sees nothing of it.
    let other = system.client.task_get(&view.id.to_string()).await.unwrap();
    assert!(other.closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_prints_the_plan_and_changes_nothing() {
    let provider = ScriptedProvider::start();
    let (system, _home, remote) = system_with_project(&provider).await;
    script_decisions(&provider);

    let planned = system
        .cynork(&["pm", "submit", DARK_MODE, "--repo", remote.to_str().unwrap(), "--dry-run"])
        .expect_success();

    for text in [
        "feature_request",
        "small",
        "implementation, review",
        "impl:main",
        "review:main",
        "6 to 90 model calls",
        "developer: sba, ",
        "reviewer: sba, code-reviewer, balanced model (scripted/",
        "dry run: nothing was changed",
    ] {
        assert!(planned.stdout.contains(text), "{text}: {planned:?}");
    }
    assert_eq!(git(&remote, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]), "main");
}
