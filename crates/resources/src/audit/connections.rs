//! Records connections that installed servers make through the proxy of their sandbox.

use cynode_store::AccessChange;

use super::{AuditError, AuditLog};

/// What happened to a connection of an installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConnectionRecord {
    /// The slug of the server.
    pub server: String,
    /// The event: `server.connect`, `server.refuse` or `server.disconnect`.
    pub action: &'static str,
    pub allowed: bool,
    /// Host, port and details.
    pub description: String,
}

impl AuditLog {
    /// Records an event of a connection in the access log. It is durable when this returns.
    pub async fn record_connection(
        &self,
        record: ServerConnectionRecord,
    ) -> Result<(), AuditError> {
        let change = AccessChange {
            by: None,
            action: record.action,
            resource_type: "mcp.connection",
            resource: record.server,
            allowed: record.allowed,
            reason: Some(record.description),
            task: None,
            at: self.clock.now(),
        };
        self.store
            .write(move |tx| Box::pin(async move { Ok(tx.access_change_append(&change).await?) }))
            .await
    }
}
