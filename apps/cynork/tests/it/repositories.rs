//! Tasks on repositories: `task create --repo`, `task diff`.

use serde_json::{Value, json};

use crate::fake::{ScriptedGateway, problem, task};

const JOB_ID: &str = "00000000-0000-7000-8000-00000000000b";

fn diff_view(patch: &str) -> Value {
    json!({
        "job_id": JOB_ID,
        "changes": {
            "url": "https://example.com/app.git", "branch": "cynode/fix",
            "base": "a".repeat(40), "head": "b".repeat(40),
            "commits": [{"commit": "b".repeat(40), "author": "Ada", "subject": "mend it"}],
            "files": [
                {"path": "src/lib.rs", "status": "modified", "added": 12, "deleted": 3},
                {"path": "logo.png", "status": "added"},
            ],
            "findings": [{"severity": "block", "rule": "secret", "path": ".env", "message": "a key"}],
        },
        "patch": patch, "is_truncated": true,
    })
}

#[tokio::test]
async fn a_diff_in_a_pipe_is_the_whole_patch_of_the_worker_node() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks/fix/diff", 200, &diff_view("+cut")).respond(
        "GET /v1/tasks/fix/artifacts/content",
        200,
        "+\u{1b}[31mwhole\n",
    );

    let ran = fake.cynork(&["task", "diff", "fix"]).await;
    let as_json = fake.cynork(&["-o", "json", "task", "diff", "fix"]).await.json();

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "+\u{1b}[31mwhole\n"), "{ran:?}");
    assert_eq!(as_json, diff_view("+cut"));
}

#[tokio::test]
async fn a_diff_shows_files_commits_and_findings() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks/fix/diff", 200, &diff_view("+x"));

    let ran = fake.cynork(&["task", "diff", "fix", "--stat"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    let has_line = |words: &[&str]| {
        ran.stdout.lines().any(|line| line.split_whitespace().collect::<Vec<_>>() == words)
    };
    for words in [
        &["branch", "cynode/fix"][..],
        &["src/lib.rs", "modified", "+12", "-3"],
        &["logo.png", "added", "binary", "binary"],
        &["bbbbbbbbbbbb", "Ada", "mend", "it"],
        &["block", "secret", ".env", "a", "key"],
    ] {
        assert!(has_line(words), "{words:?}: {}", ran.stdout);
    }
}

#[tokio::test]
async fn a_diff_without_changes_prints_nothing_and_a_missing_one_says_why() {
    let fake = ScriptedGateway::start().await;
    let why = "task \"fix\" has no repository";
    fake.respond("GET /v1/tasks/fix/diff", 200, &diff_view("")).respond(
        "GET /v1/tasks/fix/diff",
        404,
        &problem(404, why),
    );

    let empty = fake.cynork(&["task", "diff", "fix"]).await;
    let missing = fake.cynork(&["task", "diff", "fix"]).await;

    assert_eq!((empty.code, empty.stdout.as_str()), (0, ""), "{empty:?}");
    assert!(empty.stderr.contains("changed no files"), "{empty:?}");
    assert_eq!((missing.code, missing.stdout.as_str()), (4, ""), "{missing:?}");
    assert!(missing.stderr.contains(why), "{missing:?}");
}

#[tokio::test]
async fn a_relative_path_of_a_repository_is_sent_as_an_absolute_one() {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/tasks", 201, &task("queued"));

    let ran = fake.cynork(&["task", "create", "--command", "make", "--repo", "."]).await;
    let wrong = fake.cynork(&["task", "create", "x", "--repo", "https://a:s3same@b/c"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    let home = fake.path().canonicalize().unwrap();
    assert_eq!(fake.requests()[0].body["repository"], json!({"url": home}));
    assert_eq!(wrong.code, 6, "{wrong:?}");
    assert!(wrong.stderr.contains("contains a password"), "{wrong:?}");
    assert!(!wrong.stderr.contains("s3same"), "{wrong:?}");
    let sent = fake.requests();
    assert_eq!(sent.iter().filter(|sent| sent.line.starts_with("POST")).count(), 1);
}

#[tokio::test]
async fn the_repository_of_a_project_is_sent_with_an_absolute_path_and_without_a_secret() {
    let fake = ScriptedGateway::start().await;
    let project = json!({
        "id": JOB_ID, "slug": "shop", "display_name": "Shop", "description": "",
        "owner": "ada", "is_default": false, "is_active": true, "repository_url": "/srv/shop",
        "default_branch": "main", "credential": "deploy",
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    fake.respond("PATCH /v1/projects/shop", 200, &project).respond(
        "POST /v1/projects",
        201,
        &project,
    );

    let change = ["project", "update", "shop", "--repo", ".", "--default-branch", "main"];
    let changed = fake.cynork(&[&change[..], &["--credential", "deploy"]].concat()).await;
    let made = fake.cynork(&["project", "create", "Shop", "--repo", "/srv/shop"]).await;

    assert_eq!((changed.code, made.code), (0, 0), "{changed:?} {made:?}");
    assert!(changed.stdout.contains("/srv/shop") && changed.stdout.contains("deploy"));
    let home = fake.path().canonicalize().unwrap();
    let sent = fake.requests();
    let bodies = sent.iter().filter(|sent| sent.line.starts_with('P')).map(|sent| &sent.body);
    let bodies: Vec<_> = bodies.collect();
    let expected =
        json!({ "repository_url": home, "default_branch": "main", "credential": "deploy" });
    assert_eq!(*bodies[0], expected);
    assert_eq!(bodies[1]["repository_url"], "/srv/shop");
}

#[tokio::test]
async fn a_rule_about_pushes_is_about_repositories() {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/rules", 500, &problem(500, "not here"));

    fake.cynork(&["rules", "add", "deny", "git.example.com/*", "--action", "git.push"]).await;

    let sent = fake.requests();
    let rule = sent.iter().find(|sent| sent.line.starts_with("POST")).expect("a rule is sent");
    assert_eq!(rule.body["resource_type"], "git.repository", "{rule:?}");
    assert_eq!(rule.body["action"], "git.push");
}
