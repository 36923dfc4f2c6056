//! The credential of one operation.
//!
//! A secret reaches git through a file of mode 0600 in a directory of the operation, which is removed when the
//! operation ends. For http(s) the file is read by `git credential-store`, a part of git: unlike an askpass script
//! or a header, it answers only for the scheme, host and port that the file names, and unlike `http.extraHeader` in
//! the environment, nothing of it is inherited by the processes that git starts. For ssh it is the identity file.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use cynode_domain::git::{RepositoryUrl, Transport};
use secrecy::{ExposeSecret as _, SecretString};

use crate::broker::GitBroker;
use crate::error::GitError;
use crate::hardening::shell_quote;
use crate::host_resolver::PinnedHost;
use crate::operation_dir::OperationDir;

/// How the key of an ssh server is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownHosts {
    /// Lines of a `known_hosts` file; every other key is rejected.
    Pinned(String),
    /// The first key of each host is recorded in the state directory; a different one is rejected later.
    TrustOnFirstUse,
}

/// What a remote asks for. It is used for one operation and not stored.
#[derive(Debug, Clone)]
pub enum GitCredential {
    /// For http and https. Tokens of forges are passwords; the user name is what the forge asks for.
    Password { username: String, password: SecretString },
    /// For ssh: a private key without a passphrase.
    SshKey { private_key: SecretString, known_hosts: KnownHosts },
}

/// The files of a credential while an operation runs.
#[derive(Debug)]
pub(crate) struct CredentialFiles {
    directory: OperationDir,
    pub(crate) config: Vec<(String, String)>,
    pub(crate) ssh_command: Option<String>,
    pub(crate) secrets: Vec<SecretString>,
}

impl CredentialFiles {
    /// Writes the files that an operation with `url` needs.
    pub(crate) fn create(
        broker: &GitBroker,
        url: &RepositoryUrl,
        credential: Option<&GitCredential>,
        pinned: Option<&PinnedHost>,
    ) -> Result<Self, GitError> {
        let mut files = Self {
            directory: OperationDir::create(&broker.options.state_dir.join("credentials"))?,
            config: Vec::new(),
            ssh_command: None,
            secrets: Vec::new(),
        };
        match (url.transport(), credential) {
            (Transport::Http | Transport::Https, None) | (Transport::Local, _) => {}
            (
                Transport::Http | Transport::Https,
                Some(GitCredential::Password { username, password }),
            ) => files.add_password(url, username, password)?,
            (Transport::Ssh, None) => files.add_ssh(broker, None, pinned)?,
            (Transport::Ssh, Some(GitCredential::SshKey { private_key, known_hosts })) => {
                files.add_ssh(broker, Some((private_key, known_hosts)), pinned)?;
            }
            (_, Some(_)) => {
                return Err(GitError::CredentialMismatch { url: url.to_string() });
            }
        }
        Ok(files)
    }

    fn add_password(
        &mut self,
        url: &RepositoryUrl,
        username: &str,
        password: &SecretString,
    ) -> Result<(), GitError> {
        let origin = url.origin().unwrap_or_default();
        let (scheme, host) = origin.split_once("://").unwrap_or_default();
        let username = encode(if username.is_empty() { "git" } else { username });
        let encoded = encode(password.expose_secret());
        let line = format!("{scheme}://{username}:{encoded}@{host}\n");
        let path = self.write("store", line.as_bytes())?;
        let path = shell_quote(&path.to_string_lossy());
        self.config.push(("credential.helper".to_owned(), format!("store --file={path}")));
        self.secrets.extend([password.clone(), SecretString::from(encoded)]);
        Ok(())
    }

    fn add_ssh(
        &mut self,
        broker: &GitBroker,
        key: Option<(&SecretString, &KnownHosts)>,
        pinned: Option<&PinnedHost>,
    ) -> Result<(), GitError> {
        let mut identity = PathBuf::from("/dev/null");
        let mut hosts = broker.options.state_dir.join("known_hosts");
        let mut strict = "accept-new";
        if let Some((private_key, known_hosts)) = key {
            let mut text = private_key.expose_secret().to_owned();
            if !text.ends_with('\n') {
                text.push('\n');
            }
            identity = self.write("identity", text.as_bytes())?;
            self.secrets.push(private_key.clone());
            if let KnownHosts::Pinned(lines) = known_hosts {
                hosts = self.write("known_hosts", lines.as_bytes())?;
                strict = "yes";
            }
        }
        let mut command = shell_quote(&broker.options.network.ssh.to_string_lossy());
        let fixed = "-F /dev/null -o BatchMode=yes -o IdentitiesOnly=yes -o IdentityAgent=none \
            -o PreferredAuthentications=publickey -o ClearAllForwardings=yes -o PermitLocalCommand=no \
            -o ProxyCommand=none -o ControlMaster=no -o ControlPath=none -o UpdateHostKeys=no \
            -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 \
            -o GlobalKnownHostsFile=/dev/null";
        // Writing to a string cannot fail.
        let _ = write!(
            command,
            " {fixed} -o StrictHostKeyChecking={strict} -o {} -i {}",
            shell_quote(&format!("UserKnownHostsFile=\"{}\"", hosts.display())),
            shell_quote(&identity.to_string_lossy()),
        );
        command.push_str(&pinned.map(PinnedHost::ssh_options).unwrap_or_default());
        self.ssh_command = Some(command);
        Ok(())
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, GitError> {
        let path = self.directory.path().join(name);
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(content)).map_err(GitError::io("write", &path))?;
        Ok(path)
    }
}

/// Percent-encodes everything except letters and digits.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
