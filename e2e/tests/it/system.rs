//! A `cynode up` in a directory of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_testkit::{TestDatabase, postgres_database};
use nix::sys::signal::Signal;
use secrecy::SecretString;
use serde::Deserialize;

use crate::processes::{eventually, left_after, mentioning, send, with_arguments};
use crate::programs::{Said, call, cynork};

/// Long enough for anything on a busy machine, short enough to notice a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Variables of the operator's shell that are no business of any process of the product.
const FOREIGN: [&str; 6] = [
    "OPENAI_API_KEY",
    "PGPASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "CYNODE_PRIVATE",
    "CYNODE_OTHER__PASSWORD",
];
/// The value of each of them.
pub(crate) const FOREIGN_VALUE: &str = "of-the-operators-shell-alone";

/// The line that `up --json` prints.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Announced {
    pub(crate) url: String,
    pub(crate) data_dir: PathBuf,
    pub(crate) admin_token_file: PathBuf,
}

/// Which database a system uses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Database {
    Embedded,
    Postgres,
}

/// A running `cynode up`. Dropping it stops it, and fails the test if a process is left.
pub(crate) struct System {
    up: Option<Child>,
    pub(crate) announced: Announced,
    pub(crate) client: Client,
    place: Place,
}

/// What stays when `up` stops. The database goes last.
struct Place {
    home: tempfile::TempDir,
    database: Option<TestDatabase>,
}

impl System {
    /// A system on the embedded database, with everything at its default.
    pub(crate) async fn new() -> Self {
        Self::with(Database::Embedded, "").await
    }

    /// A system with a configuration file.
    pub(crate) async fn with(database: Database, config: &str) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
        fs::write(home.path().join("cynode.toml"), config).unwrap();
        let database = match database {
            Database::Embedded => None,
            Database::Postgres => Some(postgres_database().await),
        };
        let place = Place { home, database };
        let (up, announced) = place.start().await;
        let client = client(&announced);
        Self { up: Some(up), announced, client, place }
    }

    /// The directory around the data directory.
    pub(crate) fn home(&self) -> &Path {
        self.place.home.path()
    }

    /// The data directory.
    pub(crate) fn data_dir(&self) -> &Path {
        &self.announced.data_dir
    }

    /// Runs `cynork` to its end.
    pub(crate) fn cynork(&self, args: &[&str]) -> Said {
        cynork(self.home(), self.data_dir(), args)
    }

    /// What a second `up` on the same directory says.
    pub(crate) fn second_up(&self) -> Said {
        Said::from(self.place.up().output().unwrap())
    }

    /// The supervisor's process.
    pub(crate) fn supervisor(&self) -> i32 {
        i32::try_from(self.up.as_ref().unwrap().id()).unwrap()
    }

    /// The process of a role, waiting for it while it is being started again.
    pub(crate) async fn role(&self, name: &str) -> i32 {
        let what = format!("a {name} that runs");
        eventually(&what, PATIENCE, || self.roles(name).first().copied()).await
    }

    /// The processes of a role.
    pub(crate) fn roles(&self, name: &str) -> Vec<i32> {
        let data_dir = self.data_dir().to_str().unwrap();
        with_arguments(|line| {
            let is_one = line.get(1..3) == Some(&["role", name]) && line.contains(&data_dir);
            // An analyst has the role of the project manager too, and listens nowhere.
            is_one && (name != "pma" || line.contains(&"--listen"))
        })
    }

    /// The process of an analyst, waiting for one to be started.
    pub(crate) async fn analyst(&self) -> i32 {
        let data_dir = self.data_dir().to_str().unwrap();
        eventually("an analyst that runs", PATIENCE, || {
            let is_ours = |line: &[&str]| line.iter().any(|part| part.starts_with(data_dir));
            let is_one = |line: &[&str]| line.contains(&"--once") && is_ours(line);
            with_arguments(is_one).first().copied()
        })
        .await
    }

    /// The processes that supervise jobs.
    pub(crate) fn shims(&self) -> Vec<i32> {
        let jobs = self.data_dir().join("node/jobs");
        let jobs = jobs.to_str().unwrap();
        with_arguments(|line| {
            line.get(1) == Some(&"sandbox-shim") && line.iter().any(|part| part.starts_with(jobs))
        })
    }

    /// Waits until something answers and work can be done.
    pub(crate) async fn ready(&self) {
        let begun = Instant::now();
        while !self.client.status().await.is_ok_and(|status| status.ready) {
            assert!(begun.elapsed() < PATIENCE, "not ready\n{}", self.place.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Stops `up` with a signal; how it ended.
    pub(crate) async fn stop(&mut self, signal: Signal) -> ExitStatus {
        let mut up = self.up.take().unwrap();
        send(i32::try_from(up.id()).unwrap(), signal);
        eventually("the end of up", PATIENCE, || up.try_wait().unwrap()).await
    }

    /// Starts `up` again on the same directory.
    pub(crate) async fn start(&mut self) {
        let (up, announced) = self.place.start().await;
        self.up = Some(up);
        self.client = client(&announced);
        self.announced = announced;
    }

    /// The processes that belong to this system in any way.
    pub(crate) fn processes(&self) -> Vec<i32> {
        mentioning(self.home())
    }
}

impl Place {
    fn up(&self) -> std::process::Command {
        let home = self.home.path();
        let mut command = call("cynode", home);
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

    /// Starts `up` and waits for its line.
    async fn start(&self) -> (Child, Announced) {
        let out = self.home.path().join("up.out");
        let error = File::options().create(true).append(true).open(self.home.path().join("up.err"));
        let mut command = self.up();
        let started = command.stdout(File::create(&out).unwrap()).stderr(error.unwrap()).spawn();
        let mut up = started.unwrap();
        let announced = eventually("an up that is ready", PATIENCE, || {
            if let Some(ended) = up.try_wait().unwrap() {
                panic!("up ended with {ended}\n{}", self.log());
            }
            let line = fs::read_to_string(&out).unwrap();
            line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
        });
        let announced = announced.await;
        (up, announced)
    }

    /// What all processes said.
    fn log(&self) -> String {
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
            send(i32::try_from(up.id()).unwrap(), Signal::SIGTERM);
            let begun = Instant::now();
            while up.try_wait().is_ok_and(|ended| ended.is_none()) && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = up.kill();
            let _ = up.wait();
        }
        let left = left_after(self.home(), PATIENCE);
        for pid in &left {
            send(*pid, Signal::SIGKILL);
        }
        if std::thread::panicking() {
            println!("{}", self.place.log());
        } else {
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}

fn client(announced: &Announced) -> Client {
    let token = fs::read_to_string(&announced.admin_token_file).unwrap();
    Client::new(&announced.url, SecretString::from(token.trim().to_owned())).unwrap()
}
