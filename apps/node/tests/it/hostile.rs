//! Hostile programs: each tries to get out of its sandbox, prints `ESCAPED` if it succeeds, and `END` when it has tried.
//!
//! They run as jobs of this process's user, and again as jobs of an unprivileged node.

mod programs;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use cynode_domain::job::JobEnding;

use crate::workbench::{SandboxWorkbench, rerun_unprivileged};
use programs::{PRELUDE, PROGRAMS};

#[test]
fn no_hostile_program_gets_out_of_its_sandbox() {
    let host = Host::prepare();
    let bench = SandboxWorkbench::new();
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let attack = || {
        while let Some((name, body)) = PROGRAMS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let program = format!("{PRELUDE}{}\nprint('END')\n", host.fill_in(body));
            let done = bench.run(&format!("/usr/bin/python3 - <<'PROGRAM'\n{program}PROGRAM"));
            // The kernel ends a program for a system call of another architecture (SIGSYS).
            let is_killed = done.ending() == &JobEnding::Exited { code: 128 + 31 };
            let is_over = done.stdout.ends_with("END\n") || is_killed;
            if done.stdout.contains("ESCAPED") || !is_over {
                let fault = format!("{:?}\n{}{}", done.ending(), done.stdout, done.stderr);
                faults.lock().unwrap().insert(*name, fault);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(attack);
        scope.spawn(attack);
    });

    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(PROGRAMS.len() >= 100, "{} programs", PROGRAMS.len());
    host.check_unharmed();
}

#[test]
fn no_hostile_program_gets_out_of_the_sandbox_of_an_unprivileged_node() {
    rerun_unprivileged("hostile::no_hostile_program_gets_out_of_its_sandbox");
}

/// What the programs are after.
struct Host {
    dir: tempfile::TempDir,
    /// A listener of the host on loopback.
    listener: std::net::TcpListener,
    /// A listener with an abstract name.
    _abstract_socket: std::os::unix::net::UnixListener,
    abstract_name: String,
    /// A process of the same user as the node.
    sleeper: std::process::Child,
}

impl Host {
    fn prepare() -> Self {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::net::{SocketAddr, UnixListener};
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(dir.path().join("secret"), "the secret of the host").unwrap();
        let abstract_name = format!("cynode-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        Self {
            dir,
            listener: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            _abstract_socket: UnixListener::bind_addr(&address).unwrap(),
            abstract_name,
            sleeper: Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap(),
        }
    }

    fn fill_in(&self, body: &str) -> String {
        body.replace("@SECRET@", self.secret().to_str().unwrap())
            .replace("@PORT@", &self.listener.local_addr().unwrap().port().to_string())
            .replace("@ABSTRACT@", &self.abstract_name)
            .replace("@PID@", &self.sleeper.id().to_string())
    }

    fn secret(&self) -> std::path::PathBuf {
        self.dir.path().join("secret")
    }

    fn check_unharmed(mut self) {
        assert_eq!(fs::read_to_string(self.secret()).unwrap(), "the secret of the host");
        assert_eq!(fs::read_dir(self.dir.path()).unwrap().count(), 1);
        assert!(self.sleeper.try_wait().unwrap().is_none(), "a process of the host was ended");
        self.listener.set_nonblocking(true).unwrap();
        assert!(self.listener.accept().is_err(), "a program connected to the host");
        assert!(!Path::new("/tmp/escaped").exists());
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.sleeper.kill();
        let _ = self.sleeper.wait();
    }
}
