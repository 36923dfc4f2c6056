//! The program that runs the stages of sandboxes.
//!
//! A job starts three stages, and each of them loads its program. The programs of a node are large: loading one takes longer than
//! everything that a stage does. `cynode-stages`, beside the node's program, contains the stages and nothing else.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use cynode_runtime::child_env::{Allowlist, ChildEnv as _};

use crate::stage_entry;

const SMALL_PROGRAM: &str = "cynode-stages";

/// A program that can be started as any stage.
#[derive(Debug, Clone)]
pub(super) struct StageProgram {
    path: PathBuf,
    /// Keeps `path` the file that was checked, even after an upgrade replaced it on disk.
    _file: Option<Arc<File>>,
}

impl StageProgram {
    /// Uses the small program beside `executable` if it was built from the same sources, else `executable`.
    pub(super) fn choose(executable: &Path) -> Self {
        match Self::open_small(executable) {
            Ok(program) => program,
            Err(error) => {
                tracing::info!(
                    error = &error as &dyn std::error::Error,
                    "small program of the stages not used"
                );
                Self { path: executable.to_owned(), _file: None }
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn open_small(executable: &Path) -> io::Result<Self> {
        let directory = if executable == Path::new(stage_entry::SELF_EXE) {
            fs::read_link(executable)?
        } else {
            executable.to_owned()
        };
        let file = File::open(directory.with_file_name(SMALL_PROGRAM))?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let output = Command::new(&path)
            .args([stage_entry::BUILD, "digest"])
            .inherit_only(&Allowlist::none())
            .current_dir("/")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        if output.stdout != stage_entry::BUILD_DIGEST.as_bytes() {
            return Err(io::Error::other("it is of another build"));
        }
        Ok(Self { path, _file: Some(Arc::new(file)) })
    }
}
