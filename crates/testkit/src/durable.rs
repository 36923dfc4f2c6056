//! A PostgreSQL server that keeps its promises, for measurements: its commits wait for the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::server::{USER, percent_encoded, run};
use crate::tools::Tools;

const SETTINGS: &[&str] = &["listen_addresses=", "max_connections=200", "shared_buffers=256MB"];

/// A private server with the durability of production; it ends with this value.
#[derive(Debug)]
pub struct DurableServer {
    tools: Tools,
    directory: PathBuf,
}

impl DurableServer {
    /// Starts a server in a new directory below the one for temporary files.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed; the text says what to do.
    pub fn start() -> io::Result<Self> {
        let tools = Tools::find();
        let unique = tempfile::Builder::new().prefix("cynode-durable-").tempdir()?;
        let base = unique.keep();
        // Entered, but not listed, by the user that root runs the server as.
        fs::set_permissions(&base, std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
        let directory = base.join("server");
        tools.make_private(&directory)?;
        let server = Self { tools, directory };
        let data = server.data();
        let mut initdb = server.tools.postgres("initdb");
        initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8"]);
        run(initdb.args(["--no-locale", "--no-instructions"]))?;
        server.serve()?;
        Ok(server)
    }

    fn serve(&self) -> io::Result<()> {
        let sockets = self.directory.display();
        let options = format!("-k '{sockets}' -c {}", SETTINGS.join(" -c "));
        let mut start = self.tools.postgres("pg_ctl");
        start.arg("-D").arg(self.data()).arg("-l").arg(self.directory.join("log"));
        run(start.arg("-o").arg(options).args(["-w", "start"]))
    }

    /// Ends the server as a crash would, and starts it again.
    pub fn crash(&self) -> io::Result<()> {
        let mut stop = self.tools.postgres("pg_ctl");
        run(stop.arg("-D").arg(self.data()).args(["-m", "immediate", "-w", "stop"]))?;
        self.serve()
    }

    /// Where its first database is found.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@{}/postgres", percent_encoded(&self.directory))
    }

    /// The directory of its socket.
    pub fn sockets(&self) -> &Path {
        &self.directory
    }

    /// The process id of the server; all others are its children.
    pub fn process_id(&self) -> io::Result<u32> {
        let mut show = self.tools.command(Path::new("head"));
        let shown = show.arg("-n1").arg(self.data().join("postmaster.pid")).output()?;
        let text = String::from_utf8_lossy(&shown.stdout);
        text.trim().parse().map_err(io::Error::other)
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }
}

impl Drop for DurableServer {
    fn drop(&mut self) {
        let mut stop = self.tools.postgres("pg_ctl");
        // What is left behind are temporary files.
        let _ = run(stop.arg("-D").arg(self.data()).args(["-m", "immediate", "-w", "stop"]));
        if let Some(base) = self.directory.parent() {
            let _ = fs::remove_dir_all(base);
        }
    }
}
