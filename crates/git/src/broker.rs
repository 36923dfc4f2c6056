//! The broker: its options, directories and the version of git.

use std::fmt;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cynode_runtime::clock::{SharedClock, SystemClock};
use cynode_runtime::descriptors;

use crate::command::GitCommand;
use crate::error::GitError;
use crate::host_resolver::SharedResolver;
use crate::operation_dir;

/// The oldest version whose handling of hostile repositories the broker relies on.
const MINIMUM_VERSION: GitVersion = GitVersion { major: 2, minor: 39, patch: 0 };
const MINIMUM_VERSION_TEXT: &str = "2.39";

const DIRECTORIES: [&str; 6] =
    ["home", "mirrors", "staging", "imports", "credentials", "checkouts"];

/// What one operation may take.
#[derive(Debug, Clone)]
pub struct BrokerLimits {
    /// For each git process.
    pub time: Duration,
    /// How long an operation waits for another that uses the same mirror.
    pub lock_wait: Duration,
    pub mirror_bytes: u64,
    /// Files of a checkout. A repository of a few kilobytes can describe billions.
    pub tree_files: u64,
    pub tree_bytes: u64,
    /// Of a patch or bundle that the broker writes.
    pub export_bytes: u64,
}

impl Default for BrokerLimits {
    fn default() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            time: Duration::from_mins(10),
            lock_wait: Duration::from_mins(15),
            mirror_bytes: 20 * GIB,
            tree_files: 1_000_000,
            tree_bytes: 20 * GIB,
            export_bytes: GIB,
        }
    }
}

/// How remotes are reached.
#[derive(Debug, Clone)]
pub struct NetworkOptions {
    pub ssh: PathBuf,
    /// Certificates to trust instead of the system's, in PEM format.
    pub ca_file: Option<PathBuf>,
    /// An HTTP proxy for http and https, without a password.
    pub proxy: Option<String>,
    /// Decides which addresses are reached. A proxy would resolve names itself.
    pub resolver: SharedResolver,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            ssh: PathBuf::from("/usr/bin/ssh"),
            ca_file: None,
            proxy: None,
            resolver: SharedResolver::default(),
        }
    }
}

/// How a broker is opened.
#[derive(Debug, Clone)]
pub struct BrokerOptions {
    /// A directory that only the broker uses: mirrors, staging and records. It must be on the file system of the
    /// workspaces, because checkouts are renamed into them.
    pub state_dir: PathBuf,
    /// The git program. It is started by this path, not found in `PATH`.
    pub git: PathBuf,
    pub limits: BrokerLimits,
    pub network: NetworkOptions,
    pub clock: SharedClock,
}

impl BrokerOptions {
    /// The default limits and network.
    pub fn new(state_dir: impl Into<PathBuf>, git: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
            git: git.into(),
            limits: BrokerLimits::default(),
            network: NetworkOptions::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

/// The version of the git program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Runs git outside the sandbox, on repositories that only it writes.
///
/// Several brokers, also of several processes, may share one state directory.
#[derive(Debug)]
pub struct GitBroker {
    pub(crate) options: BrokerOptions,
    version: GitVersion,
}

impl GitBroker {
    /// Creates the state directory, removes credentials of operations that were killed, and checks the version of git.
    ///
    /// Must be called before the process starts other children: descriptors that this process inherited are closed
    /// in children from now on.
    pub async fn open(mut options: BrokerOptions) -> Result<Self, GitError> {
        descriptors::close_inherited_on_exec();
        create_private_dir(&options.state_dir)?;
        let resolved = fs::canonicalize(&options.state_dir);
        options.state_dir = resolved.map_err(GitError::io("open", &options.state_dir))?;
        if !is_plain_path(&options.state_dir) {
            let cause = std::io::Error::other("its path has a colon, quote or control character");
            return Err(GitError::io("use", &options.state_dir)(cause));
        }
        for name in DIRECTORIES {
            create_private_dir(&options.state_dir.join(name))?;
        }
        for name in ["credentials", "imports"] {
            operation_dir::remove_stale(&options.state_dir.join(name));
        }
        let unknown = GitVersion { major: 0, minor: 0, patch: 0 };
        let mut broker = Self { options, version: unknown };
        let printed = GitCommand::prepare(&broker, "version").read(4096).await?;
        let printed = String::from_utf8_lossy(&printed).trim().to_owned();
        broker.version = match parse_version(&printed) {
            Some(version) if version >= MINIMUM_VERSION => version,
            _ => {
                return Err(GitError::Version { found: printed, minimum: MINIMUM_VERSION_TEXT });
            }
        };
        tracing::info!(git.version = %broker.version, "git broker opened");
        Ok(broker)
    }

    /// The version of the git program when the broker was opened.
    pub fn version(&self) -> GitVersion {
        self.version
    }

    /// An empty directory: the home of every git process.
    pub(crate) fn home_dir(&self) -> PathBuf {
        self.options.state_dir.join("home")
    }

    pub(crate) fn state_path(&self, directory: &str, name: impl AsRef<Path>) -> PathBuf {
        self.options.state_dir.join(directory).join(name)
    }

    /// Seconds since 1970 on the broker's clock.
    pub(crate) fn now_seconds(&self) -> i64 {
        self.options.clock.now().timestamp()
    }
}

/// Whether git takes the path as it is in lists of directories, alternates and shell words.
fn is_plain_path(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| !path.contains(|c: char| ":\"'\\".contains(c) || c.is_control()))
}

/// Creates a directory with mode 0700, or restricts an existing one to it.
pub(crate) fn create_private_dir(path: &Path) -> Result<(), GitError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o700)))
        .map_err(GitError::io("create", path))
}

/// Removes a directory tree of the broker, if it exists.
pub(crate) async fn remove_tree(path: PathBuf) -> Result<(), GitError> {
    let removed = tokio::task::spawn_blocking({
        let path = path.clone();
        move || match fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    });
    let removed = removed.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    removed.map_err(GitError::io("remove", &path))
}

fn parse_version(printed: &str) -> Option<GitVersion> {
    let number = printed.strip_prefix("git version ")?.split_whitespace().next()?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    Some(GitVersion { major, minor, patch: parts.next().flatten().unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_distributors_are_understood() {
        let version = |major, minor, patch| Some(GitVersion { major, minor, patch });

        assert_eq!(parse_version("git version 2.47.3"), version(2, 47, 3));
        assert_eq!(parse_version("git version 2.39.5 (Apple Git-154)"), version(2, 39, 5));
        assert_eq!(parse_version("git version 2.51.0.windows.1"), version(2, 51, 0));
        assert_eq!(parse_version("git version 3.0-rc1"), None);
        assert_eq!(parse_version("busybox"), None);
    }
}
