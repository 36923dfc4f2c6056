//! Addresses of forges, repositories, issues and pull requests.
//!
//! Start at [`parse_item`] and [`parse_repository`]. They take what people paste: URLs of pages, addresses of git
//! remotes, and short references such as `owner/name#12`.

mod parse;
mod repository_path;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::Url;

pub use parse::{parse_item, parse_repository};
pub use repository_path::RepositoryPath;

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
    /// `https://github.com`, `https://host/prefix`; without credentials, query and fragment.
    pub base_url: Url,
}

/// A repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    pub instance: ForgeInstance,
    pub path: RepositoryPath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    #[error("{0:?} is no known forge: an administrator can add it")]
    UnknownForge(String),
    #[error("{0:?} is no repository: use owner/name")]
    Repository(String),
    #[error("the address names no issue and no pull request")]
    NoItem,
    #[error("a short reference needs a configured forge: use the whole URL")]
    NoDefaultForge,
    #[error("{0:?} is no base URL of a forge: use https://host or https://host/path")]
    BaseUrl(String),
    #[error("{0:?} is no kind of forge: use github, gitlab or gitea")]
    Kind(String),
}

impl ForgeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Gitea => "gitea",
        }
    }

    /// The kind of a public forge.
    pub(crate) fn of_public_host(host: &str) -> Option<Self> {
        match host {
            "github.com" => Some(Self::Github),
            "gitlab.com" => Some(Self::Gitlab),
            "codeberg.org" | "gitea.com" => Some(Self::Gitea),
            _ => None,
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ForgeKind {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text {
            "github" => Ok(Self::Github),
            "gitlab" => Ok(Self::Gitlab),
            "gitea" | "forgejo" => Ok(Self::Gitea),
            _ => Err(AddressError::Kind(text.chars().take(40).collect())),
        }
    }
}

impl ForgeInstance {
    /// Parses the base URL; rejects credentials, a query and every scheme but http and https.
    pub fn new(kind: ForgeKind, base_url: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError::BaseUrl(base_url.chars().take(200).collect());
        let mut url = Url::parse(base_url).map_err(|_| wrong())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Password);
        }
        let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
        if !is_web || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong());
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok(Self { kind, base_url: url })
    }

    /// The page of a repository.
    pub fn repository_url(&self, path: &RepositoryPath) -> String {
        format!("{}/{path}", self.base_url.as_str().trim_end_matches('/'))
    }
}

impl ItemAddress {
    /// The page of the item, in the form of its forge.
    pub fn url(&self) -> String {
        let repository = self.repository.instance.repository_url(&self.repository.path);
        let folder = match (self.repository.instance.kind, self.kind) {
            (ForgeKind::Github | ForgeKind::Gitea, ItemKind::Issue) => "issues",
            (ForgeKind::Github, ItemKind::PullRequest) => "pull",
            (ForgeKind::Gitea, ItemKind::PullRequest) => "pulls",
            (ForgeKind::Gitlab, ItemKind::Issue) => "-/issues",
            (ForgeKind::Gitlab, ItemKind::PullRequest) => "-/merge_requests",
        };
        format!("{repository}/{folder}/{}", self.number)
    }
}
