//! Commands that reach a remote repository.

use cynode_domain::git::{BranchName, CommitId, RepositoryUrl, Transport};
use secrecy::SecretString;

use crate::broker::GitBroker;
use crate::command::GitCommand;
use crate::credential::{CredentialFiles, GitCredential};
use crate::error::{GitError, classify_remote_failure};
use crate::hardening::{LOCAL_SERVICE_OPTIONS, TOLERATED_FSCK_FAULTS, shell_quote};
use crate::host_resolver::PinnedHost;

/// The refs of a remote are listed up to this size.
const MAX_LISTING_BYTES: usize = 64 * 1024;

/// A remote repository with the credential files of one operation.
#[derive(Debug)]
pub(crate) struct RemoteAccess<'a> {
    broker: &'a GitBroker,
    url: &'a RepositoryUrl,
    files: CredentialFiles,
    pinned: Option<PinnedHost>,
}

/// What `HEAD` of a remote is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RemoteHead {
    pub(crate) branch: Option<BranchName>,
}

impl<'a> RemoteAccess<'a> {
    pub(crate) async fn open(
        broker: &'a GitBroker,
        url: &'a RepositoryUrl,
        credential: Option<&GitCredential>,
    ) -> Result<Self, GitError> {
        let pinned = PinnedHost::resolve(&broker.options.network.resolver, url).await?;
        let files = CredentialFiles::create(broker, url, credential, pinned.as_ref())?;
        if let Some(path) = url.local_path()
            && !path.is_dir()
        {
            let message = "there is no such directory on this node".to_owned();
            return Err(GitError::NotFound { url: url.to_string(), message });
        }
        Ok(Self { broker, url, files, pinned })
    }

    pub(crate) fn secrets(&self) -> &[SecretString] {
        &self.files.secrets
    }

    /// A command that may reach the remote, and nothing else.
    pub(crate) fn command(&self, operation: &'static str) -> GitCommand<'a> {
        let network = &self.broker.options.network;
        let mut command = GitCommand::prepare(self.broker, operation)
            .protocol(self.url.transport().protocol())
            .hide(self.secrets());
        for (key, value) in &self.files.config {
            command = command.config(key, value);
        }
        command = command.config("http.proxy", network.proxy.as_deref().unwrap_or_default());
        if let Some(pinned) = &self.pinned {
            command = command.config("http.curloptResolve", pinned.http_resolve());
        }
        if let Some(ca_file) = &network.ca_file {
            command = command.config("http.sslCAInfo", ca_file.to_string_lossy());
        }
        let ssh = self.files.ssh_command.as_deref().unwrap_or("/bin/false");
        command = command.env("GIT_SSH_COMMAND", ssh).env("GIT_SSH_VARIANT", "ssh");
        for fault in TOLERATED_FSCK_FAULTS {
            command = command.config(format!("fetch.fsck.{fault}"), "warn");
        }
        command
    }

    /// The option that names the program for the other end, if that is on this machine.
    pub(crate) fn service_option(&self, service: LocalService) -> Option<String> {
        let (option, name) = match service {
            LocalService::Fetch => ("--upload-pack", "upload-pack"),
            LocalService::Push => ("--receive-pack", "receive-pack"),
        };
        let is_local = self.url.transport() == Transport::Local;
        is_local.then(|| format!("{option}={}", local_service(self.broker, name)))
    }

    /// Asks the remote for its default branch.
    pub(crate) async fn read_head(&self) -> Result<RemoteHead, GitError> {
        let listing = self.list(&["--symref"], "HEAD").await?;
        let mut head = RemoteHead::default();
        for line in listing.lines() {
            match line.split_once('\t') {
                Some((target, "HEAD")) if target.starts_with("ref: refs/heads/") => {
                    head.branch = target["ref: refs/heads/".len()..].parse().ok();
                }
                Some((id, "HEAD")) if id.len() == 64 => {
                    let url = self.url.to_string();
                    return Err(GitError::ObjectFormat { url, algorithm: "sha256" });
                }
                _ => {}
            }
        }
        Ok(head)
    }

    /// Asks the remote for the commit of a branch.
    pub(crate) async fn read_branch(
        &self,
        branch: &BranchName,
    ) -> Result<Option<CommitId>, GitError> {
        let name = branch.ref_name();
        let listing = self.list(&[], &name).await?;
        Ok(listing.lines().find_map(|line| match line.split_once('\t') {
            Some((id, listed)) if listed == name => id.parse().ok(),
            _ => None,
        }))
    }

    async fn list(&self, options: &[&str], pattern: &str) -> Result<String, GitError> {
        let command = self
            .command("ls-remote")
            .args(options)
            .args(self.service_option(LocalService::Fetch))
            .args(["--", self.url.as_str(), pattern]);
        let listing = command.read(MAX_LISTING_BYTES).await;
        let listing = listing.map_err(|error| self.classify(error))?;
        Ok(String::from_utf8_lossy(&listing).into_owned())
    }

    pub(crate) fn classify(&self, error: GitError) -> GitError {
        classify_remote_failure(self.url.as_str(), error)
    }
}

/// The other end of a connection to a repository on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LocalService {
    Fetch,
    Push,
}

/// The shell command of `git upload-pack` or `git receive-pack` with the broker's rules.
pub(crate) fn local_service(broker: &GitBroker, name: &str) -> String {
    let git = shell_quote(&broker.options.git.to_string_lossy());
    format!("{git} {LOCAL_SERVICE_OPTIONS} {name}")
}
