//! A PostgreSQL server with durable commits, for benchmarks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::postgres_server::{USER, percent_encode, run_command};
use crate::postgres_tools::PostgresTools;

const SETTINGS: &[&str] = &["listen_addresses=", "max_connections=200", "shared_buffers=256MB"];

/// A private server with production durability, stopped on drop.
#[derive(Debug)]
pub struct DurableServer {
    tools: PostgresTools,
    directory: PathBuf,
}

impl DurableServer {
    /// Starts a server in a new temporary directory.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, with instructions.
    pub fn start() -> io::Result<Self> {
        let tools = PostgresTools::find();
        let unique = tempfile::Builder::new().prefix("cynode-durable-").tempdir()?;
        let base = unique.keep();
        // Accessible, but not listable, for the user that root runs the server as.
        fs::set_permissions(&base, std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
        let directory = base.join("server");
        tools.create_private_dir(&directory)?;
        let server = Self { tools, directory };
        let data = server.data_dir();
        let mut initdb = server.tools.postgres_command("initdb");
        initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8"]);
        run_command(initdb.args(["--no-locale", "--no-instructions"]))?;
        server.start_postgres()?;
        Ok(server)
    }

    fn start_postgres(&self) -> io::Result<()> {
        let sockets = self.directory.display();
        let options = format!("-k '{sockets}' -c {}", SETTINGS.join(" -c "));
        let mut start = self.tools.postgres_command("pg_ctl");
        start.arg("-D").arg(self.data_dir()).arg("-l").arg(self.directory.join("log"));
        run_command(start.arg("-o").arg(options).args(["-w", "start"]))
    }

    /// Crashes the server and starts it again.
    pub fn crash_and_restart(&self) -> io::Result<()> {
        let mut stop = self.tools.postgres_command("pg_ctl");
        run_command(stop.arg("-D").arg(self.data_dir()).args(["-m", "immediate", "-w", "stop"]))?;
        self.start_postgres()
    }

    /// URL of its default database.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@{}/postgres", percent_encode(&self.directory))
    }

    /// The directory of its socket.
    pub fn socket_dir(&self) -> &Path {
        &self.directory
    }

    /// Process id of the postmaster; all other processes are its children.
    pub fn process_id(&self) -> io::Result<u32> {
        let mut show = self.tools.command(Path::new("head"));
        let shown = show.arg("-n1").arg(self.data_dir().join("postmaster.pid")).output()?;
        let text = String::from_utf8_lossy(&shown.stdout);
        text.trim().parse().map_err(io::Error::other)
    }

    fn data_dir(&self) -> PathBuf {
        self.directory.join("data")
    }
}

impl Drop for DurableServer {
    fn drop(&mut self) {
        let mut stop = self.tools.postgres_command("pg_ctl");
        // Leftovers are temporary files.
        let _ = run_command(stop.arg("-D").arg(self.data_dir()).args([
            "-m",
            "immediate",
            "-w",
            "stop",
        ]));
        if let Some(base) = self.directory.parent() {
            let _ = fs::remove_dir_all(base);
        }
    }
}
