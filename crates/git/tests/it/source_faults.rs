//! Commits of other tasks that cannot be built on, and merges that are killed.

use std::fs;
use std::num::NonZeroU32;

use cynode_git::{CheckoutError, ConflictMode, HistoryDepth, ImportError, Severity};

use crate::fixture::{Fixture, commit_all, commit_entry, commit_file, git, head_of, store_blob};
use crate::interruptions::trapped_broker;
use crate::sources::{build_on, import, other_task, read, request};

#[tokio::test]
async fn a_hostile_bundle_is_no_source() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let hidden = other_task(&fixture, "hidden", |clone| {
        let object = store_blob(clone, b"x");
        commit_entry(clone, "100644", &object, &[".git", "config"]);
    });
    let rejected = import(&fixture, &mirror, 0, &hidden).await.unwrap_err();
    assert!(matches!(rejected, ImportError::Rejected { .. }), "{rejected}");
    let secret = other_task(&fixture, "secret", |clone| drop(commit_file(clone, "a", "SECRET\n")));
    let imported = import(&fixture, &mirror, 0, &secret).await.unwrap();
    assert_eq!(imported.severity(), Some(Severity::Block));
    let mut damaged = other_task(&fixture, "damaged", |clone| drop(commit_file(clone, "a", "1")));
    let content = fs::read(&damaged.bundle).unwrap();
    fs::write(&damaged.bundle, &content[..content.len() - 5]).unwrap();
    assert!(import(&fixture, &mirror, 0, &damaged).await.is_err());
    // A commit that no bundle brought.
    damaged.source.head = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    let request = request(&fixture, &[&damaged], ConflictMode::Fail);
    let missing = fixture.broker.create_checkout(&mirror, &request).await.unwrap_err();
    assert!(matches!(missing, CheckoutError::UnknownRevision { .. }), "{missing}");
    // Attributes that choose a program to merge with choose nothing.
    let merged = |name: &str, line: &str| {
        let text = format!("{line}\n");
        let attributes = "* merge=canary filter=canary\n";
        other_task(&fixture, name, move |clone| {
            fs::write(clone.join(".gitattributes"), attributes).unwrap();
            fs::write(clone.join("text"), text).unwrap();
            commit_all(clone, "change");
        })
    };
    let (one, two) = (merged("m-one", "1"), merged("m-two", "2"));
    let conflict = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap_err();
    assert!(matches!(conflict, CheckoutError::MergeConflict { .. }), "{conflict}");
    fixture.assert_no_canary();
}

#[tokio::test]
async fn commits_of_another_repository_are_no_source() {
    let (fixture, other) = (Fixture::new().await, Fixture::new().await);
    other.commit_file("other", "base\n");
    let foreign = other_task(&other, "foreign", |clone| drop(commit_file(clone, "a", "1\n")));
    let mirror = fixture.mirror().await;

    let rejected = import(&fixture, &mirror, 0, &foreign).await.unwrap_err();
    assert!(matches!(rejected, ImportError::UnknownBase(_)), "{rejected}");

    // History that begins anew, in the same repository.
    let unrelated = other_task(&fixture, "unrelated", |clone| {
        git(clone, &["checkout", "-q", "--orphan", "new"]);
        commit_file(clone, "a", "1\n");
        git(clone, &["branch", "-q", "-f", "cynode/unrelated", "HEAD"]);
    });
    let failed = build_on(&fixture, &[&unrelated], ConflictMode::Mark).await.unwrap_err();
    assert!(matches!(failed, CheckoutError::NoCommonHistory { .. }), "{failed}");
    assert!(!fixture.workspace().exists());
}

#[tokio::test]
async fn a_merge_without_the_history_that_it_needs_says_so() {
    let fixture = Fixture::new().await;
    let early = other_task(&fixture, "early", |clone| drop(commit_file(clone, "a", "1\n")));
    git(&fixture.source(), &["branch", "-q", "old"]);
    fixture.commit_file("later", "2\n");
    let depth = HistoryDepth::Commits(NonZeroU32::MIN);
    // The mirror has both commits, and not that one follows the other.
    let mirror = fixture.broker.update_mirror(&fixture.url(), None, depth).await.unwrap();
    import(&fixture, &mirror, 0, &early).await.unwrap();
    let request = request(&fixture, &[&early], ConflictMode::Fail);

    let failed = fixture.broker.create_checkout(&mirror, &request).await.unwrap_err();
    assert!(matches!(failed, CheckoutError::MissingHistory { .. }), "{failed}");

    let mirror = fixture.mirror().await;
    fixture.broker.create_checkout(&mirror, &request).await.unwrap();
    assert_eq!(read(&fixture, "a"), "1\n");
}

#[tokio::test]
async fn a_merge_that_is_killed_at_any_command_is_repeated() {
    for pattern in ["merge-base", "merge-tree", "commit-tree", "pack-objects", "update-ref"] {
        let fixture = Fixture::new().await;
        let one = other_task(&fixture, "one", |clone| drop(commit_file(clone, "a", "1\n")));
        let two = other_task(&fixture, "two", |clone| drop(commit_file(clone, "b", "2\n")));
        let mirror = fixture.mirror().await;
        for (index, other) in [&one, &two].into_iter().enumerate() {
            import(&fixture, &mirror, index, other).await.unwrap();
        }
        let request = request(&fixture, &[&one, &two], ConflictMode::Fail);
        let broker = trapped_broker(&fixture, pattern, "kill -9 $$").await;
        broker.create_checkout(&mirror, &request).await.unwrap_err();
        assert!(!fixture.workspace().exists(), "{pattern}");

        let checkout = broker.create_checkout(&mirror, &request).await.unwrap();

        assert_eq!(Some(head_of(&fixture.workspace())), checkout.start_commit, "{pattern}");
        assert_eq!(fs::read_dir(fixture.path("state/imports")).unwrap().count(), 0);
        git(mirror.path(), &["fsck", "--strict"]);
    }
}
