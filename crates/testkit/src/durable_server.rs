//! A PostgreSQL server with durable commits, for benchmarks.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::certificates::TestCertificate;
use crate::postgres_server::{USER, percent_encode, run_command};
use crate::postgres_tools::PostgresTools;

const SETTINGS: &[&str] = &["listen_addresses=", "max_connections=200", "shared_buffers=256MB"];

/// A private server with production durability, stopped on drop. Benchmarks use it, and tests of what the shared server
/// does not offer.
#[derive(Debug)]
pub struct DurableServer {
    tools: PostgresTools,
    directory: PathBuf,
    /// Settings beyond those of every such server.
    settings: Vec<String>,
}

impl DurableServer {
    /// Starts a server in a new temporary directory.
    ///
    /// # Panics
    ///
    /// When PostgreSQL is not installed, with instructions.
    pub fn start() -> io::Result<Self> {
        let server = Self::create(PostgresTools::find())?;
        server.start_postgres()?;
        Ok(server)
    }

    /// Starts a server of another installation, given by the directory of its programs. The user `postgres` must be
    /// able to read it.
    pub fn start_with_programs(programs: &Path) -> io::Result<Self> {
        let server = Self::create(PostgresTools::in_directory(programs.to_path_buf()))?;
        server.start_postgres()?;
        Ok(server)
    }

    /// Starts a server that accepts only encrypted connections, at a TCP port. Its certificate is valid for
    /// `localhost`.
    pub fn start_with_tls(certificate: &TestCertificate) -> io::Result<(Self, u16)> {
        let mut server = Self::create(PostgresTools::find())?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let data = server.data_dir();
        for (file, text) in [
            ("server.crt", certificate.certificate.as_str()),
            ("server.key", certificate.key.as_str()),
            ("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 trust\n"),
        ] {
            server.tools.write_private_file(&data.join(file), text)?;
        }
        server.settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            "ssl=on".to_owned(),
        ];
        server.start_postgres()?;
        Ok((server, port))
    }

    fn create(tools: PostgresTools) -> io::Result<Self> {
        let unique = tempfile::Builder::new().prefix("cynode-durable-").tempdir()?;
        let base = unique.keep();
        // Accessible, but not listable, for the user that root runs the server as.
        fs::set_permissions(&base, std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
        let directory = base.join("server");
        tools.create_private_dir(&directory)?;
        let server = Self { tools, directory, settings: vec![] };
        let data = server.data_dir();
        let mut initdb = server.tools.postgres_command("initdb");
        initdb.arg("-D").arg(&data).args(["-U", USER, "-A", "trust", "-E", "UTF8"]);
        run_command(initdb.args(["--no-locale", "--no-instructions"]))?;
        Ok(server)
    }

    fn start_postgres(&self) -> io::Result<()> {
        let sockets = self.directory.display();
        let own = self.settings.iter().map(String::as_str);
        let settings: Vec<_> = SETTINGS.iter().copied().chain(own).collect();
        let options = format!("-k '{sockets}' -c {}", settings.join(" -c "));
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
