//! `nodes`: the worker nodes.

use clap::Subcommand;
use cynode_wire::nodes::NodeView;

use crate::app::CliContext;
use crate::failure::CliFailure;
use crate::out::RenderContext;
use crate::{relative_time, table};

/// List worker nodes; drain and enable them.
#[derive(Debug, Subcommand)]
pub enum NodesCommand {
    /// List all worker nodes.
    List,
    /// Show one worker node and what its sandbox enforces.
    Get {
        /// The node, by name or id.
        node: String,
    },
    /// Drain a worker node: running jobs finish, no new ones start.
    Drain {
        /// The node, by name or id.
        node: String,
    },
    /// Enable a drained worker node.
    Enable {
        /// The node, by name or id.
        node: String,
    },
}

pub(crate) async fn run(command: NodesCommand, app: &mut CliContext) -> Result<(), CliFailure> {
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

fn render_all(nodes: &[NodeView], ctx: RenderContext) -> String {
    let rows = nodes.iter().map(|node| {
        let can = &node.capabilities;
        vec![
            node.node_slug.clone(),
            node.status.to_string(),
            format!("{}/{}", node.running_jobs, can.max_concurrency),
            format_sandbox(node),
            format!("{} cores, {} MiB", can.cpu_cores, can.memory_mib),
            format_last_seen(node, ctx),
        ]
    });
    table::render_table(&["NODE", "STATUS", "JOBS", "SANDBOX", "SIZE", "SEEN"], rows, ctx)
}

fn render(node: &NodeView, ctx: RenderContext) -> String {
    let can = &node.capabilities;
    let pairs = [
        ("node", Some(node.node_slug.clone())),
        ("status", Some(node.status.to_string())),
        ("jobs", Some(format!("{} of {}", node.running_jobs, can.max_concurrency))),
        ("sandbox", Some(format_sandbox(node))),
        ("enforces", Some(can.sandbox.features.join(", "))),
        ("system", Some(format!("{} {}", can.os, can.arch))),
        ("size", Some(format!("{} cores, {} MiB", can.cpu_cores, can.memory_mib))),
        ("seen", Some(format_last_seen(node, ctx))),
        ("joined", Some(relative_time::format_relative(ctx.now, node.created_at))),
        ("id", Some(node.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

fn format_sandbox(node: &NodeView) -> String {
    let sandbox = &node.capabilities.sandbox;
    match &sandbox.reason {
        Some(reason) if !sandbox.supported => format!("none: {reason}"),
        Some(_) | None => sandbox.backend.clone(),
    }
}

fn format_last_seen(node: &NodeView, ctx: RenderContext) -> String {
    node.last_seen_at
        .map_or_else(|| "never".to_owned(), |when| relative_time::format_relative(ctx.now, when))
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
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(12), width: None };

        insta::assert_snapshot!(render_all(std::slice::from_ref(&node), ctx));
        insta::assert_snapshot!(render(&node, ctx));
    }
}
