//! Checkouts that build on the commits of other tasks.

use std::fs;
use std::path::{Path, PathBuf};

use cynode_git::{
    BaseRevision, Checkout, CheckoutError, CheckoutRequest, CollectedCommits, CommitId,
    ConflictMode, ImportError, ImportPolicy, ImportRequest, ImportTarget, MergeSource, Mirror,
    PolicyRule, Severity,
};

use crate::fixture::{Fixture, branch, commit_all, commit_file, git, git_output, head_of, task};

/// The commits of another task, as a bundle.
pub(crate) struct OtherTask {
    pub(crate) base: CommitId,
    pub(crate) source: MergeSource,
    pub(crate) bundle: PathBuf,
}

/// Runs `work` in a clone of the source repository, on a branch, and bundles what it committed.
pub(crate) fn other_task(fixture: &Fixture, name: &str, work: impl FnOnce(&Path)) -> OtherTask {
    let clone = fixture.path(name);
    let source = fixture.source();
    git(fixture.directory.path(), &["clone", "-q", source.to_str().unwrap(), name]);
    let branch = branch(&format!("cynode/{name}"));
    let base = head_of(&clone);
    git(&clone, &["checkout", "-q", "-b", branch.as_str()]);
    work(&clone);
    let bundle = fixture.path(&format!("{name}.bundle"));
    let exclude = format!("^{base}");
    let created = ["bundle", "create", "-q", bundle.to_str().unwrap(), branch.as_str(), &exclude];
    git(&clone, &created);
    OtherTask { base, source: MergeSource { head: head_of(&clone), branch }, bundle }
}

pub(crate) async fn import(
    fixture: &Fixture,
    mirror: &Mirror,
    index: usize,
    other: &OtherTask,
) -> Result<CollectedCommits, ImportError> {
    let task = task();
    let request = ImportRequest {
        bundle: &other.bundle,
        task: &task,
        base: &other.base,
        target: ImportTarget::Source(index),
        branch: &other.source.branch,
    };
    let is_secret = |line: &str| line.contains("SECRET");
    fixture.broker.import_bundle(mirror, request, &ImportPolicy::default(), &is_secret).await
}

/// Imports the commits of the tasks, and checks out a task that builds on them.
pub(crate) async fn build_on(
    fixture: &Fixture,
    others: &[&OtherTask],
    conflicts: ConflictMode,
) -> Result<Checkout, CheckoutError> {
    let mirror = fixture.mirror().await;
    for (index, other) in others.iter().enumerate() {
        import(fixture, &mirror, index, other).await.unwrap();
    }
    let request = request(fixture, others, conflicts);
    fixture.broker.create_checkout(&mirror, &request).await
}

pub(crate) fn request(
    fixture: &Fixture,
    others: &[&OtherTask],
    conflicts: ConflictMode,
) -> CheckoutRequest {
    let sources = others.iter().map(|other| other.source.clone()).collect();
    CheckoutRequest { sources, conflicts, ..fixture.checkout_request() }
}

pub(crate) fn read(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.workspace().join(path)).unwrap()
}

fn subjects(fixture: &Fixture) -> String {
    git(&fixture.workspace(), &["log", "--topo-order", "--format=%s"])
}

#[tokio::test]
async fn one_task_is_continued_without_a_merge() {
    let fixture = Fixture::new().await;
    let one = other_task(&fixture, "one", |clone| drop(commit_file(clone, "a", "1\n")));
    // Built on the first one: it contains it.
    let two = other_task(&fixture, "two", |clone| {
        git(clone, &["pull", "-q", "../one", "cynode/one"]);
        commit_file(clone, "b", "2\n");
    });

    let checkout = build_on(&fixture, &[&one, &two, &one], ConflictMode::Fail).await.unwrap();

    assert_eq!(checkout.base_commit, one.base);
    assert_eq!(checkout.start_commit.as_ref(), Some(&two.source.head));
    assert_eq!(head_of(&fixture.workspace()), two.source.head);
    assert_eq!((read(&fixture, "a"), read(&fixture, "b")), ("1\n".into(), "2\n".into()));
    assert_eq!(git(&fixture.workspace(), &["symbolic-ref", "HEAD"]), "refs/heads/cynode/task-1");
}

#[tokio::test]
async fn tasks_that_change_other_files_are_merged_and_a_renamed_file_keeps_its_changes() {
    let fixture = Fixture::new().await;
    fixture.commit_file("long.txt", &"line\n".repeat(50));
    let one = other_task(&fixture, "one", |clone| {
        git(clone, &["mv", "long.txt", "renamed.txt"]);
        commit_all(clone, "rename");
    });
    let two = other_task(&fixture, "two", |clone| {
        let changed = format!("first\n{}", "line\n".repeat(50));
        commit_file(clone, "long.txt", &changed);
    });
    // The branch moved on since the tasks started.
    let base = fixture.commit_file("later", "3\n");

    let checkout = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap();

    let start = checkout.start_commit.unwrap();
    assert_eq!((&checkout.base_commit, &head_of(&fixture.workspace())), (&base, &start));
    assert!(read(&fixture, "renamed.txt").starts_with("first\n"));
    assert_eq!(read(&fixture, "later"), "3\n");
    assert!(!fixture.workspace().join("long.txt").exists());
    let subjects = subjects(&fixture);
    let expected = ["Merge cynode/two into main, cynode/one", "Merge cynode/one into main"];
    let merges: Vec<&str> = subjects.lines().filter(|line| line.starts_with("Merge")).collect();
    assert_eq!(merges, expected);
    let people = git(&fixture.workspace(), &["log", "-1", "--format=%an <%ae> %cn <%ce>"]);
    let person = "CyNode <agent@cynode.invalid>";
    assert_eq!(people, format!("{person} {person}"));
    git(&fixture.workspace(), &["fsck", "--strict"]);
}

#[tokio::test]
async fn a_repeated_checkout_starts_from_the_same_commit() {
    let fixture = Fixture::new().await;
    let one = other_task(&fixture, "one", |clone| drop(commit_file(clone, "a", "1\n")));
    let two = other_task(&fixture, "two", |clone| drop(commit_file(clone, "b", "2\n")));
    let first = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap();
    let mirror = fixture.mirror().await;
    // As if the node had lost everything of the task.
    fixture.broker.remove_refs(&mirror, &task()).await.unwrap();
    fixture.broker.forget_checkout(&fixture.workspace()).await.unwrap();
    fs::remove_dir_all(fixture.workspace()).unwrap();
    fs::remove_dir_all(mirror.path()).unwrap();

    let second = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap();
    let third = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap();

    assert_eq!(second, first);
    assert_eq!(third, first);
}

#[tokio::test]
async fn a_conflict_fails_the_checkout_and_leaves_the_mirror_as_it_was() {
    let fixture = Fixture::new().await;
    let change = |content: &'static str| {
        move |clone: &Path| {
            for number in 0..25 {
                fs::write(clone.join(format!("f{number:02}")), content).unwrap();
            }
            commit_all(clone, content);
        }
    };
    let one = other_task(&fixture, "one", change("1\n"));
    let two = other_task(&fixture, "two", change("2\n"));

    let failed = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap_err();

    let text = failed.to_string();
    let paths: Vec<String> = (0..20).map(|number| format!("f{number:02}")).collect();
    let start = format!(
        "merge conflict: cynode/two conflicts with cynode/one in {} and 5 more: ",
        paths.join(", ")
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(!fixture.workspace().exists());
    let mirror = fixture.mirror().await;
    assert_eq!(git(mirror.path(), &["for-each-ref", "refs/cynode/task-1/start"]), "");
    assert_eq!(git(mirror.path(), &["count-objects"]), "0 objects, 0 kilobytes");
    assert_eq!(fs::read_dir(fixture.path("state/imports")).unwrap().count(), 0);
}

#[tokio::test]
async fn marked_conflicts_are_committed_and_what_has_no_marker_is_in_the_message() {
    let fixture = Fixture::new().await;
    fixture.commit_file("text", "a\nb\nc\n");
    fixture.commit_file("removed", "x\n");
    fixture.commit_file("binary", "\0\u{1}\n");
    let one = other_task(&fixture, "one", |clone| {
        fs::write(clone.join("text"), "a\none\nc\n").unwrap();
        fs::write(clone.join("binary"), "\0one\n").unwrap();
        fs::remove_file(clone.join("removed")).unwrap();
        commit_all(clone, "one");
    });
    let two = other_task(&fixture, "two", |clone| {
        fs::write(clone.join("text"), "a\ntwo\nc\n").unwrap();
        fs::write(clone.join("binary"), "\0two\n").unwrap();
        fs::write(clone.join("removed"), "y\n").unwrap();
        commit_all(clone, "two");
    });

    let checkout = build_on(&fixture, &[&one, &two], ConflictMode::Mark).await.unwrap();

    let text = read(&fixture, "text");
    assert!(text.contains("<<<<<<< ") && text.contains("one\n=======\ntwo\n"), "{text}");
    assert_eq!(read(&fixture, "binary"), "\0one\n");
    let workspace = fixture.workspace();
    let message = git(&workspace, &["log", "-1", "--format=%B"]);
    let expected = "Merge cynode/two into cynode/one\n\nConflicts: binary, removed, text\n";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("Cannot merge binary files: binary (cynode/one vs. cynode/two)"));
    assert!(message.contains("removed deleted in cynode/one and modified in cynode/two"));
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    // Once more, with nothing left of the first time.
    let mirror = fixture.mirror().await;
    fixture.broker.forget_checkout(&workspace).await.unwrap();
    fs::remove_dir_all(&workspace).unwrap();
    fs::remove_dir_all(mirror.path()).unwrap();
    let again = build_on(&fixture, &[&one, &two], ConflictMode::Mark).await.unwrap();
    assert_eq!(again, checkout);
}

#[tokio::test]
async fn the_commits_of_a_task_contain_those_that_it_builds_on() {
    let fixture = Fixture::new().await;
    let one = other_task(&fixture, "one", |clone| drop(commit_file(clone, "a", "1\n")));
    let two = other_task(&fixture, "two", |clone| drop(commit_file(clone, "b", "2\n")));
    let checkout = build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap();
    let start = checkout.start_commit.clone().unwrap();
    commit_file(&fixture.workspace(), "c", "3\n");
    fixture.collect(&checkout.base_commit);
    let mirror = fixture.mirror().await;

    let (bundle, task, branch) = (fixture.bundle(), task(), branch("cynode/task-1"));
    let request = ImportRequest {
        bundle: &bundle,
        task: &task,
        base: &checkout.base_commit,
        target: ImportTarget::Head { start: Some(&start) },
        branch: &branch,
    };
    let policy = ImportPolicy::default();
    let imported = fixture.broker.import_bundle(&mirror, request, &policy, &|_: &str| false);
    let imported = imported.await.unwrap();

    let paths = |files: &[cynode_git::ChangedFile]| {
        files.iter().map(|file| file.path.clone()).collect::<Vec<_>>()
    };
    let own = imported.own.as_ref().unwrap();
    assert_eq!(paths(&imported.files), ["a", "b", "c"]);
    assert_eq!(paths(&own.files), ["c"]);
    assert_eq!((imported.commits.len(), own.commits.len()), (4, 1));
    assert_eq!(imported.severity(), None, "{:?}", imported.findings);
    // A job that leaves out what it builds on needs a review.
    git(&fixture.workspace(), &["reset", "-q", "--hard", checkout.base_commit.as_str()]);
    commit_file(&fixture.workspace(), "c", "4\n");
    fixture.collect(&checkout.base_commit);
    let imported = fixture.broker.import_bundle(&mirror, request, &policy, &|_: &str| false);
    let imported = imported.await.unwrap();
    let rules: Vec<_> =
        imported.findings.iter().map(|found| (found.severity, found.rule)).collect();
    assert_eq!(rules, [(Severity::Review, PolicyRule::NotDescendant)]);
}

#[tokio::test]
async fn refs_of_sources_are_removed_with_those_of_the_task() {
    let fixture = Fixture::new().await;
    let one = other_task(&fixture, "one", |clone| drop(commit_file(clone, "a", "1\n")));
    let two = other_task(&fixture, "two", |clone| drop(commit_file(clone, "b", "2\n")));
    build_on(&fixture, &[&one, &two], ConflictMode::Fail).await.unwrap();
    let mirror = fixture.mirror().await;
    let refs = || git(mirror.path(), &["for-each-ref", "--format=%(refname)", "refs/cynode"]);
    let prefix = "refs/cynode/task-1";
    assert_eq!(
        refs(),
        format!("{prefix}/base\n{prefix}/source/0\n{prefix}/source/1\n{prefix}/start")
    );

    fixture.broker.remove_leftover_refs(&"task-2".parse().unwrap()).await.unwrap();
    assert_ne!(refs(), "");
    fixture.broker.remove_leftover_refs(&task()).await.unwrap();

    assert_eq!(refs(), "");
}

#[tokio::test]
async fn a_task_may_start_from_a_commit_with_sources() {
    let fixture = Fixture::new().await;
    let one = other_task(&fixture, "one", |clone| drop(commit_file(clone, "a", "1\n")));
    let first = head_of(&fixture.source());
    fixture.commit_file("later", "2\n");
    let mirror = fixture.mirror().await;
    import(&fixture, &mirror, 0, &one).await.unwrap();
    let request = CheckoutRequest {
        base: BaseRevision::Commit(first.clone()),
        ..request(&fixture, &[&one], ConflictMode::Fail)
    };

    let checkout = fixture.broker.create_checkout(&mirror, &request).await.unwrap();

    assert_eq!((checkout.base_commit, checkout.start_commit), (first, Some(one.source.head)));
    assert!(
        git_output(&fixture.workspace(), &["cat-file", "-e", "HEAD:later"]).status.code()
            != Some(0)
    );
}
