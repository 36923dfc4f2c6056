//! Checks audit records of a worker node.

use std::collections::HashMap;

use cynode_domain::ids::{CapabilityLeaseId, TokenId};
use cynode_domain::policy::Effect;
use cynode_lease::LeaseClaims;
use cynode_store::{AuditCall, CallRecord, EdgeSealedRecord, Tx};
use cynode_wire::capability_leases::{
    EDGE_ORIGIN_PREFIX, EdgeRecord, MAX_RECORD_BYTES, MAX_RECORDS,
};

use super::{LeaseServiceError, stored_claims};

/// The caller of a call without a valid lease.
const UNKNOWN_CALLER: &str = "unknown";

/// The records in the form of the audit log.
pub(super) fn parse_records(
    records: Vec<EdgeRecord>,
) -> Result<Vec<(EdgeSealedRecord, CallRecord)>, LeaseServiceError> {
    let refuse = |reason: String| LeaseServiceError::RecordsRefused(reason);
    if records.len() > MAX_RECORDS {
        return Err(refuse(format!("more than {MAX_RECORDS} in one request")));
    }
    let parse = |EdgeRecord { seq, hash, record }: EdgeRecord| {
        if record.to_string().len() > MAX_RECORD_BYTES {
            return Err(refuse(format!("record {seq} is too long")));
        }
        let hash = hex::decode(&hash).map_err(|_| refuse(format!("record {seq} has no hash")))?;
        let parsed: CallRecord = serde_json::from_value(record)
            .map_err(|error| refuse(format!("record {seq} cannot be read: {error}")))?;
        let record = parsed.clone().into();
        Ok((EdgeSealedRecord { seq, hash, record }, parsed))
    };
    records.into_iter().map(parse).collect()
}

/// Refuses records about callers whose lease was not issued for this node, or that name another caller than their lease.
pub(super) async fn check_callers(
    tx: &mut Tx,
    node_key: &str,
    slug: &str,
    records: &[(EdgeSealedRecord, CallRecord)],
) -> Result<(), LeaseServiceError> {
    let mut leases: HashMap<TokenId, Option<LeaseClaims>> = HashMap::new();
    for (sealed, record) in records {
        let CallRecord::Call(call) = record else { continue };
        let refuse = |reason: &str| {
            Err(LeaseServiceError::RecordsRefused(format!("record {}: {reason}", sealed.seq)))
        };
        if call.origin.strip_prefix(EDGE_ORIGIN_PREFIX) != Some(slug) {
            return refuse("it has another origin");
        }
        let Some(token) = call.caller.token else {
            if is_anonymous(call) {
                continue;
            }
            return refuse("a caller without a lease is unknown, and denied");
        };
        if !leases.contains_key(&token) {
            let id = CapabilityLeaseId::from(token.as_uuid());
            let lease = tx.capability_lease_get(id).await?;
            let claims = lease.as_ref().and_then(stored_claims);
            // Not by the row of the node: one that was removed and joined again is another row.
            leases.insert(token, claims.filter(|claims| claims.node_key == node_key));
        }
        let Some(Some(claims)) = leases.get(&token) else {
            return refuse("its lease was not issued for this node");
        };
        if !is_caller_of(call, claims) {
            return refuse("it does not name the caller of its lease");
        }
    }
    Ok(())
}

fn is_anonymous(call: &AuditCall) -> bool {
    let caller = &call.caller;
    let binding = &call.binding;
    call.decision == Effect::Deny
        && caller.kind == UNKNOWN_CALLER
        && caller.user.is_none()
        && caller.groups.is_empty()
        && caller.roles.is_empty()
        && (binding.project, binding.task, binding.run, binding.job) == (None, None, None, None)
}

fn is_caller_of(call: &AuditCall, claims: &LeaseClaims) -> bool {
    let (caller, binding) = (&call.caller, &call.binding);
    caller.kind == claims.caller.as_str()
        && caller.user == Some(claims.user)
        && caller.groups == claims.groups
        && caller.roles == claims.roles
        && binding.project == Some(claims.project)
        && binding.task == Some(claims.task)
        && binding.run.is_none()
        && binding.job == Some(claims.sandbox)
}
