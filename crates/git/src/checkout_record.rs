//! Which workspaces have a complete checkout.
//!
//! A job may change everything inside its workspace, so the record is in the state directory and identifies the
//! workspace by its directory, not by its content. It is written before the finished checkout is renamed into place:
//! a kill between the two leaves a record that matches the staging directory, and the next call only renames it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cynode_runtime::durable_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::broker::GitBroker;
use crate::checkout::Checkout;
use crate::error::GitError;

/// A directory, regardless of its path. The time of creation distinguishes a reused inode number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DirectoryIdentity {
    device: u64,
    inode: u64,
    /// Nanoseconds since 1970, where the file system records it.
    created: Option<u128>,
}

impl DirectoryIdentity {
    /// `None` if there is no directory at `path`; a link is not one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
        let created = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            created: created.map(|since| since.as_nanos()),
        })
    }
}

/// A checkout that is complete in a workspace or in its staging directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CheckoutRecord {
    pub(crate) workspace: PathBuf,
    pub(crate) url: String,
    pub(crate) directory: DirectoryIdentity,
    pub(crate) checkout: Checkout,
}

/// The files that belong to the checkout of one workspace.
#[derive(Debug)]
pub(crate) struct CheckoutFiles {
    pub(crate) record: PathBuf,
    pub(crate) staging: PathBuf,
    pub(crate) lock: PathBuf,
}

impl CheckoutFiles {
    pub(crate) fn new(broker: &GitBroker, workspace: &Path) -> Self {
        let digest = hex::encode(Sha256::digest(workspace.as_os_str().as_encoded_bytes()));
        Self {
            record: broker.state_path("checkouts", format!("{digest}.json")),
            staging: broker.state_path("staging", &digest),
            lock: broker.state_path("checkouts", format!("{digest}.lock")),
        }
    }

    pub(crate) fn read(&self) -> Option<CheckoutRecord> {
        read_record(&self.record)
    }

    pub(crate) fn write(&self, record: &CheckoutRecord) -> Result<(), GitError> {
        let json = serde_json::to_vec(record).map_err(std::io::Error::other);
        json.and_then(|json| durable_file::replace(&self.record, &json))
            .map_err(GitError::io("write", &self.record))
    }
}

pub(crate) fn read_record(path: &Path) -> Option<CheckoutRecord> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
