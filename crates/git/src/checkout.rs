//! Writes a self-contained repository into the workspace of a task.
//!
//! The checkout is built in a staging directory that no job can reach, and renamed to the workspace in one step. It
//! shares no file with the mirror: no alternates, no hard links, no remote. `.git/config` is written by the broker,
//! `.git/hooks` exists and is empty, so that the sandbox can mount both read-only. LFS pointers stay pointers, and
//! submodules stay empty directories; both are listed.
//!
//! Symbolic links are checked out as links by default. A job can create any link itself, so that a program
//! that reads a workspace outside the sandbox must never follow links in it anyway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cynode_domain::git::{BranchName, CommitId, TaskKey};
use cynode_runtime::durable_file;
use serde::{Deserialize, Serialize};

use crate::broker::{GitBroker, create_private_dir, remove_tree};
use crate::checkout_error::CheckoutError;
use crate::checkout_record::{CheckoutFiles, CheckoutRecord, DirectoryIdentity};
use crate::command::GitCommand;
use crate::error::GitError;
use crate::lock::{LockMode, MirrorLock};
use crate::mirror::{HistoryDepth, Mirror};
use crate::remote::local_service;
use crate::staging::{finish_staging, sync_file_system};
use crate::start_commit::{ConflictMode, MergeSource};
use crate::submodule::Submodule;
use crate::tree::EntryKind;
use crate::tree_path::{display_path, path_fault};

/// The first line of an LFS pointer.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";
/// The specification of LFS limits a pointer to this size.
const MAX_POINTER_BYTES: u64 = 1024;

/// Where the branch of a task starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseRevision {
    DefaultBranch,
    Branch(BranchName),
    /// A commit that the mirror has.
    Commit(CommitId),
}

/// How symbolic links of the repository are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LinkCheckout {
    #[default]
    AsLinks,
    /// As files that contain the target.
    AsFiles,
}

/// The user and group that own the files of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
}

/// What to check out, and where.
#[derive(Debug, Clone)]
pub struct CheckoutRequest {
    /// An absolute path on the file system of the broker's state directory: an empty directory, or none yet.
    pub workspace: PathBuf,
    pub base: BaseRevision,
    /// Commits to merge into the base, in this order. Each was imported with [`ImportTarget::Source`].
    ///
    /// [`ImportTarget::Source`]: crate::ImportTarget::Source
    pub sources: Vec<MergeSource>,
    pub conflicts: ConflictMode,
    /// The new branch.
    pub branch: BranchName,
    /// The task that works on it: its base commit stays in the mirror until the refs of the task are removed.
    pub task: TaskKey,
    pub depth: HistoryDepth,
    pub links: LinkCheckout,
    /// The files belong to the user of the broker if there is none.
    pub owner: Option<Owner>,
    /// Patterns for `.git/info/exclude`: new files that are not the job's.
    pub excludes: Vec<String>,
}

/// A complete checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    /// The commit of the repository.
    pub base_commit: CommitId,
    /// The commit that is checked out, if the task builds on others.
    #[serde(default)]
    pub start_commit: Option<CommitId>,
    pub branch: BranchName,
    /// They were not fetched.
    pub submodules: Vec<Submodule>,
    /// Files whose content is not in the repository.
    pub lfs_pointers: Vec<String>,
}

/// What the files of a commit say before they are checked out.
#[derive(Debug, Default)]
struct TreeSurvey {
    submodules: Vec<(String, CommitId)>,
    small_files: Vec<Vec<u8>>,
    unsafe_path: Option<(String, &'static str)>,
}

impl GitBroker {
    /// Writes a repository into the workspace, on a new branch.
    ///
    /// Idempotent: a complete checkout is returned and not touched; an interrupted one is completed or started again.
    #[tracing::instrument(skip_all, fields(git.url = %mirror.url(), git.branch = %request.branch))]
    pub async fn create_checkout(
        &self,
        mirror: &Mirror,
        request: &CheckoutRequest,
    ) -> Result<Checkout, CheckoutError> {
        let files = CheckoutFiles::new(self, &request.workspace);
        let (wait, url) = (self.options.limits.lock_wait, mirror.url().as_str());
        let _lock = MirrorLock::acquire(&files.lock, LockMode::Exclusive, wait, url).await?;
        if let Some(checkout) = find_complete(&files, mirror, request)? {
            return Ok(checkout);
        }
        reject_used_workspace(&request.workspace)?;
        let _mirror_lock = self.lock_mirror(mirror, LockMode::Shared).await?;
        let base_commit = self.resolve_base(mirror, &request.base).await?;
        self.mirror_command(mirror, "update-ref")
            .args([&request.task.base_ref(), base_commit.as_str()])
            .run()
            .await?;
        let start_commit = self.create_start_commit(mirror, request, &base_commit).await?;
        let head = start_commit.as_ref().unwrap_or(&base_commit);
        let survey = self.survey_tree(mirror, head).await?;
        remove_tree(files.staging.clone()).await?;
        self.build_staging(mirror, request, head, &files.staging).await?;
        let urls = self.submodule_urls(mirror, head).await?;
        let submodules = survey.submodules.into_iter().map(|(path, commit)| {
            let url = urls.get(&path).cloned();
            Submodule { path, commit, url }
        });
        let checkout = Checkout {
            base_commit,
            start_commit,
            branch: request.branch.clone(),
            submodules: submodules.collect(),
            lfs_pointers: find_lfs_pointers(&files.staging, &survey.small_files),
        };
        finish_staging(&files.staging, request).await?;
        sync_file_system(&files.staging).await?;
        let record = CheckoutRecord {
            workspace: request.workspace.clone(),
            url: mirror.url().to_string(),
            directory: DirectoryIdentity::read(&files.staging).ok_or_else(|| {
                GitError::io("read", &files.staging)(io::Error::from(io::ErrorKind::NotFound))
            })?,
            checkout: checkout.clone(),
        };
        files.write(&record)?;
        install(&files, &request.workspace)?;
        tracing::info!(git.base = %checkout.base_commit, "checkout created");
        Ok(checkout)
    }

    /// The complete checkout of a workspace, and the address of its repository.
    pub fn find_checkout(&self, workspace: &Path) -> Option<(String, Checkout)> {
        let record = CheckoutFiles::new(self, workspace).read()?;
        let is_installed = DirectoryIdentity::read(workspace).as_ref() == Some(&record.directory);
        is_installed.then_some((record.url, record.checkout))
    }

    /// Forgets the checkout of a workspace, so that the next call creates a new one. The workspace itself belongs to
    /// the caller.
    pub async fn forget_checkout(&self, workspace: &Path) -> Result<(), GitError> {
        let files = CheckoutFiles::new(self, workspace);
        let wait = self.options.limits.lock_wait;
        let _lock =
            MirrorLock::acquire(&files.lock, LockMode::Exclusive, wait, "workspace").await?;
        remove_tree(files.staging.clone()).await?;
        match fs::remove_file(&files.record) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GitError::io("remove", &files.record)(error))
            }
            _ => Ok(()),
        }
    }

    async fn resolve_base(
        &self,
        mirror: &Mirror,
        base: &BaseRevision,
    ) -> Result<CommitId, CheckoutError> {
        let url = mirror.url().to_string();
        let (name, shown) = match base {
            BaseRevision::DefaultBranch => match mirror.default_branch() {
                Some(branch) => (branch.ref_name(), format!("branch {branch}")),
                None => return Err(CheckoutError::NoDefaultBranch { url }),
            },
            BaseRevision::Branch(branch) => (branch.ref_name(), format!("branch {branch}")),
            BaseRevision::Commit(commit) => (commit.to_string(), format!("commit {commit}")),
        };
        let found = self.resolve_commit(mirror, &name).await?;
        found.ok_or(CheckoutError::UnknownRevision { url, revision: shown })
    }

    /// Lists what the checkout reports, and rejects paths that are not safe on every file system.
    async fn survey_tree(
        &self,
        mirror: &Mirror,
        commit: &CommitId,
    ) -> Result<TreeSurvey, CheckoutError> {
        let mut survey = TreeSurvey::default();
        self.list_tree(mirror, commit, |entry| {
            if let Some(reason) = path_fault(entry.path) {
                survey.unsafe_path.get_or_insert_with(|| (display_path(entry.path), reason));
            }
            match entry.kind {
                EntryKind::Submodule => {
                    let commit = entry.object.parse().ok();
                    survey.submodules.extend(commit.map(|id| (display_path(entry.path), id)));
                }
                EntryKind::File if entry.bytes <= MAX_POINTER_BYTES => {
                    if entry.bytes >= LFS_POINTER.len() as u64 {
                        survey.small_files.push(entry.path.to_owned());
                    }
                }
                EntryKind::File | EntryKind::Link => {}
            }
        })
        .await?;
        match survey.unsafe_path {
            Some((path, reason)) => Err(CheckoutError::UnsafePath { path, reason }),
            None => Ok(survey),
        }
    }

    /// Makes the repository and the files in the staging directory.
    async fn build_staging(
        &self,
        mirror: &Mirror,
        request: &CheckoutRequest,
        head: &CommitId,
        staging: &Path,
    ) -> Result<(), GitError> {
        create_private_dir(staging)?;
        let git_dir = staging.join(".git");
        GitCommand::prepare(self, "init")
            .args(["--quiet", "--template="])
            .arg(format!("--initial-branch={}", request.branch))
            .arg("--")
            .arg(staging)
            .run()
            .await?;
        write_config(&git_dir, request)?;
        let upload_pack = local_service(self, "upload-pack");
        let depth = match request.depth {
            HistoryDepth::Full => None,
            HistoryDepth::Commits(count) => Some(format!("--depth={count}")),
        };
        GitCommand::prepare(self, "fetch")
            .repository(&git_dir)
            .protocol("file")
            // The mirror checked the objects when they arrived.
            .config("transfer.fsckObjects", "false")
            // A reflog would show the path of the mirror to the job.
            .config("core.logAllRefUpdates", "false")
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok"])
            .args(["--no-recurse-submodules", "--no-auto-maintenance", "--update-shallow"])
            .args(depth)
            .arg(format!("--upload-pack={upload_pack}"))
            .arg("--")
            .arg(mirror.path())
            .arg(format!("+{head}:{}", request.branch.ref_name()))
            .run()
            .await?;
        GitCommand::prepare(self, "read-tree")
            .repository(&git_dir)
            .working_dir(staging)
            .env("GIT_WORK_TREE", staging)
            .config("core.symlinks", symlinks_value(request.links))
            // `.gitattributes` of the files decides on line endings, as in any clone. No filter is configured.
            .config("attr.tree", "")
            .args(["--reset", "-u", "--no-recurse-submodules", "HEAD"])
            .run()
            .await?;
        Ok(())
    }
}

fn symlinks_value(links: LinkCheckout) -> &'static str {
    match links {
        LinkCheckout::AsLinks => "true",
        LinkCheckout::AsFiles => "false",
    }
}

fn write_config(git_dir: &Path, request: &CheckoutRequest) -> Result<(), GitError> {
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
         \tlogallrefupdates = true\n\tsymlinks = {}\n\
         [user]\n\tname = CyNode\n\temail = agent@cynode.invalid\n",
        symlinks_value(request.links)
    );
    let mut excludes = request.excludes.join("\n");
    excludes.push('\n');
    let path = git_dir.join("config");
    fs::write(&path, config)
        .and_then(|()| fs::create_dir_all(git_dir.join("hooks")))
        .and_then(|()| fs::create_dir_all(git_dir.join("info")))
        .and_then(|()| fs::write(git_dir.join("info/exclude"), excludes))
        .map_err(GitError::io("write", &path))
}

/// The complete checkout of the workspace. Completes one that was only not renamed yet.
fn find_complete(
    files: &CheckoutFiles,
    mirror: &Mirror,
    request: &CheckoutRequest,
) -> Result<Option<Checkout>, CheckoutError> {
    let Some(record) = files.read() else {
        return Ok(None);
    };
    let is_installed =
        DirectoryIdentity::read(&request.workspace).as_ref() == Some(&record.directory);
    let is_staged = DirectoryIdentity::read(&files.staging).as_ref() == Some(&record.directory);
    if !is_installed && !is_staged {
        return Ok(None);
    }
    let is_same = record.url == mirror.url().as_str() && record.checkout.branch == request.branch;
    match (is_same, is_installed) {
        (true, true) => Ok(Some(record.checkout)),
        (true, false) => {
            reject_used_workspace(&request.workspace)?;
            install(files, &request.workspace)?;
            Ok(Some(record.checkout))
        }
        (false, true) => Err(CheckoutError::OtherCheckout {
            path: request.workspace.clone(),
            found: format!("{} on branch {}", record.url, record.checkout.branch),
        }),
        (false, false) => Ok(None),
    }
}

fn reject_used_workspace(workspace: &Path) -> Result<(), CheckoutError> {
    match fs::symlink_metadata(workspace) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GitError::io("open", workspace)(error).into()),
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(CheckoutError::NotEmpty { path: workspace.to_owned() }),
    }
    let mut entries = fs::read_dir(workspace).map_err(GitError::io("list", workspace))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(CheckoutError::NotEmpty { path: workspace.to_owned() }),
    }
}

/// Renames the staging directory over the workspace, which is empty or missing.
fn install(files: &CheckoutFiles, workspace: &Path) -> Result<(), CheckoutError> {
    match fs::rename(&files.staging, workspace) {
        Ok(()) => Ok(durable_file::sync_parent(workspace)
            .map_err(GitError::io("sync the directory of", workspace))?),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(CheckoutError::NotEmpty { path: workspace.to_owned() })
        }
        Err(error) => Err(GitError::io("move the checkout to", workspace)(error).into()),
    }
}

fn find_lfs_pointers(staging: &Path, small_files: &[Vec<u8>]) -> Vec<String> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let is_pointer = |path: &&Vec<u8>| {
        fs::read(staging.join(OsStr::from_bytes(path)))
            .is_ok_and(|content| content.starts_with(LFS_POINTER))
    };
    small_files.iter().filter(is_pointer).map(|path| display_path(path)).collect()
}
