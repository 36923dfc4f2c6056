//! Tools of this node for agents on its host, under capability leases.
//!
//! Start at [`EdgeService::open`]. An agent connects to a unix socket that only the user of the node can use, and presents its
//! lease with each request; `cynode-edge` decides and records. Commands run in sandboxes like jobs ([`commands`]). The service
//! reports to the orchestrator every few seconds ([`sync`]), and works without it until the leases end.

mod commands;
mod listener;
mod sync;
mod tools;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use cynode_edge::{EdgeAuditLog, EdgeServer, EdgeTrust};
use cynode_runtime::clock::{Clock as _, SystemClock};
use tokio::net::UnixListener;

use self::commands::EdgeCommands;
use self::tools::WorkspaceTools;
use super::{DaemonContext, run_blocking};

/// The service of a running node.
pub(super) struct EdgeService {
    context: Arc<DaemonContext>,
    server: Arc<EdgeServer>,
    commands: EdgeCommands,
    trust: Arc<EdgeTrust>,
    log: EdgeAuditLog,
    listener: UnixListener,
}

impl EdgeService {
    /// Opens audit log and socket below the state directory, and ends commands of an earlier process.
    pub(super) async fn open(context: &Arc<DaemonContext>) -> io::Result<Self> {
        let directory = context.options.sandbox.state_dir.join("edge");
        // A node that gets another name or key begins another chain.
        let identity = format!("{}\n{}", context.options.slug, context.node_key);
        let opened = directory.clone();
        let opening = run_blocking(move || open_files(&opened, &identity));
        let (log, listener) = opening.await.map_err(io::Error::other)??;
        let trust = EdgeTrust::open(&directory.join("trust.json"), context.node_key.clone());
        let trust = Arc::new(trust);
        let commands =
            EdgeCommands::open(Arc::clone(context), Arc::clone(&trust), directory.join("commands"))
                .await?;
        let server = EdgeServer::new(
            context.options.slug.clone(),
            Arc::clone(&trust),
            log.clone(),
            Arc::new(WorkspaceTools::new(commands.clone())),
            Arc::new(SystemClock),
        );
        let server = Arc::new(server.map_err(io::Error::other)?);
        let listener = UnixListener::from_std(listener)?;
        tracing::info!(socket = %socket_path(&directory).display(), "tools under leases ready");
        Ok(Self { context: Arc::clone(context), server, commands, trust, log, listener })
    }

    /// Serves and reports in the background.
    pub(super) fn run(self) {
        let tasks = self.context.tasks.clone();
        let Self { context, server, commands, trust, log, listener } = self;
        tasks.spawn_until_finish(
            "edge",
            listener::serve_connections(listener, server, tasks.clone()),
        );
        let sync = sync::EdgeSyncLoop { context, commands, trust, log };
        tasks.spawn_until_finish("edge-sync", sync.run());
    }
}

/// The socket that agents connect to.
fn socket_path(directory: &std::path::Path) -> PathBuf {
    directory.join("mcp.sock")
}

fn open_files(
    directory: &std::path::Path,
    identity: &str,
) -> io::Result<(EdgeAuditLog, std::os::unix::net::UnixListener)> {
    // Only the user of the node can enter the directory, and thus connect.
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let log = EdgeAuditLog::open(directory, identity, SystemClock.now())?;
    let path = socket_path(directory);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(&path)?;
    listener.set_nonblocking(true)?;
    Ok((log, listener))
}
