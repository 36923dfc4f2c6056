//! Attachments and artifacts, and checks of a result.

use std::fs;

use crate::system::System;

/// Every byte value, without a final newline.
fn awkward_bytes() -> Vec<u8> {
    (0..=255).cycle().take(300_001).collect()
}

#[tokio::test]
async fn attachments_arrive_in_the_workspace_and_artifacts_come_back_byte_for_byte() {
    let system = System::new().await;
    let (given, back) = (system.home().join("in put.bin"), system.home().join("back.bin"));
    fs::write(&given, awkward_bytes()).unwrap();
    let line = "mkdir \"$CYNODE_ARTIFACTS_DIR/deep\" && \
                cp 'attachments/in put.bin' \"$CYNODE_ARTIFACTS_DIR/deep/out.bin\"";
    let attach = given.to_str().unwrap();
    let create = ["task", "create", "--command", line, "--attach", attach, "--name", "copy"];

    system
        .cynork(&[&create[..], &["--expect", "deep/out.bin", "--wait"]].concat())
        .expect_success();

    let get = ["task", "artifacts", "get", "copy", "deep/out.bin", "--out", back.to_str().unwrap()];
    system.cynork(&get).expect_success();
    assert!(fs::read(back).unwrap() == awkward_bytes(), "the bytes differ");
}

#[tokio::test]
async fn a_script_runs_by_its_first_line_and_steps_share_a_workspace() {
    let system = System::new().await;
    let script = system.home().join("build.pl");
    fs::write(&script, "#!/usr/bin/perl\nprint 6 * 7, \"\\n\";\n").unwrap();

    let by_perl =
        system.cynork(&["task", "create", "--script", script.to_str().unwrap(), "--wait"]);
    let steps = ["--command", "echo one > file", "--command", "cat file; pwd", "--wait"];
    let shared = system.cynork(&[&["task", "create"], &steps[..]].concat());

    assert_eq!(by_perl.expect_success().stdout, "42\n");
    assert_eq!(shared.expect_success().stdout.lines().next(), Some("one"));
}

#[tokio::test]
async fn acceptance_decides_whether_a_task_completes() {
    let system = System::new().await;
    let check = |line: &str, check: &[&str]| {
        let create = ["task", "create", "--command", line, "--wait", "-o", "json"];
        let said = system.cynork(&[&create[..], check].concat());
        let result = said.json();
        let summary = result["summary"].as_str().unwrap_or_default().to_owned();
        (said.code, result["status"].as_str().unwrap().to_owned(), summary)
    };

    let met = check("echo all 7 passed", &["--accept", "output:/all \\d+ passed/"]);
    let expected_code = check("exit 3", &["--accept", "exit:3"]);
    let unmet = check("echo 1 failed", &["--accept", "output:/all \\d+ passed/"]);
    let no_file = check("true", &["--accept", "file:report.txt"]);
    let not_left = check("true", &["--expect", "report.txt"]);

    assert_eq!((met.0, met.1.as_str()), (0, "completed"), "{met:?}");
    assert_eq!((expected_code.0, expected_code.1.as_str()), (0, "completed"), "{expected_code:?}");
    for refused in [unmet, no_file, not_left] {
        assert_eq!((refused.0, refused.1.as_str()), (1, "failed"), "{refused:?}");
        assert!(refused.2.len() > "Step 1 of 1 failed after 1 attempt: ".len(), "{refused:?}");
    }
}

#[tokio::test]
async fn a_check_looks_at_what_the_step_left_and_decides() {
    let system = System::new().await;
    let create = ["task", "create", "--command", "echo 7 > made", "--wait", "-o", "json"];
    let checked = |checks: &[&str]| {
        let accept = checks.iter().flat_map(|check| ["--accept", check]).collect::<Vec<_>>();
        system.cynork(&[&create[..], &accept].concat())
    };

    let met = checked(&["check:test -f made", "check:grep -q 7 made"]);
    let unmet = checked(&["check:test -f made", "check:grep -q 8 made", "check:true"]);

    let endings = |jobs: &serde_json::Value| {
        let ending = |job: &serde_json::Value| {
            (job["check"].as_u64(), job["result"]["ending"]["code"].as_i64())
        };
        jobs.as_array().unwrap().iter().map(ending).collect::<Vec<_>>()
    };
    let met = met.expect_success().json();
    assert_eq!((met["status"].as_str(), endings(&met["jobs"]).len()), (Some("completed"), 3));
    assert_eq!(unmet.code, 1);
    let unmet = unmet.json();
    // A failed result is not checked further.
    let expected = [(None, Some(0)), (Some(1), Some(0)), (Some(2), Some(1))];
    assert_eq!(endings(&unmet["jobs"]), expected);
    let summary = unmet["summary"].as_str().unwrap();
    assert!(summary.contains("the check \"grep -q 8 made\" exited with code 1"), "{summary}");
}

#[tokio::test]
async fn a_failing_step_is_tried_as_often_as_allowed() {
    let system = System::new().await;
    let line = "echo try >> tries; [ $(wc -l < tries) -ge 3 ]";
    let create = ["task", "create", "--command", line, "--wait", "-o", "json"];

    let enough = system.cynork(&[&create[..], &["--max-attempts", "3"]].concat());
    let too_few = system.cynork(&[&create[..], &["--max-attempts", "2"]].concat());

    assert_eq!(enough.expect_success().json()["jobs"].as_array().unwrap().len(), 3);
    assert_eq!(too_few.code, 1);
    let summary = too_few.json()["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("failed after 2 attempts"), "{summary}");
}
