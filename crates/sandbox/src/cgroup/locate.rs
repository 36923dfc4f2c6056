//! Finds the node's own cgroup, and what the kernel offers there.

use std::fs;
use std::path::{Path, PathBuf};

use super::{CgroupError, Controller};
use crate::mount_table::parse_mounts;

/// Where the node's cgroup is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CgroupLocation {
    /// The mount point of the hierarchy.
    pub(super) mount_point: PathBuf,
    /// The directory of the node's cgroup.
    pub(super) own: PathBuf,
}

impl CgroupLocation {
    /// Locates the cgroup of the calling process.
    pub(super) fn of_this_process() -> Result<Self, CgroupError> {
        let read = |path: &str| fs::read(path).map_err(CgroupError::io_error(Path::new(path)));
        Self::find(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
    }

    /// `cgroups` is `/proc/<pid>/cgroup`: the line of version 2 begins with `0::`, the others are of version 1.
    fn find(mountinfo: &[u8], cgroups: &[u8]) -> Result<Self, CgroupError> {
        let cgroups = String::from_utf8_lossy(cgroups);
        let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"));
        let own = PathBuf::from(own.ok_or(CgroupError::NotMounted)?);
        let mut mounts = parse_mounts(mountinfo);
        mounts.retain(|mount| mount.filesystem == "cgroup2");
        if mounts.is_empty() {
            return Err(CgroupError::NotMounted);
        }
        // A container may have mounted a part of the hierarchy, or show a cgroup outside its own as `/..`.
        let inside = mounts.into_iter().find_map(|mount| {
            let below = own.strip_prefix(&mount.root).ok()?;
            let is_plain = !below.components().any(|part| part.as_os_str() == "..");
            let own = join(&mount.mount_point, below);
            is_plain.then_some(Self { own, mount_point: mount.mount_point })
        });
        inside.ok_or(CgroupError::Outside(own))
    }
}

/// Like [`Path::join`], without a slash at the end if `below` is empty.
fn join(mount_point: &Path, below: &Path) -> PathBuf {
    mount_point.components().chain(below.components()).collect()
}

/// The controllers in a file such as `cgroup.controllers`, in the order of [`Controller::ALL`].
pub(super) fn parse_controllers(text: &str) -> Vec<Controller> {
    let is_listed = |controller: &Controller| {
        text.split_ascii_whitespace().any(|name| name == controller.name())
    };
    Controller::ALL.into_iter().filter(is_listed).collect()
}

/// Whether the kernel applies weights of I/O to a disk: one that is scheduled by BFQ, or by cost (`io.cost.qos` of the
/// root cgroup).
pub(super) fn has_io_weights(block_devices: &Path, mount_point: &Path) -> bool {
    let cost = fs::read_to_string(mount_point.join("io.cost.qos")).unwrap_or_default();
    let devices = fs::read_dir(block_devices).into_iter().flatten().flatten();
    let schedulers =
        devices.map(|device| fs::read_to_string(device.path().join("queue/scheduler")));
    cost.contains("enable=1") || schedulers.flatten().any(|scheduler| scheduler.contains("[bfq]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 2 alone, as systemd mounts it.
    const UNIFIED: &str = "\
24 30 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw\n\
29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
    /// Version 1, with version 2 beside it.
    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    /// A container that sees a part of the hierarchy.
    const PART: &str = "\
690 680 0:26 /docker/4f5c /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";

    fn find(mountinfo: &str, cgroups: &str) -> Result<(PathBuf, PathBuf), String> {
        CgroupLocation::find(mountinfo.as_bytes(), cgroups.as_bytes())
            .map(|location| (location.mount_point, location.own))
            .map_err(|error| error.to_string())
    }

    fn paths(mount_point: &str, own: &str) -> (PathBuf, PathBuf) {
        (PathBuf::from(mount_point), PathBuf::from(own))
    }

    #[test]
    fn the_own_cgroup_is_below_the_mount_of_version_2() {
        let (top, unified) = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified");
        let service = "/sys/fs/cgroup/system.slice/cynode-node.service";
        let of_hybrid = "9:name=systemd:/\n4:memory:/api/7\n1:cpu:/\n0::/user\n";
        for (mountinfo, cgroups, expected) in [
            (UNIFIED, "0::/system.slice/cynode-node.service\n", paths(top, service)),
            (UNIFIED, "0::/\n", paths(top, top)),
            (HYBRID, of_hybrid, paths(unified, "/sys/fs/cgroup/unified/user")),
            (PART, "0::/docker/4f5c/main\n", paths(top, "/sys/fs/cgroup/main")),
        ] {
            assert_eq!(find(mountinfo, cgroups), Ok(expected));
        }
    }

    #[test]
    fn a_cgroup_that_cannot_be_found_has_a_reason() {
        let not_mounted = Err("no cgroup v2 hierarchy is mounted".to_owned());
        let version_1 = HYBRID.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(find(&version_1, "4:memory:/\n0::/\n"), not_mounted);
        assert_eq!(find(UNIFIED, "4:memory:/\n"), not_mounted);
        for (own, mounts) in [("/../../init.scope", UNIFIED), ("/docker/other", PART)] {
            let reason = format!("the node's cgroup {own} is outside the mounted hierarchy");
            assert_eq!(find(mounts, &format!("0::{own}\n")), Err(reason));
        }
    }

    #[test]
    fn only_controllers_that_limit_jobs_are_used() {
        let all = "cpuset cpu io memory hugetlb pids rdma misc\n";

        assert_eq!(parse_controllers(all), Controller::ALL);
        assert_eq!(parse_controllers("memory pids\n"), [Controller::Memory, Controller::Pids]);
        assert_eq!(parse_controllers("hugetlb cpuset\n"), []);
    }

    #[test]
    fn weights_of_disks_need_a_scheduler_that_knows_them() {
        let (devices, mount) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let has_weights = || has_io_weights(devices.path(), mount.path());
        let queue = devices.path().join("vda/queue");
        fs::create_dir_all(&queue).unwrap();
        fs::write(queue.join("scheduler"), "[mq-deadline] kyber bfq none\n").unwrap();
        let cost = |state| format!("254:0 enable={state} ctrl=auto rpct=0.00 rlat=250000\n");
        fs::write(mount.path().join("io.cost.qos"), cost(0)).unwrap();
        assert!(!has_weights());

        fs::write(mount.path().join("io.cost.qos"), cost(1)).unwrap();
        assert!(has_weights());

        fs::remove_file(mount.path().join("io.cost.qos")).unwrap();
        fs::write(queue.join("scheduler"), "mq-deadline kyber [bfq] none\n").unwrap();
        assert!(has_weights());
    }
}
