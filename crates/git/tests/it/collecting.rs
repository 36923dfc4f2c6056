//! Commits of ordinary jobs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cynode_git::{ChangeKind, CollectResult, CollectStatus, Severity, TaskKey};

use crate::fixture::{Fixture, branch, commit_file, git, git_output};

#[tokio::test]
async fn committed_and_uncommitted_work_is_collected() {
    let fixture = Fixture::new().await;
    fixture.commit_file("old", "old\n");
    fixture.commit_file(".gitignore", "target\n");

    let (mirror, collected) = fixture
        .run_job(|workspace| {
            commit_file(workspace, "src/a.rs", "one\ntwo\n");
            fs::write(workspace.join("README.md"), "changed\n").unwrap();
            fs::remove_file(workspace.join("old")).unwrap();
            fs::create_dir(workspace.join("target")).unwrap();
            fs::write(workspace.join("target/out"), "built").unwrap();
            fs::write(workspace.join("blob"), [0, 1, 2, 0]).unwrap();
        })
        .await;

    let subjects: Vec<&str> = collected.commits.iter().map(|c| c.subject.as_str()).collect();
    assert_eq!(subjects, ["src/a.rs", "Uncommitted changes of the job"]);
    assert_eq!(collected.commits[1].author, "CyNode <agent@cynode.invalid>");
    assert_eq!(collected.commits[1].parents, [collected.commits[0].commit.clone()]);
    let files: Vec<_> = collected
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.status, file.added, file.deleted))
        .collect();
    assert_eq!(
        files,
        [
            ("README.md", ChangeKind::Modified, Some(1), Some(1)),
            ("blob", ChangeKind::Added, None, None),
            ("old", ChangeKind::Deleted, Some(0), Some(1)),
            ("src/a.rs", ChangeKind::Added, Some(2), Some(0)),
        ]
    );
    assert_eq!((collected.findings.as_slice(), collected.severity()), (&[][..], None));
    let stored = git(mirror.path(), &["rev-parse", "refs/cynode/task-1/head"]);
    assert_eq!(stored, collected.head.as_str());

    let other: TaskKey = "task-2".parse().unwrap();
    fixture.broker.remove_refs(&mirror, &other).await.unwrap();
    assert_eq!(git(mirror.path(), &["for-each-ref", "refs/cynode"]).lines().count(), 2);
    fixture.broker.remove_refs(&mirror, &crate::fixture::task()).await.unwrap();
    assert_eq!(git(mirror.path(), &["for-each-ref", "refs/cynode"]), "");
}

#[tokio::test]
async fn a_job_that_changes_nothing_gives_no_bundle() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let checkout = fixture.checkout(&mirror).await;

    let status = fixture.collect(&checkout.base_commit);

    let status = CollectStatus::parse(status.as_bytes()).unwrap();
    assert_eq!(status.result, CollectResult::Unchanged);
    assert_eq!(status.head, Some(checkout.base_commit));
    assert_eq!(status.job_ref.as_deref(), Some("refs/heads/cynode/task-1"));
    assert!(!fixture.bundle().exists() && !fixture.path("output/scratch.git").exists());
}

#[tokio::test]
async fn work_on_another_branch_or_a_detached_head_is_collected() {
    for switch in [&["checkout", "-q", "-b", "fix"][..], &["checkout", "-q", "--detach"]] {
        let fixture = Fixture::new().await;
        let (_, collected) = fixture
            .run_job(|workspace| {
                git(workspace, switch);
                commit_file(workspace, "a", "1");
                fs::write(workspace.join("b"), "2").unwrap();
            })
            .await;

        assert_eq!(collected.commits.len(), 2);
    }
}

#[tokio::test]
async fn importing_twice_gives_the_same_and_a_newer_bundle_replaces_the_refs() {
    let fixture = Fixture::new().await;
    let (mirror, first) = fixture.run_job(|workspace| drop(commit_file(workspace, "a", "1"))).await;

    let again = fixture.import(&mirror, &first.base).await.unwrap();
    assert_eq!(again, first);

    commit_file(&fixture.workspace(), "b", "2");
    fixture.collect(&first.base);
    let second = fixture.import(&mirror, &first.base).await.unwrap();
    assert_eq!(second.commits.len(), 2);
    git(mirror.path(), &["fsck", "--strict"]);
    assert_eq!(fs::read_dir(fixture.path("state/imports")).unwrap().count(), 0);
}

#[tokio::test]
async fn patch_and_bundle_of_the_mirror_can_be_applied_elsewhere() {
    let fixture = Fixture::new().await;
    let (mirror, collected) = fixture
        .run_job(|workspace| {
            fs::write(workspace.join("binary"), (0..=255).collect::<Vec<u8>>()).unwrap();
            fs::write(workspace.join("new\nline"), "x\n").unwrap();
            fs::write(workspace.join(".gitattributes"), "* binary\n* diff=evil\n").unwrap();
        })
        .await;
    let (base, head) = (&collected.base, &collected.head);
    let (patch, bundle) = (fixture.path("out.patch"), fixture.path("out.bundle"));

    let size = fixture.broker.write_patch(&mirror, base, head, &patch).await.unwrap();
    let name = branch("cynode/task-1");
    fixture.broker.write_bundle(&mirror, base, head, &name, &bundle).await.unwrap();

    assert_eq!(fs::metadata(&patch).unwrap().len(), size);
    assert_eq!(fs::metadata(&patch).unwrap().permissions().mode() & 0o777, 0o600);
    let source = fixture.source();
    git(&source, &["bundle", "verify", bundle.to_str().unwrap()]);
    git(&source, &["fetch", "-q", bundle.to_str().unwrap(), "cynode/task-1:collected"]);
    assert_eq!(git(&source, &["rev-parse", "collected"]), head.as_str());
    git(&source, &["apply", "--index", patch.to_str().unwrap()]);
    let tree = git(&source, &["write-tree"]);
    assert_eq!(tree, git(&source, &["rev-parse", "collected^{tree}"]));
}

#[tokio::test]
async fn an_export_beyond_the_limit_leaves_no_file() {
    let fixture = Fixture::with_options(|options| options.limits.export_bytes = 500).await;
    let (mirror, collected) = fixture
        .run_job(|workspace| fs::write(workspace.join("a"), "x\n".repeat(1000)).unwrap())
        .await;
    let patch = fixture.path("exports/out.patch");
    fs::create_dir(fixture.path("exports")).unwrap();

    let (base, head) = (&collected.base, &collected.head);
    let error = fixture.broker.write_patch(&mirror, base, head, &patch).await.unwrap_err();

    assert!(error.to_string().contains("limit of 500"), "{error}");
    assert_eq!(fs::read_dir(fixture.path("exports")).unwrap().count(), 0);
}

#[tokio::test]
async fn rewritten_history_of_a_job_is_collected_and_reported() {
    let fixture = Fixture::new().await;
    fixture.commit_file("a", "1");
    let (_, collected) = fixture
        .run_job(|workspace: &Path| {
            git(workspace, &["checkout", "-q", "--orphan", "fresh"]);
            git(workspace, &["commit", "-q", "-m", "all new"]);
            assert!(git_output(workspace, &["rev-parse", "HEAD^"]).status.code() != Some(0));
        })
        .await;

    let rules: Vec<String> =
        collected.findings.iter().map(|finding| format!("{:?}", finding.rule)).collect();
    assert_eq!(rules, ["NotDescendant"]);
    assert_eq!(collected.severity(), Some(Severity::Review));
}

#[tokio::test]
async fn merges_of_a_job_are_inspected_on_both_sides() {
    let fixture = Fixture::new().await;
    let (_, collected) = fixture
        .run_job(|workspace| {
            git(workspace, &["checkout", "-q", "-b", "side"]);
            commit_file(workspace, "side", "SECRET\n");
            git(workspace, &["rm", "-q", "side"]);
            git(workspace, &["commit", "-q", "-m", "remove"]);
            git(workspace, &["checkout", "-q", "cynode/task-1"]);
            commit_file(workspace, "main", "1\n");
            git(workspace, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
            assert_eq!(git(workspace, &["rev-list", "--count", "HEAD"]), "5");
        })
        .await;

    assert_eq!(collected.commits.len(), 4);
    assert_eq!(collected.findings[0].path.as_deref(), Some("side"));
    assert_eq!(collected.findings[0].message, "line 1 looks like a secret");
}
