//! The load of this machine, which the node reports with every poll.

use std::fs;
use std::path::Path;

use cynode_wire::nodes::MachineLoad;
use nix::sys::statvfs::statvfs;

/// Reads the load; what cannot be read is absent.
pub(crate) fn read_machine_load(state_dir: &Path) -> MachineLoad {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    MachineLoad {
        free_disk_mib: read_free_disk_mib(state_dir),
        available_memory_mib: parse_available_mib(&read("/proc/meminfo")),
        load_average_percent: parse_load_percent(&read("/proc/loadavg")),
        is_disk_short: false,
    }
}

/// Disk that processes without privileges can use.
fn read_free_disk_mib(path: &Path) -> Option<u64> {
    let found = statvfs(path).ok()?;
    Some(found.blocks_available().saturating_mul(found.fragment_size()) >> 20)
}

fn parse_available_mib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib >> 10)
}

fn parse_load_percent(loadavg: &str) -> Option<u32> {
    let (whole, hundredths) = loadavg.split_whitespace().next()?.split_once('.')?;
    let whole: u32 = whole.parse().ok()?;
    let hundredths: u32 = hundredths.get(..2)?.parse().ok()?;
    Some(whole.saturating_mul(100).saturating_add(hundredths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_understood_and_other_content_is_unknown() {
        let meminfo = "MemTotal: 8150048 kB\nMemAvailable:    4096000 kB\n";
        assert_eq!(parse_available_mib(meminfo), Some(4_000));
        assert_eq!(parse_load_percent("12.05 0.01 0.00 1/100 7\n"), Some(1_205));
        for other in ["", "MemAvailable: many", "x.yz", "1"] {
            assert_eq!(parse_available_mib(other), None);
            assert_eq!(parse_load_percent(other), None);
        }
    }

    #[test]
    fn this_machine_has_a_load() {
        let load = read_machine_load(Path::new("/"));

        assert!(load.free_disk_mib.is_some() && load.available_memory_mib.is_some());
        assert_eq!(read_machine_load(Path::new("/no/such/place")).free_disk_mib, None);
    }
}
