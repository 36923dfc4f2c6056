//! Runs installed stdio MCP servers in the same sandboxes as jobs, with a proxy to the hosts that they may reach.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_domain::job::Limits;
use cynode_network::proxy::{
    ConnectionEvent, ConnectionLog, ConnectionNotRecorded, ProxyCapacity, ProxyPolicy, SandboxProxy,
};
use cynode_resources::audit::{AuditLog, ServerConnectionRecord};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_sandbox::sandbox::{InteractiveControl, InteractiveProgram, Sandbox, SandboxOptions};
use cynode_upstream::ProcessHandle;
use cynode_upstream::ProcessSpawner;
use cynode_upstream::ServerCommand;
use cynode_upstream::ServerProcess;
use cynode_upstream::SpawnError;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Limits of each process and its children.
const LIMITS: Limits = Limits {
    // Not enforced: a server runs for as long as it is installed.
    timeout_s: 0,
    memory_mib: 1024,
    processes: 256,
    output_bytes: 0,
    disk_mib: 1024,
};

/// How long a sandbox may take to listen for connections.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts server processes. The sandbox is prepared on first use.
pub(crate) struct ServerProcessSpawner {
    options: SandboxOptions,
    sandbox: OnceCell<Arc<Sandbox>>,
    audit: AuditLog,
    tasks: BackgroundTasks,
    capacity: ProxyCapacity,
}

impl ServerProcessSpawner {
    /// Processes write below `state_dir` and may read `expose`.
    pub(crate) fn new(
        state_dir: PathBuf,
        expose: Vec<PathBuf>,
        audit: AuditLog,
        tasks: BackgroundTasks,
    ) -> Self {
        let mut options = SandboxOptions::new(state_dir);
        options.expose = expose;
        Self { options, sandbox: OnceCell::new(), audit, tasks, capacity: ProxyCapacity::default() }
    }

    /// Serves the connections of a started program until the guard is dropped.
    async fn serve_proxy(
        &self,
        launch: &ServerCommand,
        control: &mut InteractiveControl,
    ) -> Result<DropGuard, SpawnError> {
        let not_ready = || "its sandbox is not ready".to_owned();
        let listener = match timeout(LISTEN_TIMEOUT, control.proxy_listener()).await {
            Ok(Ok(listener)) => listener,
            // Its sandbox failed, and says why.
            Ok(Err(_)) => {
                control.stop();
                let ended = timeout(LISTEN_TIMEOUT, control.wait_ended()).await;
                return Err(SpawnError::NotStarted(ended.unwrap_or_else(|_| not_ready())));
            }
            Err(_) => return Err(SpawnError::NotStarted(not_ready())),
        };
        let policy = ProxyPolicy {
            hosts: launch.hosts.clone(),
            reach: launch.reach.clone(),
            advice: format!("{} may connect to the hosts it was installed with", launch.slug),
        };
        let log = ServerConnectionLog {
            audit: self.audit.clone(),
            id: launch.server,
            slug: launch.slug.clone(),
        };
        let closed = CancellationToken::new();
        let capacity = self.capacity.clone();
        let proxy =
            SandboxProxy::new(policy, capacity, Arc::new(log), self.tasks.clone(), closed.clone());
        proxy.serve(listener);
        Ok(closed.drop_guard())
    }

    async fn prepared_sandbox(&self) -> Result<&Arc<Sandbox>, SpawnError> {
        let prepared = self.sandbox.get_or_try_init(|| async {
            let options = self.options.clone();
            let sandbox = tokio::task::spawn_blocking(move || prepare_sandbox(options)).await;
            sandbox.map_err(|error| SpawnError::Unsupported(error.to_string()))?.map(Arc::new)
        });
        prepared.await
    }
}

fn prepare_sandbox(options: SandboxOptions) -> Result<Sandbox, SpawnError> {
    let words = |error: &dyn std::error::Error| SpawnError::Unsupported(error.to_string());
    let sandbox = Sandbox::prepare(options).map_err(|error| words(&error))?;
    sandbox.remove_interactive_dirs().map_err(|error| words(&error))?;
    let level = sandbox.level();
    if !level.supported {
        let reason = level.reason.clone().unwrap_or_else(|| "no sandbox is available".to_owned());
        return Err(SpawnError::Unsupported(reason));
    }
    Ok(sandbox)
}

#[async_trait]
impl ProcessSpawner for ServerProcessSpawner {
    async fn spawn(&self, launch: &ServerCommand) -> Result<ServerProcess, SpawnError> {
        let failed = |reason: String| SpawnError::NotStarted(reason);
        let owner = launch.server.to_string().parse();
        let mut argv = vec![launch.command.clone()];
        argv.extend(launch.args.iter().cloned());
        let program = InteractiveProgram {
            owner: owner.map_err(|_| failed("the server's id is invalid".to_owned()))?,
            argv,
            env: launch.env.clone(),
            has_proxy: !launch.hosts.is_empty(),
            limits: LIMITS,
        };
        let mut talk = self
            .prepared_sandbox()
            .await?
            .spawn_interactive(program)
            .map_err(|error| failed(error.to_string()))?;
        let proxy = if launch.hosts.is_empty() {
            None
        } else {
            Some(self.serve_proxy(launch, &mut talk.control).await?)
        };
        Ok(ServerProcess {
            stdin: Box::new(talk.stdin),
            stdout: Box::new(talk.stdout),
            stderr: Box::new(talk.stderr),
            handle: Box::new(SandboxedServerProcess { control: talk.control, _proxy: proxy }),
        })
    }
}

struct SandboxedServerProcess {
    control: InteractiveControl,
    /// Ends the proxy with the process.
    _proxy: Option<DropGuard>,
}

#[async_trait]
impl ProcessHandle for SandboxedServerProcess {
    async fn wait_ended(&mut self) -> String {
        self.control.wait_ended().await
    }

    fn kill(&mut self) {
        self.control.stop();
    }
}

/// Records connections of one server in the access log.
struct ServerConnectionLog {
    audit: AuditLog,
    id: ServerId,
    slug: String,
}

#[async_trait]
impl ConnectionLog for ServerConnectionLog {
    async fn record(
        &self,
        target: &str,
        event: &ConnectionEvent,
    ) -> Result<(), ConnectionNotRecorded> {
        let (action, allowed, details) = match event {
            ConnectionEvent::Opened { address } => {
                ("server.connect", true, format!("at {address}"))
            }
            ConnectionEvent::Refused { reason } => ("server.refuse", false, reason.clone()),
            ConnectionEvent::Closed { reason, sent, received, open_for } => {
                let seconds = open_for.as_secs_f64();
                let end = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let details =
                    format!("after {seconds:.1} s, {sent} bytes sent, {received} received{end}");
                ("server.disconnect", true, details)
            }
        };
        // Servers of several users may have one name.
        let description = format!("{target} {details} (server {})", self.id);
        let record =
            ServerConnectionRecord { server: self.slug.clone(), action, allowed, description };
        self.audit.record_connection(record).await.map_err(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, server.id = %self.id, "connection not recorded");
            ConnectionNotRecorded
        })
    }
}
