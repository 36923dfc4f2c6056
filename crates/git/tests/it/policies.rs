//! What the policy finds in collected commits.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cynode_git::{CollectedCommits, ImportPolicy, PolicyRule, Severity};

use crate::fixture::{Fixture, commit_all, commit_file, git};

/// Severity, rule and path of each finding.
fn findings(collected: &CollectedCommits) -> Vec<(Severity, PolicyRule, &str)> {
    let found = collected.findings.iter();
    found.map(|f| (f.severity, f.rule, f.path.as_deref().unwrap_or_default())).collect()
}

#[tokio::test]
async fn protected_paths_links_submodules_and_names_need_a_review() {
    let fixture = Fixture::new().await;
    fixture.commit_file("Jenkinsfile", "old");
    let commit = "2222222222222222222222222222222222222222";

    let (_, collected) = fixture
        .run_job(|workspace| {
            for path in [".github/workflows/ci.yml", ".gitlab-ci.yml", ".gitea/x", "ci/JENKINSFILE"]
            {
                commit_file(workspace, path, "x");
            }
            fs::remove_file(workspace.join("Jenkinsfile")).unwrap();
            symlink("/etc/passwd", workspace.join("absolute")).unwrap();
            symlink("../../x", workspace.join("relative")).unwrap();
            symlink("README.md", workspace.join("inside")).unwrap();
            fs::write(workspace.join("readme.md"), "x").unwrap();
            fs::write(workspace.join("new\nline"), "x").unwrap();
            let modules = "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.com/lib\n";
            fs::write(workspace.join(".gitmodules"), modules).unwrap();
            git(workspace, &["add", "-A"]);
            let entry = format!("160000,{commit},lib");
            git(workspace, &["update-index", "--add", "--cacheinfo", &entry]);
            git(workspace, &["commit", "-q", "-m", "all"]);
            fs::create_dir(workspace.join("lib")).unwrap();
        })
        .await;

    let review = Severity::Review;
    let mut found = findings(&collected);
    found.sort();
    assert_eq!(
        found,
        [
            (review, PolicyRule::ControlCharacter, "\"new\\nline\""),
            (review, PolicyRule::CaseCollision, "README.md"),
            (review, PolicyRule::ProtectedPath, ".gitea/x"),
            (review, PolicyRule::ProtectedPath, ".github/workflows/ci.yml"),
            (review, PolicyRule::ProtectedPath, ".gitlab-ci.yml"),
            (review, PolicyRule::ProtectedPath, "Jenkinsfile"),
            (review, PolicyRule::ProtectedPath, "ci/JENKINSFILE"),
            (review, PolicyRule::LinkOutside, "absolute"),
            (review, PolicyRule::LinkOutside, "relative"),
            (review, PolicyRule::SubmoduleChanged, ".gitmodules"),
            (review, PolicyRule::SubmoduleChanged, "lib"),
            (review, PolicyRule::SubmoduleChanged, "lib"),
        ]
    );
}

#[tokio::test]
async fn secrets_are_found_in_every_commit_and_never_shown() {
    let fixture = Fixture::new().await;
    fixture.commit_file("old", "an old SECRET line\n");
    let hide = |workspace: &Path| {
        // Attributes must not hide content from the search.
        fs::write(workspace.join(".gitattributes"), "* binary\n*.env -diff\n").unwrap();
        commit_file(workspace, "a.env", "x\nKEY=SECRET-1\n");
        commit_file(workspace, "a.env", "x\n");
        commit_file(workspace, "++ b/odd", "++ SECRET-2\n");
        fs::write(workspace.join("nul"), b"\0\0\nSECRET-3\n").unwrap();
        fs::write(workspace.join("long"), "y".repeat(70_000) + "SECRET-4").unwrap();
        fs::write(workspace.join("old"), "an old SECRET line\nmore\n").unwrap();
    };

    let (_, collected) = fixture.run_job(hide).await;

    let block = Severity::Block;
    let mut found = findings(&collected);
    found.sort();
    assert_eq!(
        found,
        [
            (block, PolicyRule::Secret, "++ b/odd"),
            (block, PolicyRule::Secret, "a.env"),
            (block, PolicyRule::Secret, "long"),
            (block, PolicyRule::Secret, "nul"),
        ]
    );
    assert!(collected.findings.iter().all(|finding| !finding.message.contains("SECRET")));
}

#[tokio::test]
async fn commits_files_and_content_beyond_the_limits_are_blocked() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let checkout = fixture.checkout(&mirror).await;
    let workspace = fixture.workspace();
    for number in 0..3 {
        commit_file(&workspace, &format!("f{number}"), &"x".repeat(2000));
    }
    commit_file(&workspace, "big", &"y".repeat(5000));
    git(&workspace, &["rm", "-q", "big"]);
    commit_all(&workspace, "remove it");
    fixture.collect(&checkout.base_commit);
    let policy = ImportPolicy {
        max_commits: 4,
        max_blob_bytes: 4000,
        max_total_bytes: 6000,
        ..ImportPolicy::default()
    };

    let collected = fixture.import_with(&mirror, &checkout.base_commit, &policy).await.unwrap();

    assert_eq!(collected.commits.len(), 4);
    let rules: Vec<PolicyRule> = collected.findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(
        rules,
        [
            PolicyRule::TooManyCommits,
            PolicyRule::LargeFile,
            PolicyRule::LargeTotal,
            PolicyRule::NotInspected,
        ]
    );
    assert_eq!(collected.findings[1].path.as_deref(), Some("big"));

    let policy = ImportPolicy { max_changed_paths: 2, ..ImportPolicy::default() };
    let collected = fixture.import_with(&mirror, &checkout.base_commit, &policy).await.unwrap();
    assert_eq!(findings(&collected), [(Severity::Block, PolicyRule::TooManyPaths, "")]);
}

#[tokio::test]
async fn submodules_that_run_programs_are_blocked_or_rejected() {
    for url in ["ext::sh -c evil", "--upload-pack=evil", "fd::7"] {
        let fixture = Fixture::new().await;
        let mirror = fixture.mirror().await;
        let checkout = fixture.checkout(&mirror).await;
        let modules = format!("[submodule \"x\"]\n\tpath = x\n\turl = {url}\n");
        commit_file(&fixture.workspace(), ".gitmodules", &modules);
        fixture.collect(&checkout.base_commit);

        match fixture.import(&mirror, &checkout.base_commit).await {
            // `git fsck` knows some of them.
            Err(error) => assert!(error.to_string().contains("gitmodulesUrl"), "{error}"),
            Ok(collected) => assert_eq!(collected.severity(), Some(Severity::Block), "{url}"),
        }
    }
}

#[tokio::test]
async fn a_finding_that_blocks_is_not_lost_among_many_others() {
    let fixture = Fixture::new().await;

    let (_, collected) = fixture
        .run_job(|workspace| {
            let workflows = workspace.join(".github/workflows");
            fs::create_dir_all(&workflows).unwrap();
            for number in 0..600 {
                fs::write(workflows.join(format!("{number}.yml")), "x").unwrap();
            }
            fs::write(workspace.join("zz.txt"), "a SECRET\n").unwrap();
        })
        .await;

    let found = findings(&collected);
    assert_eq!(found[0], (Severity::Block, PolicyRule::Secret, "zz.txt"));
    assert_eq!(found.len(), 500);
}

#[tokio::test]
async fn secrets_are_found_in_messages_people_and_paths() {
    for (author, message, path) in [
        ("Ada <ada@example.com>", "use SECRET", "a.txt"),
        ("SECRET <ada@example.com>", "add it", "a.txt"),
        ("Ada <ada@example.com>", "add it", "SECRET.txt"),
    ] {
        let fixture = Fixture::new().await;

        let (_, collected) = fixture
            .run_job(|workspace| {
                fs::write(workspace.join(path), "x").unwrap();
                git(workspace, &["add", "-A"]);
                git(workspace, &["commit", "-q", "--author", author, "-m", message]);
            })
            .await;

        let found = findings(&collected);
        assert_eq!(found.len(), 1, "{author} {message} {path}: {found:?}");
        assert_eq!((found[0].0, found[0].1), (Severity::Block, PolicyRule::Secret));
    }
}
