//! All child processes: their arguments and the order in which they stop.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cynode_sandbox::job_dir::{JobDir, StopRequest};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::child::ChildSpec;
use super::child_supervisor::{ChildEvent, ChildSupervisor};
use super::data_dir::LockedDataDir;
use super::runner_exit::RunnerExitReporter;
use super::{UpError, log, print_message};
use crate::cli::CynodeUpArgs;

/// Deadline of each child in stop order, from the start of the shutdown. A child keeps running after its own
/// deadline; all are killed at the last one.
const STOP_DEADLINES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_millis(2250),
    Duration::from_millis(3250),
    Duration::from_secs(4),
];
/// Time for a killed child to disappear.
const AFTER_KILL: Duration = Duration::from_millis(500);
/// A unix socket path must fit into 108 bytes.
const MAX_SOCKET_PATH: usize = 107;

/// All child processes.
pub(crate) struct ChildProcesses {
    executable: PathBuf,
    paths: ChildPaths,
    args: CynodeUpArgs,
    /// Address of the orchestrator, once known; a restart must not change it.
    address: Arc<OnceLock<String>>,
    /// Whether everything was ready once.
    ready: Arc<AtomicBool>,
    notices: mpsc::UnboundedReceiver<ChildEvent>,
    sender: mpsc::UnboundedSender<ChildEvent>,
    /// In start order.
    supervisors: Vec<ChildSupervisor>,
    /// Stop deadlines.
    stop_deadlines: [Duration; 4],
}

/// Paths for the arguments of children.
struct ChildPaths {
    root: PathBuf,
    runner_token: PathBuf,
    join_token: PathBuf,
    node_state: PathBuf,
    pma_secret: PathBuf,
    /// Listen address of the project manager, in flag syntax.
    pma_address: String,
    logs: [(&'static str, PathBuf); 4],
    sockets: [(&'static str, PathBuf); 2],
}

impl ChildPaths {
    fn from_data_dir(data_dir: &LockedDataDir) -> Self {
        Self {
            root: data_dir.root().to_owned(),
            runner_token: data_dir.runner_token(),
            join_token: data_dir.join_token(),
            node_state: data_dir.root().join("node"),
            pma_secret: data_dir.pma_secret(),
            pma_address: pma_address(&data_dir.pma_socket()),
            logs: ["orchestrator", "runner", "node", "pma"].map(|role| (role, data_dir.log(role))),
            sockets: ["runner", "node"].map(|role| (role, data_dir.socket(role))),
        }
    }

    fn log(&self, role: &str) -> PathBuf {
        let of_role = self.logs.iter().find(|(name, _)| *name == role);
        of_role.map(|(_, path)| path.clone()).unwrap_or_default()
    }
}

impl ChildProcesses {
    /// Rotates the logs; starts no child.
    pub(crate) fn new(executable: PathBuf, data_dir: &LockedDataDir, args: &CynodeUpArgs) -> Self {
        let (sender, notices) = mpsc::unbounded_channel();
        let paths = ChildPaths::from_data_dir(data_dir);
        for (_, path) in &paths.logs {
            if let Err(error) = log::rotate_log(path) {
                print_message(&format!("cannot rotate {}: {error}", path.display()));
            }
        }
        Self {
            executable,
            paths,
            args: args.clone(),
            address: Arc::default(),
            ready: Arc::default(),
            notices,
            sender,
            supervisors: Vec::new(),
            stop_deadlines: STOP_DEADLINES,
        }
    }

    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }

    /// From now on, a child that exits is always restarted.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    pub(crate) fn start_orchestrator(&mut self) {
        let mut fixed = self.shared_args("orchestrator");
        push_flag(&mut fixed, "--runner-token-file", &self.paths.runner_token);
        push_flag(&mut fixed, "--join-token-file", &self.paths.join_token);
        push_flag(&mut fixed, "--pma", &self.paths.pma_address);
        push_flag(&mut fixed, "--pma-secret-file", &self.paths.pma_secret);
        if let Some(url) = &self.args.database_url {
            push_flag(&mut fixed, "--database-url", url);
        }
        let (wanted, address) = (self.args.listen.clone(), Arc::clone(&self.address));
        let args = move || {
            let mut args = fixed.clone();
            if let Some(listen) = address.get().or(wanted.as_ref()) {
                push_flag(&mut args, "--listen", listen);
            }
            args
        };
        self.supervise("orchestrator", args, || {});
    }

    /// Listen address of the project manager, in flag syntax.
    pub(crate) fn pma_address(&self) -> String {
        self.paths.pma_address.clone()
    }

    /// Starts the runner, the node and the project manager for the orchestrator that listens on `address` and is
    /// reachable at `url`.
    pub(crate) fn start_dependents(&mut self, address: SocketAddr, url: &str) {
        // Called once; the first address is kept for the life of this process.
        let _ = self.address.set(address.to_string());
        let mut runner = self.shared_args("runner");
        push_flag(&mut runner, "--orchestrator-url", url);
        push_flag(&mut runner, "--token-file", &self.paths.runner_token);
        let mut node = self.shared_args("node");
        push_flag(&mut node, "--orchestrator-url", url);
        for path in &self.args.repository_paths {
            push_flag(&mut node, "--repository-path", path);
        }
        push_flag(&mut node, "--join-token-file", &self.paths.join_token);
        push_flag(&mut node, "--state-dir", &self.paths.node_state);
        for (args, (_, socket)) in [&mut runner, &mut node].into_iter().zip(&self.paths.sockets) {
            if socket.as_os_str().len() <= MAX_SOCKET_PATH {
                push_flag(args, "--health-listen", format!("unix:{}", socket.display()));
            }
        }
        let exit_reporter = RunnerExitReporter::new(url, self.paths.runner_token.clone());
        let exit_reporter_for_args = exit_reporter.clone();
        let args = move || {
            let mut args = runner.clone();
            push_flag(&mut args, "--holder-id", exit_reporter_for_args.new_holder_id().to_string());
            args
        };
        self.supervise("runner", args, move || exit_reporter.report_exit());
        self.supervise("node", move || node.clone(), || {});
        let mut pma = self.shared_args("pma");
        push_flag(&mut pma, "--role", "project_manager");
        push_flag(&mut pma, "--orchestrator-url", url);
        push_flag(&mut pma, "--secret-file", &self.paths.pma_secret);
        push_flag(&mut pma, "--listen", &self.paths.pma_address);
        self.supervise("pma", move || pma.clone(), || {});
    }

    /// Waits for `future` while the children are supervised; fails if a child fails permanently.
    pub(crate) async fn while_supervised<T>(
        &mut self,
        future: impl Future<Output = T>,
    ) -> Result<T, UpError> {
        tokio::pin!(future);
        loop {
            let notice = tokio::select! {
                value = &mut future => return Ok(value),
                notice = self.notices.recv() => notice,
            };
            match notice {
                Some(ChildEvent::Restarting { role, how }) => {
                    print_message(&format!("the {role} {how}; restarting it"));
                }
                Some(ChildEvent::Failed { role, how }) => {
                    let log = self.paths.log(role);
                    let words = log::last_output(&log).unwrap_or(how);
                    return Err(UpError::CannotStart { role, words, log });
                }
                None => {}
            }
        }
    }

    /// Stops all children within five seconds, dependents first.
    pub(crate) async fn stop(self) {
        let start = Instant::now();
        let kill_at = start + self.stop_deadlines[3];
        for (supervisor, share) in self.supervisors.iter().rev().zip(self.stop_deadlines) {
            supervisor.stop(kill_at);
            supervisor.wait_until_exited(start + share).await;
        }
        for supervisor in &self.supervisors {
            supervisor.wait_until_exited(kill_at + AFTER_KILL).await;
        }
        if self.has_dependents() {
            self.request_jobs_stop();
        }
    }

    /// Whether any child besides the orchestrator was started.
    fn has_dependents(&self) -> bool {
        self.supervisors.len() > 1
    }

    /// Requests every running job to stop, as the node does unless it was killed: jobs outlive their node.
    fn request_jobs_stop(&self) {
        let jobs = self.paths.node_state.join("jobs");
        if !jobs.exists() {
            // The node never started, so there are no jobs.
            return;
        }
        let jobs = match JobDir::list(&jobs) {
            Ok(jobs) => jobs,
            Err(error) => return print_message(&format!("cannot stop jobs: {error}")),
        };
        for (id, job) in jobs {
            if job.outcome().is_none()
                && let Err(error) = job.request_stop(StopRequest::NodeShutdown)
            {
                print_message(&format!("cannot stop job {id}: {error}"));
            }
        }
    }

    fn supervise(
        &mut self,
        name: &'static str,
        args: impl Fn() -> Vec<OsString> + Send + 'static,
        ended: impl Fn() + Send + 'static,
    ) {
        let role = ChildSpec {
            name,
            executable: self.executable.clone(),
            args: Box::new(args),
            ended: Box::new(ended),
            log: self.paths.log(name),
        };
        self.supervisors.push(ChildSupervisor::start(
            role,
            Arc::clone(&self.ready),
            self.sender.clone(),
        ));
    }

    fn shared_args(&self, role: &str) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["role".into(), role.into()];
        push_flag(&mut args, "--data-dir", &self.paths.root);
        if let Some(config) = &self.args.config {
            push_flag(&mut args, "--config", config);
        }
        args
    }
}

/// A unix socket address, or a free TCP port if the path is too long.
fn pma_address(socket: &Path) -> String {
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return format!("unix:{}", socket.display());
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|port| port.local_addr());
    // Without a free port, the child fails to listen and reports it.
    free.map_or_else(|_| "127.0.0.1:0".to_owned(), |address| address.to_string())
}

fn push_flag(args: &mut Vec<OsString>, flag: &str, value: impl Into<OsString>) {
    args.extend([flag.into(), value.into()]);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use cynode_domain::ids::JobId;
    use tempfile::TempDir;

    use super::*;

    /// Fake children that record when they start and stop.
    struct FakeChildren {
        dir: TempDir,
        children: ChildProcesses,
    }

    impl FakeChildren {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let at = dir.path().display();
            let script = format!(
                "#!/bin/sh\nrole=$2\ntrap \"echo $role >> {at}/stopped; exit 0\" TERM\n\
                 echo \"$@\" >> {at}/started\n\
                 while :; do [ -e {at}/end-$role ] && rm {at}/end-$role && exit 1; sleep 0.02; done\n"
            );
            let executable = dir.path().join("cynode");
            fs::write(&executable, script).unwrap();
            fs::set_permissions(&executable, fs::Permissions::from_mode(0o700)).unwrap();
            let data_dir = LockedDataDir::prepare(&dir.path().join("data")).unwrap();
            let args =
                CynodeUpArgs { listen: Some("127.0.0.1:0".to_owned()), ..CynodeUpArgs::default() };
            let mut children = ChildProcesses::new(executable, &data_dir, &args);
            // A shell on a busy machine is slower than the real child.
            children.stop_deadlines = STOP_DEADLINES.map(|share| 10 * share);
            Self { dir, children }
        }

        fn start_dependents(&mut self, address: &str) {
            self.children.start_dependents(address.parse().unwrap(), "http://127.0.0.1:4567");
        }

        /// A job directory without an outcome.
        fn job(&self) -> PathBuf {
            let job = self.dir.path().join("data/node/jobs").join(JobId::generate().to_string());
            fs::create_dir_all(&job).unwrap();
            job
        }

        fn lines(&self, file: &str) -> Vec<String> {
            let text = fs::read_to_string(self.dir.path().join(file)).unwrap_or_default();
            text.lines().map(ToOwned::to_owned).collect()
        }

        async fn started(&self, count: usize) -> Vec<String> {
            loop {
                let lines = self.lines("started");
                if lines.len() >= count {
                    return lines;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    #[tokio::test]
    async fn children_stop_in_order_those_that_depend_on_others_first() {
        let mut staged = FakeChildren::new();
        staged.children.start_orchestrator();
        staged.start_dependents("127.0.0.1:4567");
        staged.started(4).await;

        let FakeChildren { dir, children } = staged;
        children.stop().await;

        let stopped = fs::read_to_string(dir.path().join("stopped")).unwrap();
        assert_eq!(stopped, "pma\nnode\nrunner\norchestrator\n");
    }

    #[tokio::test]
    async fn jobs_that_their_node_left_running_are_asked_to_end() {
        let mut staged = FakeChildren::new();
        let job = staged.job();
        staged.children.start_orchestrator();
        staged.start_dependents("127.0.0.1:4567");
        staged.started(4).await;

        let FakeChildren { dir: _dir, children } = staged;
        children.stop().await;

        assert_eq!(JobDir::open(&job).stop_request(), Some(StopRequest::NodeShutdown));
    }

    #[tokio::test]
    async fn jobs_run_on_if_no_node_was_started() {
        let mut staged = FakeChildren::new();
        let job = staged.job();
        staged.children.start_orchestrator();
        staged.started(1).await;

        let FakeChildren { dir: _dir, children } = staged;
        children.stop().await;

        assert_eq!(JobDir::open(&job).stop_request(), None);
    }

    #[tokio::test]
    async fn a_restarted_orchestrator_keeps_the_address_it_had() {
        let mut staged = FakeChildren::new();
        staged.children.start_orchestrator();
        let first = staged.started(1).await.remove(0);
        // The URL is for this machine only; the listen address is for others too.
        staged.start_dependents("0.0.0.0:4567");
        staged.started(4).await;
        fs::write(staged.dir.path().join("end-orchestrator"), "").unwrap();

        let second = staged.started(5).await.remove(4);

        assert!(first.ends_with("--listen 127.0.0.1:0"), "{first}");
        assert!(second.ends_with("--listen 0.0.0.0:4567"), "{second}");
        staged.children.stop().await;
    }
}
