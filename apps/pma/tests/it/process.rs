//! The real binary as a process with its own data directory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub(crate) const SECRET: &str = "cyn_ho_secret";

/// A data directory with the orchestrator's secret.
pub(crate) struct PmaDataDir {
    pub(crate) dir: TempDir,
}

impl PmaDataDir {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("pma.secret");
        fs::write(&secret, SECRET).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        Self { dir }
    }

    /// The binary with these arguments and an empty environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cynode-pma"));
        command
            .args(["--data-dir", self.dir.path().to_str().unwrap()])
            .args(["--orchestrator-url", "http://127.0.0.1:1"])
            .args(arguments)
            .env_clear();
        command
    }

    pub(crate) fn socket(&self, role: &str) -> PathBuf {
        self.dir.path().join(format!("run/pma/{role}.sock"))
    }

    /// Starts a serving process and waits until it accepts connections.
    pub(crate) fn serve(&self, role: &str) -> PmaProcess {
        self.serve_with(self.command(&["--role", role]), role)
    }

    /// Like `serve`, with a custom command.
    pub(crate) fn serve_with(&self, mut command: Command, role: &str) -> PmaProcess {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let socket = self.socket(role);
        let deadline = Instant::now() + Duration::from_secs(30);
        while UnixStream::connect(&socket).is_err() {
            if Instant::now() > deadline || child.try_wait().unwrap().is_some() {
                let mut words = String::new();
                child.kill().unwrap();
                child.stderr.unwrap().read_to_string(&mut words).unwrap();
                panic!("it does not serve: {words}");
            }
            thread::yield_now();
        }
        PmaProcess { child, socket }
    }
}

/// A serving process; killed on drop.
pub(crate) struct PmaProcess {
    pub(crate) child: Child,
    socket: PathBuf,
}

impl PmaProcess {
    /// Sends a raw request and reads the whole response.
    pub(crate) fn send_raw(&self, request: &str) -> String {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends a handoff with `secret`.
    pub(crate) fn send_handoff(&self, kind: &str, secret: &str, body: &str) -> String {
        self.send_raw(&format!(
            "POST /v1/handoff/{kind} HTTP/1.1\r\nhost: pma\r\nauthorization: Bearer {secret}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }
}

impl Drop for PmaProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
