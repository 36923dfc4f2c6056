//! Remote repositories on this machine that try to execute programs in the broker.

use std::fs;

use cynode_git::{ForceMode, HistoryDepth, PushRequest};

use crate::attacks::{ATTRIBUTES, Attack, attack_tests};
use crate::fixture::{Fixture, branch, commit_file, git};

/// Every operation on a hostile remote succeeds, and nothing of it is executed.
async fn check_remote(attack: Attack) {
    let fixture = Fixture::new().await;
    fixture.commit_file(".gitattributes", ATTRIBUTES);
    fixture.commit_file("x.evil", "x\n");
    attack(&fixture, &fixture.source());

    let (mirror, collected) =
        fixture.run_job(|workspace| drop(commit_file(workspace, "y.evil", "y\n"))).await;
    fixture.assert_no_canary();
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
    fixture.mirror().await;

    fixture.assert_no_canary();
    assert!(fs::read_to_string(fixture.path("patch")).unwrap().contains("+y\n"));
}

attack_tests!(check_remote);

#[tokio::test]
async fn a_push_does_not_update_the_work_tree_of_a_hostile_remote() {
    let fixture = Fixture::new().await;
    fixture.commit_file(".gitattributes", ATTRIBUTES);
    crate::attacks::filters(&fixture, &fixture.source());
    git(&fixture.source(), &["config", "receive.denyCurrentBranch", "updateInstead"]);
    let (mirror, collected) =
        fixture.run_job(|workspace| drop(commit_file(workspace, "y.evil", "y\n"))).await;
    let request = PushRequest {
        url: fixture.url(),
        head: collected.head,
        branch: branch("main"),
        expected_old: Some(collected.base),
        force: ForceMode::Never,
    };

    fixture.broker.push(&mirror, &request, None).await.unwrap_err();

    fixture.assert_no_canary();
    assert!(!fixture.source().join("y.evil").exists());
}

#[tokio::test]
async fn a_missing_object_of_a_partial_clone_is_not_fetched_by_its_configuration() {
    let fixture = Fixture::new().await;
    fixture.commit_file("x", "content that vanishes\n");
    let blob = git(&fixture.source(), &["rev-parse", "HEAD:x"]);
    let file = format!(".git/objects/{}/{}", &blob[..2], &blob[2..]);
    fs::remove_file(fixture.source().join(file)).unwrap();
    git(&fixture.source(), &["config", "core.repositoryFormatVersion", "1"]);
    git(&fixture.source(), &["config", "extensions.partialClone", "evil"]);
    crate::attacks::promisor(&fixture, &fixture.source());

    let url = fixture.url();
    fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    fixture.assert_no_canary();
}

#[tokio::test]
async fn hostile_submodules_are_rejected_or_listed_and_never_fetched() {
    let cases = [
        ("sub", "ext::sh -c @", ""),
        ("sub", "--upload-pack=@", ""),
        ("sub", "https://example.com/x", "\tupdate = !@\n"),
        ("../../escape", "https://example.com/x", ""),
        (".git/modules/x", "https://example.com/x", ""),
        ("-sub", "https://example.com/x", ""),
    ];
    for (path, url, more) in cases {
        let fixture = Fixture::new().await;
        let text = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n{more}");
        let text = text.replace('@', &fixture.canary_command());
        fixture.commit_file(".gitmodules", &text);
        let entry = "160000,2222222222222222222222222222222222222222,sub";
        git(&fixture.source(), &["update-index", "--add", "--cacheinfo", entry]);
        git(&fixture.source(), &["commit", "-q", "-m", "submodule"]);

        let address = fixture.url();
        match fixture.broker.update_mirror(&address, None, HistoryDepth::Full).await {
            Err(error) => assert!(error.to_string().contains("gitmodules"), "{error}"),
            Ok(mirror) => {
                let checkout = fixture.checkout(&mirror).await;
                assert_eq!(checkout.submodules.len(), 1, "{text}");
                assert_eq!(checkout.submodules[0].path, "sub");
                let entries = fs::read_dir(fixture.workspace().join("sub")).unwrap();
                assert_eq!(entries.count(), 0);
            }
        }

        fixture.assert_no_canary();
        assert!(!fixture.directory.path().parent().unwrap().join("escape").exists());
    }
}

#[tokio::test]
async fn a_broker_inside_a_hostile_repository_does_not_read_its_configuration() {
    let fixture = Fixture::new().await;
    // The directory above the state directory is a repository.
    git(fixture.directory.path(), &["init", "-q"]);
    crate::attacks::url_rewrite(&fixture, fixture.directory.path());
    crate::attacks::fsmonitor(&fixture, fixture.directory.path());

    let mirror = fixture.mirror().await;
    fixture.checkout(&mirror).await;

    fixture.assert_no_canary();
}
