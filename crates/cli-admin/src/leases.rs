//! `leases`: permissions of agents on the hosts of worker nodes.

use clap::Subcommand;
use cynode_domain::ids::CapabilityLeaseId;
use cynode_wire::capability_leases::CapabilityLeaseView;
use serde_json::json;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// List and revoke capability leases, with which agents use tools of a worker node directly.
#[derive(Debug, Subcommand)]
pub enum LeaseCommand {
    /// List your leases; administrators see the leases of all users.
    List,
    /// Revoke a lease: its node refuses it within seconds, and stops its commands.
    #[command(visible_aliases = ["remove", "delete"])]
    Revoke {
        /// The lease id.
        lease: CapabilityLeaseId,
    },
    /// Replace the key that signs leases; leases of the old key are valid until they end.
    RotateKey,
}

pub async fn run(command: LeaseCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        LeaseCommand::List => {
            let load = async |client: &cynode_client::Client, page: &_| {
                client.capability_lease_list(page).await
            };
            let items = app.session.load_pages(load).await?;
            app.out.list(items, render)
        }
        LeaseCommand::Revoke { lease } => revoke(lease, app).await,
        LeaseCommand::RotateKey => {
            let key = app.session.call(async |client| client.lease_key_rotate().await).await?;
            app.out.show(&key, |key, _| key.id.clone())?;
            app.out.print_message("New leases are signed with this key.");
            Ok(())
        }
    }
}

async fn revoke(lease: CapabilityLeaseId, app: &mut CliContext) -> Result<(), CliFailure> {
    app.session.call(async |client| client.capability_lease_revoke(lease).await).await?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({ "id": lease, "revoked": true }))?;
    }
    app.out.print_message(&format!("lease {lease} revoked"));
    Ok(())
}

fn render(leases: &[CapabilityLeaseView], ctx: RenderContext) -> String {
    let rows = leases.iter().map(|lease| {
        let state = match (lease.revoked_at, &lease.revoked_reason) {
            (Some(_), Some(reason)) => format!("ended: {reason}"),
            (Some(when), None) => {
                format!("revoked {}", relative_time::format_relative(ctx.now, when))
            }
            (None, _) => {
                format!("expires {}", relative_time::format_relative(ctx.now, lease.expires_at))
            }
        };
        let tools = lease.tools.iter().cloned().collect::<Vec<_>>().join(", ");
        vec![lease.node_slug.clone(), lease.caller.to_string(), state, tools, lease.id.to_string()]
    });
    table::render_table(&["NODE", "CALLER", "STATE", "TOOLS", "ID"], rows, ctx)
}
