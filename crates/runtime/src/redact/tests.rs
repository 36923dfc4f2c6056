//! A corpus of secrets that must be redacted, and of text that must not.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The needle, and a text that contains it. Needles are assembled at run time, so that secret scanners
/// do not flag this file.
fn corpus() -> Vec<(String, String)> {
    let random = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
    let jwt = format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{random}");
    let pem = format!("{}BEGIN RSA PRIVATE KEY{}", "-----", "-----");
    let end = format!("{}END RSA PRIVATE KEY{}", "-----", "-----");
    let needles = |texts: Vec<String>| texts.into_iter().map(|text| (random.to_owned(), text));
    let by_shape = needles(vec![
        format!("issued cyn_pm_{random} to the agent"),
        format!("cyn_rn_{random}"),
        format!("lease cyn_lease_v4.public.{random}.{random}~v4.public.{random}"),
        format!("Authorization: Bearer {random}"),
        format!("authorization=bearer {random}"),
        format!("curl -H 'Authorization: Basic {random}=='"),
        format!("sent bearer {random} to upstream"),
        format!("sent bearer password={random} to upstream"),
        format!("OPENAI says sk-proj-{random} is wrong"),
        format!("key sk-ant-api03-{random}"),
        format!("push with ghp_{random}"),
        format!("gho_{random} and ghs_{random}"),
        format!("github_pat_11ABC_{random}"),
        format!("glpat-{random}"),
        format!("slack xoxb-1234-{random}"),
        format!("the session is {jwt}."),
        format!("google AIza{random}"),
        format!("hf_{random}"),
        format!("{pem}\nMIIE{random}\n{random}\n{end}"),
        format!("{pem}\\nMIIE{random}\\n{end}"),
        format!("cut off: {pem}\nMIIE{random}"),
        format!("postgres://cynode:{random}@db.internal:5432/cynode"),
        format!("redis://:{random}@localhost"),
        format!("https://user:p@ss{random}@host/path"),
        format!("Set-Cookie: session={random}; HttpOnly"),
        format!("cookie: a=1; sid={random}"),
    ]);
    let by_key = needles(vec![
        format!("password={random}"),
        format!("host=db user=me password={random} dbname=x"),
        format!("GET /x?token={random}&page=2"),
        format!("password = \"{random}\""),
        format!("db_password: {random}"),
        format!("{{\"api_key\":\"{random}\"}}"),
        format!("{{\"refreshToken\": \"{random}\"}}"),
        format!("body was {{\\\"client_secret\\\":\\\"{random}\\\"}}"),
        format!("{{\"password\":\"a\\\"{random}\"}}"),
        format!("X-Api-Key: {random}"),
        format!("login --password {random} --user me"),
        format!("AWS_SECRET_ACCESS_KEY={random}"),
        format!("CYNORK_TOKEN={random} cynork status"),
    ]);
    let others = [
        ("IOSFODNN7EXAMPLE", "the key AKIAIOSFODNN7EXAMPLE is live"),
        ("hunter2", "password: hunter2"),
    ];
    let others = others.map(|(needle, text)| (needle.to_owned(), text.to_owned()));
    by_shape.chain(by_key).chain(others).collect()
}

#[test]
fn no_secret_of_the_corpus_survives_redaction() {
    for (needle, text) in corpus() {
        let clean = redact(&text);
        assert!(!clean.contains(&needle), "{text}\nbecame {clean}");
        assert!(clean.contains(REDACTED), "{text}\nbecame {clean}");
    }
}

#[test]
fn redacting_twice_changes_nothing_more() {
    for (_, text) in corpus() {
        let once = redact(&text).into_owned();
        assert_eq!(redact(&once), once);
    }
}

#[test]
fn a_secret_inside_a_line_of_json_leaves_it_json() {
    for (needle, text) in corpus() {
        let line = json!({"message": text, "after": "kept"}).to_string();
        let clean = redact(&line);
        let back: Value =
            serde_json::from_str(&clean).unwrap_or_else(|error| panic!("{error}: {clean}"));
        assert_eq!(back["after"], "kept", "{clean}");
        assert!(!clean.contains(&needle), "{clean}");
    }
}

#[test]
fn ordinary_prose_and_code_survive_redaction() {
    let texts = [
        "The bearer authentication scheme carries a token.",
        "Basic understanding of secrets management is enough.",
        "Forgot your password? Reset it: the token is sent by mail.",
        "let token = next_token(&mut stream)?;",
        "pub fn read(path: &Path) -> Result<SecretString, SecretFileError>",
        "struct Login { handle: String, password: String }",
        "token: Option<String>, secret: SecretString",
        "max_tokens=4096 token_count=17 tokens: 512",
        "{\"max_tokens\":4096,\"token_type\":\"Bearer\",\"expires_in\":900}",
        "GET http://localhost:12080/v1/tasks?limit=20&after=abc",
        "clone git@github.com:acme/widgets.git",
        "mail me at user@example.org, or see https://example.org/a@b",
        "task-0198c0de-7a7b-7c3d-8e4f-123456789abc ended with code 0",
        "risk-averse teams use sk-learn and desk-bound-workers-union",
        "sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "echo \"$TOKEN\" | cynork login --token-stdin",
        "curl -H \"Authorization: Bearer $TOKEN\" and password=${PASSWORD}",
        "admin_token_file=/var/lib/cynode/admin.token",
        "cookie: a small file that a server asks a browser to keep",
        "authorization: who may do what",
        "cyn_ is the prefix; cyn_pm_ that of project managers",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "fn is_secret_key(key: &str) -> bool { key.ends_with(\"token\") }",
        "PWD=/home/ada/work pwd=/tmp",
        "für Straße 日本語 ok",
        "",
    ];
    for text in texts {
        assert_eq!(redact(text), text);
        assert!(matches!(redact(text), Cow::Borrowed(_)));
    }
}

#[test]
fn the_kind_of_a_secret_stays_readable() {
    let text = format!("cyn_pm_{} at postgres://me:pw1234@db/x", "a1".repeat(20));
    assert_eq!(redact(&text), "cyn_pm_[redacted] at postgres://me:[redacted]@db/x");
}

#[test]
fn names_of_secret_fields_are_known_in_every_spelling() {
    for key in [
        "password",
        "db_password",
        "refresh_token",
        "clientSecret",
        "X-Api-Key",
        "Set-Cookie",
        "AUTHORIZATION",
        "api_key",
        "aws_secret_access_key",
        "credentials",
    ] {
        assert!(is_secret_key(key), "{key}");
    }
    for key in [
        "max_tokens",
        "token_type",
        "admin_token_file",
        "task.id",
        "author",
        "keyboard",
        "secretary",
    ] {
        assert!(!is_secret_key(key), "{key}");
    }
}

#[test]
fn json_fields_are_redacted_at_every_depth() {
    let mut value = json!({
        "user": "ada", "password": 1234, "nested": [{"api_key": ["a", "b"]}, "Bearer abcdef0123456789"],
        "token": null, "max_tokens": 5,
    });
    redact_json(&mut value);
    assert_eq!(
        value,
        json!({
            "user": "ada", "password": REDACTED, "nested": [{"api_key": REDACTED}, "Bearer [redacted]"],
            "token": null, "max_tokens": 5,
        })
    );
}

/// Fragments of secrets, quotes and separators, in any order.
fn fragments() -> impl Strategy<Value = String> {
    let shards = [
        "password",
        "token",
        "api_key",
        "Authorization",
        "cookie",
        "Cookie: ",
        "--secret",
        "Bearer ",
        "=",
        ":",
        " ",
        "\"",
        "'",
        "\\",
        ",",
        "{",
        "}",
        "[",
        "]",
        "/",
        "@",
        "://",
        "\n",
        ";",
        "&",
        "é",
        "a1b2c3d4e5f6g7h8",
        "http://u:",
        "cyn_pm_",
        "sk-",
        "eyJhbGciOiJI.",
        "hunter2",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "[redacted]",
        "SECRET_REDACTED",
    ];
    prop::collection::vec(prop::sample::select(shards.to_vec()), 0..14).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn any_redacted_line_of_json_keeps_its_shape(first in fragments(), second in fragments()) {
        let line = json!({"a": first, "list": [second, "x"], "z": {"deep": first}}).to_string();
        let clean = redact(&line);
        let back: Value = serde_json::from_str(&clean).map_err(|error| TestCaseError::fail(format!("{error}\n{line}\n{clean}")))?;
        prop_assert_eq!(&back["list"][1], "x");
        prop_assert!(back["z"]["deep"].is_string() && back["a"].is_string());
    }

    #[test]
    fn any_text_redacted_twice_is_the_text_redacted_once(text in fragments()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    #[test]
    fn any_text_marked_twice_is_the_text_marked_once(text in fragments()) {
        let once = redact_with_marker(&text, "SECRET_REDACTED").text.into_owned();
        prop_assert_eq!(redact_with_marker(&once, "SECRET_REDACTED").text.into_owned(), once);
    }
}
