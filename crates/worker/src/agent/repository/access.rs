//! Which repositories tasks may use on this node.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use cynode_domain::git::{RepositoryUrl, Transport};
use cynode_domain::policy::network::AllowedNetworks;
use cynode_git::{HostResolver, ResolvedHost};
use cynode_network::NetworkReach;

/// What the operator of a node allows. By default: every public host over https or ssh, no path of this machine.
/// Clones share it.
#[derive(Debug, Clone, Default)]
pub struct RepositoryAccess {
    allowed: Arc<RwLock<AllowedRepositories>>,
    /// The node's own files, which are no repositories for tasks, also if an allowed directory contains them.
    state_dir: PathBuf,
}

#[derive(Debug, Clone, Default)]
struct AllowedRepositories {
    /// Directories whose repositories tasks may read and push to, with the rights of the node.
    paths: Vec<PathBuf>,
    /// Internal networks and hosts that may be reached; plain http is allowed only to them.
    networks: AllowedNetworks,
}

impl RepositoryAccess {
    pub fn new(paths: Vec<PathBuf>, networks: AllowedNetworks) -> Self {
        let allowed = Arc::new(RwLock::new(AllowedRepositories { paths, networks }));
        Self { allowed, state_dir: PathBuf::new() }
    }

    /// Allows what `other` allows, also to operations that check after this.
    pub(super) fn replace(&self, other: &Self) {
        let new = other.allowed();
        *self.allowed.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    fn allowed(&self) -> AllowedRepositories {
        self.allowed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Excludes the node's own files.
    pub(super) fn without_paths_below(self, state_dir: &Path) -> Self {
        // A path that cannot be resolved is compared as it is.
        let state_dir = state_dir.canonicalize().unwrap_or_else(|_| state_dir.to_owned());
        Self { state_dir, ..self }
    }

    /// Checks an address without reaching it. The error is for people.
    pub(super) fn check(&self, url: &RepositoryUrl) -> Result<(), String> {
        match url.transport() {
            Transport::Https | Transport::Ssh | Transport::Http => Ok(()),
            Transport::Local => self.check_path(Path::new(url.as_str())),
        }
    }

    /// Accepts a directory below one of the allowed ones, with all links resolved.
    fn check_path(&self, path: &Path) -> Result<(), String> {
        let (real, paths) = (path.canonicalize(), self.allowed().paths);
        let is_below = |real: &PathBuf| {
            let is_own =
                real.starts_with(&self.state_dir) && !self.state_dir.as_os_str().is_empty();
            let mut allowed = paths.iter().filter_map(|allowed| allowed.canonicalize().ok());
            !is_own && allowed.any(|allowed| real.starts_with(allowed)) && is_plain_repository(real)
        };
        // A missing path and a forbidden one give the same answer, so that tasks cannot look for files.
        match real {
            Ok(real) if is_below(&real) && real == path => Ok(()),
            _ => Err(format!(
                "{} is not a repository that this node allows: start the node with --repository-path and a \
                 directory that contains it, and give its path without links",
                path.display()
            )),
        }
    }

    async fn find_addresses(
        &self,
        url: &RepositoryUrl,
        host: &str,
        port: u16,
    ) -> Result<Vec<IpAddr>, String> {
        let networks = self.allowed().networks;
        let reach = NetworkReach::Public(networks.clone());
        let found = reach.resolve(host, port).await.map_err(|error| error.to_string())?;
        let addresses: Vec<IpAddr> = found.into_iter().map(|found| found.ip()).collect();
        let is_opened = |address: &IpAddr| {
            !AllowedNetworks::default().allows(host, *address) && networks.allows(host, *address)
        };
        let is_plain = url.transport() == Transport::Http;
        if is_plain && !(networks.names(host) || addresses.iter().all(is_opened)) {
            return Err("plain http is only allowed to networks that the node opens with \
                        --repository-network: use https"
                .to_owned());
        }
        Ok(addresses)
    }
}

/// Whether git finds the repository at the path itself: neither a file nor a link leads it to another one.
fn is_plain_repository(path: &Path) -> bool {
    let own = path.join(".git");
    let git_dir = match own.symlink_metadata() {
        Ok(found) if found.is_dir() => own,
        Ok(_) => return false,
        Err(_) => path.to_owned(),
    };
    let is_dir =
        |name: &str| git_dir.join(name).symlink_metadata().is_ok_and(|found| found.is_dir());
    let leads_elsewhere = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
    is_dir("objects")
        && is_dir("refs")
        && !leads_elsewhere("commondir")
        && !leads_elsewhere("objects/info/alternates")
}

impl HostResolver for RepositoryAccess {
    fn resolve<'a>(&'a self, url: &'a RepositoryUrl, host: &'a str, port: u16) -> ResolvedHost<'a> {
        Box::pin(self.find_addresses(url, host, port))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn url(text: &str) -> RepositoryUrl {
        text.to_owned().try_into().unwrap()
    }

    #[test]
    fn a_path_needs_an_allowed_directory_and_no_links() {
        let (allowed, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let allowed = allowed.path().canonicalize().unwrap();
        for name in ["app/.git", "bare", "state/app/.git", "worktree/.git", "borrowed/.git"] {
            for part in ["objects/info", "refs"] {
                std::fs::create_dir_all(allowed.join(name).join(part)).unwrap();
            }
        }
        std::fs::write(allowed.join("worktree/.git/commondir"), "/elsewhere").unwrap();
        std::fs::write(allowed.join("borrowed/.git/objects/info/alternates"), "/x").unwrap();
        std::fs::create_dir_all(allowed.join("file")).unwrap();
        std::fs::write(allowed.join("file/.git"), "gitdir: /elsewhere").unwrap();
        std::fs::create_dir_all(allowed.join("empty")).unwrap();
        symlink(outside.path(), allowed.join("link")).unwrap();
        let access = RepositoryAccess::new(vec![], AllowedNetworks::default());
        let access = access.without_paths_below(&allowed.join("state"));
        assert!(access.check(&url(allowed.join("app").to_str().unwrap())).is_err());
        let wider = RepositoryAccess::new(vec![allowed.clone()], AllowedNetworks::default());
        access.clone().replace(&wider);
        let check = |path: &Path| access.check(&url(path.to_str().unwrap()));

        assert_eq!(check(&allowed.join("app")), Ok(()));
        assert_eq!(check(&allowed.join("bare")), Ok(()));
        for path in [
            allowed.join("state/app"),
            allowed.join("worktree"),
            allowed.join("borrowed"),
            allowed.join("file"),
            allowed.join("empty"),
            outside.path().to_owned(),
            allowed.join("link"),
            allowed.join("missing"),
            allowed.join("../.."),
            allowed.join("app/../../etc"),
        ] {
            assert!(check(&path).is_err(), "{}", path.display());
        }
        let nothing = RepositoryAccess::default();
        assert!(nothing.check(&url(allowed.join("app").to_str().unwrap())).is_err());
    }

    #[tokio::test]
    async fn internal_addresses_and_plain_http_need_an_opened_network() {
        let closed = RepositoryAccess::default();
        let opened =
            RepositoryAccess::new(vec![], AllowedNetworks::parse(["127.0.0.0/8"]).unwrap());
        for text in ["https://127.0.0.1/app", "ssh://git@10.0.0.7/app", "https://[::1]/app"] {
            let (url, (host, port)) = (url(text), url(text).host_and_port().unwrap());
            assert!(closed.find_addresses(&url, &host, port).await.is_err(), "{text}");
        }
        let plain = url("http://127.0.0.1:3000/app");

        assert!(closed.find_addresses(&plain, "127.0.0.1", 3000).await.is_err());
        assert!(opened.find_addresses(&plain, "127.0.0.1", 3000).await.is_ok());
        let public = url("http://192.0.2.7/app");
        assert!(opened.find_addresses(&public, "8.8.8.8", 80).await.is_err());
    }
}
