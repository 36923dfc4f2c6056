//! Authentication, roles side by side, and shutdown.

use std::process::Command;

use crate::process::{PmaDataDir, SECRET};

const CONTINUE_RUN: &str = r#"{"context":{"user":{"id":"01900000-0000-7000-8000-000000000001","handle":"ada"},
    "trace_id":"t","agent_token":"cyn_pm_x","preferences":{"effective":{},"skipped":[]},"skill":""},
    "body":{"node":"collect_result","situation":"the node is gone","attempts":1,"standstill":"not_started"}}"#;

#[test]
fn a_direct_call_to_the_project_manager_is_refused() {
    let dir = PmaDataDir::new();
    let serving = dir.serve("project_manager");

    for secret in ["", "guess", "cyn_api_a-user-token", "cyn_ho_secre"] {
        let answer = serving.send_handoff("continue_run", secret, CONTINUE_RUN);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        assert!(answer.contains("only the orchestrator"), "{answer}");
    }
    let answer = serving.send_handoff("continue_run", SECRET, CONTINUE_RUN);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn two_roles_work_side_by_side_and_each_keeps_to_its_own_work() {
    let dir = PmaDataDir::new();
    let manager = dir.serve("project_manager");
    let analyst = dir.serve("project_analyst");

    let (own, others) = (
        manager.send_handoff("continue_run", SECRET, CONTINUE_RUN),
        analyst.send_handoff("continue_run", SECRET, CONTINUE_RUN),
    );

    assert!(own.starts_with("HTTP/1.1 200"), "{own}");
    assert!(others.starts_with("HTTP/1.1 409"), "{others}");
    assert!(others.contains("this process is a project_analyst"), "{others}");
}

#[test]
fn the_process_says_how_it_is_and_stops_when_asked() {
    let dir = PmaDataDir::new();
    let mut serving = dir.serve("project_manager");
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: pma\r\nconnection: close\r\n\r\n");

    let (alive, ready) = (serving.send_raw(&get("/healthz")), serving.send_raw(&get("/readyz")));
    let pid = serving.child.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    let ended = serving.child.wait().unwrap();

    assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
    // There is no orchestrator at that address.
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(ended.success(), "{ended}");
    assert!(!dir.socket("project_manager").exists());
}
