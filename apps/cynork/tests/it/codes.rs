//! Exit codes and error messages.

use serde_json::json;

use crate::fake::{ScriptedGateway, problem};

#[tokio::test]
async fn a_refusal_becomes_its_exit_code_and_the_servers_words() {
    for (status, code) in
        [(400, 6), (401, 3), (403, 3), (404, 4), (409, 5), (413, 6), (422, 6), (500, 7), (503, 7)]
    {
        let fake = ScriptedGateway::start().await;
        fake.respond("GET /v1/tasks/t", status, &problem(status, "because I say so"));

        let ran = fake.cynork(&["task", "get", "t"]).await;

        assert_eq!(ran.code, code, "for {status}: {ran:?}");
        assert!(ran.stderr.contains("because I say so"), "{ran:?}");
        assert_eq!(ran.stdout, "");
    }
}

#[tokio::test]
async fn a_gateway_that_is_not_there_is_explained() {
    let fake = ScriptedGateway::start().await;
    // Port 1 is never listened on by an unprivileged service.
    for command in [["task", "list"], ["task", "watch"], ["nodes", "list"]] {
        let gateway = ["--gateway-url", "http://127.0.0.1:1"];
        let ran = fake.cynork(&[gateway, command].concat()).await;

        assert_eq!(ran.code, 7, "{ran:?}");
        assert!(ran.stderr.contains("CyNode is not running at http://127.0.0.1:1"), "{ran:?}");
        assert!(ran.stderr.contains("`cynode up`"), "{ran:?}");
        assert!(ran.stderr.contains("--gateway-url"), "{ran:?}");
    }
}

#[tokio::test]
async fn a_wrong_address_is_not_taken_for_a_gateway_that_does_not_run() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks", 200, "<html>Welcome</html>")
        .respond("GET /v1/nodes", 404, "<html>")
        .respond("GET /v1/status", 404, "");

    let nowhere = "http://no-such-machine.invalid:12080";
    let no_host = fake.cynork(&["--gateway-url", nowhere, "task", "list"]).await;
    let page = fake.cynork(&["task", "list"]).await;
    let missing = fake.cynork(&["nodes", "list"]).await;
    let silent = fake.cynork(&["status"]).await;

    for ran in [&no_host, &page, &missing, &silent] {
        assert_eq!(ran.code, 7, "{ran:?}");
        assert!(ran.stderr.contains("is not the address of a CyNode gateway"), "{ran:?}");
        assert!(!ran.stderr.contains("not running"), "{ran:?}");
    }
    assert!(no_host.stderr.contains("--gateway-url"), "{no_host:?}");
    assert!(page.stderr.contains("CYNORK_GATEWAY_URL"), "{page:?}");
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let fake = ScriptedGateway::start().await;

    let ran = fake.cynork_with(&[], "", &["task", "list"]).await;

    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("cynork auth login"), "{ran:?}");
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn names_that_no_address_can_hold_are_refused_before_anything_is_sent() {
    let fake = ScriptedGateway::start().await;
    let commands = [["prefs", "get"], ["settings", "get"], ["schedule", "show"], ["nodes", "get"]];
    let names = ["", ".", "..", ".\t.", "web\napp"];
    for (command, name) in commands.iter().flat_map(|c| names.map(|name| (c, name))) {
        let ran = fake.cynork(&[&command[..], &[name]].concat()).await;

        assert_eq!(ran.code, 6, "{command:?} {name:?}: {ran:?}");
        assert!(ran.stderr.contains("invalid name"), "{ran:?}");
    }
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn lists_look_alike_as_json() {
    let fake = ScriptedGateway::start().await;
    let lists = [
        (["creds", "list"], "credentials"),
        (["models", "providers"], "model-providers"),
        (["rules", "list"], "rules"),
        (["tools", "list"], "tools"),
        (["servers", "list"], "servers"),
        (["nodes", "list"], "nodes"),
    ];
    for (command, route) in lists {
        fake.respond(&format!("GET /v1/{route}"), 200, &json!([]));
        let ran = fake.cynork(&[&command[..], &["-o", "json"]].concat()).await;
        assert_eq!(ran.json(), json!({"items": []}), "{command:?}: {ran:?}");
    }
}

#[tokio::test]
async fn a_credential_for_a_provider_that_is_not_there_is_kept_with_a_word() {
    let fake = ScriptedGateway::start().await;
    let credential = json!({
        "id": "0193a4b2-0000-7000-8000-000000000001", "owner_type": "user", "owner_id": null,
        "provider": "antrhopic", "name": "default", "credential_type": "api_key",
        "key_id": "0123456789ab", "is_active": true, "expires_at": null, "version": 1,
        "updated_by": null, "updated_at": "2026-11-15T12:00:00Z",
    });
    fake.respond("POST /v1/credentials", 200, &credential);
    fake.respond("GET /v1/model-providers", 200, &json!([]));

    let ran = fake
        .cynork_with(&[("CYNORK_TOKEN", "cyn_test")], "sk-typed", &["creds", "set", "antrhopic"])
        .await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("no provider is named \"antrhopic\" yet"), "{ran:?}");
}

#[tokio::test]
async fn a_wrong_command_line_ends_with_two() {
    let fake = ScriptedGateway::start().await;

    assert_eq!(fake.cynork(&["task", "create"]).await.code, 2);
    assert_eq!(fake.cynork(&["frobnicate"]).await.code, 2);
    assert_eq!(fake.cynork(&["--gateway-url", "ftp://x", "status"]).await.code, 2);
    assert_eq!(fake.cynork(&["--help"]).await.code, 0);
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_internal() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/status", 200, "{\"ready\": 7}");

    assert_eq!(fake.cynork(&["status"]).await.code, 8);
}

#[tokio::test]
async fn json_output_is_one_value_and_talk_goes_to_stderr() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks", 200, &json!({"items": []}));

    let ran = fake.cynork(&["-o", "json", "task", "list"]).await;

    assert_eq!(ran.json(), json!({"items": []}));
    assert!(ran.stderr.contains("no tasks yet"), "{ran:?}");
    assert_eq!(fake.cynork(&["-q", "-o", "json", "task", "list"]).await.stderr, "");
}

#[tokio::test]
async fn version_and_completions_need_no_gateway() {
    let fake = ScriptedGateway::start().await;

    let version = fake.cynork_with(&[], "", &["version"]).await;
    let script = fake.cynork_with(&[], "", &["completions", "bash"]).await;

    assert_eq!(version.stdout, format!("cynork {}\n", env!("CARGO_PKG_VERSION")));
    assert!(script.stdout.contains("_cynork"), "{}", script.stdout);
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn an_installed_server_is_shown_with_its_tools_or_why_it_has_none() {
    let fake = ScriptedGateway::start().await;
    let server = |error: serde_json::Value| {
        json!({
            "id": "00000000-0000-7000-8000-000000000004", "slug": "time",
            "owner_id": "00000000-0000-7000-8000-000000000005",
            "transport": {"type": "http", "url": "http://127.0.0.1:3001/mcp", "header_names": []},
            "scope": "both", "enabled": true, "last_error": error,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        })
    };
    let tool = |server: &str, id: Option<u32>, name: &str| {
        json!({
            "id": "00000000-0000-7000-8000-000000000006", "name": name, "server": server,
            "server_id": id.map(|id| format!("00000000-0000-7000-8000-{id:012}")),
            "scope": "both", "enabled": true, "approval": "approved", "description": "Tells the time",
            "first_seen_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        })
    };
    let builtin = tool("builtin", None, "db.task.get");
    let of_other = tool("time", Some(7), "time.other");
    let path = "/v1/servers/00000000-0000-7000-8000-000000000004";
    fake.respond("POST /v1/servers", 201, &server(json!(null)))
        .respond(&format!("GET {path}"), 200, &server(json!(null)))
        .respond("GET /v1/tools", 200, &json!([builtin, of_other]))
        .respond("GET /v1/tools", 200, &json!([of_other, tool("time", Some(4), "time.now")]))
        .respond("GET /v1/tools", 200, &json!([builtin]));
    let add = ["servers", "add-http", "time", "http://127.0.0.1:3001/mcp"];

    let found = fake.cynork(&[&add[..], &["-o", "json"]].concat()).await;
    let broken = ScriptedGateway::start().await;
    broken
        .respond("POST /v1/servers", 201, &server(json!(null)))
        .respond(&format!("GET {path}"), 200, &server(json!("connection refused")))
        .respond("GET /v1/tools", 200, &json!([builtin]));
    let failed = broken.cynork(&add).await;

    assert_eq!(found.json()["tools"][0]["name"], "time.now", "{found:?}");
    assert_eq!(found.json()["slug"], "time");
    assert!(failed.stdout.contains("connection refused"), "{failed:?}");
    assert!(failed.stderr.contains("cynork servers remove time"), "{failed:?}");
}

#[tokio::test]
async fn a_server_that_calls_by_name_do_not_reach_is_listed_with_how_to_rename_it() {
    let fake = ScriptedGateway::start().await;
    let server = |id: u32, is_hidden: bool| {
        json!({
            "id": format!("00000000-0000-7000-8000-{id:012}"), "slug": "time",
            "owner_id": "00000000-0000-7000-8000-000000000005", "owner_handle": "ada",
            "system": !is_hidden, "hidden_by_system": is_hidden,
            "transport": {"type": "http", "url": "http://127.0.0.1:3001/mcp", "header_names": []},
            "scope": "both", "enabled": true, "last_error": null,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        })
    };
    fake.respond("GET /v1/servers", 200, &json!([server(4, false), server(7, true)]));

    let listed = fake.cynork(&["servers", "list"]).await;

    assert!(listed.stdout.contains("hidden") && listed.stdout.contains("all users"), "{listed:?}");
    let rename = "cynork servers rename 00000000-0000-7000-8000-000000000007 NEW-NAME";
    assert!(listed.stderr.contains(rename), "{listed:?}");
}
