//! `nodes`: the worker nodes.

use clap::Subcommand;
use cynode_domain::ids::TokenId;
use cynode_domain::node_labels::NodeLabels;
use cynode_wire::nodes::{CreateJoinToken, JoinTokenView, MachineLoad, NewJoinTokenView, NodeView};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Manage worker nodes: list, drain and remove them, let new ones join, rotate their keys.
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
    /// Remove a worker node without open jobs; its key and token are revoked, and its name is free.
    #[command(visible_alias = "remove")]
    Delete {
        /// The node, by name or id.
        node: String,
    },
    /// Revoke the key and token of a worker node; prints the one-time join token that registers its next key.
    ///
    /// On the node: write the token to its join token file, delete `node.key` in its state directory, restart it.
    RotateKey {
        /// The node, by name or id.
        node: String,
    },
    /// Create a one-time join token for a new worker node; printed once, on standard output.
    ///
    /// Example: `cynork -q nodes join-token --node anvil > node-join.token`
    JoinToken {
        /// Let only a node with this name use it.
        #[arg(long, value_name = "NAME")]
        node: Option<String>,
        /// Lifetime in minutes, up to 10080 [default: 60].
        #[arg(long, value_name = "MINUTES")]
        expires_in: Option<u32>,
    },
    /// List the one-time join tokens.
    JoinTokens,
    /// Revoke a one-time join token.
    RevokeJoinToken {
        /// The token id.
        token: TokenId,
    },
}

pub async fn run(command: NodesCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    let session = &mut app.session;
    let view = match command {
        NodesCommand::List => {
            let nodes = session.call(async |client| client.node_list().await).await?;
            return app.out.list(nodes, render_all);
        }
        NodesCommand::Delete { node } => {
            session.call(async |client| client.node_remove(&node).await).await?;
            app.out.print_message(&format!("node {node} removed"));
            return Ok(());
        }
        NodesCommand::RotateKey { node } => {
            let token = session.call(async |client| client.node_rotate_key(&node).await).await?;
            return show_secret(&token, app);
        }
        NodesCommand::JoinToken { node, expires_in } => {
            let body = CreateJoinToken { node_slug: node, expires_in_minutes: expires_in };
            let token = session.call(async |client| client.join_token_create(&body).await).await?;
            return show_secret(&token, app);
        }
        NodesCommand::JoinTokens => {
            let tokens = session.load_pages(async |c, page| c.join_token_list(page).await).await?;
            return app.out.list(tokens, render_join_tokens);
        }
        NodesCommand::RevokeJoinToken { token } => {
            session.call(async |client| client.join_token_revoke(token).await).await?;
            app.out.print_message(&format!("join token {token} revoked"));
            return Ok(());
        }
        NodesCommand::Get { node } => session.call(async |c| c.node_get(&node).await).await?,
        NodesCommand::Drain { node } => session.call(async |c| c.node_drain(&node).await).await?,
        NodesCommand::Enable { node } => session.call(async |c| c.node_enable(&node).await).await?,
    };
    app.out.show(&view, render)
}

fn show_secret(token: &NewJoinTokenView, app: &CliContext) -> Result<(), CliFailure> {
    app.out.show(token, |token, _| token.secret.clone())?;
    let end = relative_time::format_relative(app.out.render_context().now, token.token.expires_at);
    app.out
        .print_message(&format!("Store this token now; it registers one node and expires {end}."));
    Ok(())
}

fn render_join_tokens(tokens: &[JoinTokenView], ctx: RenderContext) -> String {
    let rows = tokens.iter().map(|token| {
        let (label, at) = match (token.revoked_at, token.used_at) {
            (Some(at), _) => ("revoked", at),
            (None, Some(at)) => ("used", at),
            (None, None) if token.expires_at <= ctx.now => ("expired", token.expires_at),
            (None, None) => ("expires", token.expires_at),
        };
        vec![
            token.node_slug.clone().unwrap_or_else(|| "any".to_owned()),
            format!("{label} {}", relative_time::format_relative(ctx.now, at)),
            relative_time::format_relative(ctx.now, token.created_at),
            token.id.to_string(),
        ]
    });
    table::render_table(&["NODE", "STATE", "CREATED", "ID"], rows, ctx)
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
        ("not enforced", can.sandbox.reason.clone().filter(|_| can.sandbox.supported)),
        ("system", Some(format!("{} {}", can.os, can.arch))),
        ("labels", Some(format_labels(&can.labels)).filter(|labels| !labels.is_empty())),
        ("images", Some(can.images.join(", ")).filter(|images| !images.is_empty())),
        ("version", Some(can.version.clone()).filter(|version| !version.is_empty())),
        ("size", Some(format!("{} cores, {} MiB", can.cpu_cores, can.memory_mib))),
        ("load", node.load.as_ref().map(format_load)),
        ("seen", Some(format_last_seen(node, ctx))),
        ("joined", Some(relative_time::format_relative(ctx.now, node.created_at))),
        ("id", Some(node.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

/// Such as `1.25, 4000 MiB of memory available, 9000 MiB of disk free`.
fn format_load(load: &MachineLoad) -> String {
    let average = load.load_average_percent.map(|it| format!("{}.{:02}", it / 100, it % 100));
    let memory = load.available_memory_mib.map(|mib| format!("{mib} MiB of memory available"));
    let too_little = if load.is_disk_short { " (too little: no new jobs)" } else { "" };
    let disk = load.free_disk_mib.map(|mib| format!("{mib} MiB of disk free{too_little}"));
    let parts: Vec<_> = [average, memory, disk].into_iter().flatten().collect();
    parts.join(", ")
}

fn format_labels(labels: &NodeLabels) -> String {
    let labels: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(", ")
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
                version: String::new(),
                labels: NodeLabels::new(),
                images: vec![],
            },
            running_jobs: 1,
            load: None,
            incarnation: None,
            last_seen_at: Some(DateTime::UNIX_EPOCH),
            created_at: DateTime::UNIX_EPOCH,
        };
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(12), width: None };

        insta::assert_snapshot!(render_all(std::slice::from_ref(&node), ctx));
        insta::assert_snapshot!(render(&node, ctx));

        let load = MachineLoad {
            free_disk_mib: Some(100),
            available_memory_mib: Some(2_000),
            load_average_percent: Some(105),
            is_disk_short: true,
        };
        let mut limited = NodeView { load: Some(load), ..node };
        limited.capabilities.sandbox.reason = Some("no cgroup v2 hierarchy is mounted".to_owned());
        let text = render(&limited, ctx);
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("not enforced")).unwrap();
        assert_eq!(line.trim(), "no cgroup v2 hierarchy is mounted");
        let shown =
            "1.05, 2000 MiB of memory available, 100 MiB of disk free (too little: no new jobs)";
        assert!(text.contains(shown), "{text}");
    }
}
