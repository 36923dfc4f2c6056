//! Logs what a process makes durable: a preloaded library records each `fsync` and `syncfs`, in order.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes `fsync PATH` or `syncfs PATH`; for a small file also `content TEXT`, because a temporary file is synced
/// under another name than the one that it is renamed to.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void note(const char *what, int fd) {
    char link[64], path[4096], content[256], line[4600];
    struct stat found;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    int count = snprintf(line, sizeof line, "%s %s\n", what, path);
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size < sizeof content) {
        length = pread(fd, content, sizeof content - 1, 0);
        content[length < 0 ? 0 : length] = 0;
        content[strcspn(content, "\n")] = 0;
        count += snprintf(line + count, sizeof line - count, "content %s\n", content);
    }
    int log = open(getenv("SYNC_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log < 0 || write(log, line, count) != count) abort();
    close(log);
}
int fsync(int fd) {
    note("fsync", fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int syncfs(int fd) {
    note("syncfs", fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "syncfs"))(fd);
}
"#;

/// The log of the processes that run with [`SyncLog::environment`].
#[derive(Debug)]
pub struct SyncLog {
    library: PathBuf,
    log: PathBuf,
}

impl SyncLog {
    /// Compiles the library into `directory`.
    ///
    /// # Panics
    /// If there is no C compiler.
    pub fn build(directory: &Path) -> Self {
        let (source, library) = (directory.join("sync_log.c"), directory.join("sync_log.so"));
        assert!(fs::write(&source, SOURCE).is_ok(), "{} is not writable", source.display());
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
        assert!(compiler.status().is_ok_and(|it| it.success()), "the C compiler failed");
        Self { library, log: directory.join("sync.log") }
    }

    /// The variables of a process whose syncs are logged.
    pub fn environment(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.library), ("SYNC_LOG", &self.log)]
    }

    /// The lines so far, oldest first.
    pub fn lines(&self) -> Vec<String> {
        // The content of a database file is not text.
        let log = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).lines().map(str::to_owned).collect()
    }

    /// Forgets the lines so far.
    pub fn clear(&self) {
        let _ = fs::remove_file(&self.log);
    }
}
