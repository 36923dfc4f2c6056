//! The path of a repository on its forge.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::AddressError;

const MAX_BYTES: usize = 512;
/// GitLab allows twenty levels of groups.
const MAX_PARTS: usize = 21;

/// `owner/name`; on GitLab also `group/subgroup/name`. Each part is safe as a segment of a URL.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryPath(String);

impl RepositoryPath {
    /// Without the suffix `.git` and slashes around it.
    pub(super) fn from_remote(path: &str) -> Result<Self, AddressError> {
        let path = path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path).parse()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The owner, or the whole group of a GitLab project.
    pub fn owner(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(owner, _)| owner)
    }

    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    pub(crate) fn parts(&self) -> usize {
        self.0.split('/').count()
    }
}

impl FromStr for RepositoryPath {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parts = text.split('/').count();
        let is_path = text.len() <= MAX_BYTES
            && (2..=MAX_PARTS).contains(&parts)
            && text.split('/').all(is_part);
        if is_path {
            Ok(Self(text.to_owned()))
        } else {
            Err(AddressError::Repository(text.chars().take(100).collect()))
        }
    }
}

/// Letters, digits, `.`, `_` and `-`, as all three forges allow; `-` alone separates pages from projects on GitLab.
fn is_part(part: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !part.is_empty() && !matches!(part, "." | ".." | "-") && part.bytes().all(is_plain)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_place_in_a_url() {
        for path in [
            "a", "a/", "/a/b", "a//b", "../b", "a/..", "a/-", "a/b?c", "a/b#1", "a/%2e", "a/b\n",
            "ä/b",
        ] {
            assert!(path.parse::<RepositoryPath>().is_err(), "{path:?}");
        }
    }

    #[test]
    fn groups_may_be_nested() {
        let path: RepositoryPath = "group/sub/tools/site.js".parse().unwrap();

        assert_eq!((path.owner(), path.name()), ("group/sub/tools", "site.js"));
    }
}
