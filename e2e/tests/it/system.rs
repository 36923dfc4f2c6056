//! A `cynode up` in its own directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_testkit::{TestDatabase, postgres_database};
use nix::sys::signal::Signal;
use secrecy::SecretString;
use serde::Deserialize;

use crate::processes::{
    eventually, find_by_arguments, find_mentioning, send_signal, wait_until_none_left,
};
use crate::programs::{ProgramOutput, binary_path, isolated_shell, run_cynork};

/// Long enough for anything on a busy machine, short enough to notice a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Variables of the operator's shell that no process of the product may inherit.
const FOREIGN: [&str; 6] = [
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "CYNODE_PRIVATE",
    "CYNODE_OTHER__PASSWORD",
];
/// A file that is open in the operator's shell, as descriptors 8 and 9.
pub(crate) const FOREIGN_FILE: &str = "foreign";
/// The value of each variable, and the content of that file.
pub(crate) const FOREIGN_VALUE: &str = "of-the-operators-shell-alone";

/// The line that `up --json` prints.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SystemAnnouncement {
    pub(crate) url: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) admin_token_file: PathBuf,
}

/// Which database a system uses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SystemDatabase {
    Embedded,
    Postgres,
}

/// A running `cynode up`. Dropping it stops it, and fails the test if a process is left.
pub(crate) struct System {
    up: Option<Child>,
    pub(crate) announced: SystemAnnouncement,
    pub(crate) client: Client,
    dir: SystemDirectory,
}

/// Remains when `up` stops. The database is dropped last.
struct SystemDirectory {
    home: tempfile::TempDir,
    database: Option<TestDatabase>,
}

impl System {
    /// A system on the embedded database, with everything at its default.
    pub(crate) async fn new() -> Self {
        Self::with(SystemDatabase::Embedded, "").await
    }

    /// A system with a configuration file.
    pub(crate) async fn with(database: SystemDatabase, config: &str) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
        fs::write(home.path().join("cynode.toml"), config).unwrap();
        let database = match database {
            SystemDatabase::Embedded => None,
            SystemDatabase::Postgres => Some(postgres_database().await),
        };
        let dir = SystemDirectory { home, database };
        let (up, announced) = dir.start().await;
        let client = client(&announced);
        Self { up: Some(up), announced, client, dir }
    }

    /// The directory around the data directory.
    pub(crate) fn home(&self) -> &Path {
        self.dir.home.path()
    }

    pub(crate) fn data_dir(&self) -> &Path {
        &self.announced.data_dir
    }

    /// Runs `cynork` to its end.
    pub(crate) fn cynork(&self, args: &[&str]) -> ProgramOutput {
        run_cynork(self.home(), self.data_dir(), args)
    }

    /// Output of a second `up` on the same directory.
    pub(crate) fn second_up(&self) -> ProgramOutput {
        ProgramOutput::from(self.dir.up_command().output().unwrap())
    }

    pub(crate) fn supervisor(&self) -> i32 {
        i32::try_from(self.up.as_ref().unwrap().id()).unwrap()
    }

    /// The process of a role, waiting while it is restarted.
    pub(crate) async fn wait_for_role(&self, name: &str) -> i32 {
        let what = format!("a {name} that runs");
        eventually(&what, PATIENCE, || self.find_roles(name).first().copied()).await
    }

    /// The processes of a role.
    pub(crate) fn find_roles(&self, name: &str) -> Vec<i32> {
        let data_dir = self.data_dir().to_str().unwrap();
        find_by_arguments(|line| {
            let is_one = line.get(1..3) == Some(&["role", name]) && line.contains(&data_dir);
            // An analyst has the role of the project manager too, but no listener.
            is_one && (name != "pma" || line.contains(&"--listen"))
        })
    }

    /// The process of an analyst, waiting for one to be started.
    pub(crate) async fn analyst(&self) -> i32 {
        let data_dir = self.data_dir().to_str().unwrap();
        eventually("an analyst that runs", PATIENCE, || {
            let is_ours = |line: &[&str]| line.iter().any(|part| part.starts_with(data_dir));
            let is_one = |line: &[&str]| line.contains(&"--once") && is_ours(line);
            find_by_arguments(is_one).first().copied()
        })
        .await
    }

    /// The processes that supervise jobs.
    pub(crate) fn find_shims(&self) -> Vec<i32> {
        let jobs = self.data_dir().join("node/jobs");
        let jobs = jobs.to_str().unwrap();
        find_by_arguments(|line| {
            line.get(1) == Some(&"sandbox-shim") && line.iter().any(|part| part.starts_with(jobs))
        })
    }

    /// Waits until the system is ready for work.
    pub(crate) async fn wait_until_ready(&self) {
        let begun = Instant::now();
        while !self.client.status().await.is_ok_and(|status| status.ready) {
            assert!(begun.elapsed() < PATIENCE, "not ready\n{}", self.dir.read_logs());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Stops `up` with a signal; returns its exit status.
    pub(crate) async fn stop(&mut self, signal: Signal) -> ExitStatus {
        let mut up = self.up.take().unwrap();
        send_signal(i32::try_from(up.id()).unwrap(), signal);
        eventually("the end of up", PATIENCE, || up.try_wait().unwrap()).await
    }

    /// Starts `up` again on the same directory.
    pub(crate) async fn start(&mut self) {
        let (up, announced) = self.dir.start().await;
        self.up = Some(up);
        self.client = client(&announced);
        self.announced = announced;
    }

    /// All processes of this system.
    pub(crate) fn find_processes(&self) -> Vec<i32> {
        find_mentioning(self.home())
    }
}

impl SystemDirectory {
    fn up_command(&self) -> std::process::Command {
        let home = self.home.path();
        // As from a shell with open files, which no process of the product may pass on.
        fs::write(home.join(FOREIGN_FILE), FOREIGN_VALUE).unwrap();
        let mut command = isolated_shell(home);
        let open = format!("exec 8>>{FOREIGN_FILE} 9<{FOREIGN_FILE}; exec \"$@\"");
        command.args(["-c", &open, "sh"]).arg(binary_path("cynode"));
        command.args(["up", "--json", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(home.join("data")).arg("--config").arg(home.join("cynode.toml"));
        if let Some(database) = &self.database {
            command.args(["--database-url", &database.url]);
        }
        for name in FOREIGN {
            command.env(name, FOREIGN_VALUE);
        }
        command
    }

    /// Starts `up` and waits for its JSON line.
    async fn start(&self) -> (Child, SystemAnnouncement) {
        let out = self.home.path().join("up.out");
        let error = File::options().create(true).append(true).open(self.home.path().join("up.err"));
        let mut command = self.up_command();
        let started = command.stdout(File::create(&out).unwrap()).stderr(error.unwrap()).spawn();
        let mut up = started.unwrap();
        let announced = eventually("an up that is ready", PATIENCE, || {
            if let Some(ended) = up.try_wait().unwrap() {
                panic!("up ended with {ended}\n{}", self.read_logs());
            }
            let line = fs::read_to_string(&out).unwrap();
            line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
        });
        let announced = announced.await;
        (up, announced)
    }

    /// The logs of all processes.
    fn read_logs(&self) -> String {
        let files = ["up.err", "data/logs/orchestrator.log", "data/logs/runner.log"];
        let files = files.into_iter().chain(["data/logs/node.log", "data/logs/pma.log"]);
        let text = |file| fs::read_to_string(self.home.path().join(file)).unwrap_or_default();
        files
            .flat_map(|file| ["== ".to_owned(), file.to_owned(), "\n".to_owned(), text(file)])
            .collect()
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if let Some(mut up) = self.up.take() {
            send_signal(i32::try_from(up.id()).unwrap(), Signal::SIGTERM);
            let begun = Instant::now();
            while up.try_wait().is_ok_and(|ended| ended.is_none()) && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = up.kill();
            let _ = up.wait();
        }
        let left = wait_until_none_left(self.home(), PATIENCE);
        for pid in &left {
            send_signal(*pid, Signal::SIGKILL);
        }
        if std::thread::panicking() {
            println!("{}", self.dir.read_logs());
        } else {
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}

fn client(announced: &SystemAnnouncement) -> Client {
    let token = fs::read_to_string(&announced.admin_token_file).unwrap();
    Client::new(&announced.url, SecretString::from(token.trim().to_owned())).unwrap()
}
