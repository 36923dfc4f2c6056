//! Addresses of forges, repositories, issues and pull requests.
//!
//! Start at [`parse_item`] and [`parse_repository`]. They take what people paste: URLs of pages, addresses of git
//! remotes, and short references such as `owner/name#12`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

/// The API that a forge speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForgeKind {
    Github,
    Gitlab,
    /// Also Forgejo.
    Gitea,
}

/// A forge: its kind and the URL of its web pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeInstance {
    pub kind: ForgeKind,
    /// `https://github.com`, `https://host/prefix`; without credentials, query and slash at the end of its path.
    pub base_url: Url,
}

/// `owner/name`; on GitLab also `group/subgroup/name`.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryPath(String);

/// A repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    pub instance: ForgeInstance,
    pub path: RepositoryPath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    Issue,
    PullRequest,
}

/// An issue or pull request on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemAddress {
    pub repository: RepositoryAddress,
    /// `owner/name#12` gives `Issue`, although it may be a pull request on GitHub and Gitea.
    pub kind: ItemKind,
    pub number: u64,
}

/// Why a text is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address is empty, too long, or has white space or control characters")]
    Malformed,
    #[error("the address has a password: remove it, and store it as a credential")]
    Password,
    #[error("{0} is no known forge: an administrator can add it")]
    UnknownForge(String),
    #[error("{0:?} is no repository: use owner/name")]
    Repository(String),
    #[error("the address names no issue and no pull request")]
    NoItem,
    #[error("owner/name#12 needs a configured forge: use the whole URL")]
    NoDefaultForge,
}

impl ForgeInstance {
    pub fn new(kind: ForgeKind, base_url: &str) -> Result<Self, AddressError> {
        unimplemented!("{kind:?} {base_url}")
    }
}

/// Parses the address of a repository: a page, an https or ssh remote, or `owner/name`.
///
/// `known` are the configured forges; the first one completes short references. Without a configured forge for the host,
/// only the public forges and addresses whose form is specific to one kind are recognized.
pub fn parse_repository(
    text: &str,
    known: &[ForgeInstance],
) -> Result<RepositoryAddress, AddressError> {
    unimplemented!("{text} {known:?}")
}

/// Parses the address of an issue or pull request: its page, or `owner/name#12` (`owner/name!12` for a pull request).
pub fn parse_item(text: &str, known: &[ForgeInstance]) -> Result<ItemAddress, AddressError> {
    unimplemented!("{text} {known:?}")
}

impl FromStr for RepositoryPath {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Ok(Self(text.to_owned()))
    }
}

impl RepositoryPath {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RepositoryPath {
    type Error = AddressError;

    fn try_from(text: String) -> Result<Self, AddressError> {
        text.parse()
    }
}

impl From<RepositoryPath> for String {
    fn from(path: RepositoryPath) -> Self {
        path.0
    }
}

impl fmt::Display for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RepositoryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepositoryPath({})", self.0)
    }
}
