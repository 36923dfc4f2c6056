//! The cgroup below which the jobs of a node have theirs.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cynode_domain::ids::JobId;

use super::locate::{self, CgroupLocation};
use super::{CgroupError, Controller, JobCgroup, write_control};

/// The cgroup of the node and of the supervisors of its jobs, below the base. A service manager may start the node in
/// it.
const MAIN: &str = "main";
/// Weight of all jobs together; that of `main` and of each job is the kernel's default, 100.
const JOBS_WEIGHT: &str = "20";
const BLOCK_DEVICES: &str = "/sys/block";
/// Attributes by which systemd marks a cgroup that it leaves to the service; the first needs a newer version, the second
/// can be read by root only.
const DELEGATION_MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// Endings of the names of systemd's cgroups.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// The cgroup of all jobs of one state directory.
#[derive(Debug, Clone)]
pub(crate) struct JobSubtree {
    path: PathBuf,
    controllers: Vec<Controller>,
    shortfalls: Vec<String>,
}

impl JobSubtree {
    /// Prepares the cgroup of the jobs of `state_dir` and removes the cgroups of jobs that have no directory.
    ///
    /// May move the calling process to another cgroup; moves no other process.
    pub(crate) fn prepare(state_dir: &Path) -> Result<Self, CgroupError> {
        let location = CgroupLocation::of_this_process()?;
        let (base, offered) = choose_base(&location)?;
        if base == location.own && !is_root_cgroup(&base) {
            leave_base(&base)?;
        }
        let state = fs::metadata(state_dir).map_err(CgroupError::io_error(state_dir))?;
        // Distinguishes two state directories below one base.
        let path = base.join(format!("jobs-{:x}-{:x}", state.dev(), state.ino()));
        let mut subtree = Self { path, controllers: vec![], shortfalls: vec![] };
        subtree.enable(&base, &offered)?;
        if subtree.enforces(Controller::Io)
            && !locate::has_io_weights(Path::new(BLOCK_DEVICES), &location.mount_point)
        {
            subtree.controllers.retain(|controller| *controller != Controller::Io);
            subtree
                .shortfalls
                .push("no disk has a scheduler with weights (BFQ or io.cost)".to_owned());
        }
        subtree.remove_leftovers(&state_dir.join("jobs"));
        Ok(subtree)
    }

    /// The cgroup of one job.
    pub(crate) fn job(&self, id: JobId) -> JobCgroup {
        JobCgroup::new(self.path.join(id.to_string()), self.controllers.clone())
    }

    /// What is not enforced, and why.
    pub(crate) fn shortfalls(&self) -> &[String] {
        &self.shortfalls
    }

    fn enforces(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    /// Enables each controller for the jobs, as far as the kernel allows.
    fn enable(&mut self, base: &Path, offered: &[Controller]) -> Result<(), CgroupError> {
        let missing =
            Controller::ALL.into_iter().filter(|controller| !offered.contains(controller));
        let missing: Vec<&str> = missing.map(Controller::name).collect();
        if !missing.is_empty() {
            let names = missing.join(" and ");
            self.shortfalls.push(format!("the cgroup {} does not offer {names}", base.display()));
        }
        let mut enabled = Vec::new();
        for controller in offered.iter().copied() {
            match enable_controller(base, controller) {
                Ok(()) => enabled.push(controller),
                Err(cause) => self.shortfalls.push(CgroupError::io_error(base)(cause).to_string()),
            }
        }
        create_cgroup(&self.path)?;
        for controller in enabled {
            match enable_controller(&self.path, controller)
                .and_then(|()| set_weight(&self.path, controller))
            {
                Ok(()) => self.controllers.push(controller),
                Err(cause) => {
                    self.shortfalls.push(CgroupError::io_error(&self.path)(cause).to_string());
                }
            }
        }
        self.shortfalls.dedup();
        Ok(())
    }

    /// Removes the cgroups of jobs without a directory in `jobs`. Those of the others are removed when their end is
    /// observed.
    fn remove_leftovers(&self, jobs: &Path) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<JobId>().ok());
        for id in ids.filter(|id| !jobs.join(id.to_string()).exists()) {
            if let Err(error) = self.job(id).remove() {
                tracing::warn!(
                    job.id = %id, error = &error as &dyn std::error::Error,
                    "cgroup of an ended job not removed"
                );
            }
        }
    }
}

/// The cgroup to divide, and the controllers that it offers.
fn choose_base(location: &CgroupLocation) -> Result<(PathBuf, Vec<Controller>), CgroupError> {
    let own = &location.own;
    let is_leaf = own.file_name().is_some_and(|name| name == MAIN) && *own != location.mount_point;
    let base = own.parent().filter(|_| is_leaf).unwrap_or(own);
    let text = fs::read_to_string(base.join("cgroup.controllers"));
    let offered = locate::parse_controllers(&text.map_err(CgroupError::io_error(base))?);
    if offered.is_empty() {
        return Err(CgroupError::NoControllers(base.to_owned()));
    }
    // To others than root, the kernel denies changes of what is not delegated.
    if nix::unistd::geteuid().is_root() && is_unit(base) && !is_delegated(base) {
        return Err(CgroupError::NotDelegated(base.to_owned()));
    }
    Ok((base.to_owned(), offered))
}

/// The root of the whole hierarchy, which may hold processes beside its children. The kernel gives a type to all others.
fn is_root_cgroup(path: &Path) -> bool {
    !path.join("cgroup.type").exists()
}

fn is_unit(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    UNITS.iter().any(|ending| name.ends_with(ending))
}

fn is_delegated(path: &Path) -> bool {
    let mut value = [0; 8];
    DELEGATION_MARKS.iter().any(|mark| {
        let length = rustix::fs::getxattr(path, *mark, &mut value[..]).unwrap_or(0);
        value[..length] == *b"1"
    })
}

/// Moves the calling process from `base` to the leaf below it, if it is alone there.
fn leave_base(base: &Path) -> Result<(), CgroupError> {
    let failed = CgroupError::io_error(base);
    let processes = fs::read_to_string(base.join("cgroup.procs")).map_err(&failed)?;
    if let Some(pid) = find_other_process(&processes, std::process::id()) {
        let program = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let program = program.trim().to_owned();
        return Err(CgroupError::Shared { path: base.to_owned(), pid, program });
    }
    let main = base.join(MAIN);
    create_cgroup(&main)?;
    write_control(&main, "cgroup.procs", "0").map_err(failed)
}

/// The first process in `cgroup.procs` that is not `own`; 0 stands for one outside the node's process namespace.
fn find_other_process(processes: &str, own: u32) -> Option<u32> {
    processes.lines().filter_map(|line| line.parse().ok()).find(|pid| *pid != own)
}

fn create_cgroup(path: &Path) -> Result<(), CgroupError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(CgroupError::io_error(path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn enable_controller(path: &Path, controller: Controller) -> io::Result<()> {
    write_control(path, "cgroup.subtree_control", &format!("+{}", controller.name()))
}

/// Gives jobs together a lower weight than the node. A disk is scheduled by weight in one of two ways.
fn set_weight(path: &Path, controller: Controller) -> io::Result<()> {
    match controller {
        Controller::Memory | Controller::Pids => Ok(()),
        Controller::Cpu => write_control(path, "cpu.weight", JOBS_WEIGHT),
        Controller::Io => {
            let files = ["io.weight", "io.bfq.weight"];
            let present: Vec<_> = files.iter().filter(|file| path.join(file).exists()).collect();
            if present.is_empty() {
                return Err(io::Error::other("io.weight is missing"));
            }
            present.into_iter().try_for_each(|file| write_control(path, file, JOBS_WEIGHT))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hierarchy in a directory: the mount point, and a cgroup below it with these files.
    fn stage(own: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, CgroupLocation) {
        let dir = tempfile::tempdir().unwrap();
        let cgroup = dir.path().join(own);
        fs::create_dir_all(&cgroup).unwrap();
        for (name, text) in files {
            fs::write(cgroup.join(name), text).unwrap();
        }
        let location = CgroupLocation { mount_point: dir.path().to_owned(), own: cgroup };
        (dir, location)
    }

    #[test]
    fn the_parent_of_a_leaf_for_the_node_is_divided() {
        let (dir, mut location) = stage("site", &[("cgroup.controllers", "cpu memory pids\n")]);
        let expected = [Controller::Memory, Controller::Pids, Controller::Cpu];
        let (base, offered) = choose_base(&location).unwrap();
        assert_eq!((&base, &offered[..]), (&location.own, &expected[..]));

        location.own.push(MAIN);
        let (below, _) = choose_base(&location).unwrap();
        assert_eq!(below, dir.path().join("site"));
    }

    #[test]
    fn without_a_controller_nothing_is_divided() {
        let (_dir, location) = stage("site", &[("cgroup.controllers", "hugetlb\n")]);

        let refused = choose_base(&location).unwrap_err().to_string();

        assert!(refused.ends_with("offers none of the controllers memory, pids, cpu and io"));
    }

    #[test]
    fn units_of_systemd_are_recognized() {
        for (path, expected) in [
            ("/sys/fs/cgroup/system.slice/cynode-node.service", true),
            ("/sys/fs/cgroup/user.slice/user-0.slice/session-3.scope", true),
            ("/sys/fs/cgroup", false),
            ("/sys/fs/cgroup/site", false),
        ] {
            assert_eq!(is_unit(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_process_that_is_not_the_nodes_is_not_moved() {
        let own = std::process::id();
        let other = format!("{own}\n1\n");
        let (dir, location) = stage("site", &[("cgroup.procs", &other)]);

        let refused = leave_base(&location.own).unwrap_err();

        assert!(matches!(refused, CgroupError::Shared { pid: 1, .. }), "{refused}");
        assert!(!dir.path().join("site").join(MAIN).exists());
        assert_eq!(find_other_process(&format!("{own}\n"), own), None);
        assert_eq!(find_other_process("0\n", own), Some(0));
    }

    #[test]
    fn a_disk_without_weights_is_an_error() {
        let (_dir, location) = stage("site", &[("io.bfq.weight", "100")]);
        set_weight(&location.own, Controller::Io).unwrap();
        let weight = fs::read_to_string(location.own.join("io.bfq.weight")).unwrap();
        assert!(weight.starts_with(JOBS_WEIGHT));

        fs::remove_file(location.own.join("io.bfq.weight")).unwrap();
        assert!(set_weight(&location.own, Controller::Io).is_err());
    }

    #[test]
    fn only_cgroups_of_jobs_without_a_directory_are_removed() {
        let (state, subtree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (running, ended) = (JobId::generate(), JobId::generate());
        fs::create_dir(state.path().join(running.to_string())).unwrap();
        for name in [running.to_string(), ended.to_string(), "other".to_owned()] {
            fs::create_dir(subtree.path().join(name)).unwrap();
        }
        let path = subtree.path().to_owned();
        let jobs = JobSubtree { path, controllers: vec![], shortfalls: vec![] };

        jobs.remove_leftovers(state.path());

        let has = |name: &str| subtree.path().join(name).exists();
        assert!(has(&running.to_string()) && has("other") && !has(&ended.to_string()));
    }
}
