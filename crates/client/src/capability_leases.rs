//! Capability leases, and the reports of worker nodes about them.

use cynode_domain::ids::CapabilityLeaseId;
use cynode_wire::capability_leases::{CapabilityLeaseView, EdgeView, LeaseKeyView, SyncEdge};
use cynode_wire::page::{Page, PageQuery};
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/capability-leases`
    pub async fn capability_lease_list(
        &self,
        query: &PageQuery,
    ) -> Result<Page<CapabilityLeaseView>, ClientError> {
        let request = self.request(Method::GET, &["v1", "capability-leases"]).query(query);
        read_json(send(request).await?).await
    }

    /// `DELETE /v1/capability-leases/{lease}`
    pub async fn capability_lease_revoke(&self, id: CapabilityLeaseId) -> Result<(), ClientError> {
        let segments = ["v1", "capability-leases", &id.to_string()];
        send(self.request(Method::DELETE, &segments)).await.map(drop)
    }

    /// `POST /v1/capability-leases/rotate-key`
    pub async fn lease_key_rotate(&self) -> Result<LeaseKeyView, ClientError> {
        let segments = ["v1", "capability-leases", "rotate-key"];
        read_json(send(self.request(Method::POST, &segments)).await?).await
    }

    /// `POST /v1/node/edge`
    pub async fn node_sync_edge(&self, report: &SyncEdge) -> Result<EdgeView, ClientError> {
        self.post(&["v1", "node", "edge"], report).await
    }
}
