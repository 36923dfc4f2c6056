//! Jobs that prepare their repository for the next program that runs git on it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use cynode_git::{CollectResult, CollectStatus, ForceMode, PolicyRule, PushRequest};

use crate::attacks::{ATTRIBUTES, Attack, attack_tests};
use crate::fixture::{Fixture, branch, commit_file, git};

/// A job changes its repository; collecting, importing and pushing its commits executes nothing of it.
async fn check_job(attack: Attack) {
    let fixture = Fixture::new().await;
    fixture.commit_file(".gitattributes", ATTRIBUTES);
    fixture.commit_file("x.evil", "x\n");

    let (mirror, collected) = fixture
        .run_job(|workspace| {
            commit_file(workspace, "y.evil", "y\n");
            attack(&fixture, workspace);
            fs::write(workspace.join("x.evil"), "changed\n").unwrap();
        })
        .await;
    let (base, head) = (&collected.base, &collected.head);
    fixture.broker.write_patch(&mirror, base, head, &fixture.path("patch")).await.unwrap();
    let request = PushRequest {
        url: fixture.url(),
        head: head.clone(),
        branch: branch("cynode/task-1"),
        expected_old: None,
        force: ForceMode::Never,
    };
    fixture.broker.push(&mirror, &request, None).await.unwrap();
    fixture.checkout(&mirror).await;

    fixture.assert_no_canary();
    let patch = fs::read_to_string(fixture.path("patch")).unwrap();
    assert!(patch.contains("+changed\n") && patch.contains("+y\n"), "{patch}");
}

attack_tests!(check_job);

#[tokio::test]
async fn a_git_directory_that_leads_elsewhere_is_not_followed() {
    let replacements: [fn(&Fixture, &Path); 5] = [
        |fixture, git_dir| symlink(fixture.source().join(".git"), git_dir).unwrap(),
        |fixture, git_dir| symlink(mirror_path(fixture), git_dir).unwrap(),
        |fixture, git_dir| {
            fs::write(git_dir, format!("gitdir: {}\n", mirror_path(fixture).display())).unwrap();
        },
        |_, git_dir| fs::write(git_dir, "gitdir: /etc\n").unwrap(),
        |_, _| {},
    ];
    for replace in replacements {
        let fixture = Fixture::new().await;
        let mirror = fixture.mirror().await;
        let checkout = fixture.checkout(&mirror).await;
        let refs = || git(mirror.path(), &["for-each-ref"]);
        let before = (refs(), git(&fixture.source(), &["for-each-ref"]));
        let git_dir = fixture.workspace().join(".git");
        fs::remove_dir_all(&git_dir).unwrap();
        replace(&fixture, &git_dir);
        fs::write(fixture.workspace().join("a"), "1").unwrap();

        let status = fixture.collect(&checkout.base_commit);

        let status = CollectStatus::parse(status.as_bytes()).unwrap();
        assert!(matches!(status.result, CollectResult::Failed(_)), "{status:?}");
        assert!(!fixture.bundle().exists());
        assert_eq!((refs(), git(&fixture.source(), &["for-each-ref"])), before);
    }
}

fn mirror_path(fixture: &Fixture) -> std::path::PathBuf {
    fixture.broker.find_mirror(&fixture.url()).unwrap().path().to_owned()
}

#[tokio::test]
async fn replaced_and_grafted_commits_are_collected_as_they_are() {
    for hide in ["replace", "graft"] {
        let fixture = Fixture::new().await;
        let (_, collected) = fixture
            .run_job(|workspace| {
                let bad = commit_file(workspace, "a", "SECRET\n");
                let top = commit_file(workspace, "a", "clean\n");
                let base = git(workspace, &["rev-parse", "HEAD~2"]);
                if hide == "replace" {
                    git(workspace, &["replace", bad.as_str(), &base]);
                } else {
                    let graft = format!("{top} {base}\n");
                    fs::write(workspace.join(".git/info/grafts"), graft).unwrap();
                }
                assert_ne!(git(workspace, &["rev-list", "--count", "HEAD"]), "0");
            })
            .await;

        assert_eq!(collected.commits.len(), 2, "{hide}");
        assert_eq!(collected.findings[0].rule, PolicyRule::Secret, "{hide}");
    }
}

#[tokio::test]
async fn an_index_that_hides_changes_is_not_used() {
    let fixture = Fixture::new().await;
    fixture.commit_file("a", "1\n");
    fixture.commit_file("b", "1\n");
    let (_, collected) = fixture
        .run_job(|workspace| {
            git(workspace, &["update-index", "--assume-unchanged", "a"]);
            git(workspace, &["update-index", "--skip-worktree", "b"]);
            for name in ["a", "b", "hidden"] {
                fs::write(workspace.join(name), "2\n").unwrap();
            }
            fs::write(workspace.join(".git/info/exclude"), "hidden\n").unwrap();
            assert_eq!(git(workspace, &["status", "--porcelain"]), "");
        })
        .await;

    let paths: Vec<&str> = collected.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a", "b", "hidden"]);
}

#[tokio::test]
async fn a_work_tree_elsewhere_and_alternates_outside_are_not_collected() {
    let fixture = Fixture::new().await;
    let elsewhere = fixture.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("private"), "not of the job").unwrap();
    let (mirror, collected) = fixture
        .run_job(|workspace| {
            git(workspace, &["config", "core.worktree", elsewhere.to_str().unwrap()]);
            fs::write(workspace.join("a"), "1\n").unwrap();
            let alternates = workspace.join(".git/objects/info/alternates");
            fs::create_dir_all(alternates.parent().unwrap()).unwrap();
            fs::write(alternates, "/etc\n/nonexistent\n").unwrap();
        })
        .await;

    let paths: Vec<&str> = collected.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a"]);
    assert!(!mirror.path().join("objects/info/alternates").exists());
}

#[tokio::test]
async fn an_embedded_repository_is_reported_as_a_submodule() {
    let fixture = Fixture::new().await;
    let (_, collected) = fixture
        .run_job(|workspace| {
            let inner = workspace.join("inner");
            fs::create_dir(&inner).unwrap();
            git(&inner, &["init", "-q"]);
            commit_file(&inner, "x", "1");
        })
        .await;

    let rules: Vec<PolicyRule> = collected.findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [PolicyRule::SubmoduleChanged]);
}

#[tokio::test]
async fn a_damaged_repository_gives_a_status_and_no_bundle() {
    let pipe = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(path);
        nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    let damages: [&dyn Fn(&Path); 6] = [
        &|git_dir| pipe(&git_dir.join("config")),
        &|git_dir| pipe(&git_dir.join("info/attributes")),
        &|git_dir| pipe(&git_dir.with_file_name(".gitattributes")),
        &|git_dir| fs::remove_dir_all(git_dir.join("objects")).unwrap(),
        &|git_dir| fs::write(git_dir.join("HEAD"), "ref: refs/heads/../../etc/passwd\n").unwrap(),
        &|git_dir| fs::write(git_dir.join("config"), "[core\n").unwrap(),
    ];
    for damage in damages {
        let fixture = Fixture::new().await;
        let mirror = fixture.mirror().await;
        let checkout = fixture.checkout(&mirror).await;
        damage(&fixture.workspace().join(".git"));

        let status = fixture.collect(&checkout.base_commit);

        let status = CollectStatus::parse(status.as_bytes()).unwrap();
        assert_ne!(status.result, CollectResult::Bundled, "{status:?}");
    }
}
