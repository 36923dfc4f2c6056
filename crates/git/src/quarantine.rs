//! Objects of a bundle, outside the mirror until they are checked.
//!
//! As in `git receive-pack`: the pack is indexed in an object directory of its own that borrows from the mirror. A
//! rejected pack is removed with it; an accepted one is moved into the mirror.

use std::fs;
use std::path::{Path, PathBuf};

use cynode_domain::git::CommitId;

use crate::broker::GitBroker;
use crate::command::{ChildInput, GitCommand};
use crate::error::GitError;
use crate::hardening::{MAX_ALLOCATION_FOR_JOBS, TOLERATED_FSCK_FAULTS};
use crate::mirror::Mirror;
use crate::operation_dir::OperationDir;

/// An object directory that is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Quarantine<'a> {
    broker: &'a GitBroker,
    mirror: &'a Mirror,
    directory: OperationDir,
}

impl<'a> Quarantine<'a> {
    pub(crate) fn create(broker: &'a GitBroker, mirror: &'a Mirror) -> Result<Self, GitError> {
        let directory = OperationDir::create(&broker.options.state_dir.join("imports"))?;
        let pack = directory.path().join("objects/pack");
        fs::create_dir_all(&pack).map_err(GitError::io("create", &pack))?;
        Ok(Self { broker, mirror, directory })
    }

    /// A path for the private copy of the bundle.
    pub(crate) fn bundle_path(&self) -> PathBuf {
        self.directory.path().join("bundle")
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.directory.path().join("objects")
    }

    /// A command that sees the objects of the mirror and of the quarantine, and writes to the latter.
    pub(crate) fn command(&self, operation: &'static str) -> GitCommand<'a> {
        self.broker
            .mirror_command(self.mirror, operation)
            .env("GIT_ALLOC_LIMIT", MAX_ALLOCATION_FOR_JOBS)
            .env("GIT_OBJECT_DIRECTORY", self.objects())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.mirror.path().join("objects"))
    }

    /// Indexes the pack and checks every object of it.
    pub(crate) async fn index_pack(&self, pack: fs::File, limit: u64) -> Result<(), GitError> {
        let tolerated: Vec<String> =
            TOLERATED_FSCK_FAULTS.iter().map(|fault| format!("{fault}=warn")).collect();
        self.command("index-pack")
            .args(["--stdin", "--fix-thin", &format!("--strict={}", tolerated.join(","))])
            .arg(format!("--max-input-size={limit}"))
            .input(ChildInput::File(pack))
            // Thin packs grow by the bases that the mirror has.
            .limit_growth(&self.objects(), limit.saturating_mul(4).saturating_add(64 << 20))
            .run()
            .await?;
        Ok(())
    }

    /// Fails unless `head` is a commit, and everything that it needs is here or in the mirror.
    pub(crate) async fn check_connectivity(&self, head: &CommitId) -> Result<(), GitError> {
        self.command("cat-file").args(["-e", &format!("{head}^{{commit}}")]).run().await?;
        self.command("rev-list")
            .args(["--objects", "--quiet", head.as_str(), "--not", "--all"])
            .run()
            .await?;
        Ok(())
    }

    /// Moves the packs into the mirror. The index goes last: git finds a pack by it.
    pub(crate) fn migrate(&self) -> Result<(), GitError> {
        let (from, to) = (self.objects().join("pack"), self.mirror.path().join("objects/pack"));
        let mut names = Vec::new();
        for entry in fs::read_dir(&from).map_err(GitError::io("list", &from))?.flatten() {
            names.push(PathBuf::from(entry.file_name()));
        }
        names.sort_by_key(|name| name.extension().is_some_and(|extension| extension == "idx"));
        for name in names {
            move_file(&from.join(&name), &to.join(&name))?;
        }
        Ok(())
    }
}

fn move_file(from: &Path, to: &Path) -> Result<(), GitError> {
    fs::rename(from, to).map_err(GitError::io("move a pack to", to))
}
