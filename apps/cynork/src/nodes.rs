//! `nodes`: the worker nodes.

use clap::Subcommand;
use cynode_wire::nodes::NodeView;

use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::{age, table};

/// See the worker nodes and take them in and out of service.
#[derive(Debug, Subcommand)]
pub enum NodesCommand {
    /// List all nodes.
    List,
    /// Show one node and what its sandbox enforces.
    Get {
        /// The node, by name or id.
        node: String,
    },
    /// Let a node finish what it has and take nothing new.
    Drain {
        /// The node, by name or id.
        node: String,
    },
    /// Let a drained node take work again.
    Enable {
        /// The node, by name or id.
        node: String,
    },
}

/// Does what the command says.
pub(crate) async fn run(command: NodesCommand, app: &mut App) -> Result<(), Failure> {
    let session = &mut app.session;
    let view = match command {
        NodesCommand::List => {
            let nodes = session.call(async |client| client.node_list().await).await?;
            return app.out.list(nodes, render_all);
        }
        NodesCommand::Get { node } => session.call(async |c| c.node_get(&node).await).await?,
        NodesCommand::Drain { node } => session.call(async |c| c.node_drain(&node).await).await?,
        NodesCommand::Enable { node } => session.call(async |c| c.node_enable(&node).await).await?,
    };
    app.out.show(&view, render)
}

fn render_all(nodes: &[NodeView], look: Look) -> String {
    let rows = nodes.iter().map(|node| {
        let can = &node.capabilities;
        vec![
            node.node_slug.clone(),
            node.status.to_string(),
            format!("{}/{}", node.running_jobs, can.max_concurrency),
            sandbox(node),
            format!("{} cores, {} MiB", can.cpu_cores, can.memory_mib),
            seen(node, look),
        ]
    });
    table::rows(&["NODE", "STATUS", "JOBS", "SANDBOX", "SIZE", "SEEN"], rows, look)
}

fn render(node: &NodeView, look: Look) -> String {
    let can = &node.capabilities;
    let pairs = [
        ("node", Some(node.node_slug.clone())),
        ("status", Some(node.status.to_string())),
        ("jobs", Some(format!("{} of {}", node.running_jobs, can.max_concurrency))),
        ("sandbox", Some(sandbox(node))),
        ("enforces", Some(can.sandbox.features.join(", "))),
        ("system", Some(format!("{} {}", can.os, can.arch))),
        ("size", Some(format!("{} cores, {} MiB", can.cpu_cores, can.memory_mib))),
        ("seen", Some(seen(node, look))),
        ("joined", Some(age::ago(look.now, node.created_at))),
        ("id", Some(node.id.to_string())),
    ];
    table::pairs(&pairs, look)
}

fn sandbox(node: &NodeView) -> String {
    let sandbox = &node.capabilities.sandbox;
    match &sandbox.reason {
        Some(reason) if !sandbox.supported => format!("none: {reason}"),
        Some(_) | None => sandbox.backend.clone(),
    }
}

fn seen(node: &NodeView, look: Look) -> String {
    node.last_seen_at.map_or_else(|| "never".to_owned(), |when| age::ago(look.now, when))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::NodeId;
    use cynode_domain::status::NodeStatus;
    use cynode_wire::nodes::{Capabilities, SandboxLevel};

    use super::*;

    #[test]
    fn nodes_are_listed_with_load_and_sandbox() {
        let node = NodeView {
            id: NodeId::from(uuid::Uuid::from_u128(9)),
            node_slug: "local".to_owned(),
            status: NodeStatus::Active,
            capabilities: Capabilities {
                os: "linux".to_owned(),
                arch: "x86_64".to_owned(),
                cpu_cores: 2,
                memory_mib: 4096,
                sandbox: SandboxLevel {
                    supported: true,
                    backend: "namespaces".to_owned(),
                    features: vec!["landlock".to_owned(), "seccomp".to_owned()],
                    reason: None,
                },
                max_concurrency: 4,
            },
            running_jobs: 1,
            incarnation: None,
            last_seen_at: Some(DateTime::UNIX_EPOCH),
            created_at: DateTime::UNIX_EPOCH,
        };
        let look = Look { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(12), width: None };

        insta::assert_snapshot!(render_all(std::slice::from_ref(&node), look));
        insta::assert_snapshot!(render(&node, look));
    }
}
