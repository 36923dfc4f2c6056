//! The directory of one job: the only state shared by a node, its successor and a sandbox.
//!
//! ```text
//! spec.json      the job; written before the directory gets its final name
//! lock           locked by the job's supervisor while it runs
//! started        marker: the sandbox was about to start
//! image.json     the image that it runs in, if it is not the node's own system; written before the start
//! request.json   what it needs from its sandbox; written before the start
//! process.json   PID 1 of the sandbox; written before it starts the command
//! stdout stderr  the captured output
//! artifacts/     files to upload
//! outcome.json   the outcome; written once, before the lock is released
//! cancel stop    stop requests
//! ```
//!
//! Invariant: a directory with its final name is an accepted job.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_runtime::durable_file;
use cynode_wire::jobs::Stream;

use crate::durable_files;
use crate::request::SandboxRequest;
use crate::sandbox_process::SandboxProcess;
use crate::spec::{JobImage, JobSpec, SandboxJobOutcome};

/// Poll interval while the kernel ends a sandbox.
const PROCESS_POLL_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Debug, thiserror::Error)]
pub enum JobDirError {
    #[error("the job was accepted before")]
    Exists,
    #[error("the workspace of its task, with the files of earlier steps, is not on this node")]
    NoWorkspace,
    #[error("{path} cannot be used")]
    Io {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl JobDirError {
    pub fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }
}

/// Why a job must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// Canceled through the orchestrator.
    Cancel,
    /// The node shuts down.
    NodeShutdown,
}

impl StopRequest {
    const ALL: [Self; 2] = [Self::Cancel, Self::NodeShutdown];

    const fn file_name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::NodeShutdown => "stop",
        }
    }
}

/// The directory of one job. Cheap to clone; reading never changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDir {
    path: PathBuf,
}

impl JobDir {
    /// Wraps the existing directory at `path`.
    pub fn open(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Accepts a job: creates its directory durably under `jobs`. Fails with `Exists` if it was accepted before.
    ///
    /// The directory is written under a name that adoption ignores, and renamed when complete.
    pub fn create(jobs: &Path, spec: &JobSpec) -> Result<Self, JobDirError> {
        let name = spec.assignment.job_id.to_string();
        let path = jobs.join(&name);
        if path.exists() {
            return Err(JobDirError::Exists);
        }
        let draft = jobs.join(format!(".{name}"));
        write_draft(&draft, spec).map_err(JobDirError::io_error(&draft))?;
        // The rename fails on a non-empty directory.
        fs::rename(&draft, &path).map_err(|cause| {
            if path.exists() { JobDirError::Exists } else { JobDirError::io_error(&path)(cause) }
        })?;
        durable_file::sync_parent(&path).map_err(JobDirError::io_error(&path))?;
        Ok(Self { path })
    }

    /// Lists the accepted jobs under `jobs` and removes incomplete drafts.
    pub fn list(jobs: &Path) -> Result<Vec<(JobId, Self)>, JobDirError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(jobs).map_err(JobDirError::io_error(jobs))? {
            let path = entry.map_err(JobDirError::io_error(jobs))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match name.parse() {
                Ok(id) => found.push((id, Self { path })),
                Err(_) if name.starts_with('.') => {
                    fs::remove_dir_all(&path).map_err(JobDirError::io_error(&path))?;
                }
                Err(_) => {}
            }
        }
        Ok(found)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn spec(&self) -> Result<JobSpec, JobDirError> {
        let path = self.path.join("spec.json");
        read_json(&path).map_err(JobDirError::io_error(&path))
    }

    /// `None` until the outcome is written.
    pub fn outcome(&self) -> Option<SandboxJobOutcome> {
        read_json(&self.path.join("outcome.json")).ok()
    }

    /// Persists the outcome; the first one wins.
    pub fn set_outcome(&self, outcome: &SandboxJobOutcome) -> Result<(), JobDirError> {
        let path = self.path.join("outcome.json");
        if path.exists() {
            return Ok(());
        }
        durable_files::write_json(&path, outcome).map_err(JobDirError::io_error(&path))
    }

    /// The image that the job runs in; `None` for the node's own system.
    pub fn image(&self) -> io::Result<Option<JobImage>> {
        match read_json(&self.path.join("image.json")) {
            Ok(image) => Ok(Some(image)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn set_image(&self, image: &JobImage) -> io::Result<()> {
        durable_files::write_json(&self.path.join("image.json"), image)
    }

    /// What the job needs from its sandbox, as written by the process that starts it.
    pub(crate) fn request(&self) -> io::Result<SandboxRequest> {
        read_json(&self.path.join("request.json"))
    }

    pub(crate) fn set_request(&self, request: &SandboxRequest) -> io::Result<()> {
        fs::write(self.path.join("request.json"), serde_json::to_vec(request)?)
    }

    /// Whether the start marker exists: the sandbox may have started.
    pub fn is_started(&self) -> bool {
        self.path.join("started").exists()
    }

    pub(crate) fn mark_started(&self) -> io::Result<()> {
        durable_files::create_marker(&self.path.join("started"))
    }

    /// Requests that the supervisor stops the job.
    pub fn request_stop(&self, request: StopRequest) -> Result<(), JobDirError> {
        let path = self.path.join(request.file_name());
        File::create(&path).map(drop).map_err(JobDirError::io_error(&path))
    }

    pub fn stop_request(&self) -> Option<StopRequest> {
        StopRequest::ALL.into_iter().find(|request| self.path.join(request.file_name()).exists())
    }

    /// Path of the captured output of `stream`.
    pub fn stream(&self, stream: Stream) -> PathBuf {
        self.path.join(stream.as_str())
    }

    /// Named pipe connected to the standard input of an interactive program.
    pub(crate) fn stdin_path(&self) -> PathBuf {
        self.path.join("stdin")
    }

    /// Directory of files that the job wants uploaded.
    pub fn artifacts_dir(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    /// Creates a cache that is removed with the job.
    pub(crate) fn create_own_cache(&self) -> io::Result<PathBuf> {
        let path = self.path.join("cache");
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Empty directory that the sandbox's root is mounted on.
    pub(crate) fn root_dir(&self) -> PathBuf {
        self.path.join("root")
    }

    /// Locks the job for a supervisor about to start; `None` if another supervisor runs.
    pub fn try_lock(&self) -> io::Result<Option<File>> {
        let file = self.open_lock()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(cause),
        }
    }

    /// Blocks until neither a supervisor nor the sandbox runs. A killed supervisor releases the lock before the
    /// kernel has ended the sandbox.
    pub fn wait_ended(&self) -> io::Result<()> {
        let locked = self.open_lock()?.lock();
        while self.has_live_sandbox() {
            thread::sleep(PROCESS_POLL_INTERVAL);
        }
        locked
    }

    /// Persists the identity of the sandbox's PID 1.
    pub(crate) fn set_process(&self, process: SandboxProcess) -> io::Result<()> {
        fs::write(self.path.join("process.json"), serde_json::to_vec(&process)?)
    }

    /// Whether PID 1 of the sandbox may be alive. An unreadable record (e.g. out of descriptors) counts as alive.
    pub(crate) fn has_live_sandbox(&self) -> bool {
        match read_json::<SandboxProcess>(&self.path.join("process.json")) {
            Ok(process) => !process.has_ended(),
            // PID 1 was not started, or a power failure ended it and truncated its record.
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ),
        }
    }

    /// Removes the job's cgroup, if it has one, and ends processes that are left in it.
    pub fn remove_cgroup(&self) {
        let cgroup = self.spec().ok().and_then(|spec| spec.cgroup);
        if let Some(Err(error)) = cgroup.map(|cgroup| cgroup.remove()) {
            tracing::warn!(
                job.dir = %self.path.display(), error = &error as &dyn std::error::Error,
                "cgroup not removed"
            );
        }
    }

    fn open_lock(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path.join("lock"))
    }
}

fn write_draft(draft: &Path, spec: &JobSpec) -> io::Result<()> {
    if draft.exists() {
        fs::remove_dir_all(draft)?;
    }
    let mut private = DirBuilder::new();
    private.mode(0o700);
    private.create(draft)?;
    private.create(draft.join("artifacts"))?;
    private.create(draft.join("root"))?;
    for name in ["lock", "stdout", "stderr"] {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft.join(name))?;
    }
    durable_files::write_json(&draft.join("spec.json"), spec)
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{RunId, TaskId};
    use cynode_domain::job::Action;
    use cynode_wire::nodes::Assignment;

    use super::*;
    use crate::spec::Isolation;

    fn spec() -> JobSpec {
        let action = Action::Command { line: "true".to_owned() };
        let assignment =
            Assignment::new(JobId::generate(), TaskId::generate(), RunId::generate(), action);
        JobSpec {
            assignment,
            workspace: PathBuf::from("/nowhere"),
            isolation: Isolation::OwnUser,
            expose: vec![],
            agent_program: None,
            interactive: None,
            protects_repository: false,
            cache: None,
            cgroup: None,
        }
    }

    #[test]
    fn a_job_is_accepted_once_and_found_again() {
        let jobs = tempfile::tempdir().unwrap();
        let spec = spec();
        let accepted = JobDir::create(jobs.path(), &spec).unwrap();

        let again = JobDir::create(jobs.path(), &spec);

        assert!(matches!(again, Err(JobDirError::Exists)));
        assert_eq!(
            JobDir::list(jobs.path()).unwrap(),
            [(spec.assignment.job_id, accepted.clone())]
        );
        assert_eq!(accepted.spec().unwrap(), spec);
    }

    #[test]
    fn a_half_made_directory_is_no_accepted_job() {
        let jobs = tempfile::tempdir().unwrap();
        fs::create_dir(jobs.path().join(format!(".{}", JobId::generate()))).unwrap();

        assert_eq!(JobDir::list(jobs.path()).unwrap(), []);
        assert_eq!(fs::read_dir(jobs.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_lock_tells_whether_a_supervisor_lives() {
        let jobs = tempfile::tempdir().unwrap();
        let dir = JobDir::create(jobs.path(), &spec()).unwrap();

        let held = dir.try_lock().unwrap().unwrap();
        assert!(dir.try_lock().unwrap().is_none());
        drop(held);
        assert!(dir.try_lock().unwrap().is_some());
    }

    #[test]
    fn a_job_has_not_ended_while_pid_1_of_its_sandbox_lives() {
        let jobs = tempfile::tempdir().unwrap();
        let dir = JobDir::create(jobs.path(), &spec()).unwrap();
        dir.wait_ended().unwrap();
        dir.set_process(SandboxProcess::current().unwrap()).unwrap();
        let (sender, ended) = std::sync::mpsc::channel();
        let waiting = dir.clone();
        thread::spawn(move || sender.send(waiting.wait_ended()));
        assert!(ended.recv_timeout(Duration::from_millis(200)).is_err(), "this process lives");

        fs::write(dir.path().join("process.json"), "").unwrap();

        ended.recv().unwrap().unwrap();
        fs::remove_file(dir.path().join("process.json")).unwrap();
        fs::create_dir(dir.path().join("process.json")).unwrap();
        assert!(dir.has_live_sandbox(), "what cannot be read may live");
    }
}
