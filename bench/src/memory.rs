//! Memory of processes, as the kernel counts it.

use std::fs;
use std::path::Path;

/// Memory of several processes together, in KiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// How many processes.
    pub(crate) processes: u32,
    /// Resident pages; one that several processes share counts for each.
    pub(crate) rss_kib: u32,
    /// The same, with a shared page divided among those who share it.
    pub(crate) pss_kib: u32,
}

/// The memory of all processes whose command line mentions `directory`.
pub(crate) fn of_processes(directory: &Path) -> Memory {
    let directory = directory.to_string_lossy().into_owned();
    let mut sum = Memory::default();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if !String::from_utf8_lossy(&line).contains(&directory) {
            continue;
        }
        if let Ok(text) = fs::read_to_string(entry.path().join("smaps_rollup")) {
            sum.processes += 1;
            sum.rss_kib += field(&text, "Rss:");
            sum.pss_kib += field(&text, "Pss:");
        }
    }
    sum
}

fn field(rollup: &str, name: &str) -> u32 {
    let line = rollup.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_and_proportional_memory_are_read_from_the_kernels_summary() {
        let text = "5500-7ffd ---p 00000000 00:00 0  [rollup]\nRss:   884 kB\nPss:    385 kB\nPss_Dirty:  60 kB\n";

        assert_eq!((field(text, "Rss:"), field(text, "Pss:")), (884, 385));
        assert_eq!(field("", "Rss:"), 0);
    }
}
