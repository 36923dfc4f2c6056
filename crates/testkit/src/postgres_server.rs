//! The private PostgreSQL server that all test processes share.
//!
//! Every process that uses it holds a shared lock on `users.lock` until it exits. Under an exclusive
//! lock on `start.lock` the first one creates a new data directory and starts the server and a
//! watchdog: once no process holds `users.lock`, the watchdog stops the server and removes its data. A
//! crashed server is replaced the same way; its data is never reused.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use nix::sys::statvfs::statvfs;

use crate::database::MEMORY_DIR;
use crate::postgres_tools::{PostgresTools, own_uid};

/// The owner of every test database.
pub(crate) const USER: &str = "cynode";

/// No test needs its data after a power failure, so no commit waits for the disk.
const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=400",
    "shared_buffers=64MB",
    // A database lives for seconds: nothing is worth collecting, and no process connects to a template.
    "autovacuum=off",
    "max_wal_size=512MB",
    "checkpoint_timeout=1h",
];

/// The size of a memory file system that holds the server.
const MIN_SERVER_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// Polls the lock and stops the server once it is free. `$1` is the lock that users hold, `$2` the
/// server's directory, `$3` is `pg_ctl`. Exit code 75 means that the lock is held; any other ends the loop.
const WATCHDOG_SCRIPT: &str = r#"
while sleep 10; do
    flock -n -E 75 "$1" sh -c '"$2" -D "$1/data" -m fast -w stop; rm -rf "$1/data"' sh "$2" "$3"
    [ $? -eq 75 ] || exit 0
done"#;

/// The private server.
#[derive(Debug)]
pub(crate) struct SharedPostgresServer {
    /// Directory of this user and workspace; contains the locks.
    base: PathBuf,
    tools: PostgresTools,
    /// Locked until the process exits, for the watchdog.
    _in_use: File,
}

/// The shared server; starts it if necessary.
pub(crate) fn shared_server() -> &'static SharedPostgresServer {
    static SERVER: OnceLock<SharedPostgresServer> = OnceLock::new();
    SERVER.get_or_init(|| match SharedPostgresServer::join() {
        Ok(server) => server,
        Err(error) => panic!("the PostgreSQL server for tests does not run: {error}"),
    })
}

impl SharedPostgresServer {
    fn join() -> io::Result<Self> {
        let base = base_directory()?;
        let in_use = lock_file(&base.join("users.lock"))?;
        in_use.lock_shared()?;
        let server = Self { base, tools: PostgresTools::find(), _in_use: in_use };
        let starting = lock_file(&server.base.join("start.lock"))?;
        starting.lock()?;
        if !server.is_ready() {
            server.start()?;
            server.start_watchdog()?;
        }
        Ok(server)
    }

    pub(crate) fn socket_dir(&self) -> PathBuf {
        self.base.join("server")
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", percent_encode(&self.socket_dir()))
    }

    /// Locks the creation of a template until the file is dropped.
    pub(crate) fn lock_template(&self) -> io::Result<File> {
        let creating = lock_file(&self.base.join("template.lock"))?;
        creating.lock()?;
        Ok(creating)
    }

    /// Whether the server answers. Fails at once if there is no server; waits for a busy one, because a
    /// false negative would stop it for all other processes.
    fn is_ready(&self) -> bool {
        let mut ready = self.tools.postgres_command("pg_isready");
        ready.args(["-q", "-t", "60"]).arg("-h").arg(self.socket_dir());
        ready.args(["-d", "postgres", "-U", USER]);
        run_command(&mut ready).is_ok()
    }

    fn start(&self) -> io::Result<()> {
        let directory = self.socket_dir();
        let data = directory.join("data");
        if directory.exists() {
            // It may still be running although it does not answer.
            let mut stop = self.tools.postgres_command("pg_ctl");
            let _ = run_command(stop.arg("-D").arg(&data).args(["-m", "immediate", "-w", "stop"]));
            fs::remove_dir_all(&directory)?;
        }
        self.tools.create_private_dir(&directory)?;
        let mut initdb = self.tools.postgres_command("initdb");
        initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8"]);
        // A linguistic collation, as in typical installations: exposes queries that rely on byte order
        // without `COLLATE "C"`.
        initdb.args(["--no-locale", "--locale-provider=icu", "--icu-locale=en"]);
        run_command(initdb.args(["--no-sync", "--no-instructions"]))?;
        let options = format!("-k '{}' -c {}", directory.display(), SETTINGS.join(" -c "));
        let mut start = self.tools.postgres_command("pg_ctl");
        start.arg("-D").arg(&data).arg("-l").arg(directory.join("log"));
        run_command(start.arg("-o").arg(options).args(["-w", "start"])).map_err(|error| {
            let log = fs::read_to_string(directory.join("log")).unwrap_or_default();
            io::Error::other(format!("{error}\n{log}"))
        })
    }

    /// Starts the watchdog in its own process group, so that it outlives an interrupted test run.
    fn start_watchdog(&self) -> io::Result<()> {
        let mut watchdog = self.tools.command(Path::new("sh"));
        watchdog.args(["-c", WATCHDOG_SCRIPT, "watchdog"]).arg(self.base.join("users.lock"));
        watchdog.arg(self.socket_dir()).arg(self.tools.program_path("pg_ctl"));
        watchdog.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        watchdog.spawn().map(drop)
    }
}

/// Whether a file system is large enough for a server. Its free space would not do: all processes must choose the same.
fn is_large(directory: &str) -> bool {
    statvfs(directory)
        .is_ok_and(|found| found.blocks().saturating_mul(found.fragment_size()) >= MIN_SERVER_BYTES)
}

/// The directory of this user's server for this workspace, in memory where that is large enough. Fails if another user owns it.
fn base_directory() -> io::Result<PathBuf> {
    let mut workspace = DefaultHasher::new();
    env!("CARGO_MANIFEST_DIR").hash(&mut workspace);
    let uid = own_uid();
    let name = format!("cynode-test-postgres-{uid}-{:08x}", workspace.finish() >> 32);
    let parent =
        if is_large(MEMORY_DIR) { PathBuf::from(MEMORY_DIR) } else { std::env::temp_dir() };
    let base = parent.join(name);
    // Accessible, but not listable, for the user that root runs the server as.
    match DirBuilder::new().mode(0o711).create(&base) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(&base)?;
    if found.is_dir() && found.uid() == uid {
        Ok(base)
    } else {
        Err(io::Error::other(format!("{} belongs to another user", base.display())))
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o644).open(path)
}

/// Runs a program to its end; the error contains its output.
pub(crate) fn run_command(command: &mut Command) -> io::Result<()> {
    // A file, not a pipe: the server that pg_ctl starts would keep a pipe open.
    let printed = tempfile::NamedTempFile::new()?;
    command.stdout(printed.reopen()?).stderr(printed.reopen()?);
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    let text = fs::read_to_string(printed.path()).unwrap_or_default();
    Err(io::Error::other(format!("{command:?} ended with {status}\n{text}")))
}

pub(crate) fn percent_encode(path: &Path) -> String {
    path.as_os_str().as_encoded_bytes().iter().fold(String::new(), |mut text, &byte| {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_directory_is_one_host_in_a_url() {
        assert_eq!(percent_encode(Path::new("/tmp/a b-1")), "%2Ftmp%2Fa%20b-1");
    }

    #[test]
    fn the_watchdogs_lock_and_ours_are_the_same_kind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users.lock");
        let ours = lock_file(&path).unwrap();
        let theirs = || Command::new("flock").arg("-n").arg(&path).arg("true").status().unwrap();

        ours.lock_shared().unwrap();
        assert!(!theirs().success());

        drop(ours);
        assert!(theirs().success());
    }
}
