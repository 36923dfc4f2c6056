//! Credentials reach the remote and nothing else.

use std::fs;
use std::path::Path;

use cynode_git::{GitCredential, GitError, HistoryDepth, KnownHosts};
use secrecy::SecretString;

use crate::fixture::{Fixture, PASSWORD, credential, git_program, parse_url, write_script};

/// Files below a directory that contain a text.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else if String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default())
                .contains(text)
            {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[tokio::test]
async fn a_password_is_in_no_argument_no_environment_and_no_file_that_stays() {
    let fixture = Fixture::new().await;
    let server = fixture.serve();
    let (url, right) = (parse_url(&server.url()), credential(PASSWORD));

    let mirror =
        fixture.broker.update_mirror(&url, Some(&right), HistoryDepth::Full).await.unwrap();

    assert_eq!(mirror.default_branch().unwrap().as_str(), "main");
    let seen = server.log.lock().unwrap();
    assert!(seen.authorized >= 2, "{:?}", seen.requests);
    assert_eq!(seen.leaks, Vec::<String>::new());
    for text in ["zebra77", "robot"] {
        assert_eq!(files_with(&fixture.path("state"), text), Vec::<String>::new());
    }
    assert_eq!(fs::read_dir(fixture.path("state/credentials")).unwrap().count(), 0);
}

#[tokio::test]
async fn wrong_and_missing_passwords_are_reported_without_them() {
    let fixture = Fixture::new().await;
    let server = fixture.serve();
    let url = parse_url(&server.url());
    let wrong = credential("wrong-hunter22");

    for credential in [Some(&wrong), None] {
        let error =
            fixture.broker.update_mirror(&url, credential, HistoryDepth::Full).await.unwrap_err();
        assert!(matches!(error, GitError::Authentication { .. }), "{error}");
        let text = format!("{error} {error:?}");
        assert!(!text.contains("hunter22") && !text.contains("robot"), "{text}");
    }

    let right = credential(PASSWORD);
    let missing = parse_url(&server.url_of("missing.git"));
    let error =
        fixture.broker.update_mirror(&missing, Some(&right), HistoryDepth::Full).await.unwrap_err();
    assert!(matches!(error, GitError::NotFound { .. }), "{error}");
    assert_eq!(fs::read_dir(fixture.path("state/credentials")).unwrap().count(), 0);
}

#[tokio::test]
async fn redirects_are_reported_and_not_followed() {
    let fixture = Fixture::new().await;
    let server = fixture.serve();
    let (url, right) = (parse_url(&server.url_of("redirect/app.git")), credential(PASSWORD));

    let error =
        fixture.broker.update_mirror(&url, Some(&right), HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(error, GitError::Redirected { .. }), "{error}");
    let seen = server.log.lock().unwrap();
    assert!(seen.requests.iter().all(|request| request.contains("/redirect/")), "{seen:?}");
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let fixture = Fixture::new().await;
    let url = parse_url("http://127.0.0.1:1/app.git");

    let error = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(error, GitError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn a_credential_of_another_kind_is_rejected() {
    let fixture = Fixture::new().await;
    let url = parse_url("git@example.com:app.git");

    let password = credential(PASSWORD);
    let error =
        fixture.broker.update_mirror(&url, Some(&password), HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(error, GitError::CredentialMismatch { .. }), "{error}");
}

#[tokio::test]
async fn an_ssh_key_is_a_private_file_of_one_operation() {
    let log = |name: &str| format!("$(dirname \"$0\")/{name}");
    let fixture = Fixture::with_options(|options| {
        let ssh = options.state_dir.parent().unwrap().join("fake-ssh");
        let body = format!(
            "printf '%s\\n' \"$@\" >> {args}\n\
             while [ \"$#\" -gt 1 ]; do\n\
             case $1 in -i) stat -c '%a' \"$2\" >> {modes}; cat \"$2\" > {key};; \
             UserKnownHostsFile=*) file=${{1#*=}}; file=${{file#\\\"}}; cat \"${{file%\\\"}}\" > {hosts};; esac\n\
             shift; done\n\
             command=${{1#git-}}\n\
             eval \"exec {git} -c safe.directory='*' $command\"",
            args = log("ssh-args"),
            modes = log("ssh-modes"),
            key = log("ssh-key"),
            hosts = log("ssh-hosts"),
            git = git_program().display()
        );
        write_script(&ssh, &body);
        options.network.ssh = ssh;
    })
    .await;
    let url = parse_url(&format!("ssh://git@example.com:2222{}", fixture.source().display()));
    let credential = GitCredential::SshKey {
        private_key: SecretString::from("-----BEGIN KEY-----\nzebra77zebra77\n-----END KEY-----"),
        known_hosts: KnownHosts::Pinned("example.com ssh-ed25519 AAAA\n".to_owned()),
    };

    fixture.broker.update_mirror(&url, Some(&credential), HistoryDepth::Full).await.unwrap();

    let read = |name: &str| fs::read_to_string(fixture.path(name)).unwrap();
    let arguments = read("ssh-args");
    for expected in [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "/dev/null",
        "ProxyCommand=none",
        "2222",
        "git@example.com",
    ] {
        assert!(arguments.contains(expected), "{arguments}");
    }
    assert!(!arguments.contains("zebra77"));
    assert!(read("ssh-modes").lines().all(|mode| mode == "600"));
    assert!(read("ssh-key").contains("zebra77") && read("ssh-hosts").contains("ssh-ed25519 AAAA"));
    assert_eq!(files_with(&fixture.path("state"), "zebra77"), Vec::<String>::new());
}

#[tokio::test]
async fn git_processes_see_no_variable_of_the_broker() {
    let fixture = Fixture::with_options(|options| {
        let wrapper = options.state_dir.parent().unwrap().join("git-wrapper");
        let body = format!(
            "env >> $(dirname \"$0\")/environment\nexec {} \"$@\"",
            git_program().display()
        );
        write_script(&wrapper, &body);
        options.git = wrapper;
    })
    .await;
    fixture.mirror().await;

    let environment = fs::read_to_string(fixture.path("environment")).unwrap();

    assert!(environment.contains("GIT_CONFIG_NOSYSTEM=1"));
    // Cargo sets these for every test.
    assert!(!environment.contains("CARGO_MANIFEST_DIR"), "{environment}");
    let home = format!("HOME={}", fixture.path("state/home").display());
    assert!(environment.contains(&home), "{environment}");
}
