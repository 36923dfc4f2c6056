//! Limits of jobs by the kernel: cgroup v2.
//!
//! Start at [`JobSubtree::prepare`], which a node calls once; each job then gets a [`JobCgroup`]. A node uses the cgroup in
//! which it was started, the base:
//!
//! ```text
//! <base>/main                    the node and the supervisors of its jobs
//! <base>/jobs-<device>-<inode>   the jobs of one state directory, with a lower weight than `main`
//!            └── <job id>        one job: PID 1 of its sandbox, and everything that it starts
//! ```
//!
//! A cgroup with limits for its children holds no processes, so the node moves itself to `main`. It moves no other
//! process: where it is not alone, it uses no cgroups and PID 1 of each sandbox samples the memory instead.

mod job;
mod locate;
mod subtree;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use job::JobCgroup;
pub(crate) use subtree::JobSubtree;

/// A part of the kernel that limits what the processes of a cgroup use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Controller {
    /// Ends the job that exceeds its memory.
    Memory,
    /// Limits processes and threads.
    Pids,
    /// Shares the processors.
    Cpu,
    /// Shares the disks.
    Io,
}

impl Controller {
    pub(crate) const ALL: [Self; 4] = [Self::Memory, Self::Pids, Self::Cpu, Self::Io];

    /// The kernel's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
            Self::Io => "io",
        }
    }

    /// Name of the feature that a node reports.
    pub(crate) const fn feature(self) -> &'static str {
        match self {
            Self::Memory => "cgroup_memory",
            Self::Pids => "cgroup_pids",
            Self::Cpu => "cgroup_cpu",
            Self::Io => "cgroup_io",
        }
    }
}

/// Why a node uses no cgroups, or less than all of them.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CgroupError {
    #[error("no cgroup v2 hierarchy is mounted")]
    NotMounted,
    #[error("the node's cgroup {} is outside the mounted hierarchy", .0.display())]
    Outside(PathBuf),
    #[error("the cgroup {} offers none of the controllers memory, pids, cpu and io", .0.display())]
    NoControllers(PathBuf),
    #[error(
        "the cgroup {} also holds process {pid} ({program}); start the node in a cgroup of its own",
        .path.display()
    )]
    Shared { path: PathBuf, pid: u32, program: String },
    #[error("the unit {} is not delegated; set Delegate=yes in it", .0.display())]
    NotDelegated(PathBuf),
    #[error("the cgroup {} cannot be changed: {cause}", .path.display())]
    Io { path: PathBuf, cause: io::Error },
}

impl CgroupError {
    fn io_error(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }
}

/// Writes a file of a cgroup, which the kernel has created.
fn write_control(directory: &Path, name: &str, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(directory.join(name))?;
    file.write_all(value.as_bytes())
}
