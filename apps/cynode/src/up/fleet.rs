//! All children together: what they are started with, and the order in which they stop.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cynode_worker::job_dir::{JobDir, StopRequest};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::child::Role;
use super::holder::Holder;
use super::keeper::{Keeper, Notice};
use super::place::Place;
use super::{UpError, log, say};
use crate::cli::UpArgs;

/// When each child, in the order of stopping, has had its share of the time; all stay asked to
/// stop, and what is left at the last of these moments is killed.
const SHARES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_millis(2250),
    Duration::from_millis(3250),
    Duration::from_secs(4),
];
/// A killed child is gone well within this time.
const AFTER_KILL: Duration = Duration::from_millis(500);
/// A unix socket's path has to fit into 108 bytes.
const MAX_SOCKET_PATH: usize = 107;

/// All children together.
pub(crate) struct Fleet {
    executable: PathBuf,
    paths: Paths,
    args: UpArgs,
    /// Where the orchestrator listens, once known; a restart must not change it.
    address: Arc<OnceLock<String>>,
    /// Whether everything was ready once.
    ready: Arc<AtomicBool>,
    notices: mpsc::UnboundedReceiver<Notice>,
    sender: mpsc::UnboundedSender<Notice>,
    /// In the order of starting.
    keepers: Vec<Keeper>,
    /// How long they may take to stop.
    shares: [Duration; 4],
}

/// Where things lie, as arguments for children.
struct Paths {
    root: PathBuf,
    runner_token: PathBuf,
    join_token: PathBuf,
    node_state: PathBuf,
    pma_secret: PathBuf,
    /// Where the project manager takes work, as a flag has it.
    pma_address: String,
    logs: [(&'static str, PathBuf); 4],
    sockets: [(&'static str, PathBuf); 2],
}

impl Paths {
    fn of(place: &Place) -> Self {
        Self {
            root: place.root().to_owned(),
            runner_token: place.runner_token(),
            join_token: place.join_token(),
            node_state: place.root().join("node"),
            pma_secret: place.pma_secret(),
            pma_address: pma_address(&place.pma_socket()),
            logs: ["orchestrator", "runner", "node", "pma"].map(|role| (role, place.log(role))),
            sockets: ["runner", "node"].map(|role| (role, place.socket(role))),
        }
    }

    fn log(&self, role: &str) -> PathBuf {
        let of_role = self.logs.iter().find(|(name, _)| *name == role);
        of_role.map(|(_, path)| path.clone()).unwrap_or_default()
    }
}

impl Fleet {
    /// No child yet.
    pub(crate) fn new(executable: PathBuf, place: &Place, args: &UpArgs) -> Self {
        let (sender, notices) = mpsc::unbounded_channel();
        let paths = Paths::of(place);
        for (_, path) in &paths.logs {
            if let Err(error) = log::rotate(path) {
                say(&format!("cannot move the old {} aside: {error}", path.display()));
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
            keepers: Vec::new(),
            shares: SHARES,
        }
    }

    /// What children are started from.
    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }

    /// From now on a child that ends is started again for ever.
    pub(crate) fn set_ready(&self) {
        self.ready.store(true, Ordering::Relaxed);
    }

    /// Starts the orchestrator.
    pub(crate) fn start_orchestrator(&mut self) {
        let mut fixed = self.shared_args("orchestrator");
        push(&mut fixed, "--runner-token-file", &self.paths.runner_token);
        push(&mut fixed, "--join-token-file", &self.paths.join_token);
        push(&mut fixed, "--pma", &self.paths.pma_address);
        push(&mut fixed, "--pma-secret-file", &self.paths.pma_secret);
        if let Some(url) = &self.args.database_url {
            push(&mut fixed, "--database-url", url);
        }
        let (wanted, address) = (self.args.listen.clone(), Arc::clone(&self.address));
        let args = move || {
            let mut args = fixed.clone();
            if let Some(listen) = address.get().or(wanted.as_ref()) {
                push(&mut args, "--listen", listen);
            }
            args
        };
        self.keep("orchestrator", args, || {});
    }

    /// Where the project manager takes work.
    pub(crate) fn pma_address(&self) -> String {
        self.paths.pma_address.clone()
    }

    /// Starts the runner, the node and the project manager of the orchestrator that listens on `address` and is reached
    /// at `url`.
    pub(crate) fn start_workers(&mut self, address: SocketAddr, url: &str) {
        // The first address wins for the life of this process; there is no second call.
        let _ = self.address.set(address.to_string());
        let mut runner = self.shared_args("runner");
        push(&mut runner, "--orchestrator-url", url);
        push(&mut runner, "--token-file", &self.paths.runner_token);
        let mut node = self.shared_args("node");
        push(&mut node, "--orchestrator-url", url);
        push(&mut node, "--join-token-file", &self.paths.join_token);
        push(&mut node, "--state-dir", &self.paths.node_state);
        for (args, (_, socket)) in [&mut runner, &mut node].into_iter().zip(&self.paths.sockets) {
            if socket.as_os_str().len() <= MAX_SOCKET_PATH {
                push(args, "--health-listen", format!("unix:{}", socket.display()));
            }
        }
        let holder = Holder::new(url, self.paths.runner_token.clone());
        let begins = holder.clone();
        let args = move || {
            let mut args = runner.clone();
            push(&mut args, "--holder-id", begins.begins().to_string());
            args
        };
        self.keep("runner", args, move || holder.ended());
        self.keep("node", move || node.clone(), || {});
        let mut pma = self.shared_args("pma");
        push(&mut pma, "--role", "project_manager");
        push(&mut pma, "--orchestrator-url", url);
        push(&mut pma, "--secret-file", &self.paths.pma_secret);
        push(&mut pma, "--listen", &self.paths.pma_address);
        self.keep("pma", move || pma.clone(), || {});
    }

    /// Waits for `future` while children are kept; fails when one of them is given up.
    pub(crate) async fn while_kept<T>(
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
                Some(Notice::Again { role, how }) => {
                    say(&format!("the {role} {how}; starting it again"));
                }
                Some(Notice::GaveUp { role, how }) => {
                    let log = self.paths.log(role);
                    let words = log::last_words(&log).unwrap_or(how);
                    return Err(UpError::CannotStart { role, words, log });
                }
                None => {}
            }
        }
    }

    /// Stops all children, those that depend on others first, within five seconds.
    pub(crate) async fn stop(self) {
        let start = Instant::now();
        let kill_at = start + self.shares[3];
        for (keeper, share) in self.keepers.iter().rev().zip(self.shares) {
            keeper.stop(kill_at);
            keeper.ended(start + share).await;
        }
        for keeper in &self.keepers {
            keeper.ended(kill_at + AFTER_KILL).await;
        }
        if self.has_workers() {
            self.end_jobs();
        }
    }

    /// Whether more than the orchestrator was started.
    fn has_workers(&self) -> bool {
        self.keepers.len() > 1
    }

    /// Asks every job to end that still runs, as the node did unless it was killed before: jobs
    /// outlive their node.
    fn end_jobs(&self) {
        let jobs = self.paths.node_state.join("jobs");
        if !jobs.exists() {
            // The node never got as far as to have jobs.
            return;
        }
        let jobs = match JobDir::list(&jobs) {
            Ok(jobs) => jobs,
            Err(error) => return say(&format!("jobs cannot be asked to end: {error}")),
        };
        for (id, job) in jobs {
            if job.outcome().is_none()
                && let Err(error) = job.request_stop(StopRequest::NodeStops)
            {
                say(&format!("job {id} cannot be asked to end: {error}"));
            }
        }
    }

    fn keep(
        &mut self,
        name: &'static str,
        args: impl Fn() -> Vec<OsString> + Send + 'static,
        ended: impl Fn() + Send + 'static,
    ) {
        let role = Role {
            name,
            executable: self.executable.clone(),
            args: Box::new(args),
            ended: Box::new(ended),
            log: self.paths.log(name),
        };
        self.keepers.push(Keeper::start(role, Arc::clone(&self.ready), self.sender.clone()));
    }

    fn shared_args(&self, role: &str) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["role".into(), role.into()];
        push(&mut args, "--data-dir", &self.paths.root);
        if let Some(config) = &self.args.config {
            push(&mut args, "--config", config);
        }
        args
    }
}

/// A socket, or a free port where its path would be too long.
fn pma_address(socket: &Path) -> String {
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return format!("unix:{}", socket.display());
    }
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|port| port.local_addr());
    // Without a free port nothing else will start either, and says why.
    free.map_or_else(|_| "127.0.0.1:0".to_owned(), |address| address.to_string())
}

fn push(args: &mut Vec<OsString>, flag: &str, value: impl Into<OsString>) {
    args.extend([flag.into(), value.into()]);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use cynode_domain::ids::JobId;
    use tempfile::TempDir;

    use super::*;

    /// Children that write down when they start and stop.
    struct Staged {
        dir: TempDir,
        fleet: Fleet,
    }

    impl Staged {
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
            let place = Place::prepare(&dir.path().join("data")).unwrap();
            let args = UpArgs { listen: Some("127.0.0.1:0".to_owned()), ..UpArgs::default() };
            let mut fleet = Fleet::new(executable, &place, &args);
            // A shell on a busy machine is slower than a child of ours.
            fleet.shares = SHARES.map(|share| 10 * share);
            Self { dir, fleet }
        }

        fn start_workers(&mut self, address: &str) {
            self.fleet.start_workers(address.parse().unwrap(), "http://127.0.0.1:4567");
        }

        /// A job that nobody ends, as far as its directory tells.
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
        let mut staged = Staged::new();
        staged.fleet.start_orchestrator();
        staged.start_workers("127.0.0.1:4567");
        staged.started(4).await;

        let Staged { dir, fleet } = staged;
        fleet.stop().await;

        let stopped = fs::read_to_string(dir.path().join("stopped")).unwrap();
        assert_eq!(stopped, "pma\nnode\nrunner\norchestrator\n");
    }

    #[tokio::test]
    async fn jobs_that_their_node_left_running_are_asked_to_end() {
        let mut staged = Staged::new();
        let job = staged.job();
        staged.fleet.start_orchestrator();
        staged.start_workers("127.0.0.1:4567");
        staged.started(4).await;

        let Staged { dir: _dir, fleet } = staged;
        fleet.stop().await;

        assert_eq!(JobDir::at(&job).stop_request(), Some(StopRequest::NodeStops));
    }

    #[tokio::test]
    async fn jobs_run_on_if_no_node_was_started() {
        let mut staged = Staged::new();
        let job = staged.job();
        staged.fleet.start_orchestrator();
        staged.started(1).await;

        let Staged { dir: _dir, fleet } = staged;
        fleet.stop().await;

        assert_eq!(JobDir::at(&job).stop_request(), None);
    }

    #[tokio::test]
    async fn a_restarted_orchestrator_keeps_the_address_it_had() {
        let mut staged = Staged::new();
        staged.fleet.start_orchestrator();
        let first = staged.started(1).await.remove(0);
        // The URL is for this machine alone; what it listens on is for others too.
        staged.start_workers("0.0.0.0:4567");
        staged.started(4).await;
        fs::write(staged.dir.path().join("end-orchestrator"), "").unwrap();

        let second = staged.started(5).await.remove(4);

        assert!(first.ends_with("--listen 127.0.0.1:0"), "{first}");
        assert!(second.ends_with("--listen 0.0.0.0:4567"), "{second}");
        staged.fleet.stop().await;
    }
}
