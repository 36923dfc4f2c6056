//! Sign-in, renewal, sign-out; tokens are never printed.

use serde_json::json;

use crate::fake::{ScriptedGateway, problem};

const LOGIN: [&str; 5] = ["auth", "login", "-u", "ada", "--password-stdin"];

fn session(number: u32) -> serde_json::Value {
    json!({
        "access_token": format!("cyn_access_{number}"),
        "refresh_token": format!("cyn_refresh_{number}"),
        "token_type": "Bearer", "expires_in": 900,
    })
}

async fn signed_in() -> ScriptedGateway {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/auth/login", 200, &session(1));
    let ran = fake.cynork_with(&[], "correct horse battery\n", &LOGIN).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!format!("{ran:?}").contains("cyn_"), "a token was printed: {ran:?}");
    fake
}

#[tokio::test]
async fn signing_in_keeps_the_session_for_the_next_command() {
    let fake = signed_in().await;
    fake.respond("GET /v1/tasks", 200, &json!({"items": []}));

    let ran = fake.cynork_with(&[], "", &["task", "list"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        fake.requests()[0].body,
        json!({"handle": "ada", "password": "correct horse battery"})
    );
    assert_eq!(fake.requests()[1].token, "Bearer cyn_access_1");
}

#[tokio::test]
async fn the_gateway_of_a_sign_in_is_used_until_signing_out() {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/auth/login", 200, &session(1))
        .respond("GET /v1/tasks", 200, &json!({"items": []}))
        .respond("POST /v1/auth/logout", 200, "{}");
    let nowhere = [("CYNORK_GATEWAY_URL", "http://127.0.0.1:1")];
    let login = [&LOGIN[..], &["--gateway-url", fake.url.as_str()]].concat();

    let signed_in = fake.cynork_with(&nowhere, "correct horse battery\n", &login).await;
    let listed = fake.cynork_with(&nowhere, "", &["task", "list"]).await;
    let signed_out = fake.cynork_with(&nowhere, "", &["auth", "logout"]).await;
    let after = fake.cynork_with(&nowhere, "", &["task", "list"]).await;

    assert_eq!((signed_in.code, listed.code, signed_out.code), (0, 0, 0), "{listed:?}");
    assert!(signed_in.stderr.contains("cynork auth logout"), "{signed_in:?}");
    assert!(after.stderr.contains("not signed in to http://127.0.0.1:1"), "{after:?}");
}

#[tokio::test]
async fn a_session_that_has_ended_is_renewed_once_without_a_word() {
    let fake = signed_in().await;
    fake.respond("GET /v1/tasks", 401, &problem(401, "ended"))
        .respond("GET /v1/tasks", 200, &json!({"items": []}))
        .respond("POST /v1/auth/refresh", 200, &session(2));

    let ran = fake.cynork_with(&[], "", &["-q", "task", "list"]).await;

    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(fake.requests()[2].body, json!({"refresh_token": "cyn_refresh_1"}));
    assert_eq!(fake.requests()[3].token, "Bearer cyn_access_2");
    let kept = std::fs::read_to_string(fake.config_file()).unwrap();
    assert!(kept.contains("cyn_refresh_2") && !kept.contains("cyn_refresh_1"));
}

#[tokio::test]
async fn a_session_that_cannot_be_renewed_says_to_sign_in_again() {
    let fake = signed_in().await;
    fake.respond("GET /v1/tasks", 401, &problem(401, "ended")).respond(
        "POST /v1/auth/refresh",
        401,
        &problem(401, "used before"),
    );

    let ran = fake.cynork_with(&[], "", &["task", "list"]).await;

    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("cynork auth login"), "{ran:?}");
    assert!(!ran.stderr.contains("cyn_"), "{ran:?}");
}

#[tokio::test]
async fn signing_out_forgets_the_session_even_when_the_gateway_refuses() {
    let fake = signed_in().await;
    fake.respond("POST /v1/auth/logout", 500, &problem(500, "broken"));

    let ran = fake.cynork_with(&[], "", &["auth", "logout"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!std::fs::read_to_string(fake.config_file()).unwrap().contains("cyn_"));
    assert_eq!(fake.cynork_with(&[], "", &["auth", "whoami"]).await.code, 3);
}

#[tokio::test]
async fn a_new_tokens_secret_is_the_only_thing_on_stdout() {
    let fake = ScriptedGateway::start().await;
    let made = json!({
        "id": "00000000-0000-7000-8000-000000000003", "name": "ci", "secret": "cyn_api_x",
        "created_at": "2026-01-01T00:00:00Z", "expires_at": null, "revoked_at": null,
    });
    fake.respond("POST /v1/tokens", 201, &made);

    let ran = fake.cynork(&["token", "create", "ci"]).await;

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "cyn_api_x\n"), "{ran:?}");
}

#[tokio::test]
async fn a_local_up_is_found_with_its_admin_token() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks", 200, &json!({"items": []}));
    let token_file = fake.path().join("admin.token");
    std::fs::write(&token_file, "cyn_admin\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token_file, mode).unwrap();
    let up =
        json!({"pid": 1, "url": fake.url, "data_dir": fake.path(), "admin_token_file": token_file});
    std::fs::write(fake.path().join("up.json"), up.to_string()).unwrap();
    let data_dir = fake.path().to_str().unwrap();

    let ran = fake
        .cynork_with(&[("CYNORK_GATEWAY_URL", "")], "", &["--data-dir", data_dir, "task", "list"])
        .await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fake.requests()[0].token, "Bearer cyn_admin");
}

#[tokio::test]
async fn every_request_of_a_command_belongs_to_one_trace_which_verbose_prints() {
    let fake = ScriptedGateway::start().await;
    let token = [("CYNORK_TOKEN", "cyn_access_1")];
    let page = json!({"items": [], "next_cursor": null});
    fake.respond("GET /v1/tasks", 200, &page).respond("GET /v1/projects", 200, &page);

    let quiet = fake.cynork_with(&token, "", &["task", "list"]).await;
    let verbose = fake.cynork_with(&token, "", &["task", "list", "--verbose"]).await;

    assert_eq!((quiet.code, verbose.code), (0, 0), "{quiet:?} {verbose:?}");
    let sent: Vec<String> = fake.requests().into_iter().map(|it| it.traceparent).collect();
    let trace_of = |header: &str| {
        let parts: Vec<&str> = header.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!((parts[0], lengths), ("00", vec![2, 32, 16, 2]), "{header}");
        assert_ne!(parts[2], "0000000000000000");
        uuid::Uuid::parse_str(parts[1]).unwrap().to_string()
    };
    let traces: Vec<String> = sent.iter().map(|header| trace_of(header)).collect();
    assert_ne!(traces[0], traces[traces.len() - 1], "each command has its own trace");
    let printed = format!("trace {}\n", traces[traces.len() - 1]);
    assert!(verbose.stderr.contains(&printed), "{verbose:?}");
    assert!(!quiet.stderr.contains("trace "), "{quiet:?}");
}
