//! Memory of processes, from `/proc`.

use std::fs;
use std::path::Path;

/// Total memory of several processes, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// Number of processes.
    pub(crate) processes: u32,
    /// Resident pages; a shared page counts for each process.
    pub(crate) rss_kib: u32,
    /// Proportional set size: a shared page is divided among its processes.
    pub(crate) pss_kib: u32,
}

/// The memory of all processes whose command line mentions `directory`.
pub(crate) fn measure_processes(directory: &Path) -> ProcessMemory {
    let directory = directory.to_string_lossy().into_owned();
    let mut sum = ProcessMemory::default();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if !String::from_utf8_lossy(&line).contains(&directory) {
            continue;
        }
        if let Ok(text) = fs::read_to_string(entry.path().join("smaps_rollup")) {
            sum.processes += 1;
            sum.rss_kib += parse_kib(&text, "Rss:");
            sum.pss_kib += parse_kib(&text, "Pss:");
        }
    }
    sum
}

fn parse_kib(rollup: &str, name: &str) -> u32 {
    let line = rollup.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_and_proportional_memory_are_read_from_the_kernels_summary() {
        let text = "5500-7ffd ---p 00000000 00:00 0  [rollup]\nRss:   884 kB\nPss:    385 kB\nPss_Dirty:  60 kB\n";

        assert_eq!((parse_kib(text, "Rss:"), parse_kib(text, "Pss:")), (884, 385));
        assert_eq!(parse_kib("", "Rss:"), 0);
    }
}
