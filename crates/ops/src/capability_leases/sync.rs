//! The report of a worker node: audit records in, trusted keys and revoked leases out.

use std::sync::Arc;

use cynode_domain::ids::CapabilityLeaseId;
use cynode_domain::policy::Principal;
use cynode_execution::tasks::{TaskError, find};
use cynode_lease::LeaseClaims;
use cynode_resources::agents::{AgentIdentity, identity};
use cynode_resources::groups::load_group_ids;
use cynode_resources::{Caller, NodeCaller};
use cynode_store::{CapabilityLease, ChainExtension, TokenBinding, Tx};
use cynode_wire::capability_leases::{EdgeView, RevokedLease, SyncEdge};

use super::issue::node_key;
use super::records::{check_callers, parse_records};
use super::{CapabilityLeases, LeasePolicy, LeaseServiceError, stored_claims};
use crate::sandboxes::{SandboxError, reject_halted};

/// More than a node can have, also if several were issued at once.
const MAX_READ: u32 = 1_000;

/// Serves the reports of worker nodes. Cheap to clone.
#[derive(Clone)]
pub struct EdgeSync {
    leases: CapabilityLeases,
    policy: Arc<dyn LeasePolicy>,
}

/// A lease that has not ended, with its caller as it is now; `None` if the caller may not act any more.
type CurrentLease = (CapabilityLease, Result<(LeaseClaims, AgentIdentity), &'static str>);

impl EdgeSync {
    pub fn new(leases: CapabilityLeases, policy: Arc<dyn LeasePolicy>) -> Self {
        Self { leases, policy }
    }

    /// Stores the records of a node, each once, and returns what its MCP server needs to know.
    pub async fn sync(
        &self,
        node: &NodeCaller,
        report: SyncEdge,
    ) -> Result<EdgeView, LeaseServiceError> {
        let key = self.node_key(node).await?;
        // A node whose records are refused must learn what was revoked all the same.
        let (stored_seq, refused) = match self.store_records(node, &key, report).await {
            Ok(seq) => (seq, None),
            Err(LeaseServiceError::RecordsRefused(reason)) => {
                tracing::error!(node.slug = %node.slug, reason, "audit records of a worker node refused");
                (0, Some(reason))
            }
            Err(error) => return Err(error),
        };
        let revoked = self.revoke_invalid(&key).await?;
        let leases = self.leases.clone();
        let read = self.leases.store.read(move |tx| {
            Box::pin(async move { Ok::<_, LeaseServiceError>(leases.trusted_keys(tx).await?) })
        });
        let keys = read.await?.iter().map(ToString::to_string).collect();
        Ok(EdgeView { stored_seq, refused, keys, revoked })
    }

    async fn node_key(&self, node: &NodeCaller) -> Result<String, LeaseServiceError> {
        let id = node.node;
        let read = self.leases.store.read(move |tx| Box::pin(async move { tx.node_get(id).await }));
        let row = read.await?.ok_or_else(|| LeaseServiceError::NoEdge(node.slug.clone()))?;
        node_key(&row)
    }

    async fn store_records(
        &self,
        node: &NodeCaller,
        key: &str,
        report: SyncEdge,
    ) -> Result<i64, LeaseServiceError> {
        let records = parse_records(report.records, self.leases.clock.now())?;
        let (slug, own_key) = (node.slug.clone(), key.to_owned());
        let checked = self.leases.store.read(move |tx| {
            Box::pin(async move {
                check_callers(tx, &own_key, &slug, &records).await?;
                let sealed: Vec<_> = records.into_iter().map(|(sealed, _)| sealed).collect();
                Ok::<_, LeaseServiceError>(sealed)
            })
        });
        let records = checked.await?;
        let extended =
            self.leases.audit.extend_edge_chain(report.chain, &node.slug, key, records).await?;
        match extended {
            ChainExtension::Stored { seq } => Ok(seq),
            ChainExtension::Refused { reason } => Err(LeaseServiceError::RecordsRefused(reason)),
        }
    }

    /// Revokes the leases of a node that would not be issued now; returns all revoked ones that have not ended.
    async fn revoke_invalid(&self, node_key: &str) -> Result<Vec<RevokedLease>, LeaseServiceError> {
        let (key, now) = (node_key.to_owned(), self.leases.clock.now());
        let read = self.leases.store.read(move |tx| {
            Box::pin(async move {
                let leases = tx.capability_lease_unexpired(&key, now, MAX_READ).await?;
                let mut current: Vec<CurrentLease> = vec![];
                for lease in leases {
                    let state = match lease.revoked_at {
                        Some(_) => Err("revoked"),
                        None => current_caller(tx, &lease).await?,
                    };
                    current.push((lease, state));
                }
                Ok::<_, LeaseServiceError>(current)
            })
        });
        let mut invalid: Vec<(CapabilityLeaseId, &'static str)> = vec![];
        let mut revoked = vec![];
        for (lease, state) in read.await? {
            let reason = match state {
                Err(reason) => reason,
                Ok((claims, caller)) if !self.permits_all(&claims, &caller) => {
                    "the policy no longer permits its tools"
                }
                Ok(_) => continue,
            };
            if lease.revoked_at.is_none() {
                invalid.push((lease.id, reason));
            }
            revoked.push(RevokedLease { id: lease.id, expires_at: lease.expires_at });
        }
        if !invalid.is_empty() {
            let write = self.leases.store.write(move |tx| {
                Box::pin(async move {
                    for (id, reason) in invalid {
                        tx.capability_lease_revoke(id, reason, now).await?;
                    }
                    Ok::<_, LeaseServiceError>(())
                })
            });
            write.await?;
        }
        Ok(revoked)
    }

    fn permits_all(&self, claims: &LeaseClaims, caller: &AgentIdentity) -> bool {
        claims.tools.iter().all(|tool| self.policy.permits(caller, tool))
    }
}

/// The caller of a lease as it is now, or why it may not act any more.
async fn current_caller(
    tx: &mut Tx,
    lease: &CapabilityLease,
) -> Result<Result<(LeaseClaims, AgentIdentity), &'static str>, LeaseServiceError> {
    let Some(claims) = stored_claims(lease) else { return Ok(Err("its claims cannot be read")) };
    let is_token_valid = match claims.caller {
        Principal::Agent(_) => {
            let token = tx.agent_token_get(lease.token).await?;
            token.is_some_and(|token| token.revoked_at.is_none())
        }
        Principal::User => tx.token_is_unrevoked(lease.token).await?,
    };
    if !is_token_valid {
        return Ok(Err("the token that asked for it was revoked"));
    }
    let Some(user) = tx.user_get(lease.user).await?.filter(|user| user.is_active) else {
        return Ok(Err("its user is disabled"));
    };
    let is_admin = user.is_admin && claims.caller == Principal::User;
    let acting = Caller::on_behalf_of(user.id, user.handle.clone(), is_admin);
    let task = match find(tx, &acting, &claims.task.into()).await {
        Ok(task) => task,
        Err(TaskError::Store(error)) => return Err(error.into()),
        Err(_) => return Ok(Err("its user may not see the task")),
    };
    if task.status.is_terminal() {
        return Ok(Err("its task is closed"));
    }
    if claims.caller != Principal::User
        && let Some(run) = tx.run_of_task(claims.task).await?
    {
        match reject_halted(tx, &task, run.id).await {
            Ok(()) => {}
            Err(SandboxError::Halted(_)) => {
                return Ok(Err("its task is paused, or waits for approval"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let sandbox = tx.sandbox_get(claims.sandbox).await?;
    let is_open = |sandbox: &cynode_store::Sandbox| {
        sandbox.destroyed_at.is_none() && sandbox.node == Some(lease.node)
    };
    if !sandbox.as_ref().is_some_and(is_open) {
        return Ok(Err("its sandbox was destroyed"));
    }
    let bound = TokenBinding {
        project: Some(claims.project),
        task: Some(claims.task),
        ..TokenBinding::default()
    };
    let groups = load_group_ids(tx, user.id).await?;
    let caller = identity(claims.caller, lease.token, user, groups, bound, None);
    Ok(Ok((claims, caller)))
}
