//! Processes of one installation that a test starts, kills, stops and restarts individually.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use cynode_client::{Client, ClientError};
use cynode_domain::ids::TaskId;
use cynode_runtime::failpoint;
use cynode_wire::tasks::TaskView;
use nix::sys::signal::Signal;
use secrecy::SecretString;

use crate::processes::{eventually, send_signal, wait_until_none_left};
use crate::programs::{call, isolated_shell};
use crate::system::PATIENCE;
use crate::work::{decline_repeat, retry_while_unavailable};

/// The worker node of a fleet that has one.
pub(crate) const NODE: &str = "node";

/// Processes by name. Dropping it kills them, and fails the test if one is left.
pub(crate) struct ProcessFleet {
    members: BTreeMap<String, FleetMember>,
    database: Option<String>,
    home: tempfile::TempDir,
}

struct FleetMember {
    arguments: Vec<String>,
    child: Option<Child>,
    /// Maximum size of every file that it writes.
    max_file_kib: Option<u32>,
}

/// Runs `$2…` so that writing beyond `$1` KiB is an error, and does not kill the process.
const LIMITED: &str = "trap '' XFSZ; ulimit -f $(($1 * 2)); shift; exec \"$@\"";

impl ProcessFleet {
    /// A fleet without members, on the embedded database unless another is given.
    pub(crate) fn new(database: Option<&str>) -> Self {
        let home = tempfile::Builder::new().prefix("cynode-e2e-").tempdir().unwrap();
        for directory in ["data", "failpoints"] {
            fs::create_dir(home.path().join(directory)).unwrap();
        }
        Self { members: BTreeMap::new(), database: database.map(str::to_owned), home }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The URL of its database.
    pub(crate) fn database(&self) -> String {
        let embedded = || format!("sqlite:{}", self.data().join("cynode.db").display());
        self.database.clone().unwrap_or_else(embedded)
    }

    /// State directory of a worker node, with its jobs and workspaces.
    pub(crate) fn node_state(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    /// Adds an orchestrator; returns its address, which does not change. A second one shares
    /// artifacts and tokens with the first.
    pub(crate) async fn add_orchestrator(&mut self, name: &str) -> String {
        let data = if self.members.is_empty() { self.data() } else { self.second_data(name) };
        let address_file = data.join("orchestrator.addr");
        let (database, path) = (self.database(), |path: PathBuf| path.display().to_string());
        let runner_token = path(self.data().join("runner.token"));
        let join_token = path(self.data().join("node-join.token"));
        let arguments = move |listen: &str| {
            let base = ["role", "orchestrator", "--data-dir", &path(data.clone())];
            let more = ["--database-url", &database, "--listen", listen];
            let tokens = ["--runner-token-file", &runner_token, "--join-token-file", &join_token];
            [base, more, tokens].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let first = arguments("127.0.0.1:0");
        self.add(name, first);
        let address: SocketAddr = eventually("an address", PATIENCE, || {
            fs::read_to_string(&address_file).ok()?.parse().ok()
        })
        .await;
        let again = arguments(&address.to_string());
        self.members.get_mut(name).unwrap().arguments = again;
        format!("http://{address}")
    }

    /// A data directory next to the first.
    fn second_data(&self, name: &str) -> PathBuf {
        let directory = self.home.path().join(name);
        fs::create_dir(&directory).unwrap();
        fs::create_dir_all(self.data().join("blobs")).unwrap();
        std::os::unix::fs::symlink(self.data().join("blobs"), directory.join("blobs")).unwrap();
        directory
    }

    /// Limits the size of every file that this member writes, from its next start on.
    pub(crate) fn limit_files(&mut self, name: &str, max_kib: Option<u32>) {
        self.members.get_mut(name).unwrap().max_file_kib = max_kib;
    }

    /// Adds a runner of the orchestrator at `url`.
    pub(crate) fn add_runner(&mut self, name: &str, url: &str, lease: Duration) {
        let data = self.data().display().to_string();
        let token = self.data().join("runner.token").display().to_string();
        let lease = lease.as_millis().to_string();
        let arguments = ["role", "runner", "--data-dir", &data, "--orchestrator-url", url];
        let more = ["--token-file", &token, "--lease-ms", &lease];
        self.add(name, [&arguments[..], &more].concat().into_iter().map(str::to_owned).collect());
    }

    /// Adds a project manager of the orchestrator at `url`, which its configuration must name.
    pub(crate) fn add_manager(&mut self, name: &str, url: &str) {
        let data = self.data().display().to_string();
        let arguments = ["role", "pma", "--role", "project_manager", "--data-dir", &data];
        let more = ["--orchestrator-url", url];
        self.add(name, [&arguments[..], &more].concat().into_iter().map(str::to_owned).collect());
    }

    /// Adds a worker node of the orchestrator at `url`, and waits until it has joined.
    pub(crate) async fn add_node(&mut self, name: &str, url: &str) {
        self.add_node_with(name, url, &[]).await;
    }

    /// The same with further arguments.
    pub(crate) async fn add_node_with(&mut self, name: &str, url: &str, options: &[&str]) {
        let data = self.data().display().to_string();
        let token = self.data().join("node-join.token").display().to_string();
        let state = self.node_state(name).display().to_string();
        let arguments = ["role", "node", "--data-dir", &data, "--orchestrator-url", url];
        let more = ["--slug", name, "--join-token-file", &token, "--state-dir", &state];
        let all = [&arguments[..], &more, options].concat();
        self.add(name, all.into_iter().map(str::to_owned).collect());
        let client = self.client(url);
        while !retry_while_unavailable(async || client.node_list().await)
            .await
            .iter()
            .any(|n| n.node_slug == name)
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn add(&mut self, name: &str, arguments: Vec<String>) {
        self.members
            .insert(name.to_owned(), FleetMember { arguments, child: None, max_file_kib: None });
        self.start(name);
    }

    /// Starts a member that is not running.
    pub(crate) fn start(&mut self, name: &str) {
        let home = self.home.path();
        let log = home.join(format!("{name}.log"));
        let log = File::options().create(true).append(true).open(log).unwrap();
        let member = self.members.get_mut(name).unwrap();
        let mut command = call("cynode", home);
        if let Some(kib) = member.max_file_kib {
            let program = command.get_program().to_owned();
            command = isolated_shell(home);
            command.args(["-c", LIMITED, "limited"]).arg(kib.to_string()).arg(program);
        }
        command.args(&member.arguments).env(failpoint::DIRECTORY_VAR, home.join("failpoints"));
        command.stdout(log.try_clone().unwrap()).stderr(log);
        member.child = Some(command.spawn().unwrap());
    }

    /// The exit status of a member, once it has ended.
    pub(crate) fn exit_status(&mut self, name: &str) -> Option<ExitStatus> {
        let child = &mut self.members.get_mut(name).unwrap().child;
        let ended = child.as_mut()?.try_wait().unwrap()?;
        *child = None;
        Some(ended)
    }

    /// Sends a signal to a member.
    pub(crate) fn signal(&self, name: &str, signal: Signal) {
        let child = self.members[name].child.as_ref();
        send_signal(i32::try_from(child.unwrap().id()).unwrap(), signal);
    }

    /// Kills a member and waits for its end.
    pub(crate) fn kill(&mut self, name: &str) {
        if let Some(mut child) = self.members.get_mut(name).unwrap().child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Restarts every member that has exited. Another process may have taken its port.
    pub(crate) fn restart_exited(&mut self) {
        let names: Vec<String> = self.members.keys().cloned().collect();
        for name in names {
            if self.exit_status(&name).is_some() {
                self.start(&name);
            }
        }
    }

    pub(crate) fn client(&self, url: &str) -> Client {
        let token = fs::read_to_string(self.data().join("admin.token")).unwrap();
        Client::new(url, SecretString::from(token.trim().to_owned())).unwrap()
    }

    /// Repeats a call while the orchestrator is unavailable, and restarts members that exit
    /// meanwhile.
    pub(crate) async fn retry_while_unavailable<T>(
        &mut self,
        call: impl AsyncFn() -> Result<T, ClientError>,
    ) -> T {
        let begun = Instant::now();
        loop {
            self.restart_exited();
            match call().await {
                Ok(answer) => return answer,
                Err(error) if error.is_transient() && begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}\n{}", self.read_all_logs()),
            }
        }
    }

    /// Waits until a task has closed, and restarts members that exit meanwhile.
    pub(crate) async fn wait_until_closed(&mut self, client: &Client, task: TaskId) -> TaskView {
        let (begun, id) = (Instant::now(), task.to_string());
        loop {
            let view = self.retry_while_unavailable(async || client.task_get(&id).await).await;
            if view.closed {
                return view;
            }
            decline_repeat(client, &view).await;
            assert!(
                begun.elapsed() < 4 * PATIENCE,
                "not closed: {view:#?}\n{}",
                self.read_all_logs()
            );
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }

    /// Arms a failpoint: the next process that reaches it dies or, if `wish` says so, waits.
    pub(crate) fn arm_failpoint(&self, point: &str, wish: &str) {
        // Renamed, because it must be complete when it becomes visible.
        let made = self.home.path().join("armed");
        fs::write(&made, wish).unwrap();
        fs::rename(made, self.failpoint_path(point)).unwrap();
    }

    /// Waits until a process has reached an armed point.
    pub(crate) async fn wait_for_failpoint(&self, point: &str) {
        let taken = self.failpoint_path(point).with_added_extension(failpoint::HIT);
        let begun = Instant::now();
        while !taken.exists() {
            assert!(
                begun.elapsed() < PATIENCE,
                "no process reached {point}\n{}",
                self.read_all_logs()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Releases the process that waits at a point.
    pub(crate) fn release_failpoint(&self, point: &str) {
        fs::remove_file(self.failpoint_path(point).with_added_extension(failpoint::HIT)).unwrap();
    }

    fn failpoint_path(&self, point: &str) -> PathBuf {
        self.home.path().join("failpoints").join(point)
    }

    /// The log of a member so far.
    pub(crate) fn read_member_log(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// The logs of all members.
    pub(crate) fn read_all_logs(&self) -> String {
        let part = |name: &String| format!("== {name}\n{}", self.read_member_log(name));
        self.members.keys().map(part).collect()
    }

    /// The directory of all files.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }
}

/// Whether a process was ended by this signal.
pub(crate) fn was_ended_by(ended: ExitStatus, signal: Signal) -> bool {
    ended.signal() == Some(signal as i32)
}

impl Drop for ProcessFleet {
    fn drop(&mut self) {
        let names: Vec<String> = self.members.keys().cloned().collect();
        for name in &names {
            self.kill(name);
        }
        // Jobs outlive their node.
        for pid in wait_until_none_left(self.home(), Duration::from_millis(200)) {
            send_signal(pid, Signal::SIGKILL);
        }
        let left = wait_until_none_left(self.home(), PATIENCE);
        if std::thread::panicking() {
            println!("{}", self.read_all_logs());
        } else {
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}
