//! Names that reach git's command line: commits, branches, tasks.
//!
//! Invariant: none of them starts with a dash, contains white space or control characters, or means something else
//! to git than what its type says.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub(super) const MAX_BRANCH_BYTES: usize = 200;
const MAX_TASK_BYTES: usize = 64;
/// Hexadecimal digits of a SHA-1 object id.
const ID_DIGITS: usize = 40;

/// A name that is not what its type requires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("{0:?} is not a commit id: give all 40 hexadecimal digits")]
    Commit(String),
    #[error("{name:?} is not a branch name: it {reason}")]
    Branch { name: String, reason: &'static str },
    #[error("{0:?} is not a task key: use up to 64 letters, digits and dashes")]
    Task(String),
}

/// The id of a commit: 40 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

/// A branch name without `refs/heads/`, valid for `git check-ref-format`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

/// The key of a task in ref names: letters, digits and dashes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskKey(String);

impl FromStr for CommitId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_id = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(NameError::Commit(text.to_owned()))
        }
    }
}

impl BranchName {
    /// The full name of the ref.
    pub fn ref_name(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl FromStr for BranchName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        match branch_fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => Err(NameError::Branch { name: name.to_owned(), reason }),
        }
    }
}

/// The rule of `git check-ref-format --branch` that a name breaks, and rules of our own.
fn branch_fault(name: &str) -> Option<&'static str> {
    let forbidden = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > MAX_BRANCH_BYTES {
        Some("is longer than 200 bytes")
    } else if name.starts_with('-') {
        Some("starts with a dash")
    } else if name == "HEAD" || name == "@" || name.starts_with("refs/") {
        Some("is reserved by git")
    } else if name.contains(forbidden) || name.contains("..") || name.contains("@{") {
        Some("contains white space, a control character or one of ~^:?*[\\ .. @{")
    } else if name.split('/').any(|part| {
        let is_lock = part.to_ascii_lowercase().ends_with(".lock");
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || is_lock
    }) {
        Some("has a part that is empty, starts or ends with a dot, or ends with .lock")
    } else {
        None
    }
}

impl TaskKey {
    /// The ref of the newest commits of the task.
    pub fn head_ref(&self) -> String {
        format!("{}head", self.ref_prefix())
    }

    /// The ref of the commit of the repository that the task started from.
    pub fn base_ref(&self) -> String {
        format!("{}base", self.ref_prefix())
    }

    /// The ref of the commit that the task started from, if it builds on other tasks.
    pub fn start_ref(&self) -> String {
        format!("{}start", self.ref_prefix())
    }

    /// The ref of the commits that the task builds on, by their position.
    pub fn source_ref(&self, index: usize) -> String {
        format!("{}source/{index}", self.ref_prefix())
    }

    /// The namespace of the task's refs, with a slash at the end.
    pub fn ref_prefix(&self) -> String {
        format!("refs/cynode/{}/", self.0)
    }
}

impl FromStr for TaskKey {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_key = (1..=MAX_TASK_BYTES).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_key { Ok(Self(text.to_owned())) } else { Err(NameError::Task(text.to_owned())) }
    }
}

macro_rules! text_of_names {
    ($($name:ident)*) => {$(
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    )*};
}

text_of_names!(CommitId BranchName TaskKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_id_has_forty_digits() {
        let id: CommitId = "0123456789ABCDEF0123456789abcdef01234567".parse().unwrap();

        assert_eq!(id.as_str(), "0123456789abcdef0123456789abcdef01234567");
        for wrong in
            ["", "HEAD", "0123456", "--upload-pack=x", "0123456789abcdef0123456789abcdef0123456g"]
        {
            assert!(wrong.parse::<CommitId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn branch_names_follow_the_rules_of_git() {
        for name in ["main", "cynode/task-1", "fix#12", "ünïcode", "a@b"] {
            assert_eq!(name.parse::<BranchName>().unwrap().as_str(), name);
        }
        for name in [
            "",
            "-x",
            "--delete",
            "HEAD",
            "@",
            "a b",
            "a\nb",
            "a..b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[b",
            "a\\b",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.LOCK/b",
            "refs/heads/x",
        ] {
            assert!(name.parse::<BranchName>().is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_task_key_is_one_part_of_a_ref_name() {
        let key: TaskKey = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();

        assert_eq!(key.head_ref(), "refs/cynode/0198c0de-0000-7000-8000-000000000001/head");
        for wrong in ["", "a/b", "..", "a b", "-a", &"x".repeat(65)] {
            assert!(wrong.parse::<TaskKey>().is_err(), "{wrong}");
        }
    }
}
