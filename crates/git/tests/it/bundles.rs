//! Bundles that are not what they should be.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;

use cynode_git::{BundleError, CommitId, ImportError, ImportPolicy, Mirror};

use crate::fixture::{Fixture, commit_entry, commit_file, git, store_blob};

/// A checkout with one commit of the job, collected.
async fn collected(fixture: &Fixture) -> (Mirror, CommitId) {
    let mirror = fixture.mirror().await;
    let checkout = fixture.checkout(&mirror).await;
    commit_file(&fixture.workspace(), "a", "1");
    fixture.collect(&checkout.base_commit);
    (mirror, checkout.base_commit)
}

/// Asserts that the mirror has no object and no ref of the rejected bundle.
fn assert_unchanged(fixture: &Fixture, mirror: &Mirror) {
    assert_eq!(git(mirror.path(), &["for-each-ref", "refs/cynode/task-1/head"]), "");
    let packs = fs::read_dir(mirror.path().join("objects/pack")).unwrap();
    let packs = packs.flatten().filter(|entry| entry.path().extension().unwrap() == "pack");
    assert_eq!(packs.count(), 1);
    assert_eq!(fs::read_dir(fixture.path("state/imports")).unwrap().count(), 0);
}

#[tokio::test]
async fn files_that_are_not_bundles_are_rejected() {
    let fixture = Fixture::new().await;
    let (mirror, base) = collected(&fixture).await;
    let whole = fs::read(fixture.bundle()).unwrap();
    let header_end = whole.windows(2).position(|pair| pair == b"\n\n").unwrap() + 2;
    let mut flipped = whole.clone();
    let middle = header_end + (flipped.len() - header_end) / 2;
    flipped[middle] ^= 0xff;
    let contents: [(&str, Vec<u8>); 8] = [
        ("empty", vec![]),
        ("text", b"#!/bin/sh\ntouch canary\n".to_vec()),
        ("signature only", b"# v2 git bundle\n".to_vec()),
        ("header only", whole[..header_end].to_vec()),
        ("truncated", whole[..whole.len() - 10].to_vec()),
        ("flipped", flipped),
        ("filter", b"# v3 git bundle\n@filter=blob:none\n\n".to_vec()),
        ("endless header", [b"# v2 git bundle\n".to_vec(), vec![b'-'; 100_000]].concat()),
    ];
    for (name, content) in contents {
        fs::write(fixture.bundle(), content).unwrap();

        let rejected = fixture.import(&mirror, &base).await.unwrap_err();

        let is_expected = matches!(
            rejected,
            ImportError::Bundle(BundleError::Malformed(_)) | ImportError::Rejected { .. }
        );
        assert!(is_expected, "{name}: {rejected}");
        assert_unchanged(&fixture, &mirror);
    }
}

#[tokio::test]
async fn links_pipes_and_directories_are_not_opened() {
    let fixture = Fixture::new().await;
    let (mirror, base) = collected(&fixture).await;
    let real = fixture.path("real.bundle");
    fs::rename(fixture.bundle(), &real).unwrap();

    symlink(&real, fixture.bundle()).unwrap();
    let link = fixture.import(&mirror, &base).await.unwrap_err();
    assert!(matches!(link, ImportError::Bundle(BundleError::Unreadable { .. })), "{link}");

    fs::remove_file(fixture.bundle()).unwrap();
    nix::unistd::mkfifo(&fixture.bundle(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let pipe = fixture.import(&mirror, &base).await.unwrap_err();
    assert!(matches!(pipe, ImportError::Bundle(BundleError::Malformed(_))), "{pipe}");

    fs::remove_file(fixture.bundle()).unwrap();
    fs::create_dir(fixture.bundle()).unwrap();
    assert!(fixture.import(&mirror, &base).await.is_err());
    assert_unchanged(&fixture, &mirror);
}

#[tokio::test]
async fn a_huge_bundle_is_rejected_before_it_is_read() {
    let fixture = Fixture::new().await;
    let (mirror, base) = collected(&fixture).await;
    let file = fs::OpenOptions::new().write(true).open(fixture.bundle()).unwrap();
    file.set_len(1 << 40).unwrap();

    let rejected = fixture.import(&mirror, &base).await.unwrap_err();

    assert!(matches!(rejected, ImportError::Bundle(BundleError::TooLarge { .. })), "{rejected}");
    assert_unchanged(&fixture, &mirror);
}

#[tokio::test]
async fn bundles_with_other_refs_are_rejected() {
    let fixture = Fixture::new().await;
    let (mirror, base) = collected(&fixture).await;
    let workspace = fixture.workspace();
    let bundle = fixture.bundle();
    let bundle = bundle.to_str().unwrap();
    git(&workspace, &["tag", "v9"]);
    git(
        &workspace,
        &["update-ref", "refs/replace/1111111111111111111111111111111111111111", "HEAD"],
    );
    for refs in [
        &["cynode/task-1", "v9"][..],
        &["refs/replace/1111111111111111111111111111111111111111"],
        &["v9"],
        &["HEAD"],
    ] {
        let range = format!("^{base}");
        let mut arguments = vec!["bundle", "create", "-q", bundle];
        arguments.extend(refs);
        arguments.push(&range);
        git(&workspace, &arguments);

        let rejected = fixture.import(&mirror, &base).await.unwrap_err();

        assert!(
            matches!(rejected, ImportError::Bundle(BundleError::OtherRefs { .. })),
            "{rejected}"
        );
    }
    assert_unchanged(&fixture, &mirror);
}

#[tokio::test]
async fn hostile_objects_are_rejected_before_they_reach_the_mirror() {
    for (path, mode) in [
        (&[".git", "config"][..], "100644"),
        (&["sub", ".GIT", "hooks", "x"], "100755"),
        (&["git~1"], "100644"),
        (&["a", "..", "b"], "100644"),
    ] {
        let fixture = Fixture::new().await;
        let mirror = fixture.mirror().await;
        let checkout = fixture.checkout(&mirror).await;
        let workspace = fixture.workspace();
        let blob = store_blob(&workspace, b"x");
        commit_entry(&workspace, mode, &blob, path);
        fs::create_dir(fixture.path("output")).unwrap();
        let bundle = fixture.bundle();
        let range = format!("^{}", checkout.base_commit);
        git(
            &workspace,
            &["bundle", "create", "-q", bundle.to_str().unwrap(), "cynode/task-1", &range],
        );

        let rejected = fixture.import(&mirror, &checkout.base_commit).await.unwrap_err();

        assert!(matches!(rejected, ImportError::Rejected { .. }), "{path:?}: {rejected}");
        assert_unchanged(&fixture, &mirror);
    }
}

#[tokio::test]
async fn missing_objects_and_unknown_bases_are_rejected() {
    let fixture = Fixture::new().await;
    let (mirror, base) = collected(&fixture).await;
    let unknown: CommitId = "1111111111111111111111111111111111111111".parse().unwrap();
    let rejected = fixture.import(&mirror, &unknown).await.unwrap_err();
    assert!(matches!(rejected, ImportError::UnknownBase(_)), "{rejected}");

    // A commit whose tree is in no pack.
    let workspace = fixture.workspace();
    let blob = "2222222222222222222222222222222222222222";
    let commit = commit_entry(&workspace, "100644", blob, &["ghost"]);
    let tree = git(&workspace, &["rev-parse", &format!("{commit}^{{tree}}")]);
    let shell = format!("printf '%s\\n' {commit} {tree} | git pack-objects -q --stdout");
    let pack =
        std::process::Command::new("/bin/sh").args(["-c", &shell]).current_dir(&workspace).output();
    let mut file = fs::File::create(fixture.bundle()).unwrap();
    write!(file, "# v2 git bundle\n-{base}\n{commit} refs/heads/cynode/task-1\n\n").unwrap();
    file.write_all(&pack.unwrap().stdout).unwrap();
    let rejected = fixture.import(&mirror, &base).await.unwrap_err();
    assert!(matches!(rejected, ImportError::Rejected { .. }), "{rejected}");
    assert_unchanged(&fixture, &mirror);
}

#[tokio::test]
async fn a_pack_beyond_the_limit_is_rejected() {
    let fixture = Fixture::new().await;
    let (mirror, base) = collected(&fixture).await;
    let size = fs::metadata(fixture.bundle()).unwrap().len();
    let policy = ImportPolicy { max_bundle_bytes: size - 1, ..ImportPolicy::default() };

    let rejected = fixture.import_with(&mirror, &base, &policy).await.unwrap_err();

    assert!(matches!(rejected, ImportError::Bundle(BundleError::TooLarge { .. })), "{rejected}");
}
