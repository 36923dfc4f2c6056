//! Eviction of mirrors.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use cynode_git::{GitError, HistoryDepth, Mirror, RetentionPolicy};
use cynode_runtime::clock::ManualClock;

use crate::fixture::{Fixture, commit_file, git, parse_url, task};

const DAY: Duration = Duration::from_hours(24);

fn keep_all() -> RetentionPolicy {
    RetentionPolicy { max_total_bytes: u64::MAX, max_idle: 1000 * DAY }
}

async fn clocked_fixture() -> (Fixture, ManualClock) {
    let clock = ManualClock::new("2026-01-01T12:00:00Z".parse().unwrap());
    let shared = clock.clone();
    let fixture = Fixture::with_options(move |options| options.clock = Arc::new(shared)).await;
    (fixture, clock)
}

/// The mirror of a copy of the source repository.
async fn mirror_copy(fixture: &Fixture, name: &str) -> Mirror {
    let source = fixture.source();
    git(fixture.directory.path(), &["clone", "-q", "--bare", source.to_str().unwrap(), name]);
    let url = parse_url(fixture.path(name).to_str().unwrap());
    fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap()
}

#[tokio::test]
async fn idle_mirrors_are_evicted_and_used_ones_stay() {
    let (fixture, clock) = clocked_fixture().await;
    let idle = mirror_copy(&fixture, "idle").await;
    let used = mirror_copy(&fixture, "used").await;
    clock.advance(10 * DAY);
    // Reading counts as use.
    let head = git(used.path(), &["rev-parse", "main"]).parse().unwrap();
    fixture.broker.write_patch(&used, &head, &head, &fixture.path("p")).await.unwrap();
    clock.advance(10 * DAY);

    let policy = RetentionPolicy { max_idle: 15 * DAY, ..keep_all() };
    let report = fixture.broker.collect_garbage(&policy).await.unwrap();

    assert_eq!(report.evicted, [idle.url().to_string()]);
    assert!(report.remaining_bytes > 0 && report.retained.is_empty());
    assert!(fixture.broker.find_mirror(used.url()).is_ok());
    let missing = fixture.broker.create_checkout(&idle, &fixture.checkout_request()).await;
    assert!(missing.unwrap_err().to_string().contains("update it first"));
    fixture.broker.update_mirror(idle.url(), None, HistoryDepth::Full).await.unwrap();
}

#[tokio::test]
async fn the_least_recently_used_go_first_when_space_is_short() {
    let (fixture, clock) = clocked_fixture().await;
    let mut mirrors = Vec::new();
    for name in ["a", "b", "c"] {
        mirrors.push(mirror_copy(&fixture, name).await);
        clock.advance(DAY);
    }
    let total = fixture.broker.collect_garbage(&keep_all()).await.unwrap().remaining_bytes;

    let policy = RetentionPolicy { max_total_bytes: total - 1, ..keep_all() };
    let report = fixture.broker.collect_garbage(&policy).await.unwrap();

    assert_eq!(report.evicted, [mirrors[0].url().to_string()]);
    assert!(report.remaining_bytes < total);
}

#[tokio::test]
async fn mirrors_in_use_or_with_commits_of_tasks_are_retained() {
    let (fixture, _clock) = clocked_fixture().await;
    let (mirror, _) = fixture.run_job(|workspace| drop(commit_file(workspace, "a", "1"))).await;
    let busy = mirror_copy(&fixture, "busy").await;
    let lock = fs::File::open(busy.path().with_extension("lock")).unwrap();
    lock.lock_shared().unwrap();
    let none = RetentionPolicy { max_total_bytes: 0, ..keep_all() };

    let report = fixture.broker.collect_garbage(&none).await.unwrap();
    assert_eq!((report.evicted.len(), report.retained.len()), (0, 2));

    drop(lock);
    fixture.broker.remove_refs(&mirror, &task()).await.unwrap();
    let report = fixture.broker.collect_garbage(&none).await.unwrap();
    assert_eq!((report.evicted.len(), report.remaining_bytes), (2, 0));
    assert_eq!(fs::read_dir(fixture.path("state/mirrors")).unwrap().count(), 0);
}

#[tokio::test]
async fn leftovers_of_killed_operations_are_removed() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    fixture.checkout(&mirror).await;
    let state = fixture.path("state");
    let leftovers =
        ["mirrors/abc.incomplete", "mirrors/def.removed", "credentials/op-1", "imports/op-1"];
    for leftover in leftovers {
        fs::create_dir(state.join(leftover)).unwrap();
        fs::write(state.join(leftover).join("store"), "secret").unwrap();
    }

    fixture.broker.collect_garbage(&keep_all()).await.unwrap();
    for leftover in leftovers {
        assert!(!state.join(leftover).exists(), "{leftover}");
    }
    let records = || fs::read_dir(state.join("checkouts")).unwrap().count();
    assert_eq!(records(), 2, "a record and its lock");
    fs::remove_dir_all(fixture.workspace()).unwrap();
    fixture.broker.collect_garbage(&keep_all()).await.unwrap();
    assert_eq!(records(), 0);
    assert!(!matches!(
        fixture.broker.find_mirror(mirror.url()),
        Err(GitError::MirrorMissing { .. })
    ));
}

#[tokio::test]
async fn many_packs_are_joined() {
    let fixture = Fixture::new().await;
    let mut mirror = fixture.mirror().await;
    for number in 0..45 {
        fixture.commit_file("a", &number.to_string());
        mirror = fixture.mirror().await;
    }
    let packs = |mirror: &Mirror| {
        let entries = fs::read_dir(mirror.path().join("objects/pack")).unwrap().flatten();
        entries.filter(|entry| entry.path().extension().unwrap() == "pack").count()
    };
    assert!(packs(&mirror) > 40);

    fixture.broker.collect_garbage(&keep_all()).await.unwrap();

    assert_eq!(packs(&mirror), 1);
    git(mirror.path(), &["fsck", "--strict"]);
}

#[tokio::test]
async fn the_base_of_an_open_task_outlives_rewritten_history_and_eviction() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let checkout = fixture.checkout(&mirror).await;
    git(&fixture.source(), &["commit", "-q", "--amend", "-m", "rewritten"]);
    git(&fixture.source(), &["reflog", "expire", "--expire=now", "--all"]);
    let mirror = fixture.mirror().await;

    let policy = RetentionPolicy { max_total_bytes: 0, max_idle: Duration::ZERO };
    let report = fixture.broker.collect_garbage(&policy).await.unwrap();

    assert_eq!(report.retained, [fixture.url().to_string()]);
    fs::write(fixture.workspace().join("new.txt"), "x").unwrap();
    fixture.collect(&checkout.base_commit);
    fixture.import(&mirror, &checkout.base_commit).await.unwrap();
}
