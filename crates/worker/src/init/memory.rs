//! Measures the memory usage of a sandbox.

use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;
use nix::unistd::{SysconfVar, sysconf};

/// Memory-backed directories: files there use memory that is not attributed to a process.
const MEMORY_MOUNTS: [&str; 2] = ["/tmp", "/dev/shm"];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SandboxUsage {
    pub(super) bytes: u64,
    pub(super) processes: u64,
}

/// Sums every process except PID 1, and the memory-backed directories.
pub(super) fn measure_usage() -> SandboxUsage {
    let mut usage = measure_processes(Path::new("/proc"), page_bytes());
    usage.bytes += MEMORY_MOUNTS.into_iter().map(used_bytes).sum::<u64>();
    usage
}

fn measure_processes(proc: &Path, page_bytes: u64) -> SandboxUsage {
    let mut usage = SandboxUsage::default();
    for entry in fs::read_dir(proc).into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().parse::<u32>();
        if pid.is_ok_and(|pid| pid != 1) {
            // A process that has exited meanwhile uses nothing.
            let statm = fs::read_to_string(entry.path().join("statm")).unwrap_or_default();
            usage.bytes += resident_pages(&statm) * page_bytes;
            usage.processes += 1;
        }
    }
    usage
}

fn page_bytes() -> u64 {
    let size = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    size.and_then(|size| u64::try_from(size).ok()).unwrap_or(4096)
}

/// Resident pages except file-backed ones, which are shared and can be evicted.
fn resident_pages(statm: &str) -> u64 {
    let mut fields = statm.split(' ').skip(1).map(|field| field.trim().parse().unwrap_or(0));
    let (resident, shared): (u64, u64) = (fields.next().unwrap_or(0), fields.next().unwrap_or(0));
    resident.saturating_sub(shared)
}

fn used_bytes(path: &str) -> u64 {
    statvfs(path)
        .map_or(0, |stat| stat.blocks().saturating_sub(stat.blocks_free()) * stat.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_memory_of_every_process_but_the_first_is_counted() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, statm) in [("1", "9 9 0 0 0 0 0"), ("7", "100 30 10 1 0 9 0\n"), ("8", "")] {
            fs::create_dir(proc.path().join(pid)).unwrap();
            fs::write(proc.path().join(pid).join("statm"), statm).unwrap();
        }
        fs::create_dir(proc.path().join("sys")).unwrap();

        assert_eq!(
            measure_processes(proc.path(), 4096),
            SandboxUsage { bytes: 20 * 4096, processes: 2 }
        );
    }
}
