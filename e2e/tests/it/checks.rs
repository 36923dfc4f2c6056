//! The commands of a task, also those of a model, and the checks that were applied to each.

use std::fs;
use std::time::Duration;

use cynode_testkit::provider::ScriptedProvider;
use serde_json::{Value, json};

use crate::programs::ProgramOutput;
use crate::project_manager::{PLANNING, plan_answer, system};
use crate::system::System;

const EXIT_CODE_MET: &str = "   ✓ the command exited with code 0: met by rule\n";
/// The pause between two chunks of the plan, which has seven.
const CHUNK_DELAY: Duration = Duration::from_millis(400);

/// Creates a task, waits for its end, and returns the three texts that show its checks: the talk of `--wait`,
/// `task get` and `task result`, and the task as JSON.
fn run_task(system: &System, name: &str, args: &[&str]) -> (ProgramOutput, [String; 3], Value) {
    let waited = system.cynork(&[&["task", "create", "--name", name, "--wait"][..], args].concat());
    let show = |verb: &str| system.cynork(&["task", verb, name]).expect_success().stdout;
    let json = system.cynork(&["task", "get", name, "-o", "json"]).expect_success().json();
    let texts = [waited.stderr.clone(), show("get"), show("result")];
    (waited, texts.map(|text| unindent(&text)), json)
}

/// Removes the column of labels, so that the lines of all three texts are the same.
fn unindent(text: &str) -> String {
    let start = text.lines().find_map(|line| line.find("1. ")).unwrap_or(0);
    let line = |line: &str| line.chars().skip(start).collect::<String>() + "\n";
    text.lines().map(line).collect()
}

/// Panics unless each text shows these lines without a gap.
fn assert_shown(texts: &[String; 3], lines: &str) {
    for text in texts {
        assert!(text.contains(lines), "{lines}\nis not in\n{text}");
    }
}

#[tokio::test]
async fn commands_of_a_slow_model_are_shown_with_the_checks_that_were_applied_to_each() {
    let provider = ScriptedProvider::start();
    let plan = plan_answer(&["cp attachments/in.csv copy", "echo ok"]);
    provider.when(PLANNING, plan.with_chunk_delay(CHUNK_DELAY));
    let system = system(&provider).await;
    // Shorter than the answer: only silence ends a call.
    let timeouts = json!({ "scripted": { "first_token_s": 2, "silence_s": 2 } }).to_string();
    system.cynork(&["settings", "set", "models.timeouts", &timeouts]).expect_success();
    system
        .cynork(&["settings", "set", "models.hints.strong", "scripted/strong-model"])
        .expect_success();
    fs::write(system.home().join("in.csv"), "1,2\n").unwrap();

    let request = ["--prompt", "Copy and confirm", "--attach", "in.csv"];
    let (waited, texts, json) =
        run_task(&system, "planned", &[&request[..], &["--accept", "output:/^ok$/"]].concat());

    assert_eq!((waited.code, waited.stdout.as_str()), (0, "ok\n"), "{waited:?}");
    assert_eq!(json["verification"], "verified", "{json:#}");
    let checked = "   ✓ standard output matches ^ok$: met by rule\n";
    assert_shown(&texts, &format!("2. echo ok\n{EXIT_CODE_MET}{checked}"));
    let nothing_else = "   - nothing else was checked\n";
    assert_shown(&texts, &format!("1. cp attachments/in.csv copy\n{EXIT_CODE_MET}{nothing_else}"));
    let requests = provider.requests();
    let request = requests.iter().find(|request| request.text.contains(PLANNING)).unwrap();
    assert!(request.text.contains("attachments/in.csv"), "{}", request.text);
    assert_eq!(request.body["model"], "strong-model", "the hint of the decision chooses the model");
}

#[tokio::test]
async fn exit_codes_alone_are_not_called_verified_and_an_unmet_check_is_shown() {
    let system = System::new().await;

    let lines = ["--command", "true", "--command", "true", "--command", "true"];
    let (waited, texts, json) = run_task(&system, "bare", &lines);
    assert_eq!((waited.code, &json["verification"]), (0, &json!("not_checked")), "{waited:?}");
    let nothing_else = "   - nothing else was checked\n";
    for number in 1..=3 {
        assert_shown(&texts, &format!("{number}. true\n{EXIT_CODE_MET}{nothing_else}"));
    }
    assert!(texts.iter().all(|text| !text.contains("verified")), "{texts:#?}");
    assert!(texts.iter().all(|text| text.contains("no acceptance criteria were given")));

    let lines = ["--command", "echo not ok", "--accept", "output:/^ok$/"];
    let (waited, texts, json) = run_task(&system, "unmet", &lines);
    assert_eq!((waited.code, &json["status"]), (1, &json!("failed")), "{waited:?}");
    let unmet = "   ✗ standard output does not match ^ok$: not met by rule\n";
    assert_shown(&texts, &format!("1. echo not ok\n{EXIT_CODE_MET}{unmet}"));
}
