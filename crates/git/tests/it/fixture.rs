//! A broker, a source repository and a canary in one temporary directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use cynode_git::{
    BaseRevision, BranchName, BrokerOptions, Checkout, CheckoutRequest, CollectRequest,
    CollectedCommits, CommitId, ConflictMode, GitBroker, GitCredential, HistoryDepth, ImportError,
    ImportPolicy, ImportRequest, ImportTarget, LinkCheckout, Mirror, RepositoryUrl, TaskKey,
    UrlPolicy, collect_script,
};
use cynode_testkit::GitHttpServer;
use secrecy::SecretString;
use tempfile::TempDir;

pub(crate) const TASK: &str = "task-1";

/// The git program of this machine.
pub(crate) fn git_program() -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&paths).map(|path| path.join("git")).find(|git| git.is_file()).unwrap()
}

/// Runs git as a person would, in a directory, without the configuration of this machine.
pub(crate) fn git_output(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(git_program());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ada");
        command.env(format!("GIT_{role}_EMAIL"), "ada@example.com");
    }
    command.args(["-c", "core.hooksPath=/dev/null"]).current_dir(directory).args(arguments);
    command.output().unwrap()
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = git_output(directory, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Writes an executable script.
pub(crate) fn write_script(path: &Path, body: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) const PASSWORD: &str = GitHttpServer::PASSWORD;

/// The credential of the user of a [`GitHttpServer`], with any password.
pub(crate) fn credential(password: &str) -> GitCredential {
    let username = GitHttpServer::USER.to_owned();
    GitCredential::Password { username, password: SecretString::from(password) }
}

pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    pub(crate) broker: GitBroker,
}

impl Fixture {
    /// A broker, and a source repository with one commit on `main`.
    pub(crate) async fn new() -> Self {
        Self::with_options(|_| {}).await
    }

    pub(crate) async fn with_options(change: impl FnOnce(&mut BrokerOptions)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut options = BrokerOptions::new(directory.path().join("state"), git_program());
        change(&mut options);
        let broker = GitBroker::open(options).await.unwrap();
        let fixture = Self { directory, broker };
        let source = fixture.source();
        fs::create_dir(&source).unwrap();
        git(&source, &["init", "-q", "-b", "main"]);
        fixture.commit_file("README.md", "hello\n");
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The work tree of the source repository.
    pub(crate) fn source(&self) -> PathBuf {
        self.path("source")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    pub(crate) fn url(&self) -> RepositoryUrl {
        let source = self.source();
        parse_url(source.to_str().unwrap())
    }

    /// Serves a bare clone of the source repository behind a password.
    pub(crate) fn serve(&self) -> GitHttpServer {
        GitHttpServer::start(&self.path("server"), &self.source(), Duration::ZERO)
    }

    /// Commits a file to the source repository.
    pub(crate) fn commit_file(&self, path: &str, content: &str) -> CommitId {
        commit_file(&self.source(), path, content)
    }

    /// A shell command that creates the canary.
    pub(crate) fn canary_command(&self) -> String {
        format!("touch {}", self.path("canary").display())
    }

    /// A script that creates the canary and ends with success.
    pub(crate) fn canary_script(&self) -> PathBuf {
        let path = self.path("bin/canary");
        write_script(&path, &format!("{}\ncat 2>/dev/null\nexit 0", self.canary_command()));
        path
    }

    pub(crate) fn assert_no_canary(&self) {
        assert!(!self.path("canary").exists(), "hostile code was executed");
    }

    pub(crate) async fn mirror(&self) -> Mirror {
        let url = self.url();
        self.broker.update_mirror(&url, None, HistoryDepth::Full).await.unwrap()
    }

    pub(crate) fn checkout_request(&self) -> CheckoutRequest {
        CheckoutRequest {
            workspace: self.workspace(),
            base: BaseRevision::DefaultBranch,
            sources: vec![],
            conflicts: ConflictMode::Fail,
            branch: branch("cynode/task-1"),
            task: task(),
            depth: HistoryDepth::Full,
            links: LinkCheckout::AsLinks,
            owner: None,
            excludes: vec![],
        }
    }

    pub(crate) async fn checkout(&self, mirror: &Mirror) -> Checkout {
        self.broker.create_checkout(mirror, &self.checkout_request()).await.unwrap()
    }

    /// Runs the collect script as the node would inside a sandbox.
    pub(crate) fn collect(&self, base: &CommitId) -> String {
        let output = self.path("output");
        fs::create_dir_all(&output).unwrap();
        let script = self.path("collect.sh");
        let workspace = self.workspace();
        let request = CollectRequest {
            subject: cynode_git::DEFAULT_COMMIT_SUBJECT,
            workspace: workspace.to_str().unwrap(),
            output: output.to_str().unwrap(),
            base,
            branch: &branch("cynode/task-1"),
            excludes: &["/attachments/"],
        };
        fs::write(&script, collect_script(request)).unwrap();
        let ran = Command::new("/bin/sh")
            .arg(&script)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        fs::read_to_string(output.join("status")).unwrap()
    }

    pub(crate) fn bundle(&self) -> PathBuf {
        self.path("output/commits.bundle")
    }

    pub(crate) async fn import_with(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        policy: &ImportPolicy,
    ) -> Result<CollectedCommits, ImportError> {
        let target = ImportTarget::Head { start: None };
        let (bundle, task, branch) = (self.bundle(), task(), branch("cynode/task-1"));
        let request = ImportRequest { bundle: &bundle, task: &task, base, target, branch: &branch };
        let is_secret = |line: &str| line.contains("SECRET");
        self.broker.import_bundle(mirror, request, policy, &is_secret).await
    }

    pub(crate) async fn import(
        &self,
        mirror: &Mirror,
        base: &CommitId,
    ) -> Result<CollectedCommits, ImportError> {
        self.import_with(mirror, base, &ImportPolicy::default()).await
    }

    /// Mirror, checkout, what the job does, collect, import.
    pub(crate) async fn run_job(&self, job: impl FnOnce(&Path)) -> (Mirror, CollectedCommits) {
        let mirror = self.mirror().await;
        let checkout = self.checkout(&mirror).await;
        job(&self.workspace());
        let status = self.collect(&checkout.base_commit);
        assert!(status.contains("result=bundled"), "{status}");
        let collected = self.import(&mirror, &checkout.base_commit).await.unwrap();
        (mirror, collected)
    }
}

pub(crate) fn parse_url(text: &str) -> RepositoryUrl {
    let policy = UrlPolicy { allow_plain_http: true, allow_local_paths: true };
    RepositoryUrl::parse(text, policy).unwrap()
}

pub(crate) fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

pub(crate) fn task() -> TaskKey {
    TASK.parse().unwrap()
}

pub(crate) fn commit_file(repository: &Path, path: &str, content: &str) -> CommitId {
    let file = repository.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
    commit_all(repository, path)
}

pub(crate) fn commit_all(repository: &Path, subject: &str) -> CommitId {
    git(repository, &["add", "-A"]);
    git(repository, &["commit", "-q", "--allow-empty", "-m", subject]);
    head_of(repository)
}

pub(crate) fn head_of(repository: &Path) -> CommitId {
    git(repository, &["rev-parse", "HEAD"]).parse().unwrap()
}

/// Adds a tree entry that no work tree could hold, and commits it. Returns the commit.
pub(crate) fn commit_entry(repository: &Path, mode: &str, object: &str, path: &[&str]) -> CommitId {
    let (last, parents) = path.split_last().unwrap();
    let kind = if mode == "160000" { "commit" } else { "blob" };
    let mut tree = make_tree(repository, &format!("{mode} {kind} {object}\t{last}"));
    for parent in parents.iter().rev() {
        tree = make_tree(repository, &format!("040000 tree {tree}\t{parent}"));
    }
    let commit = git(repository, &["commit-tree", "-p", "HEAD", "-m", "entry", &tree]);
    git(repository, &["update-ref", "HEAD", &commit]);
    commit.parse().unwrap()
}

fn make_tree(repository: &Path, line: &str) -> String {
    let input = repository.join(".git/tree-input");
    fs::write(&input, format!("{line}\0")).unwrap();
    let mut command = Command::new(git_program());
    command.current_dir(repository).args(["mktree", "-z", "--missing"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").stdin(fs::File::open(&input).unwrap());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Stores a blob. Returns its id.
pub(crate) fn store_blob(repository: &Path, content: &[u8]) -> String {
    let input = repository.join(".git/blob-input");
    fs::write(&input, content).unwrap();
    git(repository, &["hash-object", "-w", "--no-filters", input.to_str().unwrap()])
}
