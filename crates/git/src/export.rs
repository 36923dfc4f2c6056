//! Writes patches and bundles from the mirror.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cynode_domain::git::{BranchName, CommitId};
use cynode_runtime::durable_file;
use tempfile::NamedTempFile;

use crate::broker::GitBroker;
use crate::command::{ChildInput, GitCommand};
use crate::error::GitError;
use crate::lock::LockMode;
use crate::mirror::Mirror;

impl GitBroker {
    /// Writes the difference of two commits as a patch for `git apply`, with binary files. Returns its size.
    ///
    /// The file has mode 0600 and replaces an existing one when it is complete.
    pub async fn write_patch(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        head: &CommitId,
        out_path: &Path,
    ) -> Result<u64, GitError> {
        let _lock = self.lock_mirror(mirror, LockMode::Shared).await?;
        let command = self
            .mirror_command(mirror, "diff-tree")
            .args(["-r", "-p", "--binary", "--full-index", "--no-renames"])
            .args(["--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"])
            .args([base.as_str(), head.as_str()]);
        self.write_output(command, b"", out_path).await
    }

    /// Writes the commits of `head` that `base` does not have as a bundle with one branch. Returns its size.
    ///
    /// The file has mode 0600 and replaces an existing one when it is complete.
    pub async fn write_bundle(
        &self,
        mirror: &Mirror,
        base: &CommitId,
        head: &CommitId,
        branch: &BranchName,
        out_path: &Path,
    ) -> Result<u64, GitError> {
        let _lock = self.lock_mirror(mirror, LockMode::Shared).await?;
        // `git bundle` names the refs of the mirror, where the branch does not exist; the format is a header and a pack.
        let header = format!("# v2 git bundle\n-{base}\n{head} {}\n\n", branch.ref_name());
        let command = self
            .mirror_command(mirror, "pack-objects")
            .args(["--quiet", "--revs", "--thin", "--delta-base-offset", "--stdout"])
            .input(ChildInput::Bytes(format!("{head}\n^{base}\n").into_bytes()));
        self.write_output(command, header.as_bytes(), out_path).await
    }

    async fn write_output(
        &self,
        command: GitCommand<'_>,
        header: &[u8],
        out_path: &Path,
    ) -> Result<u64, GitError> {
        let limit = self.options.limits.export_bytes;
        let failed = |cause: io::Error| GitError::io("write", out_path)(cause);
        let directory = out_path.parent().unwrap_or(Path::new("/"));
        let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(header).map_err(failed)?;
        let mut size = header.len() as u64;
        command
            .run_with(&mut |piece| {
                size += piece.len() as u64;
                if size > limit {
                    let what = "bytes of output";
                    return Err(GitError::LimitExceeded { operation: "export", what, limit });
                }
                file.write_all(piece).map_err(|cause| GitError::io("write", out_path)(cause))
            })
            .await?;
        file.as_file().sync_all().map_err(failed)?;
        fs::set_permissions(file.path(), Permissions::from_mode(0o600)).map_err(failed)?;
        file.persist(out_path).map_err(|error| failed(error.error))?;
        durable_file::sync_parent(out_path).map_err(failed)?;
        Ok(size)
    }
}
