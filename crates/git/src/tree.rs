//! The files of one commit, listed within limits.

use cynode_domain::git::CommitId;

use crate::broker::GitBroker;
use crate::command::split_records;
use crate::error::GitError;
use crate::mirror::Mirror;

/// A file mode of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Link,
    Submodule,
}

impl EntryKind {
    /// Parses an octal mode; every unknown one is a file.
    pub(crate) fn from_mode(mode: &[u8]) -> Self {
        match mode {
            b"120000" => Self::Link,
            b"160000" => Self::Submodule,
            _ => Self::File,
        }
    }
}

/// A file, link or submodule of a commit.
#[derive(Debug)]
pub(crate) struct TreeEntry<'a> {
    pub(crate) kind: EntryKind,
    pub(crate) object: &'a str,
    /// Zero for a submodule.
    pub(crate) bytes: u64,
    pub(crate) path: &'a [u8],
}

impl GitBroker {
    /// Calls `each` for every file of a commit. Fails when the limits of a checkout are exceeded: a few objects can
    /// describe a tree of any size.
    pub(crate) async fn list_tree(
        &self,
        mirror: &Mirror,
        commit: &CommitId,
        mut each: impl FnMut(TreeEntry<'_>) + Send,
    ) -> Result<(), GitError> {
        const OPERATION: &str = "ls-tree";
        let limits = self.options.limits.clone();
        let (mut files, mut bytes) = (0_u64, 0_u64);
        let mut sink = split_records(0, |record| {
            let malformed = || GitError::Failed {
                operation: OPERATION,
                message: "malformed output".to_owned(),
            };
            let entry = parse_entry(record).ok_or_else(malformed)?;
            files += 1;
            bytes = bytes.saturating_add(entry.bytes);
            if files > limits.tree_files {
                let limit = limits.tree_files;
                return Err(GitError::LimitExceeded { operation: OPERATION, what: "files", limit });
            }
            if bytes > limits.tree_bytes {
                let (what, limit) = ("bytes of files", limits.tree_bytes);
                return Err(GitError::LimitExceeded { operation: OPERATION, what, limit });
            }
            each(entry);
            Ok(())
        });
        self.mirror_command(mirror, OPERATION)
            .args(["-r", "-l", "-z", "--full-tree", commit.as_str()])
            .run_with(&mut sink)
            .await?;
        Ok(())
    }
}

/// `<mode> <type> <object> <size>\t<path>`
fn parse_entry(record: &[u8]) -> Option<TreeEntry<'_>> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let mut fields = std::str::from_utf8(&record[..tab]).ok()?.split_ascii_whitespace();
    let (mode, _, object) = (fields.next()?, fields.next()?, fields.next()?);
    let bytes = fields.next()?.parse().unwrap_or(0);
    let kind = EntryKind::from_mode(mode.as_bytes());
    Some(TreeEntry { kind, object, bytes, path: &record[tab + 1..] })
}
