//! What a job needs from a sandbox: the whole interface between the logic of jobs and a backend.
//!
//! A request is complete. A backend reads nothing else about the job, and may refuse what it cannot provide, but never
//! provides more. It is `request.json` in the job directory, written by the process that starts the job.

use std::path::PathBuf;

use cynode_domain::job::Limits;
use serde::{Deserialize, Serialize};

use crate::cgroup::{Controller, JobCgroup};

/// Path of the workspace inside a sandbox.
pub const SANDBOX_WORKSPACE: &str = "/workspace";
/// Path of the artifacts inside a sandbox.
pub const SANDBOX_ARTIFACTS: &str = "/job/artifacts";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRequest {
    /// The program and its arguments. It starts in [`SANDBOX_WORKSPACE`].
    pub argv: Vec<String>,
    /// The complete environment.
    pub env: Vec<(String, String)>,
    pub input: SandboxInput,
    pub root: RootFilesystem,
    /// The host's directory at [`SANDBOX_WORKSPACE`], writable.
    pub workspace: PathBuf,
    /// The host's directory at [`SANDBOX_ARTIFACTS`], writable.
    pub artifacts: PathBuf,
    /// Files of the sandbox's own, which the command cannot change.
    pub files: Vec<SandboxFile>,
    /// Programs of the host, read-only.
    pub programs: Vec<SandboxProgram>,
    /// Paths inside the sandbox that are read-only although they are below a writable one, if they exist.
    pub protected: Vec<String>,
    /// A directory that survives the job, writable at [`SANDBOX_CACHE`](crate::cache::SANDBOX_CACHE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<SandboxCache>,
    pub network: SandboxNetwork,
    pub limits: Limits,
    pub backend: BackendOptions,
}

/// Where the standard input of the command comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SandboxInput {
    /// There is none.
    Empty,
    /// A named pipe of the host. The command is an interactive program, which also gets the variables that its supervisor
    /// inherited for it.
    Pipe { path: PathBuf },
}

/// The files that the command sees besides its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RootFilesystem {
    /// The host's programs and libraries, and these paths of it, all read-only.
    Host { expose: Vec<PathBuf> },
    /// An unpacked image, read-only.
    Image { path: PathBuf },
}

/// A small file inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFile {
    /// The absolute path inside.
    pub path: String,
    pub content: String,
    pub is_executable: bool,
}

/// The cache of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxCache {
    /// The directory of the slots that the job may use.
    pub pool: PathBuf,
    pub quota_mib: u32,
    /// The directory that the job sees, once its supervisor has taken one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

/// A program of the host inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProgram {
    pub host: PathBuf,
    /// The absolute path inside.
    pub path: String,
}

/// What the command can connect to. It always has a loopback interface of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SandboxNetwork {
    /// Nothing.
    Isolated,
    /// A listener at this port of its loopback interface, which the backend hands out: see
    /// `SandboxEvent::EgressListening`.
    Egress { port: u16 },
}

/// The backend that provides the sandbox, with what it alone understands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BackendOptions {
    Namespaces(NamespaceOptions),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceOptions {
    /// The user that the command runs as; `None` in a user namespace, which maps only the node's own.
    pub uid: Option<u32>,
    /// The cgroup that limits the job, where the node has one for it.
    pub(crate) cgroup: Option<JobCgroup>,
}

impl NamespaceOptions {
    /// Whether the kernel enforces the limits of `controller`.
    pub(crate) fn limits_by_cgroup(&self, controller: Controller) -> bool {
        self.cgroup.as_ref().is_some_and(|cgroup| cgroup.enforces(controller))
    }
}

impl SandboxRequest {
    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.input, SandboxInput::Pipe { .. })
    }
}
