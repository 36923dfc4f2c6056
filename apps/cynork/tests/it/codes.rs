//! Exit codes and the words that go with them.

use serde_json::json;

use crate::fake::{Fake, problem};

#[tokio::test]
async fn a_refusal_becomes_its_exit_code_and_the_servers_words() {
    for (status, code) in
        [(400, 6), (401, 3), (403, 3), (404, 4), (409, 5), (413, 6), (422, 6), (500, 7), (503, 7)]
    {
        let fake = Fake::start().await;
        fake.on("GET /v1/tasks/t", status, &problem(status, "because I say so"));

        let ran = fake.cynork(&["task", "get", "t"]).await;

        assert_eq!(ran.code, code, "for {status}: {ran:?}");
        assert!(ran.stderr.contains("because I say so"), "{ran:?}");
        assert_eq!(ran.stdout, "");
    }
}

#[tokio::test]
async fn a_gateway_that_is_not_there_is_explained() {
    let fake = Fake::start().await;
    // Port 1 is never listened on by an unprivileged service.
    for command in [["task", "list"], ["task", "watch"], ["nodes", "list"]] {
        let gateway = ["--gateway-url", "http://127.0.0.1:1"];
        let ran = fake.cynork(&[gateway, command].concat()).await;

        assert_eq!(ran.code, 7, "{ran:?}");
        assert!(ran.stderr.contains("nothing answers at http://127.0.0.1:1"), "{ran:?}");
        assert!(ran.stderr.contains("`cynode up`"), "{ran:?}");
    }
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let fake = Fake::start().await;

    let ran = fake.cynork_with(&[], "", &["task", "list"]).await;

    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("cynork auth login"), "{ran:?}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn names_that_no_address_can_hold_are_refused_before_anything_is_sent() {
    let fake = Fake::start().await;
    let commands = [["prefs", "get"], ["settings", "get"], ["schedule", "show"], ["nodes", "get"]];
    let names = ["", ".", "..", ".\t.", "web\napp"];
    for (command, name) in commands.iter().flat_map(|c| names.map(|name| (c, name))) {
        let ran = fake.cynork(&[&command[..], &[name]].concat()).await;

        assert_eq!(ran.code, 6, "{command:?} {name:?}: {ran:?}");
        assert!(ran.stderr.contains("nothing has that name"), "{ran:?}");
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn lists_look_alike_as_json() {
    let fake = Fake::start().await;
    let lists = [
        (["creds", "list"], "credentials"),
        (["models", "providers"], "model-providers"),
        (["rules", "list"], "rules"),
        (["tools", "list"], "tools"),
        (["servers", "list"], "servers"),
        (["nodes", "list"], "nodes"),
    ];
    for (command, route) in lists {
        fake.on(&format!("GET /v1/{route}"), 200, &json!([]));
        let ran = fake.cynork(&[&command[..], &["-o", "json"]].concat()).await;
        assert_eq!(ran.json(), json!({"items": []}), "{command:?}: {ran:?}");
    }
}

#[tokio::test]
async fn a_credential_for_a_provider_that_is_not_there_is_kept_with_a_word() {
    let fake = Fake::start().await;
    let credential = json!({
        "id": "0193a4b2-0000-7000-8000-000000000001", "owner_type": "user", "owner_id": null,
        "provider": "antrhopic", "name": "default", "credential_type": "api_key",
        "key_id": "0123456789ab", "is_active": true, "expires_at": null, "version": 1,
        "updated_by": null, "updated_at": "2026-11-15T12:00:00Z",
    });
    fake.on("POST /v1/credentials", 200, &credential);
    fake.on("GET /v1/model-providers", 200, &json!([]));

    let ran = fake
        .cynork_with(&[("CYNORK_TOKEN", "cyn_test")], "sk-typed", &["creds", "set", "antrhopic"])
        .await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("no provider is called \"antrhopic\" yet"), "{ran:?}");
}

#[tokio::test]
async fn a_wrong_command_line_ends_with_two() {
    let fake = Fake::start().await;

    assert_eq!(fake.cynork(&["task", "create"]).await.code, 2);
    assert_eq!(fake.cynork(&["frobnicate"]).await.code, 2);
    assert_eq!(fake.cynork(&["--gateway-url", "ftp://x", "status"]).await.code, 2);
    assert_eq!(fake.cynork(&["--help"]).await.code, 0);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_internal() {
    let fake = Fake::start().await;
    fake.on("GET /v1/status", 200, "<html>");

    assert_eq!(fake.cynork(&["status"]).await.code, 8);
}

#[tokio::test]
async fn json_output_is_one_value_and_talk_goes_to_stderr() {
    let fake = Fake::start().await;
    fake.on("GET /v1/tasks", 200, &json!({"items": []}));

    let ran = fake.cynork(&["-o", "json", "task", "list"]).await;

    assert_eq!(ran.json(), json!({"items": []}));
    assert!(ran.stderr.contains("no tasks yet"), "{ran:?}");
    assert_eq!(fake.cynork(&["-q", "-o", "json", "task", "list"]).await.stderr, "");
}

#[tokio::test]
async fn version_and_completions_need_no_gateway() {
    let fake = Fake::start().await;

    let version = fake.cynork_with(&[], "", &["version"]).await;
    let script = fake.cynork_with(&[], "", &["completions", "bash"]).await;

    assert_eq!(version.stdout, format!("cynork {}\n", env!("CARGO_PKG_VERSION")));
    assert!(script.stdout.contains("_cynork"), "{}", script.stdout);
    assert!(fake.asked().is_empty());
}
