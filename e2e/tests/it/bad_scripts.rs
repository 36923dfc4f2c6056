//! Malicious scripts: each ends within its limits with a reason, and affects nothing else.

use std::time::{Duration, Instant};

use crate::system::System;

/// Long enough for a busy machine; a script whose limits are not enforced runs longer, or does not
/// fail.
const TOO_LONG: Duration = Duration::from_mins(1);

/// Runs a task that must fail and returns its summary. Afterwards the system must work as before.
fn run_failing_task(system: &System, line: &str, bounds: &[&str]) -> String {
    let begun = Instant::now();
    let create = ["task", "create", "--command", line, "--wait", "-o", "json"];

    let said = system.cynork(&[&create[..], bounds].concat());

    assert_eq!(said.code, 1, "{said:?}");
    assert!(begun.elapsed() < TOO_LONG, "it took {:?}", begun.elapsed());
    let result = said.json();
    assert_eq!(result["status"], "failed");
    let after = system.cynork(&["task", "create", "--command", "echo fine", "--wait"]);
    assert_eq!(after.expect_success().stdout, "fine\n");
    result["summary"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_script_that_prints_for_ever_is_ended_with_a_reason() {
    let system = System::new().await;

    let summary = run_failing_task(&system, "yes", &["--output-bytes", "4096"]);

    assert!(summary.contains("its output exceeded 64 times the stored limit"), "{summary}");
}

#[tokio::test]
async fn a_script_that_forks_without_end_is_ended_with_a_reason() {
    let system = System::new().await;
    // The shell itself becomes the sleeper: once fork fails, it could not start one.
    let bomb = "bomb() { bomb | bomb & }; bomb; exec sleep 600";

    let summary = run_failing_task(&system, bomb, &["--max-processes", "64", "--timeout", "2s"]);

    let is_clear = summary.contains("time limit") || summary.contains("processes");
    assert!(is_clear, "{summary}");
}

#[tokio::test]
async fn a_script_that_fills_the_disk_is_ended_with_a_reason() {
    let system = System::new().await;
    let fill = "i=0; while :; do i=$((i+1)); head -c 1M /dev/zero > $i || exit 1; done";

    let summary = run_failing_task(&system, fill, &["--disk-mib", "8"]);

    assert!(summary.contains("filled 8 MiB of disk"), "{summary}");
}

#[tokio::test]
async fn a_script_that_ignores_sigterm_is_ended_with_a_reason() {
    let system = System::new().await;
    let deaf = "trap '' TERM INT HUP; while :; do sleep 1; done";

    let summary = run_failing_task(&system, deaf, &["--timeout", "2s"]);

    assert!(summary.contains("ran longer than its time limit"), "{summary}");
}

#[tokio::test]
async fn a_script_that_takes_all_memory_is_ended_with_a_reason() {
    let system = System::new().await;
    let hog = "perl -e '$x = \"x\" x 400_000_000; sleep 20'";

    let summary = run_failing_task(&system, hog, &["--memory-mib", "64"]);

    assert!(summary.contains("more than 64 MiB of memory"), "{summary}");
}
