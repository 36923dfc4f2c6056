//! The cgroup of one job.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use cynode_domain::job::{JobEnding, Limits};
use serde::{Deserialize, Serialize};

use super::{Controller, write_control};
use crate::spec::{memory_limit_text, process_limit_text};

/// Interval between attempts to remove a cgroup whose processes are ending, and their number.
const REMOVE_INTERVAL: Duration = Duration::from_millis(2);
const REMOVE_ATTEMPTS: u32 = 1000;

/// The cgroup of one job, whether it exists yet or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobCgroup {
    path: PathBuf,
    controllers: Vec<Controller>,
}

impl JobCgroup {
    pub(super) fn new(path: PathBuf, controllers: Vec<Controller>) -> Self {
        Self { path, controllers }
    }

    /// Creates the cgroup with the limits of the job.
    pub(crate) fn create(&self, limits: &Limits) -> io::Result<()> {
        if let Err(error) = fs::create_dir(&self.path)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
        if self.enforces(Controller::Memory) {
            let bytes = u64::from(limits.memory_mib) << 20;
            write_control(&self.path, "memory.max", &bytes.to_string())?;
            // The kernel kills all processes of the job together: a job without one of them cannot go on.
            write_control(&self.path, "memory.oom.group", "1")?;
            // Absent on a kernel without swap.
            if self.path.join("memory.swap.max").exists() {
                write_control(&self.path, "memory.swap.max", "0")?;
            }
        }
        if self.enforces(Controller::Pids) {
            // PID 1 of the sandbox is counted too, but it is not a process of the job.
            let tasks = u64::from(limits.processes) + 1;
            write_control(&self.path, "pids.max", &tasks.to_string())?;
        }
        Ok(())
    }

    /// Moves the calling process into the cgroup.
    pub(crate) fn enter(&self) -> io::Result<()> {
        write_control(&self.path, "cgroup.procs", "0")
    }

    pub(crate) fn enforces(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    /// Names of the enforced features.
    pub(crate) fn features(&self) -> impl Iterator<Item = &'static str> {
        self.controllers.iter().map(|controller| controller.feature())
    }

    /// Kills every process of the cgroup. Has no effect on a kernel older than 5.14, where the end of PID 1 ends them.
    pub(crate) fn kill(&self) {
        let _ = write_control(&self.path, "cgroup.kill", "1");
    }

    /// The limit that the job tried to exceed with a new process, if it did.
    pub(crate) fn find_exceeded_process_limit(&self, limits: &Limits) -> Option<String> {
        let has_reached =
            self.enforces(Controller::Pids) && self.read_event("pids.events", "max") > 0;
        has_reached.then(|| process_limit_text(limits.processes))
    }

    /// The ending that follows from the kernel's counters; `None` to keep `seen`. `seen` is the ending that PID 1 reported, if
    /// it reported one, or that the supervisor decided. An ending of the supervisor is always kept.
    pub(crate) fn find_ending(
        &self,
        seen: Option<&JobEnding>,
        limits: &Limits,
    ) -> Option<JobEnding> {
        match seen {
            None | Some(JobEnding::NotStarted { .. } | JobEnding::Exited { code: 1.. }) => {
                self.find_memory_ending(limits).or_else(|| {
                    self.find_exceeded_process_limit(limits)
                        .map(|limit| JobEnding::LimitReached { limit })
                })
            }
            Some(JobEnding::Exited { .. }) => self
                .find_exceeded_process_limit(limits)
                .map(|limit| JobEnding::LimitReached { limit }),
            Some(_) => None,
        }
    }

    /// The ending of a job whose processes the kernel killed because memory ran out; `None` if it killed none.
    fn find_memory_ending(&self, limits: &Limits) -> Option<JobEnding> {
        if !self.enforces(Controller::Memory) || self.read_event("memory.events", "oom_kill") == 0 {
            return None;
        }
        // The kernel counts an allocation that failed in the cgroup whose limit it exceeded: this one, or a parent.
        Some(if self.read_event("memory.events", "oom") > 0 {
            JobEnding::LimitReached { limit: memory_limit_text(limits.memory_mib) }
        } else {
            let reason = "the kernel ended it because the worker node ran out of memory".to_owned();
            JobEnding::Interrupted { reason }
        })
    }

    /// Removes the cgroup; ends processes that are left in it.
    pub(crate) fn remove(&self) -> io::Result<()> {
        self.kill();
        for _ in 1..REMOVE_ATTEMPTS {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    thread::sleep(REMOVE_INTERVAL);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                removed => return removed,
            }
        }
        fs::remove_dir(&self.path)
    }

    fn read_event(&self, file: &str, name: &str) -> u64 {
        parse_event(&fs::read_to_string(self.path.join(file)).unwrap_or_default(), name)
    }
}

/// The counter `name` in a file of lines with a name and a number; 0 if it is missing.
fn parse_event(text: &str, name: &str) -> u64 {
    let mut counters = text.lines().filter_map(|line| line.split_once(' '));
    let counter = counters.find(|(counter, _)| *counter == name);
    counter.and_then(|(_, count)| count.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { timeout_s: 1, memory_mib: 64, processes: 16, output_bytes: 1, disk_mib: 1 };

    /// A directory with the files that the kernel would create.
    fn staged(
        controllers: &[Controller],
        files: &[(&str, &str)],
    ) -> (tempfile::TempDir, JobCgroup) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let cgroup = JobCgroup::new(dir.path().to_owned(), controllers.to_vec());
        (dir, cgroup)
    }

    const MEMORY_FILES: [(&str, &str); 2] = [("memory.max", ""), ("memory.oom.group", "")];

    #[test]
    fn a_job_gets_the_limits_of_the_controllers_that_are_enforced() {
        let pids = [("pids.max", "")];
        let (dir, cgroup) = staged(&Controller::ALL, &[&MEMORY_FILES[..], &pids].concat());
        cgroup.create(&LIMITS).unwrap();

        let read = |name| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!((read("memory.max"), read("memory.oom.group")), ("67108864".into(), "1".into()));
        assert_eq!(read("pids.max"), "17");
        assert!(!dir.path().join("memory.swap.max").exists());

        let with_swap = [&MEMORY_FILES[..], &[("memory.swap.max", "max")]].concat();
        let (dir, cgroup) = staged(&[Controller::Memory], &with_swap);
        cgroup.create(&LIMITS).unwrap();
        assert!(fs::read_to_string(dir.path().join("memory.swap.max")).unwrap().starts_with('0'));
        assert_eq!(cgroup.features().collect::<Vec<_>>(), ["cgroup_memory"]);
    }

    #[test]
    fn a_limit_that_cannot_be_set_is_an_error() {
        let (_dir, cgroup) = staged(&[Controller::Memory], &[("memory.oom.group", "")]);

        assert!(cgroup.create(&LIMITS).is_err());
    }

    #[test]
    fn the_limit_of_the_job_and_a_node_without_memory_are_told_apart() {
        let events = |oom, kills| {
            format!("low 0\nhigh 0\nmax 9\noom {oom}\noom_kill {kills}\noom_group_kill 1\n")
        };
        let ending = |text: &str| {
            let (_dir, cgroup) = staged(&[Controller::Memory], &[("memory.events", text)]);
            cgroup.find_memory_ending(&LIMITS)
        };

        let limit = "it used more than 64 MiB of memory".to_owned();
        assert_eq!(ending(&events(1, 3)), Some(JobEnding::LimitReached { limit }));
        assert!(matches!(ending(&events(0, 3)), Some(JobEnding::Interrupted { .. })));
        assert_eq!(ending(&events(2, 0)), None);
        assert_eq!(ending(""), None);
    }

    #[test]
    fn a_denied_process_is_found_only_where_processes_are_limited() {
        let denied = [("pids.events", "max 3\n")];
        let find = |controllers, files| {
            let (_dir, cgroup) = staged(controllers, files);
            cgroup.find_exceeded_process_limit(&LIMITS)
        };

        let limit = "it had more than 16 processes".to_owned();
        assert_eq!(find(&[Controller::Pids], &denied), Some(limit));
        assert_eq!(find(&[Controller::Pids], &[("pids.events", "max 0\n")]), None);
        assert_eq!(find(&[Controller::Memory], &denied), None);
    }

    #[test]
    fn a_cgroup_that_is_gone_counts_as_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cgroup = JobCgroup::new(dir.path().join("gone"), vec![]);

        cgroup.remove().unwrap();
    }
}
