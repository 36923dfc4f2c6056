//! Lists and revokes leases.

use cynode_domain::ids::CapabilityLeaseId;
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_wire::capability_leases::CapabilityLeaseView;
use cynode_wire::page::{Page, PageQuery};

use super::{CapabilityLeases, LeaseServiceError, lease_view, stored_claims};

impl CapabilityLeases {
    /// Lists leases, newest first: the caller's own, or all for administrators.
    pub async fn list(
        &self,
        caller: &Caller,
        query: &PageQuery,
    ) -> Result<Page<CapabilityLeaseView>, LeaseServiceError> {
        let request = PageRequest::<CapabilityLeaseId>::parse(query)?;
        let (own, before, fetch) = (caller.own(), request.before, request.fetch);
        let read = self.store.read(move |tx| {
            Box::pin(async move {
                let leases = tx.capability_lease_list(own, before, fetch).await?;
                let nodes = tx.node_list().await?;
                Ok::<_, LeaseServiceError>((leases, nodes))
            })
        });
        let (leases, nodes) = read.await?;
        let page = request.page(leases, |lease| lease.id.to_string(), |lease| lease);
        let slug = |id| nodes.iter().find(|node| node.id == id).map(|node| node.slug.clone());
        let views = page.items.into_iter().filter_map(|lease| {
            let (claims, slug) = (stored_claims(&lease)?, slug(lease.node).unwrap_or_default());
            Some(lease_view(lease, claims, slug))
        });
        Ok(Page { items: views.collect(), next_cursor: page.next_cursor })
    }

    /// Revokes a lease. Its node learns it with its next report.
    pub async fn revoke(
        &self,
        caller: &Caller,
        id: CapabilityLeaseId,
    ) -> Result<(), LeaseServiceError> {
        let (caller, now) = (caller.clone(), self.clock.now());
        let revoked = self.store.write(move |tx| {
            Box::pin(async move {
                let lease = tx.capability_lease_get(id).await?;
                let lease = lease.filter(|lease| caller.may_see(lease.user));
                lease.ok_or(LeaseServiceError::NotFound)?;
                let reason = format!("revoked by {}", caller.handle);
                tx.capability_lease_revoke(id, &reason, now).await?;
                Ok::<_, LeaseServiceError>(())
            })
        });
        revoked.await
    }
}
