//! Mirrors of ordinary repositories.

use std::fs;
use std::num::NonZeroU32;

use cynode_git::{GitBroker, GitError, HistoryDepth};

use crate::fixture::{Fixture, commit_file, git, git_output, git_program, parse_url, write_script};

#[tokio::test]
async fn a_mirror_has_branches_and_tags_and_loses_what_the_remote_deleted() {
    let fixture = Fixture::new().await;
    let source = fixture.source();
    git(&source, &["branch", "old"]);
    git(&source, &["tag", "v1"]);
    git(&source, &["update-ref", "refs/pull/1/head", "HEAD"]);

    let mirror = fixture.mirror().await;
    assert_eq!(mirror.default_branch().unwrap().as_str(), "main");
    let refs = git(mirror.path(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main\nrefs/heads/old\nrefs/tags/v1");

    git(&source, &["branch", "-D", "old"]);
    git(&source, &["branch", "old/nested"]);
    fixture.mirror().await;

    let refs = git(mirror.path(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main\nrefs/heads/old/nested\nrefs/tags/v1");
    assert!(fixture.broker.version().major >= 2);
}

#[tokio::test]
async fn rewritten_history_replaces_the_old_one() {
    let fixture = Fixture::new().await;
    fixture.commit_file("a", "1");
    let mirror = fixture.mirror().await;

    git(&fixture.source(), &["reset", "-q", "--hard", "HEAD~1"]);
    let rewritten = fixture.commit_file("a", "2");
    git(&fixture.source(), &["tag", "-f", "v1"]);
    fixture.mirror().await;

    assert_eq!(git(mirror.path(), &["rev-parse", "main"]), rewritten.as_str());
}

#[tokio::test]
async fn a_shallow_mirror_can_be_deepened_and_a_complete_one_stays_complete() {
    let fixture = Fixture::new().await;
    for number in 0..5 {
        fixture.commit_file("a", &number.to_string());
    }
    let url = fixture.url();
    let two = HistoryDepth::Commits(NonZeroU32::new(2).unwrap());
    let count = |path: &std::path::Path| git(path, &["rev-list", "--count", "main"]);

    let mirror = fixture.broker.update_mirror(&url, None, two).await.unwrap();
    assert_eq!(count(mirror.path()), "2");
    let checkout = fixture.checkout(&mirror).await;
    assert_eq!(git(&fixture.workspace(), &["rev-list", "--count", "HEAD"]), "2");
    commit_file(&fixture.workspace(), "b", "of the job");
    fixture.collect(&checkout.base_commit);
    let collected = fixture.import(&mirror, &checkout.base_commit).await.unwrap();
    assert_eq!((collected.commits.len(), collected.findings.len()), (1, 0));

    fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap();
    assert_eq!(count(mirror.path()), "6");
    fixture.broker.update_mirror(&url, None, two).await.unwrap();
    assert_eq!(count(mirror.path()), "6");
}

#[tokio::test]
async fn concurrent_updates_of_two_brokers_give_one_mirror() {
    let fixture = Fixture::new().await;
    let options = cynode_git::BrokerOptions::new(fixture.path("state"), git_program());
    let other = GitBroker::open(options).await.unwrap();
    let url = fixture.url();
    let update = |broker: &'static str| {
        let broker = if broker == "other" { &other } else { &fixture.broker };
        broker.update_mirror(&url, None, HistoryDepth::Full)
    };

    let (a, b, c, d) =
        tokio::join!(update("this"), update("other"), update("this"), update("other"));

    let paths = [a, b, c, d].map(|mirror| mirror.unwrap().path().to_owned());
    assert!(paths.iter().all(|path| *path == paths[0]));
    git(&paths[0], &["fsck", "--strict"]);
    let mirrors = fs::read_dir(fixture.path("state/mirrors")).unwrap().count();
    assert_eq!(mirrors, 2, "one mirror and its lock");
}

#[tokio::test]
async fn a_busy_mirror_is_reported_when_the_wait_is_over() {
    let fixture =
        Fixture::with_options(|options| options.limits.lock_wait = std::time::Duration::ZERO).await;
    let mirror = fixture.mirror().await;
    let lock = fs::File::open(mirror.path().with_extension("lock")).unwrap();
    lock.lock().unwrap();

    let url = fixture.url();
    let busy = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(busy, GitError::MirrorBusy { .. }), "{busy}");
}

#[tokio::test]
async fn a_repository_beyond_the_size_limit_leaves_nothing() {
    let fixture = Fixture::with_options(|options| options.limits.mirror_bytes = 1000).await;
    let mut noise = String::new();
    for number in 0..20_000_u64 {
        noise.push_str(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string());
        noise.push('\n');
    }
    fixture.commit_file("noise", &noise);

    let url = fixture.url();
    let error = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(error, GitError::LimitExceeded { limit: 1000, .. }), "{error}");
    assert!(matches!(fixture.broker.find_mirror(&url), Err(GitError::MirrorMissing { .. })));
}

#[tokio::test]
async fn a_slow_git_is_stopped_at_the_time_limit() {
    let fixture = Fixture::with_options(|options| {
        options.limits.time = std::time::Duration::from_millis(1500);
        let slow = options.state_dir.parent().unwrap().join("slow-git");
        let git = git_program();
        write_script(
            &slow,
            &format!(
                "case \" $* \" in *' fetch '*) sleep 600 & wait;; esac; exec {} \"$@\"",
                git.display()
            ),
        );
        options.git = slow;
    })
    .await;

    let url = fixture.url();
    let error = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(error, GitError::TimedOut { operation: "fetch", .. }), "{error}");
    let left = processes_that_mention(fixture.path("state").to_str().unwrap());
    assert_eq!(left, Vec::<String>::new());
}

/// The command lines of processes that mention a text.
fn processes_that_mention(text: &str) -> Vec<String> {
    let lines = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|line| line.contains(text)).collect()
}

#[tokio::test]
async fn an_empty_repository_has_a_mirror_and_no_checkout() {
    let fixture = Fixture::new().await;
    let empty = fixture.path("empty.git");
    git(fixture.directory.path(), &["init", "-q", "--bare", "-b", "main", "empty.git"]);

    let url = parse_url(empty.to_str().unwrap());
    let mirror = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap();
    let request = fixture.checkout_request();
    let error = fixture.broker.create_checkout(&mirror, &request).await.unwrap_err();

    let text = error.to_string();
    assert!(text.contains("no default branch") || text.contains("has no branch main"), "{text}");
}

#[tokio::test]
async fn missing_and_unsupported_repositories_are_named_in_the_error() {
    let fixture = Fixture::new().await;
    let nowhere = parse_url(fixture.path("nowhere").to_str().unwrap());
    let error = fixture.broker.update_mirror(&nowhere, None, HistoryDepth::Full).await.unwrap_err();
    assert!(matches!(error, GitError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn a_sha256_repository_is_rejected() {
    let fixture = Fixture::new().await;
    let other = fixture.path("sha256");
    let arguments = ["init", "-q", "--object-format=sha256", "-b", "main", "sha256"];
    assert!(git_output(fixture.directory.path(), &arguments).status.success());
    fs::write(other.join("a"), "b").unwrap();
    git(&other, &["add", "-A"]);
    git(&other, &["commit", "-q", "-m", "a"]);

    let url = parse_url(other.to_str().unwrap());
    let error = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    assert!(matches!(error, GitError::ObjectFormat { .. }), "{error}");
}

#[tokio::test]
async fn old_history_with_harmless_faults_is_accepted() {
    let fixture = Fixture::new().await;
    let source = fixture.source();
    let tree = git(&source, &["rev-parse", "HEAD^{tree}"]);
    let commit = format!(
        "tree {tree}\nauthor Ada <ada@example.com 1112911993 +051800\ncommitter Ada <ada@example.com> 1112911993 +0000\n\nold\n"
    );
    let input = fixture.path("commit");
    fs::write(&input, commit).unwrap();
    let arguments = ["hash-object", "-t", "commit", "-w", "--literally", input.to_str().unwrap()];
    let old = git(&source, &arguments);
    git(&source, &["update-ref", "refs/heads/old", &old]);

    let mirror = fixture.mirror().await;

    assert_eq!(git(mirror.path(), &["rev-parse", "old"]), old);
}
