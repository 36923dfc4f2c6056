//! Measures the memory usage of a sandbox, and the disk usage of its deleted files.
//!
//! Without a cgroup that limits the memory of the job, this is all that limits it. Counted are private pages, the files of memory-backed directories, buffers of sockets, and memory that is shared or held
//! without being mapped: `MAP_SHARED` pages, memfds and System V segments. Each sample first takes an upper bound, in which mapped shared pages
//! count once for each process and again as files; only if that exceeds the limit, the mappings are read one by one.
//!
//! Not counted: memfds that are on their way through a socket, pages of a shared mapping that no process has mapped any
//! more while another part of it is, what was sent over a Unix socket whose sender is closed, pipes, and deleted files that
//! are only mapped.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;

use super::socket_memory::SocketMemory;

/// Memory-backed directories: files there use memory that is not attributed to a process.
const MEMORY_MOUNTS: [&str; 2] = ["/tmp", "/dev/shm"];
/// The System V segments, attached or not, semaphores and messages of the sandbox's IPC namespace.
const SYSTEM_V: [&str; 3] = ["/proc/sysvipc/shm", "/proc/sysvipc/sem", "/proc/sysvipc/msg"];
/// The kernel's memory for one semaphore.
const SEMAPHORE_BYTES: u64 = 64;
/// Beginning of the link of a descriptor, and of the path of a mapping, of a memfd.
const MEMFD: &str = "/memfd:";
/// End of the link of a descriptor whose file has no name.
const DELETED: &str = " (deleted)";
/// Path of a `MAP_SHARED` mapping without a file.
const SHARED_ANONYMOUS: &str = "/dev/zero (deleted)";
/// The unit of `st_blocks`.
const BLOCK_BYTES: u64 = 512;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SandboxUsage {
    pub(super) bytes: u64,
    pub(super) processes: u64,
    /// Bytes on disk of files that are open and have no name: no scan of directories finds them.
    pub(super) deleted_file_bytes: u64,
}

/// Measures every process except PID 1, and memory that belongs to none. The memory is exact if it exceeds `limit`, and is
/// not measured without one.
pub(super) fn measure_usage(limit: Option<u64>, sockets: Option<&SocketMemory>) -> SandboxUsage {
    let processes = Processes::list(Path::new("/proc"));
    let files = processes.nameless_files(&memory_devices());
    let measure = |limit| measure_memory(&processes, &files.memfds, sockets, limit);
    SandboxUsage {
        bytes: limit.map_or(0, measure),
        processes: processes.count(),
        deleted_file_bytes: files.on_disk.values().sum(),
    }
}

fn measure_memory(
    processes: &Processes,
    memfds: &HashMap<FileId, u64>,
    sockets: Option<&SocketMemory>,
    limit: u64,
) -> u64 {
    let [segments, semaphores, messages] =
        SYSTEM_V.map(|table| fs::read_to_string(table).unwrap_or_default());
    let of_no_process = MEMORY_MOUNTS.into_iter().map(used_bytes).sum::<u64>()
        + sum_column(&segments, "rss")
        + sum_column(&semaphores, "nsems") * SEMAPHORE_BYTES
        + sum_column(&messages, "cbytes")
        + sockets.map_or(0, SocketMemory::measure);
    let private = processes.sum_status(&["RssAnon:", "VmPTE:"]);
    let shared = processes.sum_status(&["RssShmem:"]);
    let bound = of_no_process + private + shared + memfds.values().sum::<u64>();
    if bound > limit { of_no_process + private + processes.shared_bytes(memfds) } else { bound }
}

/// The directories in `/proc` of the processes of a sandbox.
struct Processes(Vec<PathBuf>);

/// A file without a name: device and inode.
type FileId = (u64, u64);

/// The bytes of open files without a name.
#[derive(Debug, Default)]
struct NamelessFiles {
    memfds: HashMap<FileId, u64>,
    on_disk: HashMap<FileId, u64>,
}

fn memory_devices() -> HashSet<u64> {
    let device = |path: &&str| fs::metadata(path).ok().map(|directory| directory.dev());
    MEMORY_MOUNTS.iter().filter_map(device).collect()
}

impl Processes {
    fn list(proc: &Path) -> Self {
        let entries = fs::read_dir(proc).into_iter().flatten().flatten();
        let is_counted = |entry: &fs::DirEntry| {
            entry.file_name().to_string_lossy().parse::<u32>().is_ok_and(|pid| pid != 1)
        };
        Self(entries.filter(is_counted).map(|entry| entry.path()).collect())
    }

    fn count(&self) -> u64 {
        self.0.len().try_into().unwrap_or(u64::MAX)
    }

    /// Sums fields of `status`. A process that has exited meanwhile uses nothing.
    fn sum_status(&self, fields: &[&str]) -> u64 {
        let read = |process: &PathBuf| read_of_process(process, "status", "RssAnon:");
        self.0.iter().map(|process| sum_kib(&read(process), fields)).sum()
    }

    /// The bytes of each file without a name that a process has open, mapped or not. Those of memory-backed directories
    /// are counted with their directory.
    fn nameless_files(&self, memory_devices: &HashSet<u64>) -> NamelessFiles {
        let mut files = NamelessFiles::default();
        for process in &self.0 {
            // A thread may have descriptors of its own.
            let tables = tasks(process).into_iter().map(|task| task.join("fd"));
            for entry in tables.flat_map(fs::read_dir).flatten().flatten() {
                let link = fs::read_link(entry.path()).unwrap_or_default();
                let link = link.as_os_str().as_encoded_bytes();
                if !link.ends_with(DELETED.as_bytes()) {
                    continue;
                }
                let Ok(file) = fs::metadata(entry.path()) else { continue };
                let (id, bytes) = ((file.dev(), file.ino()), file.blocks() * BLOCK_BYTES);
                if link.starts_with(MEMFD.as_bytes()) {
                    files.memfds.insert(id, bytes);
                } else if file.is_file() && file.nlink() == 0 && !memory_devices.contains(&id.0) {
                    files.on_disk.insert(id, bytes);
                }
            }
        }
        files
    }

    /// Shared pages, each counted once: those of memfds, open or only mapped, and of mappings without a file. Mapped
    /// files of memory-backed directories and attached segments are counted elsewhere.
    fn shared_bytes(&self, memfds: &HashMap<FileId, u64>) -> u64 {
        let open: HashSet<u64> = memfds.keys().map(|(_, inode)| *inode).collect();
        let mut bytes = memfds.values().sum();
        for process in &self.0 {
            let smaps = read_of_process(process, "smaps", "Pss:");
            bytes += mapped_shared_bytes(&smaps, &open);
        }
        bytes
    }
}

/// The threads of a process.
fn tasks(process: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Reads a file about the memory of a process. If its first thread has ended, only those of other threads contain `field`.
fn read_of_process(process: &Path, file: &str, field: &str) -> String {
    let read = |path: PathBuf| fs::read_to_string(path.join(file)).unwrap_or_default();
    let text = read(process.to_owned());
    if text.contains(field) {
        return text;
    }
    tasks(process).into_iter().map(read).find(|text| text.contains(field)).unwrap_or_default()
}

/// The share of a process of its shared mappings, without those of memfds that are counted as open files.
fn mapped_shared_bytes(smaps: &str, open_memfds: &HashSet<u64>) -> u64 {
    let (mut bytes, mut is_counted) = (0, false);
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let is_header = words.next().is_some_and(|word| word.contains('-') && !word.ends_with(':'));
        if is_header {
            // Permissions, offset, device, inode, path.
            let inode = words.nth(3).and_then(|inode| inode.parse().ok()).unwrap_or_default();
            let path = words.collect::<Vec<_>>().join(" ");
            is_counted = path == SHARED_ANONYMOUS
                || (path.starts_with(MEMFD) && !open_memfds.contains(&inode));
        } else if is_counted {
            bytes += sum_kib(line, &["Pss:"]);
        }
    }
    bytes
}

/// Sums the named fields of lines such as `RssAnon:   12 kB`, in bytes.
fn sum_kib(text: &str, fields: &[&str]) -> u64 {
    let value = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?;
        let kib: u64 = words.next()?.parse().ok()?;
        fields.contains(&name).then_some(kib * 1024)
    };
    text.lines().filter_map(value).sum()
}

/// Sums a column of a table with a header.
fn sum_column(table: &str, name: &str) -> u64 {
    let mut lines = table.lines();
    let header = lines.next().unwrap_or_default();
    let Some(column) = header.split_ascii_whitespace().position(|title| title == name) else {
        return 0;
    };
    let value = |line: &str| line.split_ascii_whitespace().nth(column)?.parse::<u64>().ok();
    lines.filter_map(value).sum()
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
        let status = "Name:\tx\nVmRSS:\t  99 kB\nRssAnon:\t  20 kB\nRssShmem:\t  7 kB\n";
        for (pid, status) in [("1", status), ("7", status), ("8", "")] {
            fs::create_dir(proc.path().join(pid)).unwrap();
            fs::write(proc.path().join(pid).join("status"), status).unwrap();
        }
        fs::create_dir(proc.path().join("sys")).unwrap();

        let processes = Processes::list(proc.path());

        assert_eq!(processes.count(), 2);
        assert_eq!(processes.sum_status(&["RssAnon:"]), 20 * 1024);
        assert_eq!(processes.sum_status(&["RssShmem:"]), 7 * 1024);
    }

    #[test]
    fn shared_mappings_are_counted_unless_they_are_files_that_are_counted_elsewhere() {
        let smaps = "\
7f00-7f10 rw-s 00000000 00:01 11    /dev/zero (deleted)\nSize: 64 kB\nPss: 1 kB\nPss_Dirty: 1 kB\n\
7f10-7f20 rw-s 00000000 00:01 12    /memfd:open one (deleted)\nPss: 2 kB\n\
7f20-7f30 rw-s 00000000 00:01 13    /memfd:closed (deleted)\nPss: 4 kB\n\
7f30-7f40 rw-s 00000000 00:01 14    /SYSV00000000 (deleted)\nPss: 8 kB\n\
7f40-7f50 rw-s 00000000 00:2a 15    /dev/shm/file\nPss: 16 kB\n\
7f50-7f60 rw-p 00000000 00:00 0\nPss: 32 kB\n";

        assert_eq!(mapped_shared_bytes(smaps, &HashSet::from([12])), 5 * 1024);
    }

    #[test]
    fn segments_are_counted_whether_attached_or_not() {
        let table = "       key      shmid perms  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime        rss       swap\n\
         0          0   600  8192    2     2      0     0     0     0     0          0          0          1      4096          0\n\
         0          1   600  8192    2     2      1     0     0     0     0          0          0          1      8192          0\n";

        assert_eq!(sum_column(table, "rss"), 12288);
        assert_eq!((sum_column("", "rss"), sum_column(table, "nsems")), (0, 0));
    }
}
