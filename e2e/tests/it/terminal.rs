//! The output of task commands at a terminal.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::processes::eventually;
use crate::programs::{binary_path, call, isolated_shell};
use crate::system::{PATIENCE, System};

/// Ends once its workspace contains a certain file.
const WAITING: &str = "while [ ! -e go ]; do sleep 0.05; done";

const NODES: [&str; 6] = [
    "load_task_context",
    "plan_steps",
    "dispatch_step",
    "collect_result",
    "verify_step_result",
    "finalize_summary",
];

#[tokio::test]
async fn a_failing_command_is_an_exit_code_and_a_reason() {
    let system = System::new().await;

    let said = system.cynork(&["task", "create", "--command", "echo out; exit 3", "--wait"]);

    assert_eq!((said.code, said.stdout.as_str()), (1, "out\n"), "{}", said.stderr);
    assert!(said.stderr.contains("exited with code 3"), "{}", said.stderr);
}

#[tokio::test]
async fn data_goes_to_standard_output_and_talk_to_standard_error() {
    let system = System::new().await;
    let line = "echo data; echo trouble >&2; printf last";

    let said = system.cynork(&["task", "create", "--command", line, "--wait"]).expect_success();
    let quiet =
        system.cynork(&["task", "create", "--command", line, "--wait", "--quiet"]).expect_success();

    assert_eq!((said.stdout.as_str(), quiet.stdout.as_str()), ("data\nlast", "data\nlast"));
    assert!(said.stderr.contains("trouble") && said.stderr.contains("completed"), "{said:?}");
}

#[tokio::test]
async fn json_output_is_one_value() {
    let system = System::new().await;
    let create = ["task", "create", "--command", "echo hello", "--name", "one", "--output", "json"];

    let result = system.cynork(&[&create[..], &["--wait"]].concat()).expect_success().json();
    let history =
        system.cynork(&["task", "history", "one", "--output", "json"]).expect_success().json();

    assert_eq!(result["status"], "completed");
    assert_eq!(result["jobs"][0]["result"]["stdout"], "hello\n");
    assert_eq!(nodes_of(history["items"].as_array().unwrap()), NODES);
    for args in [&["status"][..], &["task", "list"], &["task", "get", "one"], &["nodes", "list"]] {
        system.cynork(&[args, &["-o", "json"]].concat()).expect_success().json();
    }
}

#[tokio::test]
async fn names_are_found_whatever_the_case_of_their_letters() {
    let system = System::new().await;
    system.cynork(&["project", "create", "Moon"]).expect_success();
    system.cynork(&["groups", "create", "writers"]).expect_success();
    let create =
        ["task", "create", "--command", "true", "--name", "Fix-Login", "--project", "MOON"];
    let created = system.cynork(&[&create[..], &["-o", "json"]].concat()).expect_success().json();
    let nodes = system.cynork(&["nodes", "list", "-o", "json"]).expect_success().json();
    let node = nodes["items"][0]["node_slug"].as_str().unwrap().to_uppercase();

    let found = system.cynork(&["task", "get", "FIX-Login", "-o", "json"]).expect_success().json();
    let run = system.cynork(&["run", "show", "fix-LOGIN", "-o", "json"]).expect_success().json();
    for args in [
        ["project", "get", "Moon"],
        ["groups", "members", "Writers"],
        ["nodes", "get", node.as_str()],
    ] {
        system.cynork(&args).expect_success();
    }

    assert_eq!((&found["id"], &run["task_id"]), (&created["id"], &created["id"]));
    let other = system.cynork(&["task", "get", "fix login"]);
    assert_eq!(other.code, 4, "{other:?}");
}

#[tokio::test]
async fn watching_a_task_shows_its_nodes_in_order_while_it_runs() {
    let system = System::new().await;
    let create = ["task", "create", "--command", WAITING, "--name", "slow", "--quiet"];
    system.cynork(&create).expect_success();
    let mut watch = call("cynork", system.home());
    watch.arg("--data-dir").arg(system.data_dir()).args(["task", "watch", "slow", "-o", "json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();

    let mut events: Vec<Value> = vec![];
    let mut is_dispatched = false;
    while !is_dispatched {
        events.push(serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap());
        is_dispatched = events.last().unwrap()["data"]["node"] == "dispatch_step";
    }
    let then = system.cynork(&["task", "get", "slow", "-o", "json"]).expect_success().json();
    let workspace = system.data_dir().join("node/workspaces").join(then["id"].as_str().unwrap());
    eventually("the workspace", PATIENCE, || fs::write(workspace.join("go"), "").ok()).await;
    events.extend(lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()));

    assert!(watch.wait().unwrap().success());
    assert_eq!(then["status"], "running", "the nodes were not shown live");
    let transitions = events.iter().filter(|event| event["kind"] == "workflow.transition");
    let transitions: Vec<Value> = transitions.map(|event| event["data"].clone()).collect();
    assert_eq!(nodes_of(&transitions), NODES);
    assert_eq!(events.last().unwrap()["kind"], "task.closed");
}

#[tokio::test]
async fn watching_for_people_ends_with_the_outcome() {
    let system = System::new().await;
    system.cynork(&["task", "create", "--command", "true", "--name", "mine"]).expect_success();

    let said = system.cynork(&["task", "watch", "mine"]).expect_success();

    let shown: Vec<usize> =
        NODES.iter().map(|node| said.stderr.find(node).unwrap_or(usize::MAX)).collect();
    assert!(shown.is_sorted() && shown.last() < Some(&usize::MAX), "{said:?}");
    assert!(said.stdout.starts_with("✓ completed"), "{said:?}");
}

#[tokio::test]
async fn waiting_bears_with_an_orchestrator_that_is_killed() {
    let system = System::new().await;
    let mut wait = call("cynork", system.home());
    wait.arg("--data-dir").arg(system.data_dir());
    wait.args(["task", "create", "--command", "sleep 1; echo hello", "--wait"]);
    let wait = wait.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::processes::eventually("a job", crate::system::PATIENCE, || system.find_shims().pop())
        .await;

    crate::processes::send_signal(
        system.wait_for_role("orchestrator").await,
        nix::sys::signal::Signal::SIGKILL,
    );

    let said = crate::programs::ProgramOutput::from(wait.wait_with_output().unwrap());
    assert_eq!((said.code, said.stdout.as_str()), (0, "hello\n"), "{}", said.stderr);
}

fn nodes_of(transitions: &[Value]) -> Vec<&str> {
    transitions.iter().map(|row| row["node"].as_str().unwrap()).collect()
}

/// Runs `cynork` at a terminal of its own, which `script` of util-linux provides, and returns what it shows.
fn cynork_at_terminal(system: &System, args: &[&str]) -> String {
    let program = binary_path("cynork");
    let data_dir = system.data_dir().display();
    let line = format!("{} --data-dir {data_dir} {}", program.display(), args.join(" "));
    let line = format!("script --quiet --return --command '{line}' /dev/null");
    let output = isolated_shell(system.home()).args(["-c", &line]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn escape_sequences_of_jobs_do_not_reach_the_terminal() {
    let system = System::new().await;
    let hostile =
        r"printf 'a\033]52;c;aGk=\007b\033]0;title\007c\033[2Jd\n'; printf 'e\033[6nf\n' >&2";
    let create = ["task", "create", "--name", "hostile", "--command", hostile, "--wait"];
    let piped = system.cynork(&create).expect_success();

    let shown = cynork_at_terminal(&system, &["task", "logs", "hostile"]);
    let raw = cynork_at_terminal(&system, &["task", "logs", "hostile", "--raw"]);

    assert_eq!(piped.stdout, "a\x1b]52;c;aGk=\x07b\x1b]0;title\x07c\x1b[2Jd\n");
    assert_eq!(shown.replace('\r', ""), "abcd\nef\n");
    assert!(raw.contains("\x1b]52;c;aGk=\x07") && raw.contains("\x1b[6n"), "{raw:?}");
}
