//! Checkouts of ordinary and unusual repositories.

use std::ffi::OsStr;
use std::fs;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use cynode_git::{
    BaseRevision, CheckoutError, CheckoutRequest, GitError, HistoryDepth, LinkCheckout, Owner,
};

use crate::fixture::{Fixture, branch, commit_all, commit_entry, git, store_blob};

#[tokio::test]
async fn a_checkout_is_self_contained_and_has_nothing_of_the_mirror() {
    let fixture = Fixture::new().await;
    let head = fixture.commit_file("src/main.rs", "fn main() {}\n");
    let mirror = fixture.mirror().await;

    let checkout = fixture.checkout(&mirror).await;

    let workspace = fixture.workspace();
    assert_eq!(checkout.base_commit, head);
    assert_eq!(fs::read_to_string(workspace.join("src/main.rs")).unwrap(), "fn main() {}\n");
    assert_eq!(git(&workspace, &["symbolic-ref", "HEAD"]), "refs/heads/cynode/task-1");
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    assert_eq!(git(&workspace, &["remote"]), "");
    assert_eq!(fs::read_dir(workspace.join(".git/hooks")).unwrap().count(), 0);
    let config = fs::read_to_string(workspace.join(".git/config")).unwrap();
    assert!(!config.contains("url") && !config.contains("remote"), "{config}");
    let state = fixture.path("state");
    for entry in walk(&workspace) {
        let metadata = fs::symlink_metadata(&entry).unwrap();
        assert!(metadata.is_dir() || metadata.nlink() == 1, "{} is shared", entry.display());
        let content = fs::read(&entry).unwrap_or_default();
        let text = String::from_utf8_lossy(&content);
        assert!(!text.contains(state.to_str().unwrap()), "{} names the mirror", entry.display());
    }
    assert!(!workspace.join(".git/objects/info/alternates").exists());
    fs::remove_dir_all(mirror.path()).unwrap();
    git(&workspace, &["fsck", "--strict"]);
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

#[tokio::test]
async fn a_complete_checkout_is_not_touched() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let first = fixture.checkout(&mirror).await;
    fs::remove_dir_all(fixture.workspace().join(".git")).unwrap();
    fs::write(fixture.workspace().join("README.md"), "of the job").unwrap();
    fixture.commit_file("later", "later");
    let mirror = fixture.mirror().await;

    let second = fixture.checkout(&mirror).await;

    assert_eq!(first, second);
    assert_eq!(fs::read_to_string(fixture.workspace().join("README.md")).unwrap(), "of the job");
    assert!(!fixture.workspace().join(".git").exists());
    let mut other = fixture.checkout_request();
    other.branch = branch("other");
    let rejected = fixture.broker.create_checkout(&mirror, &other).await.unwrap_err();
    assert!(matches!(rejected, CheckoutError::OtherCheckout { .. }), "{rejected}");
}

#[tokio::test]
async fn a_removed_workspace_is_checked_out_again() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    fixture.checkout(&mirror).await;
    fs::remove_dir_all(fixture.workspace()).unwrap();
    // The file system may reuse the inode.
    fs::create_dir(fixture.workspace()).unwrap();

    fixture.checkout(&mirror).await;

    assert!(fixture.workspace().join("README.md").exists());
    fixture.broker.forget_checkout(&fixture.workspace()).await.unwrap();
    let rejected =
        fixture.broker.create_checkout(&mirror, &fixture.checkout_request()).await.unwrap_err();
    assert!(matches!(rejected, CheckoutError::NotEmpty { .. }), "{rejected}");
}

#[tokio::test]
async fn files_of_others_and_links_are_not_replaced() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    fs::create_dir(fixture.workspace()).unwrap();
    fs::write(fixture.workspace().join("mine"), "").unwrap();
    let create =
        || async { fixture.broker.create_checkout(&mirror, &fixture.checkout_request()).await };
    assert!(matches!(create().await, Err(CheckoutError::NotEmpty { .. })));

    fs::remove_dir_all(fixture.workspace()).unwrap();
    fs::create_dir(fixture.path("elsewhere")).unwrap();
    symlink(fixture.path("elsewhere"), fixture.workspace()).unwrap();
    assert!(matches!(create().await, Err(CheckoutError::NotEmpty { .. })));
    assert_eq!(fs::read_dir(fixture.path("elsewhere")).unwrap().count(), 0);
}

#[tokio::test]
async fn the_base_can_be_a_branch_or_a_commit_and_unknown_ones_are_named() {
    let fixture = Fixture::new().await;
    let first = fixture.commit_file("a", "1");
    fixture.commit_file("a", "2");
    git(&fixture.source(), &["branch", "stable", first.as_str()]);
    let mirror = fixture.mirror().await;
    let unknown = "1111111111111111111111111111111111111111".parse().unwrap();
    let bases = [
        (BaseRevision::Branch(branch("stable")), Ok("1")),
        (BaseRevision::Commit(first.clone()), Ok("1")),
        (BaseRevision::DefaultBranch, Ok("2")),
        (BaseRevision::Branch(branch("missing")), Err("branch missing")),
        (BaseRevision::Commit(unknown), Err("commit 1111111")),
    ];
    for (index, (base, expected)) in bases.into_iter().enumerate() {
        let workspace = fixture.path(&format!("workspace-{index}"));
        let request = CheckoutRequest { workspace, base, ..fixture.checkout_request() };
        let created = fixture.broker.create_checkout(&mirror, &request).await;
        match expected {
            Ok(content) => {
                created.unwrap();
                assert_eq!(fs::read_to_string(request.workspace.join("a")).unwrap(), content);
            }
            Err(text) => assert!(created.unwrap_err().to_string().contains(text)),
        }
    }
}

#[tokio::test]
async fn depth_mode_and_owner_follow_the_request() {
    let fixture = Fixture::new().await;
    fixture.commit_file("a", "1");
    let script = fixture.source().join("run.sh");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", fixture.source().join("link")).unwrap();
    commit_all(&fixture.source(), "script");
    let mirror = fixture.mirror().await;
    fs::create_dir(fixture.workspace()).unwrap();
    fs::set_permissions(fixture.workspace(), fs::Permissions::from_mode(0o750)).unwrap();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let owner = is_root.then_some(Owner { uid: 4242, gid: 4243 });
    let depth = HistoryDepth::Commits(NonZeroU32::MIN);
    let request = CheckoutRequest { depth, owner, ..fixture.checkout_request() };

    fixture.broker.create_checkout(&mirror, &request).await.unwrap();

    let mode = |path: &str| fs::metadata(fixture.workspace().join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode(""), mode("run.sh") & 0o100), (0o750, 0o100));
    if is_root {
        for entry in walk(&fixture.workspace()) {
            let metadata = fs::symlink_metadata(&entry).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (4242, 4243), "{}", entry.display());
        }
    }
    let arguments = ["-c", "safe.directory=*", "rev-list", "--count", "HEAD"];
    assert_eq!(git(&fixture.workspace(), &arguments), "1");
}

#[tokio::test]
async fn unusual_names_and_case_collisions_are_checked_out() {
    let fixture = Fixture::new().await;
    let source = fixture.source();
    let names: [&[u8]; 9] = [
        b"-rf",
        b"--help",
        b"new\nline",
        b"tab\there",
        b"\xff\xfe",
        b"Case",
        b"case",
        b" space ",
        b"\"quote\"",
    ];
    for name in names {
        fs::write(source.join(OsStr::from_bytes(name)), name).unwrap();
    }
    git(&source, &["add", "-A", "--", "."]);
    git(&source, &["commit", "-q", "-m", "names"]);
    let mirror = fixture.mirror().await;

    fixture.checkout(&mirror).await;

    for name in names {
        let content = fs::read(fixture.workspace().join(OsStr::from_bytes(name))).unwrap();
        assert_eq!(content, name);
    }
    assert_eq!(git(&fixture.workspace(), &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn look_alikes_of_the_git_directory_are_rejected() {
    for name in [".GIT", "git~1", ".g\u{200c}it"] {
        let fixture = Fixture::new().await;
        let blob = store_blob(&fixture.source(), b"[core]\n");
        commit_entry(&fixture.source(), "100644", &blob, &[name, "config"]);
        let url = fixture.url();

        let updated = fixture.broker.update_mirror(&url, None, HistoryDepth::Full).await;
        let error = match updated {
            Err(error) => error.to_string(),
            Ok(mirror) => {
                let request = fixture.checkout_request();
                fixture.broker.create_checkout(&mirror, &request).await.unwrap_err().to_string()
            }
        };

        assert!(error.contains(".git") || error.contains("hasDotgit"), "{name}: {error}");
        assert!(!fixture.workspace().exists());
    }
}

#[tokio::test]
async fn links_are_links_unless_files_are_requested() {
    let fixture = Fixture::new().await;
    symlink("/etc/passwd", fixture.source().join("outside")).unwrap();
    commit_all(&fixture.source(), "link");
    let mirror = fixture.mirror().await;
    fixture.checkout(&mirror).await;
    assert!(fixture.workspace().join("outside").is_symlink());

    let workspace = fixture.path("files");
    let links = LinkCheckout::AsFiles;
    let request = CheckoutRequest { workspace, links, ..fixture.checkout_request() };
    fixture.broker.create_checkout(&mirror, &request).await.unwrap();

    let file = request.workspace.join("outside");
    assert!(!file.is_symlink());
    assert_eq!(fs::read_to_string(file).unwrap(), "/etc/passwd");
    assert_eq!(git(&request.workspace, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn submodules_and_lfs_pointers_are_listed_and_not_fetched() {
    let fixture = Fixture::new().await;
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0f0f\nsize 12345\n";
    fixture.commit_file(
        ".gitattributes",
        "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt eol=crlf\n",
    );
    fixture.commit_file("data.bin", pointer);
    fixture.commit_file("lines.txt", "a\nb\n");
    fixture.commit_file(
        ".gitmodules",
        "[submodule \"lib\"]\n\tpath = lib\n\turl = https://ada:hunter22@example.com/lib.git\n",
    );
    let commit = "2222222222222222222222222222222222222222";
    git(
        &fixture.source(),
        &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},lib")],
    );
    git(&fixture.source(), &["commit", "-q", "-m", "submodule"]);
    let mirror = fixture.mirror().await;

    let checkout = fixture.checkout(&mirror).await;

    assert_eq!(checkout.lfs_pointers, ["data.bin"]);
    assert_eq!(fs::read_to_string(fixture.workspace().join("data.bin")).unwrap(), pointer);
    assert_eq!(fs::read_to_string(fixture.workspace().join("lines.txt")).unwrap(), "a\r\nb\r\n");
    let submodule = &checkout.submodules[0];
    assert_eq!((submodule.path.as_str(), submodule.commit.as_str()), ("lib", commit));
    let url = submodule.url.as_deref().unwrap();
    assert!(url.ends_with("@example.com/lib.git") && !url.contains("hunter22"), "{url}");
    assert_eq!(fs::read_dir(fixture.workspace().join("lib")).unwrap().count(), 0);
    assert_eq!(git(&fixture.workspace(), &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_tree_beyond_the_limits_is_not_checked_out() {
    let fixture = Fixture::with_options(|options| options.limits.tree_files = 10_000).await;
    let source = fixture.source();
    // Ten objects that describe ten thousand million files.
    let blob = store_blob(&source, b"x");
    let ten_entries = |entry: &str| {
        let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        names.map(|name| format!("{entry}\t{name}\0")).concat()
    };
    let mut tree = ten_entries(&format!("100644 blob {blob}"));
    for level in 0..10 {
        let input = source.join(".git/bomb");
        fs::write(&input, &tree).unwrap();
        let shell = format!("git mktree -z < {}", input.display());
        let made = std::process::Command::new("/bin/sh")
            .args(["-c", &shell])
            .current_dir(&source)
            .output();
        let id = String::from_utf8(made.unwrap().stdout).unwrap().trim().to_owned();
        tree = ten_entries(&format!("040000 tree {id}"));
        if level == 9 {
            let commit = git(&source, &["commit-tree", "-p", "HEAD", "-m", "bomb", &id]);
            git(&source, &["update-ref", "HEAD", &commit]);
        }
    }
    let mirror = fixture.mirror().await;

    let rejected =
        fixture.broker.create_checkout(&mirror, &fixture.checkout_request()).await.unwrap_err();

    let CheckoutError::Git(GitError::LimitExceeded { what: "files", limit: 10_000, .. }) = rejected
    else {
        unreachable!("{rejected}");
    };
}
