//! The cgroup of a job, as a test sees it from outside.

use std::fs;
use std::path::{Path, PathBuf};

use cynode_domain::job::JobEnding;
use cynode_sandbox::job_dir::JobDir;

/// The cgroup of the job in `dir`, from the file that its supervisor reads.
pub(crate) fn cgroup_of(dir: &JobDir) -> PathBuf {
    let spec = fs::read(dir.path().join("spec.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_slice(&spec).unwrap();
    PathBuf::from(spec["cgroup"]["path"].as_str().expect("the job has no cgroup"))
}

/// The base of the test's cgroups, two levels above that of a job.
pub(crate) fn base_of(job: &Path) -> &Path {
    job.parent().and_then(Path::parent).unwrap()
}

pub(crate) fn read_control(cgroup: &Path, name: &str) -> String {
    fs::read_to_string(cgroup.join(name)).unwrap().trim().to_owned()
}

/// The counter `name` in a file of counters.
pub(crate) fn read_counter(cgroup: &Path, file: &str, name: &str) -> u64 {
    let text = read_control(cgroup, file);
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

pub(crate) fn reached_limit(ending: &JobEnding) -> &str {
    let JobEnding::LimitReached { limit } = ending else { panic!("{ending:?}") };
    limit
}
