//! The private PostgreSQL server that all test processes share.
//!
//! Every process that uses it holds a shared lock on `users.lock` for its life. Under an exclusive
//! lock on `start.lock` the first one makes a new data directory, starts the server, and with it a
//! watchdog: once nobody holds `users.lock`, that stops the server and removes its data. A server
//! that died is replaced the same way; its data is never used again.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::tools::{Tools, own_uid};

/// The owner of every test database.
pub(crate) const USER: &str = "cynode";

/// No test needs its data after a power cut, so nothing waits for the disk.
const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=400",
    "shared_buffers=64MB",
];

/// Stops the server at the first look that finds no user. `$1` is the lock that users hold, `$2`
/// the server's directory, `$3` is `pg_ctl`. 75 means that the lock is held; anything else ends the watch.
const WATCH: &str = r#"
while sleep 10; do
    flock -n -E 75 "$1" sh -c '"$2" -D "$1/data" -m fast -w stop; rm -rf "$1/data"' sh "$2" "$3"
    [ $? -eq 75 ] || exit 0
done"#;

/// The private server.
#[derive(Debug)]
pub(crate) struct Server {
    /// Of this user and workspace; holds the locks.
    base: PathBuf,
    tools: Tools,
    /// Held until the process ends: the watchdog looks at it.
    _in_use: File,
}

/// The server, running.
pub(crate) fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| match Server::join() {
        Ok(server) => server,
        Err(error) => panic!("the PostgreSQL server for tests does not run: {error}"),
    })
}

impl Server {
    fn join() -> io::Result<Self> {
        let base = base_directory()?;
        let in_use = lock_file(&base.join("users.lock"))?;
        in_use.lock_shared()?;
        let server = Self { base, tools: Tools::find(), _in_use: in_use };
        let starting = lock_file(&server.base.join("start.lock"))?;
        starting.lock()?;
        if !server.answers() {
            server.start()?;
            server.watch()?;
        }
        Ok(server)
    }

    /// The directory of its socket.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.base.join("server")
    }

    /// Where a database of this server is found.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", percent_encoded(&self.sockets()))
    }

    /// Whether there is a server. One that is not there says so at once; one that a busy machine keeps
    /// from answering is waited for, because whoever takes it for dead ends it for all others.
    fn answers(&self) -> bool {
        let mut ready = self.tools.postgres("pg_isready");
        ready.args(["-q", "-t", "60"]).arg("-h").arg(self.sockets());
        ready.args(["-d", "postgres", "-U", USER]);
        run(&mut ready).is_ok()
    }

    fn start(&self) -> io::Result<()> {
        let directory = self.sockets();
        let data = directory.join("data");
        if directory.exists() {
            // It may still run although it does not answer.
            let mut stop = self.tools.postgres("pg_ctl");
            let _ = run(stop.arg("-D").arg(&data).args(["-m", "immediate", "-w", "stop"]));
            fs::remove_dir_all(&directory)?;
        }
        self.tools.make_private(&directory)?;
        let mut initdb = self.tools.postgres("initdb");
        initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8"]);
        // A linguistic sort order, as servers have that were set up for people: what relies on
        // byte order without saying so is found out here.
        initdb.args(["--no-locale", "--locale-provider=icu", "--icu-locale=en"]);
        run(initdb.args(["--no-sync", "--no-instructions"]))?;
        let options = format!("-k '{}' -c {}", directory.display(), SETTINGS.join(" -c "));
        let mut start = self.tools.postgres("pg_ctl");
        start.arg("-D").arg(&data).arg("-l").arg(directory.join("log"));
        run(start.arg("-o").arg(options).args(["-w", "start"])).map_err(|error| {
            let log = fs::read_to_string(directory.join("log")).unwrap_or_default();
            io::Error::other(format!("{error}\n{log}"))
        })
    }

    /// Starts the watchdog: of its own process group, so that it outlives an interrupted test run.
    fn watch(&self) -> io::Result<()> {
        let mut watchdog = self.tools.command(Path::new("sh"));
        watchdog.args(["-c", WATCH, "watchdog"]).arg(self.base.join("users.lock"));
        watchdog.arg(self.sockets()).arg(self.tools.program("pg_ctl"));
        watchdog.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        watchdog.spawn().map(drop)
    }
}

/// The directory of this user's server for this workspace, refused if somebody else made it.
fn base_directory() -> io::Result<PathBuf> {
    let mut workspace = DefaultHasher::new();
    env!("CARGO_MANIFEST_DIR").hash(&mut workspace);
    let uid = own_uid();
    let name = format!("cynode-test-postgres-{uid}-{:08x}", workspace.finish() >> 32);
    let base = std::env::temp_dir().join(name);
    // Entered, but not listed, by the user that root runs the server as.
    match DirBuilder::new().mode(0o711).create(&base) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(&base)?;
    if found.is_dir() && found.uid() == uid {
        Ok(base)
    } else {
        Err(io::Error::other(format!("{} belongs to somebody else", base.display())))
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o644).open(path)
}

/// Runs a program to its end; what it printed is the error.
pub(crate) fn run(command: &mut Command) -> io::Result<()> {
    // A file and not a pipe: the server that pg_ctl leaves behind would keep a pipe open.
    let printed = tempfile::NamedTempFile::new()?;
    command.stdout(printed.reopen()?).stderr(printed.reopen()?);
    let status = command.status()?;
    if status.success() {
        return Ok(());
    }
    let text = fs::read_to_string(printed.path()).unwrap_or_default();
    Err(io::Error::other(format!("{command:?} ended with {status}\n{text}")))
}

pub(crate) fn percent_encoded(path: &Path) -> String {
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
        assert_eq!(percent_encoded(Path::new("/tmp/a b-1")), "%2Ftmp%2Fa%20b-1");
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
