//! Pushes to remotes.

use std::fs;
use std::path::PathBuf;

use cynode_git::{
    CommitId, ForceMode, GitError, HistoryDepth, Mirror, PushError, PushRequest, PushResult,
};

use crate::fixture::{
    Fixture, PASSWORD, branch, commit_file, credential, git, parse_url, write_script,
};

/// A fixture whose source is the work tree of a commit that a job made.
struct PushFixture {
    fixture: Fixture,
    mirror: Mirror,
    base: CommitId,
    head: CommitId,
}

impl PushFixture {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let (mirror, collected) =
            fixture.run_job(|workspace| drop(commit_file(workspace, "a", "1"))).await;
        Self { fixture, mirror, base: collected.base, head: collected.head }
    }

    fn request(&self, name: &str, expected_old: Option<&CommitId>) -> PushRequest {
        PushRequest {
            url: self.fixture.url(),
            head: self.head.clone(),
            branch: branch(name),
            expected_old: expected_old.cloned(),
            force: ForceMode::Never,
        }
    }

    async fn push(&self, request: &PushRequest) -> Result<PushResult, PushError> {
        let pushed = self.fixture.broker.push(&self.mirror, request, None).await;
        pushed.map(|outcome| outcome.result)
    }

    fn remote(&self) -> PathBuf {
        self.fixture.source()
    }
}

#[tokio::test]
async fn pushing_twice_is_pushing_once() {
    let pushes = PushFixture::new().await;
    git(&pushes.remote(), &["tag", "only-here"]);
    git(pushes.mirror.path(), &["tag", "v9", pushes.head.as_str()]);
    let request = pushes.request("cynode/task-1", None);

    assert_eq!(pushes.push(&request).await.unwrap(), PushResult::Pushed);
    assert_eq!(pushes.push(&request).await.unwrap(), PushResult::AlreadyThere);

    let refs = git(&pushes.remote(), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/cynode/task-1\nrefs/heads/main\nrefs/tags/only-here");
    assert_eq!(git(&pushes.remote(), &["rev-parse", "cynode/task-1"]), pushes.head.as_str());
    let name = branch("cynode/task-1");
    let found = pushes.fixture.broker.read_remote_branch(&pushes.fixture.url(), &name, None).await;
    assert_eq!(found.unwrap(), Some(pushes.head.clone()));
}

#[tokio::test]
async fn a_moved_branch_is_not_overwritten() {
    let pushes = PushFixture::new().await;
    git(&pushes.remote(), &["branch", "topic"]);
    let moved = pushes.fixture.commit_file("b", "of another person");
    git(&pushes.remote(), &["branch", "-f", "topic", moved.as_str()]);
    for force in [ForceMode::Never, ForceMode::WithLease] {
        let request = PushRequest { force, ..pushes.request("topic", Some(&pushes.base)) };
        let rejected = pushes.push(&request).await.unwrap_err();
        let PushError::BranchMoved { found, .. } = rejected else { unreachable!("{rejected}") };
        assert_eq!(found, Some(moved.clone()));
    }
    let absent = pushes.push(&pushes.request("topic", None)).await.unwrap_err();
    assert!(matches!(absent, PushError::BranchMoved { .. }), "{absent}");
    let gone = pushes.push(&pushes.request("gone", Some(&pushes.base))).await.unwrap_err();
    assert!(matches!(gone, PushError::BranchMoved { found: None, .. }), "{gone}");
    assert_eq!(git(&pushes.remote(), &["rev-parse", "topic"]), moved.as_str());
}

#[tokio::test]
async fn commits_are_replaced_only_with_permission_and_lease() {
    let pushes = PushFixture::new().await;
    let other = pushes.fixture.commit_file("b", "other");
    git(&pushes.remote(), &["branch", "topic", other.as_str()]);
    pushes.fixture.mirror().await;
    let request = pushes.request("topic", Some(&other));

    let rejected = pushes.push(&request).await.unwrap_err();
    assert!(matches!(rejected, PushError::NotFastForward { .. }), "{rejected}");
    let forced = PushRequest { force: ForceMode::WithLease, ..request };
    assert_eq!(pushes.push(&forced).await.unwrap(), PushResult::Pushed);

    assert_eq!(git(&pushes.remote(), &["rev-parse", "topic"]), pushes.head.as_str());
}

#[tokio::test]
async fn a_branch_that_moves_during_the_push_is_not_overwritten() {
    let pushes = PushFixture::new().await;
    let remote = pushes.remote();
    git(&remote, &["branch", "topic"]);
    let moved = commit_file(&pushes.fixture.workspace(), "c", "3");
    git(&remote, &["fetch", "-q", pushes.fixture.workspace().to_str().unwrap(), moved.as_str()]);
    // The branch moves after it was listed, and before the remote updates it.
    let wrapper = pushes.fixture.path("racing-git");
    let body = format!(
        "case \" $* \" in *' push '*) {git} -C {remote} update-ref refs/heads/topic {moved};; esac\nexec {git} \"$@\"",
        git = crate::fixture::git_program().display(),
        remote = remote.display(),
    );
    write_script(&wrapper, &body);
    let options = cynode_git::BrokerOptions::new(pushes.fixture.path("state"), &wrapper);
    let racing = cynode_git::GitBroker::open(options).await.unwrap();

    let request = pushes.request("topic", Some(&pushes.base));
    let rejected = racing.push(&pushes.mirror, &request, None).await.unwrap_err();

    let PushError::BranchMoved { found, .. } = rejected else { unreachable!("{rejected}") };
    assert_eq!(found, Some(moved.clone()));
    assert_eq!(git(&remote, &["rev-parse", "topic"]), moved.as_str());
}

#[tokio::test]
async fn an_unknown_commit_and_a_checked_out_branch_are_rejected() {
    let pushes = PushFixture::new().await;
    let head = "1111111111111111111111111111111111111111".parse().unwrap();
    let unknown = PushRequest { head, ..pushes.request("topic", None) };
    let error = pushes.push(&unknown).await.unwrap_err();
    assert!(matches!(error, PushError::UnknownCommit(_)), "{error}");

    let checked_out = pushes.push(&pushes.request("main", Some(&pushes.base))).await.unwrap_err();
    let PushError::Rejected { message, .. } = checked_out else { unreachable!("{checked_out}") };
    assert!(message.contains("checked out"), "{message}");
}

#[tokio::test]
async fn a_push_over_http_shows_what_the_server_says_without_secrets() {
    let fixture = Fixture::new().await;
    let server = fixture.serve();
    let hook = server.repository.join("hooks/pre-receive");
    write_script(
        &hook,
        "echo 'Visit https://robot:zebra99@example.com/pull' >&2; echo \"p@ss:w/ord-zebra77\" >&2",
    );
    let (url, password) = (parse_url(&server.url()), credential(PASSWORD));
    let mirror =
        fixture.broker.update_mirror(&url, Some(&password), HistoryDepth::Full).await.unwrap();
    let checkout = fixture.checkout(&mirror).await;
    commit_file(&fixture.workspace(), "a", "1");
    fixture.collect(&checkout.base_commit);
    let collected = fixture.import(&mirror, &checkout.base_commit).await.unwrap();
    let request = PushRequest {
        url: url.clone(),
        head: collected.head.clone(),
        branch: branch("cynode/task-1"),
        expected_old: None,
        force: ForceMode::Never,
    };

    let outcome = fixture.broker.push(&mirror, &request, Some(&password)).await.unwrap();

    assert_eq!(outcome.result, PushResult::Pushed);
    assert!(outcome.remote_message.contains("example.com/pull"), "{outcome:?}");
    assert!(!format!("{outcome:?}").contains("zebra"), "{outcome:?}");
    assert_eq!(git(&server.repository, &["rev-parse", "cynode/task-1"]), collected.head.as_str());

    write_script(&hook, "echo 'no: p@ss:w/ord-zebra77' >&2; exit 1");
    let declined = PushRequest { branch: branch("declined"), ..request };
    let error = fixture.broker.push(&mirror, &declined, Some(&password)).await.unwrap_err();
    let PushError::Rejected { message, .. } = &error else { unreachable!("{error}") };
    assert!(
        message.contains("pre-receive hook declined") && !message.contains("zebra"),
        "{message}"
    );
    let error = fixture.broker.push(&mirror, &declined, None).await.unwrap_err();
    assert!(matches!(error, PushError::Git(GitError::Authentication { .. })), "{error}");
    assert_eq!(server.log.lock().unwrap().leaks, Vec::<String>::new());
    fs::remove_file(hook).unwrap();
}

#[tokio::test]
async fn a_commit_can_be_pushed_to_a_fork() {
    let pushes = PushFixture::new().await;
    let fork = pushes.fixture.path("fork.git");
    git(pushes.fixture.directory.path(), &["init", "-q", "--bare", "fork.git"]);
    let url = parse_url(fork.to_str().unwrap());

    let request = PushRequest { url, ..pushes.request("topic", None) };
    assert_eq!(pushes.push(&request).await.unwrap(), PushResult::Pushed);

    assert_eq!(git(&fork, &["rev-parse", "topic"]), pushes.head.as_str());
    assert_eq!(git(&pushes.remote(), &["branch", "--list", "topic"]), "");
}
