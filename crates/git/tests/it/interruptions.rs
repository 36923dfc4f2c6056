//! Operations that are killed in the middle, and tried again.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::pin::pin;

use cynode_git::{BrokerOptions, GitBroker, GitError, HistoryDepth};

use crate::fixture::{Fixture, git, git_program, write_script};

/// A broker on the same state whose git runs `trap` once, when its arguments match `pattern`.
pub(crate) async fn trapped_broker(fixture: &Fixture, pattern: &str, trap: &str) -> GitBroker {
    let wrapper = fixture.path("trapped-git");
    let flag = fixture.path("trap-is-set");
    let body = format!(
        "real={git}\nfor a; do case $a in --git-dir=*) git_dir=${{a#--git-dir=}};; esac; done\n\
         case \" $* \" in *' {pattern} '*) if rm {flag} 2>/dev/null; then\n{trap}\nfi;; esac\nexec \"$real\" \"$@\"",
        git = git_program().display(),
        flag = flag.display(),
    );
    write_script(&wrapper, &body);
    let options = BrokerOptions::new(fixture.path("state"), &wrapper);
    let broker = GitBroker::open(options).await.unwrap();
    fs::write(flag, "").unwrap();
    broker
}

#[tokio::test]
async fn a_clone_that_is_killed_leaves_nothing_that_is_trusted() {
    let fixture = Fixture::new().await;
    fixture.commit_file("data", &"0123456789abcdef\n".repeat(5000));
    let url = fixture.url();
    // The other end of the fetch sends a part of the pack, and every process dies.
    let wrapper = fixture.path("dying-git");
    let body = format!(
        "cd {dir}\ncase \" $* \" in *' fetch '*) touch fetching;;\n\
         *' upload-pack '*) if rm fetching 2>/dev/null; then {git} \"$@\" | dd bs=1 count=700 2>/dev/null; touch died; kill -9 0; fi;; esac\n\
         exec {git} \"$@\"",
        dir = fixture.directory.path().display(),
        git = git_program().display(),
    );
    write_script(&wrapper, &body);
    let options = BrokerOptions::new(fixture.path("state"), &wrapper);
    let dying = GitBroker::open(options).await.unwrap();
    let killed = dying.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();
    assert!(matches!(killed, GitError::Failed { operation: "fetch", .. }), "{killed}");
    assert!(fixture.path("died").exists());
    assert!(matches!(dying.find_mirror(&url), Err(GitError::MirrorMissing { .. })));
    let trap = "touch \"$git_dir\"/objects/pack/tmp_pack_x; kill -9 $$";
    let fetch = trapped_broker(&fixture, "fetch", trap).await;
    let killed = fetch.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();
    assert!(matches!(killed, GitError::Failed { operation: "fetch", .. }), "{killed}");
    assert!(matches!(fetch.find_mirror(&url), Err(GitError::MirrorMissing { .. })));

    let mirror = fetch.update_mirror(&url, None, HistoryDepth::Full).await.unwrap();

    git(mirror.path(), &["fsck", "--strict"]);
    fixture.checkout(&mirror).await;
}

#[tokio::test]
async fn an_update_that_is_killed_in_the_middle_of_the_transfer_is_repeated() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let head = fixture.commit_file("data", &"0123456789abcdef\n".repeat(5000));
    let url = fixture.url();
    let trap = "cat \"$git_dir\"/HEAD > \"$git_dir\"/HEAD.lock; touch \"$git_dir\"/packed-refs.lock \
        \"$git_dir\"/refs/heads/main.lock \"$git_dir\"/objects/pack/tmp_pack_x; kill -9 0";
    let broker = trapped_broker(&fixture, "fetch", trap).await;
    broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap_err();

    broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap();

    assert_eq!(git(mirror.path(), &["rev-parse", "main"]), head.as_str());
    assert!(!mirror.path().join("objects/pack/tmp_pack_x").exists());
}

#[tokio::test]
async fn a_checkout_that_is_killed_at_any_command_is_completed_by_the_next_call() {
    let traps = [
        ("init", "kill -9 $$"),
        ("fetch", "kill -9 $$"),
        ("read-tree", "echo partial > README.md; touch \"$git_dir\"/index.lock; kill -9 $$"),
        ("config", "kill -9 $$"),
    ];
    for (pattern, trap) in traps {
        let fixture = Fixture::new().await;
        let mirror = fixture.mirror().await;
        let broker = trapped_broker(&fixture, pattern, trap).await;
        let request = fixture.checkout_request();
        broker.create_checkout(&mirror, &request).await.unwrap_err();
        assert!(!fixture.workspace().exists(), "{pattern}");

        broker.create_checkout(&mirror, &request).await.unwrap();

        assert_eq!(git(&fixture.workspace(), &["status", "--porcelain"]), "", "{pattern}");
        assert_eq!(fs::read_dir(fixture.path("state/staging")).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_finished_checkout_that_was_not_renamed_is_renamed() {
    let fixture = Fixture::new().await;
    let mirror = fixture.mirror().await;
    let checkout = fixture.checkout(&mirror).await;
    // The state after a kill between the record and the rename.
    let record = only_entry(&fixture.path("state/checkouts"), "json");
    let staging = fixture.path("state/staging").join(record.file_stem().unwrap());
    fs::rename(fixture.workspace(), &staging).unwrap();
    fs::write(staging.join("proof"), "the same directory").unwrap();

    let again = fixture.checkout(&mirror).await;

    assert_eq!(again, checkout);
    assert!(fixture.workspace().join("proof").exists());
}

fn only_entry(directory: &Path, extension: &str) -> PathBuf {
    let entries = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
    let mut found = entries.filter(|path| path.extension().unwrap() == extension);
    let only = found.next().unwrap();
    assert_eq!(found.next(), None);
    only
}

#[tokio::test]
async fn a_cancelled_operation_ends_its_processes_and_releases_the_lock() {
    let fixture = Fixture::new().await;
    let pipe = fixture.path("alive");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Git and a child of it hold the pipe open while they live.
    let trap = format!("exec 9>{}; echo started >&9; sleep 600 & wait", pipe.display());
    let broker = trapped_broker(&fixture, "fetch", &trap).await;
    let url = fixture.url();
    let started = tokio::task::spawn_blocking(move || {
        let mut file = fs::File::open(pipe).unwrap();
        let mut text = [0; 8];
        file.read_exact(&mut text).unwrap();
        file
    });
    let mut file = {
        let mut update = pin!(broker.update_mirror(&url, None, HistoryDepth::Full));
        tokio::select! {
            _ = &mut update => unreachable!("git waits"),
            file = started => file.unwrap(),
        }
        // The operation is dropped here.
    };

    let rest = tokio::task::spawn_blocking(move || file.read_to_end(&mut Vec::new())).await;

    assert_eq!(rest.unwrap().unwrap(), 0, "every process has ended");
    assert_eq!(fs::read_dir(fixture.path("state/credentials")).unwrap().count(), 0);
    broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap();
}

#[tokio::test]
async fn a_fetch_holds_the_lock_of_its_mirror_itself() {
    let fixture = Fixture::new().await;
    let log = fixture.path("stdin");
    let broker =
        trapped_broker(&fixture, "fetch", &format!("readlink /proc/$$/fd/0 > {}", log.display()))
            .await;

    let mirror = broker.update_mirror(&fixture.url(), None, HistoryDepth::Full).await.unwrap();

    let lock = mirror.path().with_extension("lock");
    assert_eq!(fs::read_to_string(log).unwrap().trim(), lock.to_str().unwrap());
}
