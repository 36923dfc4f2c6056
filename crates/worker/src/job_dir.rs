//! The directory of one job: the only thing that a node, its successor and a sandbox share.
//!
//! ```text
//! spec.json      what runs; written before the directory gets its name
//! lock           locked by the job's supervisor for as long as it lives
//! started        the sandbox was about to start
//! process.json   PID 1 of the sandbox; written before it starts the command
//! stdout stderr  the kept output
//! artifacts/     files the job hands back
//! outcome.json   how it ended; written once, before the lock is freed
//! cancel stop    requests to end it
//! ```
//!
//! Invariant: a directory under its final name means the job was accepted.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_runtime::durable_file;
use cynode_wire::jobs::Stream;

use crate::files;
use crate::sandbox_process::SandboxProcess;
use crate::spec::{JobSpec, Outcome};

/// How often a sandbox is looked at that the kernel is ending.
const PROCESS_INTERVAL: Duration = Duration::from_millis(2);

/// Why a job directory could not be used.
#[derive(Debug, thiserror::Error)]
pub enum JobDirError {
    /// The job was accepted before; it must not start again.
    #[error("the job was accepted before")]
    Exists,
    /// The job goes on with files that are not here.
    #[error("the workspace of its task, with the files of earlier steps, is not on this node")]
    NoWorkspace,
    /// The disk refused.
    #[error("{path} cannot be used")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

impl JobDirError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }
}

/// Who asked for a job to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// A person, through the orchestrator.
    Cancel,
    /// The node, because it stops.
    NodeStops,
}

impl StopRequest {
    const ALL: [Self; 2] = [Self::Cancel, Self::NodeStops];

    const fn file_name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::NodeStops => "stop",
        }
    }
}

/// The directory of one job. Cheap to clone; reading it never changes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobDir {
    path: PathBuf,
}

impl JobDir {
    /// The directory at `path`, which exists.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Accepts a job: makes its directory durable under `jobs`, or says it was accepted before.
    ///
    /// The directory is filled under a name that adoption ignores and renamed when complete.
    pub fn create(jobs: &Path, spec: &JobSpec) -> Result<Self, JobDirError> {
        let name = spec.assignment.job_id.to_string();
        let path = jobs.join(&name);
        if path.exists() {
            return Err(JobDirError::Exists);
        }
        let draft = jobs.join(format!(".{name}"));
        fill(&draft, spec).map_err(JobDirError::at(&draft))?;
        // The rename itself refuses to replace a directory that has something in it.
        fs::rename(&draft, &path).map_err(|cause| {
            if path.exists() { JobDirError::Exists } else { JobDirError::at(&path)(cause) }
        })?;
        durable_file::sync_parent(&path).map_err(JobDirError::at(&path))?;
        Ok(Self { path })
    }

    /// Every job accepted under `jobs`; drafts of jobs that were not are removed.
    pub fn list(jobs: &Path) -> Result<Vec<(JobId, Self)>, JobDirError> {
        let mut found = Vec::new();
        for entry in fs::read_dir(jobs).map_err(JobDirError::at(jobs))? {
            let path = entry.map_err(JobDirError::at(jobs))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match name.parse() {
                Ok(id) => found.push((id, Self { path })),
                Err(_) if name.starts_with('.') => {
                    fs::remove_dir_all(&path).map_err(JobDirError::at(&path))?;
                }
                Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What runs.
    pub fn spec(&self) -> Result<JobSpec, JobDirError> {
        let path = self.path.join("spec.json");
        read_json(&path).map_err(JobDirError::at(&path))
    }

    /// How it ended; `None` while that is unknown.
    pub fn outcome(&self) -> Option<Outcome> {
        read_json(&self.path.join("outcome.json")).ok()
    }

    /// Writes down how it ended. The first outcome stays.
    pub fn set_outcome(&self, outcome: &Outcome) -> Result<(), JobDirError> {
        let path = self.path.join("outcome.json");
        if path.exists() {
            return Ok(());
        }
        files::write_json(&path, outcome).map_err(JobDirError::at(&path))
    }

    /// Whether the sandbox was at least about to start.
    pub fn is_started(&self) -> bool {
        self.path.join("started").exists()
    }

    pub(crate) fn mark_started(&self) -> io::Result<()> {
        files::mark(&self.path.join("started"))
    }

    /// Asks the supervisor to end the job.
    pub fn request_stop(&self, request: StopRequest) -> Result<(), JobDirError> {
        let path = self.path.join(request.file_name());
        File::create(&path).map(drop).map_err(JobDirError::at(&path))
    }

    /// The request to end the job, if there is one.
    pub fn stop_request(&self) -> Option<StopRequest> {
        StopRequest::ALL.into_iter().find(|request| self.path.join(request.file_name()).exists())
    }

    /// The file that keeps the output of `stream`.
    pub fn stream(&self, stream: Stream) -> PathBuf {
        self.path.join(stream.as_str())
    }

    /// The pipe through which an interactive program is spoken to.
    pub(crate) fn stdin(&self) -> PathBuf {
        self.path.join("stdin")
    }

    /// Where the job leaves files to hand back.
    pub fn artifacts(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    /// An empty directory to build the sandbox's root on.
    pub(crate) fn root(&self) -> PathBuf {
        self.path.join("root")
    }

    /// Takes the lock for a supervisor about to start; `None` when one lives.
    pub(crate) fn try_lock(&self) -> io::Result<Option<File>> {
        let file = self.open_lock()?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(cause),
        }
    }

    /// Waits, blocking, until neither a supervisor nor the sandbox lives. A supervisor that is killed frees the lock
    /// before the kernel has ended the sandbox.
    pub(crate) fn wait_ended(&self) -> io::Result<()> {
        let locked = self.open_lock()?.lock();
        while self.has_live_sandbox() {
            thread::sleep(PROCESS_INTERVAL);
        }
        locked
    }

    /// Writes down which process is PID 1 of the sandbox.
    pub(crate) fn set_process(&self, process: SandboxProcess) -> io::Result<()> {
        fs::write(self.path.join("process.json"), serde_json::to_vec(&process)?)
    }

    /// Whether PID 1 of the sandbox may live. What cannot be read now, for want of descriptors for example, may.
    fn has_live_sandbox(&self) -> bool {
        match read_json::<SandboxProcess>(&self.path.join("process.json")) {
            Ok(process) => !process.has_ended(),
            // PID 1 was not started, or a power cut ended it together with its file.
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ),
        }
    }

    fn open_lock(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path.join("lock"))
    }
}

fn fill(draft: &Path, spec: &JobSpec) -> io::Result<()> {
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
    files::write_json(&draft.join("spec.json"), spec)
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{RunId, TaskId};
    use cynode_domain::job::{Action, Limits};
    use cynode_wire::nodes::Assignment;

    use super::*;
    use crate::spec::Isolation;

    fn spec() -> JobSpec {
        JobSpec {
            assignment: Assignment {
                job_id: JobId::generate(),
                task_id: TaskId::generate(),
                run_id: RunId::generate(),
                action: Action::Command { line: "true".to_owned() },
                limits: Limits::default(),
                attachments: vec![],
                incarnation: None,
                needs_workspace: false,
            },
            workspace: PathBuf::from("/nowhere"),
            isolation: Isolation::OwnUser,
            expose: vec![],
            interactive: None,
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
